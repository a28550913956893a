// Runs once when the page opens: the theme, the warning that was seen, and the reader's keys.
(() => {
  const THEME = "rewardbench-explorer-theme", HARM = "rewardbench-explorer-harm",
    WELCOME = "rewardbench-explorer-welcome";
  const stored = (key) => {
    try { return localStorage.getItem(key); } catch { return null; }
  };
  const store = (key, value) => {
    try { localStorage.setItem(key, value); } catch { /* private browsing keeps nothing */ }
  };
  const paint = (theme) => document.body.classList.toggle("dark", theme === "dark");
  if (stored(THEME) && !new URL(location).searchParams.has("__theme")) paint(stored(THEME));
  if (stored(HARM) === "shown") document.documentElement.dataset.harm = "shown";

  const help = () => {
    const dialog = document.getElementById("help");
    if (dialog) dialog.open ? dialog.close() : dialog.showModal();
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest("#theme-button")) {
      const theme = document.body.classList.contains("dark") ? "light" : "dark";
      paint(theme);
      store(THEME, theme);
    }
    if (event.target.closest(".reveal")) {
      document.documentElement.dataset.harm = "shown";
      store(HARM, "shown");
    }
    if (event.target.closest("button.hide-harm, .hide-harm button")) {
      delete document.documentElement.dataset.harm;
      store(HARM, "hidden");
    }
    if (event.target.closest(".skip")) {
      event.preventDefault();
      const content = visible(".searchbar .search") ?? visible("#tabs > [role=tabpanel]");
      if (!content.matches("input")) content.tabIndex = -1;
      content.focus();
    }
    const strip = event.target.closest(".strip-close")?.closest(".sourcebar");
    if (strip) strip.hidden = true; // until there is something else to know
    if (event.target.closest(".welcome-close")) {
      document.documentElement.dataset.welcome = "seen";
      store(WELCOME, "seen");
    }
    if (event.target.closest(".help-button, #help button")) help();
  });

  const visible = (selector) =>
    [...document.querySelectorAll(selector)].find((element) => element.offsetParent !== null);
  const BUTTONS = {
    j: ".reader-next", k: ".reader-previous", r: ".reader-random", d: ".next-difference", p: ".previous-difference",
    c: ".reader-bar .copy-link", Escape: ".drawer .close",
    1: ".review-keep", 2: ".review-drop", 3: ".review-unsure", u: ".review-undo", n: ".review-skip",
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, textarea, select, [contenteditable=true]");
    if (field?.matches(".goto-key") && event.key === "Escape") field.value = "";
    if (field?.matches("[type=search], [data-note], .goto-key") && ["Enter", "Escape"].includes(event.key)) {
      event.preventDefault();
      field.blur();
    }
    if (field && !["checkbox", "radio"].includes(field.type)) return;
    if (document.getElementById("help")?.open && event.key !== "?") return;
    if (event.key === "Escape" && document.querySelector(":popover-open")) return;
    // A key that is held steps on as fast as pairs come.
    const held = event.repeat && (!"jk".includes(event.key) || document.querySelector("#pairs [aria-busy=true]"));
    if (!held && Object.hasOwn(BUTTONS, event.key)) visible(BUTTONS[event.key])?.click();
    if (event.key === "?") help();
    if (event.key === "/" || event.key === "g") {
      const search = visible(event.key === "g" ? ".goto-key" : ".searchbar .search");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
  });
})
