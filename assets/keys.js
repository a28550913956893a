// Runs once when the page opens: the theme that was chosen before, and the reader's keys.
(() => {
  const KEY = "rewardbench-explorer-theme";
  const stored = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const paint = (theme) => document.body.classList.toggle("dark", theme === "dark");
  if (stored() && !new URL(location).searchParams.has("__theme")) paint(stored());

  document.addEventListener("click", (event) => {
    if (!event.target.closest("#theme-button")) return;
    const theme = document.body.classList.contains("dark") ? "light" : "dark";
    paint(theme);
    try { localStorage.setItem(KEY, theme); } catch { /* private browsing keeps nothing */ }
  });

  const visible = (selector) =>
    [...document.querySelectorAll(selector)].find((element) => element.offsetParent !== null);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, textarea, select, [contenteditable=true]");
    if (field && !["checkbox", "radio"].includes(field.type)) return;
    const button = { j: ".reader-next", k: ".reader-previous", r: ".reader-random" }[event.key];
    if (button) visible(button)?.click();
    if (event.key === "/") {
      const search = visible("#search textarea, #search input");
      if (search) { event.preventDefault(); search.focus(); }
    }
  });
})
