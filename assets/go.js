// The address is the state: links (?...) and forms of a view are followed in place, by one question to the server.
const view = element.querySelector("[data-tab]"), tab = view.dataset.tab, root = window.gradio_config?.root ?? "";
const message = view.querySelector(".view-message");
const TYPING = 120, SLOW = 150, AGAIN = 1000, SLOWEST = 5000;
let turn = 0, shown = null, etags = {}, typing, refreshing, pause;

const isMine = (query) => (new URLSearchParams(query).get("tab") || "pairs") === tab;
const panelOf = (query) => new URLSearchParams(query ?? "").get("panel");
const secret = () => { try { return localStorage.getItem("rewardbench-explorer-secret") ?? ""; } catch { return ""; } };
const say = (words, retry) => {
  message.hidden = !words;
  message.replaceChildren(words);
  if (!retry) return;
  const button = { type: "button", className: "button", textContent: "Try again", onclick: retry };
  message.append(" ", Object.assign(document.createElement("button"), button));
};

// What was unfolded stays so, what is typed too, and a chart is drawn anew only if it is another one.
const MORPH = {
  morphStyle: "innerHTML", ignoreActiveValue: true,
  callbacks: {
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details, dialog")),
    beforeNodeMorphed: (old, made) => {
      if (!old.matches?.("figure[data-plot]")) return true;
      if (old.dataset.plot !== made.dataset?.plot) old.replaceWith(made);
      return false;
    },
  },
};
const apply = (regions) => {
  for (const [name, html] of Object.entries(regions)) {
    const region = view.querySelector(`[data-region=${CSS.escape(name)}]`);
    if (region) Idiomorph.morph(region, html, MORPH);
  }
  view.querySelectorAll("figure[data-plot]:empty").forEach(draw);
};

// Charts are drawn by Plotly, which is fetched for the first. A point leads to the address with its own value.
let plotly;
const load = () => plotly ??= window.Plotly ? Promise.resolve() : new Promise((loaded, failed) => {
  const script = Object.assign(document.createElement("script"), { src: `${root}/plotly.min.js`, onload: loaded });
  script.onerror = () => { plotly = null; failed(new Error("Plotly was not loaded")); };
  document.head.append(script);
});
const colour = (_, name) => getComputedStyle(document.body).getPropertyValue(name).trim();
const draw = async (figure) => {
  figure.replaceChildren(document.createElement("div"));
  const { plot: written, sets, base } = figure.dataset;
  const { data, layout } = JSON.parse(written.replace(/var\((--\w+)\)/g, colour));
  try { await load(); } catch { figure.textContent = "The chart could not be loaded."; return; }
  const plot = await Plotly.newPlot(figure.firstChild, data, layout, { displayModeBar: false, responsive: true });
  plot.on("plotly_click", ({ points: [{ data: trace, customdata, pointNumber }] }) => {
    const value = trace.type === "heatmap" ? trace.customdata[[pointNumber].flat()[0]] : customdata;
    if (!sets || value === undefined) return;
    const query = new URLSearchParams(base || shown);
    query.set(sets, value);
    window.explorer.follow(`?${query}`);
  });
};

new MutationObserver(() => view.querySelectorAll("figure[data-plot]").forEach(draw))
  .observe(document.body, { attributes: true, attributeFilter: ["class"] });

const ask = (question) => server.render({ known: etags, secret: secret(), ...question });
// The last press wins. mode: "push", "replace", or "" where the address is the browser's already.
const go = async (query, mode = "push", more = {}) => {
  const mine = ++turn, busy = setTimeout(() => view.setAttribute("aria-busy", "true"), SLOW);
  clearTimeout(refreshing);
  const again = () => go(query, mode, more);
  try {
    const answer = await ask({ query, ...more });
    if (mine !== turn) return;
    if (answer.busy) { say("Busy, trying again…"); setTimeout(() => mine === turn && again(), AGAIN); return; }
    say(answer.error ?? "");
    if (answer.error) return;
    apply(answer.regions);
    etags = answer.etags;
    if (mode === "push" && panelOf(shown) !== panelOf(answer.query)) view.closest("[role=tabpanel]")?.scrollTo(0, 0);
    shown = `?${answer.query}`;
    pause = 0;
    const own = answer.query.replace(/^tab=\w+&?/, "");
    window.explorer?.wrote(tab, own, mode === "push" ? true : mode === "replace" ? false : null);
    schedule();
  } catch {
    if (mine === turn) say("The server did not answer.", again);
  } finally {
    clearTimeout(busy);
    if (mine === turn) view.removeAttribute("aria-busy");
  }
};

// What goes on by itself is looked at again, its regions alone, ever more seldom while nothing changes.
const schedule = () => {
  clearTimeout(refreshing);
  const going = [...view.querySelectorAll("[data-refresh]")];
  if (!going.length) return;
  pause = Math.min(SLOWEST, Math.max(pause * 1.5, Math.min(...going.map((each) => Number(each.dataset.refresh)))));
  refreshing = setTimeout(() => refresh(going), pause);
};
const refresh = async (going) => {
  if (document.hidden || !view.offsetParent) { schedule(); return; }
  const mine = turn, only = [...new Set(going.map((each) => each.closest("[data-region]").dataset.region))];
  try {
    const answer = await ask({ query: shown, only });
    if (mine !== turn) return;
    if (answer.regions) {
      apply(answer.regions);
      Object.assign(etags, answer.etags);
      if (Object.keys(answer.regions).length) pause = 0;
      const goesOn = (name) => view.querySelector(`[data-region=${CSS.escape(name)}] [data-refresh]`);
      if (!only.every(goesOn)) { go(shown, ""); return; }
    }
  } catch { /* the server may come back */ }
  schedule();
};

const asForm = (form) => `?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""))}`;
element.addEventListener("click", (event) => {
  const plain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const button = event.target.closest("[data-action]"), link = event.target.closest("a[href]");
  const row = event.target.closest("[data-row]");
  if (button) act(button.dataset.action);
  else if (link && plain && "file" in link.dataset) { event.preventDefault(); save(link); }
  else if (link && plain && link.getAttribute("href").startsWith("?") && isMine(link.search)) {
    event.preventDefault();
    go(link.search);
  } else if (!link && row && !event.target.closest("input, button, label") && !String(getSelection())) {
    row.querySelector("a[data-main]")?.click();
  }
});
element.addEventListener("keydown", (event) => {
  if (event.key === " " && event.target.matches("a[role=checkbox]")) { event.preventDefault(); event.target.click(); }
});
element.addEventListener("submit", (event) => {
  if (event.target.method !== "get") return;
  event.preventDefault();
  clearTimeout(typing);
  go(asForm(event.target));
});
element.addEventListener("input", (event) => {
  const form = event.target.form;
  clearTimeout(typing);
  if (form && event.target.type === "search") typing = setTimeout(() => go(asForm(form), "replace"), TYPING);
});
element.addEventListener("change", (event) => {
  if (event.target.form && event.target.matches("select, [data-submit]")) go(asForm(event.target.form));
});

// A file comes by POST, with the secret by which a visitor's own is known, and never by an address.
const save = async (link) => {
  const body = new URLSearchParams({ secret: secret() });
  const answer = await fetch(`${root}/${link.getAttribute("href")}`, { method: "POST", body }).catch(() => null);
  if (!answer?.ok) { say(answer ? await answer.text() : "The file could not be fetched."); return; }
  const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? "file";
  const address = URL.createObjectURL(await answer.blob());
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
};

const open = (query) => go(isMine(query) ? query : shown ?? `?tab=${tab}`, "");
const act = (action) => go(shown, "replace", { action });
(window.explorerViews ??= new Map()).set(tab, { open, act });
open(location.search);
