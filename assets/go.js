// The address is the state: links (?...) and forms of a view are followed in place, by one question to the server.
const view = element.querySelector("[data-tab]"), tab = view.dataset.tab, root = window.gradio_config?.root ?? "";
const message = view.querySelector(".view-message");
const TYPING = 120, QUIET = 400, SLOW = 150, AGAIN = 1000, SLOWEST = 5000;
let turn = 0, latest = Promise.resolve(), stepping = latest, isAsking = false, shown = null, asked = null;
let etags = {}, waiting = {}, typing, typed, wasTyped = false, refreshing, pause;

const isMine = (query) => window.explorer.tabIn(query) === tab;
const panelOf = (query) => new URLSearchParams(query ?? "").get("panel");
const secret = () => { try { return localStorage.getItem("rewardbench-explorer-secret") ?? ""; } catch { return ""; } };
let said = "", retry;
const say = (words, how) => {
  retry = how;
  if (words === said) return; // once is enough
  said = words;
  message.hidden = !words;
  message.replaceChildren(words);
  if (!how) return;
  const button = { type: "button", className: "button", textContent: "Try again", onclick: () => retry() };
  message.append(" ", Object.assign(document.createElement("button"), button));
};

// What was unfolded stays so, what is typed too, and a chart is drawn anew only if it is another one.
const MORPH = {
  morphStyle: "innerHTML",
  callbacks: {
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details, dialog")),
    beforeNodeMorphed: (old, made) => {
      if (typing && old.matches?.("input[type=search]")) return false; // it is about to be asked for
      if (old.matches?.("textarea[data-sent]")) return false; // what was typed meanwhile stays
      if (!old.matches?.("figure[data-plot]")) return true;
      if (old.dataset.plot !== made.dataset?.plot) {
        for (const { name } of [...old.attributes]) old.removeAttribute(name);
        for (const { name, value } of made.attributes) old.setAttribute(name, value);
        erase(old);
      }
      return false;
    },
  },
};
const apply = (regions, isLook) => {
  const ignoreActiveValue = Boolean(document.activeElement?.matches("input, textarea, select"));
  for (const [name, html] of Object.entries(regions)) {
    const region = view.querySelector(`[data-region=${CSS.escape(name)}]`);
    if (!region || (name === "main" && window.explorer.putRows?.(region, html))) continue;
    if (isLook && region.querySelector(".told")) { delete etags[name]; continue; } // it stays until a press
    Idiomorph.morph(region, html, { ...MORPH, ignoreActiveValue });
  }
  view.querySelectorAll("figure[data-plot]:empty").forEach(draw);
  view.dataset.drawn = "";
  view.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
};

// Charts are drawn by Plotly, which is fetched for the first. A point leads to the address with its own value.
let plotly;
const load = () => plotly ??= window.Plotly ? Promise.resolve() : new Promise((loaded, failed) => {
  const script = Object.assign(document.createElement("script"), { src: `${root}/plotly.min.js`, onload: loaded });
  script.onerror = () => { plotly = null; failed(new Error("Plotly was not loaded")); };
  document.head.append(script);
});
const colour = (_, name) => getComputedStyle(document.body).getPropertyValue(name).trim();
const erase = (figure) => {
  if (figure.firstChild && window.Plotly) Plotly.purge(figure.firstChild);
  figure.replaceChildren();
};
const draw = async (figure) => {
  erase(figure);
  figure.append(document.createElement("div"));
  const { plot: written, sets, base, adds, brush } = figure.dataset;
  const { data, layout } = JSON.parse(written.replace(/var\((--\w+)\)/g, colour));
  figure.style.minHeight = `${layout.height}px`; // nothing below moves when it is drawn
  try { await load(); } catch { figure.textContent = "The chart could not be loaded."; return; }
  if (figure.clientWidth < 480) layout.margin.t += 26; // there, names of what is drawn take two lines
  const plot = await Plotly.newPlot(figure.firstChild, data, layout, { displayModeBar: false, responsive: true });
  plot.on("plotly_click", ({ points: [{ data: trace, customdata, pointNumber }] }) => {
    const value = trace.type === "heatmap" ? trace.customdata[[pointNumber].flat()[0]] : customdata;
    if (value === undefined) return;
    if (adds !== undefined) { window.explorer.follow(`?${adds}&${value}`); return; }
    if (!sets) return;
    const query = new URLSearchParams(base || shown);
    query.set(sets, value);
    window.explorer.follow(`?${query}`);
  });
  if (brush) plot.on("plotly_selected", (event) => {
    const ends = event?.range && Object.entries(event.range).find(([axis]) => axis.startsWith("x"))?.[1];
    if (!ends) return;
    const [low, high] = [...ends].sort((one, other) => one - other), query = new URLSearchParams(adds);
    for (const [name, value] of new URLSearchParams(brush)) {
      query.append(name, value.replace("{}", `${Math.ceil(low)}.${Math.floor(high)}`));
    }
    window.explorer.follow(`?${query}`);
  });
};
// A chart as a file, on a white ground.
const picture = (format, near) => {
  const { data, layout } = (near.closest(".chart") ?? view).querySelector(".js-plotly-plot");
  const size = { width: layout.width, height: layout.height, scale: format === "png" ? 2 : 1 };
  const how = { format, filename: panelOf(shown) ?? tab, ...size };
  Plotly.downloadImage({ data, layout: { ...layout, paper_bgcolor: "white" } }, how);
};

new MutationObserver(() => view.querySelectorAll("figure[data-plot]").forEach(draw))
  .observe(document.body, { attributes: true, attributeFilter: ["class"] });

// What stands in fields that no address holds goes along; a password only with what is pressed.
const sent = (value) => {
  const fields = [...view.querySelectorAll("[data-sent]")];
  const told = value === undefined ? fields.filter(({ type }) => type !== "password") : fields;
  const said = (field) => field.type !== "checkbox" || field.checked ? field.value : "";
  return { value: value ?? "", ...Object.fromEntries(told.map((field) => [field.dataset.sent, said(field)])) };
};
const stopTyping = () => {
  clearTimeout(typing);
  typing = 0;
};
const ask = (question) => server.render({ known: etags, secret: secret(), sent: sent(), ...question });
// The last press wins. mode: "push", "replace", "type", of which all in a row are one step back, or "" where the
// address is the browser's already. Gives whether its answer is on screen.
const go = (...given) => {
  waiting = {}; // steps that wait are not meant for it
  return latest = follow(...given);
};
const follow = async (query, mode = "push", more = {}) => {
  asked = query;
  const mine = ++turn, show = () => { if (mine === turn) view.setAttribute("aria-busy", "true"); };
  const busy = setTimeout(show, SLOW);
  isAsking = true;
  clearTimeout(refreshing);
  stopTyping();
  const again = () => go(query, mode, more);
  try {
    const answer = await ask({ query, ...more });
    if (answer.texts) window.explorer.write?.(view, answer.texts); // whatever was pressed since
    if (mine !== turn) return false;
    if (answer.busy) {
      say("Busy, trying again…");
      await new Promise((done) => setTimeout(done, AGAIN));
      return mine === turn && await again();
    }
    say(answer.error ?? "");
    if (answer.error) return false;
    etags = answer.etags;
    apply(answer.regions, query === shown);
    if (mine !== turn) return false; // what was drawn led on
    if (mode === "push" && panelOf(shown) !== panelOf(answer.query)) view.closest("[role=tabpanel]")?.scrollTo(0, 0);
    const isNew = mode === "push" || (mode === "type" && !wasTyped), isOther = shown !== `?${answer.query}`;
    wasTyped = mode === "type" || (wasTyped && !isOther);
    asked = shown = `?${answer.query}`;
    // What was typed, and left by another press, is not what is shown.
    for (const field of view.querySelectorAll("input[type=search][name]")) {
      const value = new URLSearchParams(shown).get(field.name) ?? "";
      const isFree = field !== document.activeElement || (!mode && isOther); // also of Back and Forward
      if (!typing && isFree && field.value !== value) field.value = value;
    }
    keepForm();
    pause = 0;
    const own = answer.query.replace(/^tab=\w+&?/, "");
    window.explorer.wrote?.(tab, own, isNew || (mode ? false : null));
    // An address that was opened is written as it was understood.
    const isHere = isMine(location.search) && view.offsetParent;
    if (!mode && isHere && location.search !== shown) window.explorer.wrote?.(tab, own);
    return true;
  } catch {
    if (mine !== turn) return false;
    say("The server did not answer.", again);
    // What changes something is asked for once.
    if (!more.action) setTimeout(() => { if (mine === turn) again(); }, SLOWEST);
    return false;
  } finally {
    clearTimeout(busy);
    if (mine === turn) {
      isAsking = false;
      view.removeAttribute("aria-busy");
      schedule();
    }
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
      Object.assign(etags, answer.etags);
      apply(answer.regions);
      if (mine !== turn) return;
      if (`?${answer.query}` !== shown) { go(`?${answer.query}`, "replace"); return; }
      if (Object.keys(answer.regions).length) pause = 0;
      const goesOn = (name) => view.querySelector(`[data-region=${CSS.escape(name)}] [data-refresh]`);
      if (!only.every(goesOn)) { go(shown, "replace"); return; }
    }
  } catch { /* the server may come back */ }
  schedule();
};

// The pair that is open stays so where a link or a form lists others, if it is among them.
const keeping = (element, query) => {
  const open = "keep" in element.dataset && view.querySelector(".reader [data-key]")?.dataset.key;
  return open ? `${query}&${new URLSearchParams({ keep: open })}` : query;
};
// Of quick presses each counts. A box is ticked in what was asked for last, shown already or not, and what a form says
// stays beside a link; a step is made from where the one before it led.
const added = (link, ...change) => {
  const [before, after, made] = [...change, asked].map((query) => new URLSearchParams(query));
  for (const [name, value] of before) if (!after.has(name, value)) made.delete(name, value);
  for (const [name, value] of after) {
    if (before.has(name, value)) continue;
    if (!link.matches("[role=checkbox]")) made.set(name, value);
    else if (made.has(name, value)) made.delete(name, value);
    else made.append(name, value);
  }
  return `?${made}`;
};
const step = (name) => {
  const mine = waiting;
  stepping = stepping.then(() => latest).then(() => {
    const link = mine === waiting && view.querySelector(`a[data-step="${CSS.escape(name)}"]`);
    return link && (latest = follow(link.search));
  });
};
const press = async (link) => {
  if (isAsking && link.dataset.step) { step(link.dataset.step); return; }
  const { search } = link, before = shown, isForm = "beside" in view.dataset;
  if (isForm) await stepping; // the field that was left may ask for something
  go(keeping(link, isAsking && (isForm || link.matches("[role=checkbox]")) ? added(link, before, search) : search));
};
const asForm = (form) => {
  const isSaid = (name, value) => value !== "" || form.querySelector(`input[type=hidden][name="${name}"][value=""]`);
  const said = [...new FormData(form)].filter(([name, value]) => isSaid(name, value));
  if (form.dataset.mode !== "replace") return keeping(form, `?${new URLSearchParams(said)}`);
  // Beside its own fields stays what was asked for last, by another form of the view, answered already or not.
  const query = new URLSearchParams(asked);
  for (const { name } of form.elements) query.delete(name);
  for (const [name, value] of said) query.append(name, value);
  return `?${query}`;
};
// The other fields of a form say what is shown: it waits for what was asked for before.
const send = (form, mode = form.dataset.mode) => {
  if (isAsking && !form.dataset.mode) typing = setTimeout(send, TYPING, form, mode);
  else go(asForm(form), mode);
};
const addressOf = ({ form }) => form?.method === "get" ? asForm(form) : shown;
const does = (field, value = field.dataset.value) =>
  act(field.dataset.action, addressOf(field), value, field.form?.dataset.mode);
// An event of the view, of what is on screen once what is under way is. It may wait in a queue: how far it is by
// then is looked at once it may have begun.
const fire = async (field, name, value = "") => {
  clearTimeout(typed);
  await settled();
  trigger(name, { query: addressOf(field), value, sent: sent(value), secret: secret() });
  if ("waits" in field.dataset || "typed" in field.dataset) setTimeout(() => isAsking || go(shown, ""), AGAIN / 4);
};
element.addEventListener("click", (event) => {
  const plain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const button = event.target.closest("[data-action]"), link = event.target.closest("a[href]");
  const row = event.target.closest("[data-row]");
  const triggered = event.target.closest("[data-trigger]"), drawn = event.target.closest("[data-picture]");
  if (button) { if (button.matches("button")) does(button); }
  else if (drawn) picture(drawn.dataset.picture, drawn);
  else if (triggered) fire(triggered, triggered.dataset.trigger, triggered.dataset.value);
  else if (link && plain && "file" in link.dataset) { event.preventDefault(); save(link); }
  else if (link && plain && link.getAttribute("href").startsWith("?") && isMine(link.search)) {
    event.preventDefault();
    press(link);
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
  stopTyping();
  document.activeElement.blur(); // as what was typed is understood, it is written
  const button = event.target.querySelector("button[data-default]");
  if (button) button.click();
  else send(event.target);
});
element.addEventListener("input", (event) => {
  const { form } = event.target;
  stopTyping();
  const { type } = event.target, isText = !["password", "checkbox", "radio"].includes(type);
  const { sent: isSent, typed: name } = event.target.dataset;
  if (name) {
    clearTimeout(typed); // which nothing else does: the last letter counts
    typed = setTimeout(() => fire(event.target, name, "typed"), QUIET);
  } else if (isText && isSent) typing = setTimeout(() => go(shown, ""), QUIET);
  if (isText && "submit" in event.target.dataset && form?.dataset.mode) {
    typing = setTimeout(() => go(asForm(form), form.dataset.mode), QUIET);
  }
  if (form && event.target.type === "search" && !form.dataset.mode) send(form, "type");
});
element.addEventListener("change", (event) => {
  const { form, type, checked, value } = event.target;
  if (event.target.matches("[data-upload]")) upload(event.target);
  else if (event.target.matches("[data-action]")) does(event.target, type === "checkbox" && !checked ? "" : value);
  else if (form && event.target.matches("select, [data-submit]")) send(form);
  const margins = event.target.dataset.end && event.target.closest(".margins");
  if (margins) brushed(margins, ...[...margins.querySelectorAll("[data-end]")].map((end) => end.value));
});

// Files go to Gradio's route of uploads, and where they lie there to an action.
const upload = async (field) => {
  const body = new FormData();
  for (const file of field.files) body.append("files", file);
  field.value = "";
  try {
    const answer = await fetch(`${root}/gradio_api/upload`, { method: "POST", body });
    if (answer.ok) act(field.dataset.upload, shown, JSON.stringify(await answer.json()), "");
    else say(await answer.text());
  } catch { say("The file could not be sent."); }
};

// Over a histogram a range is dragged. At its edges, what lies beyond is meant, too.
const brushed = (margins, low, high) => {
  const { base, name } = margins.dataset;
  go(low === "" && high === "" ? base : `${base}&${name}=${low}:${high}`);
};
element.addEventListener("pointerdown", (event) => {
  const bars = event.target.closest(".margins .bars"), range = bars?.querySelector(".brushed");
  if (!range || event.button) return;
  event.preventDefault();
  bars.setPointerCapture(event.pointerId);
  const { left, width } = bars.getBoundingClientRect(), before = range.style.cssText;
  const share = (at) => Math.min(1, Math.max(0, (at.clientX - left) / width));
  const ends = (to) => [share(event), share(to)].sort((one, other) => one - other);
  bars.onpointermove = (to) => {
    const [low, high] = ends(to);
    range.style.cssText = `left: ${100 * low}%; right: ${100 - 100 * high}%`;
  };
  bars.onpointerup = bars.onpointercancel = (to) => {
    bars.onpointermove = bars.onpointerup = bars.onpointercancel = null;
    const margins = bars.closest(".margins"), [low, high] = [margins.dataset.low, margins.dataset.high].map(Number);
    const n = Number(margins.dataset.bars), bar = (share) => Math.min(n - 1, Math.floor(share * n));
    // Of bars of whole numbers, all that they count.
    const whole = (share, at) => at && bar(share) === n - 1 ? high : Math.ceil((bar(share) + at) * high / n) - at;
    const number = (share) => Number((low + share * (high - low)).toPrecision(3));
    const asEnd = (share, at) => share % 1 ? (n ? whole : number)(share, at) : "";
    if (to.type === "pointerup" && Math.abs(to.clientX - event.clientX) > 3) brushed(margins, ...ends(to).map(asEnd));
    else range.style.cssText = before;
  };
});
element.addEventListener("dblclick", (event) => {
  const margins = event.target.closest(".margins .bars")?.closest(".margins");
  if (margins) brushed(margins, "", "");
});

// A file comes by POST, with the secret by which a visitor's own is known, and never by an address.
const file = (href, sent = null) => {
  const body = new URLSearchParams({ secret: secret(), sent: JSON.stringify(sent) });
  return fetch(`${root}/${href}`, { method: "POST", body });
};
const download = (name, blob) => {
  const address = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
};
const save = async (link) => {
  link.closest("[popover]")?.hidePopover();
  try {
    const { sends } = link.dataset, sent = sends ? await window.explorer[sends]() : null;
    const answer = await file(link.getAttribute("href"), sent);
    if (!answer.ok) { say(await answer.text()); return; }
    say("");
    const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? "file";
    download(name, await answer.blob());
  } catch { say("The file could not be fetched."); }
};

// What a form said last, which this browser keeps.
const FORM = `rewardbench-explorer-form-${tab}`, NOT_OF_FORM = ["run", "panel", "page", "search", "delete", "pairs"];
const begins = () => {
  const bare = `?tab=${tab}`;
  try { return "beside" in view.dataset && localStorage.getItem(FORM) || bare; } catch { return bare; }
};
const keepForm = () => {
  if (!("beside" in view.dataset)) return;
  const said = new URLSearchParams(shown);
  NOT_OF_FORM.forEach((name) => said.delete(name));
  try { localStorage.setItem(FORM, `?${said}`); } catch { /* it is full */ }
};
const open = (query) => go(isMine(query) ? query : shown ?? begins(), "");
// Where what another tab shows matters, it is part of the address. Told late of its tab, a view may be in use.
const turned = async () => {
  const before = turn;
  await idle();
  const beside = view.dataset.beside, other = beside && window.explorerViews.get(beside)?.shown();
  const isUnused = turn === before;
  if (!other) { if (isUnused) open(location.search); return; }
  const wanted = new URLSearchParams(isUnused && isMine(location.search) ? location.search : shown ?? begins());
  wanted.set(beside, other.slice(1));
  go(`?${wanted}`, "replace");
};
// What opens something else is awaited here: page.js leads on to it.
const act = (action, query = shown, value = "", mode = "push") => {
  if (["open", "upload"].includes(action)) view.dataset.awaits = "";
  let followed; // others wait until it is sent, and then for its answer as for any other
  stepping = settled().then(() => { followed = go(query, mode, { action, sent: sent(value) }); });
  return stepping.then(() => followed);
};
// What is shown, once more, after all that is under way.
const anew = async () => {
  await idle();
  go(shown ?? `?tab=${tab}`, "");
};
const settled = () => stepping.then(() => latest);
// What was pressed meanwhile is awaited, too.
const idle = async () => {
  for (let awaited; awaited !== latest;) { awaited = latest; await settled(); }
};
// Another page of a list, as HTML; none where something was pressed meanwhile.
const page = async (query) => {
  const mine = turn, answer = await ask({ query, known: {}, only: ["main"] });
  return mine === turn ? answer.regions?.main : null;
};
const asScript = { element, page, go, open, turned, act, anew, settled, file, download };
Object.assign(asScript, { shown: () => shown ?? "", asked: () => asked });
(window.explorerViews ??= new Map()).set(tab, asScript);
open(location.search);
