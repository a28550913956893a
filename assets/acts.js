// What is pressed in HTML that the server wrote becomes an event of its part's relay, one at a time.
(() => {
  const WAIT = 60000, AGAIN = 2000, TOGETHER = 100, STUCK = 3;
  const REVIEW = "review", PRESSES = "rewardbench-explorer-presses", NOTE = "#review-note textarea";
  const REVIEWS = "rewardbench-explorer-reviews";
  const kept = new Map();

  // Of two acts, one of which follows a link, the earlier is answered before the later is sent: an
  // answer that came after the other's would undo it.
  let order = 0;
  const queue = (part, act, sent) => { part.explorerQueue.push({ act, sent, order: order++ }); };
  // Presses that are refused again and again wait for better times, and nothing waits for them.
  const isStuck = (part) => part.explorerSent?.refusals >= STUCK;
  const relays = () => [...document.querySelectorAll(".relayed")];
  const isHeld = (part) => relays().some((other) => other !== part
    && (part.id === "go" || other.id === "go")
    && !isStuck(other) && (other.explorerSent || other.explorerQueue?.[0]?.order < part.explorerQueue[0].order));
  const advance = (part) => {
    if (part.explorerSent || !part.explorerQueue?.length || isHeld(part)) return;
    const act = part.explorerSent = part.explorerQueue.shift();
    // A review's act is waited for, however long it takes.
    if (part.id === REVIEW) act.sent.place ??= addresses.get(REVIEW);
    else part.explorerWaits = setTimeout(() => next(part), WAIT);
    part.explorerAct = act.act;
    part.explorerSend(act);
  };
  const next = (part) => {
    clearTimeout(part.explorerWaits);
    part.explorerSent = undefined;
    relays().forEach(advance);
    if (part.id === REVIEW) keepPresses(part);
    showBusy();
  };

  // A line below the header says that something pressed is being answered; what a timer asks is not.
  const showBusy = () => {
    const asked = [...document.querySelectorAll(".relayed")].some((part) => part.explorerSent && !isStuck(part) && part.explorerAct !== "again");
    document.documentElement.toggleAttribute("data-busy", asked);
  };

  const pending = (part) => [part.explorerSent, ...(part.explorerQueue ||= [])].filter(Boolean);

  // Presses in a review are faster than their answers: those that wait go together. Until they are
  // answered the tab keeps them, for where the connection breaks Gradio loads the page anew; then
  // they are sent again as they were, and the server counts them once.
  const isPress = (act) => act.act === "press";
  // What these open is not on screen yet, so nobody can mark it.
  const opens = (act) => ["offer", "follow", "begin", "resume", "differ"].includes(act.act);
  const press = (part, name) => {
    const acts = pending(part);
    if (acts.some(opens)) return;
    const last = part.explorerQueue.at(-1);
    if (acts.some(isPress)) {
      if (last?.sent.presses?.length < TOGETHER) last.sent.presses.push([name, null]);
      else queue(part, "press", { presses: [[name, null]] });
    } else {
      const note = document.querySelector(NOTE)?.value ?? null;
      hasTyped = false;
      queue(part, "press", { presses: [[name, note]] });
    }
    if (part.explorerSent) keepPresses(part);
    else next(part);
  };
  const keepPresses = (part) => {
    const acts = pending(part), pressed = acts.filter(isPress);
    const n = pressed.flatMap((act) => act.sent.presses).length;
    try {
      if (n || part.explorerKeeps) sessionStorage.setItem(PRESSES, JSON.stringify(pressed));
    } catch { /* no room, or none allowed */ }
    part.explorerKeeps = n > 0;
    for (const button of document.querySelectorAll(".review-marks button")) {
      button.disabled = acts.some(opens);
    }
    for (const field of document.querySelectorAll(NOTE)) field.readOnly = n > 0 || acts.some(opens);
    for (const waiting of document.querySelectorAll(".review-waiting")) {
      waiting.textContent = n ? waiting.dataset.words.replace("{n}", n) : "";
    }
  };
  // A note is saved when its field is left, or the page is while one types.
  let hasTyped = false;
  const saveNote = () => { if (hasTyped) press(document.getElementById(REVIEW), "note"); };
  document.addEventListener("input", (event) => { hasTyped ||= event.target.matches(NOTE); });
  document.addEventListener("focusout", (event) => { if (event.target.matches(NOTE)) saveNote(); });
  addEventListener("pagehide", saveNote);
  const takeUpPresses = (part) => {
    let left = [];
    try { left = JSON.parse(sessionStorage.getItem(PRESSES)) || []; } catch { /* as if none were left */ }
    if (left.length && source(left[0].sent.place) === source(addresses.get(REVIEW))) {
      part.explorerQueue.unshift(...left);
    }
  };

  // All tabs of a browser keep their reviews in one place: an act takes along what stands there, and
  // the server joins it with what it makes of this tab's; once more where another tab was quicker.
  const stored = () => { try { return localStorage.getItem(REVIEWS); } catch { return null; } };
  const reviews = (known) => {
    const words = document.getElementById(REVIEW).explorerRead = stored();
    try { return JSON.parse(words) ?? known; } catch { return known; }
  };
  const keepReviews = (part, made) => {
    const words = JSON.stringify(made);
    if (!made || words === part.explorerKept) return;
    if (stored() !== part.explorerRead) {
      part.explorerQueue.unshift({ act: "join", sent: {} });
      return;
    }
    part.explorerKept = words;
    try { localStorage.setItem(REVIEWS, words); } catch { /* no room, or none allowed */ }
  };

  // Of acts that wait, steps are added up where nothing was pressed between them, and a later one
  // that says all anew replaces an earlier.
  const send = (part, name, sent) => {
    if (!part?.explorerSend) return;
    if (name === "press") { press(part, sent.press); return; }
    // Only a review of what is listed follows the list.
    if (name === "follow" && new URLSearchParams(addresses.get(REVIEW)).get("subset") !== "*") return;
    const waiting = part.explorerQueue ||= [];
    const last = waiting.at(-1);
    if (["step", "turn"].includes(name) && last?.act === name && last.order === order - 1) {
      last.sent = { value: last.sent.value + sent.value };
    } else {
      const says = (act) => `${act.act} ${act.sent.facet} ${Object.keys(act.sent)}`;
      const anew = ["pick", "search", "margin", "chart", "again", "turned", "go", "follow"].includes(name);
      const same = waiting.findIndex((act) => anew && says(act) === says({ act: name, sent }));
      if (same >= 0) waiting.splice(same, 1);
      queue(part, name, sent);
    }
    if (!part.explorerSent) next(part);
  };

  const boxes = (facet, css = "") => [...facet.querySelectorAll(`input[type=checkbox]${css}`)];

  // The box of a whole group ticks all in it, and says whether all are. Where nothing but whole
  // groups is ticked, these are what is picked.
  const picked = (element) => {
    const facet = element.closest(".facet"), group = element.closest(".group");
    const isWhole = (of) => boxes(of, ":not([data-whole])").every((box) => box.checked);
    if (element.matches("[data-whole]")) boxes(group).forEach((box) => { box.checked = element.checked; });
    else boxes(group, "[data-whole]").forEach((box) => { box.checked = isWhole(group); });
    const single = boxes(facet, ":not([data-whole]):checked");
    const whole = boxes(facet, "[data-whole]:checked");
    const isRest = single.some((box) => !whole.some((each) => each.closest(".group").contains(box)));
    const names = whole.length && !isRest ? whole : single;
    const { facet: of } = JSON.parse((names[0] ?? element).dataset.sent);
    return { facet: of, names: names.map((box) => box.value) };
  };

  const sendOf = (element) => {
    const { act, field } = element.dataset;
    const sent = JSON.parse(element.dataset.sent || "{}");
    if (field) {
      sent[field] = element.type === "checkbox" ? element.checked
        : element.type === "number" && element.step !== "any" ? Math.round(Number(element.value)) : element.value;
      if (act === "margin") for (const end of element.closest(".margins").querySelectorAll("input")) sent[end.dataset.field] = end.value;
    }
    if (act === "pick") Object.assign(sent, picked(element));
    const part = document.getElementById(element.dataset.part) || element.closest(".relayed");
    // What stands above all tabs turns to the tab that it is of.
    if (element.closest("#header") && tab !== part.id) document.querySelector("#tabs [role=tab]").click();
    send(part, act, sent);
  };

  // A link to another part of this page is followed in place; any other way of opening it is a link's.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-go]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    followLink(link.search);
  });
  // Tabs whose address is their state (go.js). The tab's button is pressed once its address is written.
  const VIEWS = ["models"];
  const tabIn = (query) => new URLSearchParams(query).get("tab") || "pairs";
  const openView = (query) => {
    tab = tabIn(query);
    document.querySelector(`#tabs [role=tab][data-tab-id="${tab}"]`)?.click();
    window.explorerViews?.get(tab)?.open(query);
  };
  const followLink = (query) => {
    if (!VIEWS.includes(tabIn(query))) { send(document.getElementById("go"), "go", { query }); return; }
    history.pushState(history.state, "", query);
    openView(query);
  };

  const isField = (element) => element.matches("input, select, textarea");

  document.addEventListener("click", (event) => {
    const press = event.target.closest("[data-press]");
    if (press) { document.querySelector(press.dataset.press).click(); return; }
    const goto = event.target.closest(".goto[data-key]");
    if (goto) { send(goto.closest(".relayed"), "goto", { value: goto.dataset.key }); return; }
    const element = event.target.closest("[data-act]");
    const marking = element?.matches("tr") && !event.target.closest("button")
      && getSelection().containsNode(element, true) && getSelection().toString();
    if (element && !isField(element) && !marking) sendOf(element);
  });
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-act]") || event.target.type === "search") return;
    sendOf(event.target);
    if (event.target.type === "text") event.target.blur();
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-act][type=search]")) sendOf(event.target);
  });

  // The server writes a part anew: what was folded, scrolled and focused stays so. The button of a
  // row has no act of its own, the row has.
  const name = (inside) => {
    const element = inside?.closest?.("[data-act]");
    return element
      && [element.dataset.act, element.dataset.sent, element.dataset.field, element.value].join("\n");
  };
  let focused = null;
  document.addEventListener("focusin", (event) => { focused = name(event.target); });
  document.addEventListener("pointerdown", () => { focused = null; });
  // Not on "toggle": what is written anew is closed for a moment, by nobody.
  document.addEventListener("click", (event) => {
    const folded = event.target.closest("summary")?.parentElement;
    if (folded?.dataset.keep) kept.set(folded.dataset.keep, !folded.open);
  });
  document.addEventListener("scroll", (event) => {
    const keep = event.target.dataset?.keepScroll;
    if (keep) kept.set(keep, event.target.scrollTop);
    const sync = event.target.dataset?.sync;
    if (!sync || event.target.explorerMoved) { event.target.explorerMoved = false; return; }
    const { scrollTop, scrollHeight, clientHeight } = event.target;
    const share = scrollTop / Math.max(1, scrollHeight - clientHeight);
    const parts = event.target.closest(".pair").querySelectorAll(`[data-sync="${sync}"]`);
    for (const other of parts) {
      const reach = other.scrollHeight - other.clientHeight;
      if (other === event.target || reach <= 0) continue;
      other.explorerMoved = Math.abs(other.scrollTop - share * reach) >= 1;
      other.scrollTop = share * reach;
    }
  }, true);
  const restore = (part) => {
    for (const element of part.querySelectorAll("details[data-keep]")) {
      const open = kept.get(element.dataset.keep);
      if (open !== undefined && element.open !== open) element.open = open;
    }
    for (const element of part.querySelectorAll("[data-keep-scroll]")) {
      const top = kept.get(element.dataset.keepScroll);
      if (top && element.scrollTop !== top) element.scrollTop = top;
    }
    if (focused && document.hasFocus() && document.activeElement === document.body) {
      const element = [...part.querySelectorAll("[data-act]")].find((each) => name(each) === focused);
      (element?.matches("tr") ? element.querySelector("button") : element)?.focus({ preventScroll: true });
    }
  };
  // Gradio's components have no such attributes: checks from outside find some by the first, and what
  // opens over the page does so by the second.
  const TESTED = { reader: "reader", start: "score-start", stop: "score-stop" };
  new MutationObserver((changes) => {
    for (const [id, name] of Object.entries(TESTED)) document.getElementById(id)?.setAttribute("data-testid", name);
    for (const each of document.querySelectorAll(".popover:not([popover])")) each.popover = "auto";
    new Set(changes.map((change) => change.target.closest(".relayed") ?? change.target)).forEach(restore);
  }).observe(document.body, { childList: true, subtree: true });

  // Gradio keeps the elements and changes their attributes, which a field that was used ignores.
  new MutationObserver((changes) => {
    for (const change of changes) {
      const target = change.target.closest("option") ? change.target.closest("select") : change.target;
      if (!target?.matches(".relayed :is(input, select)[data-act]")) continue;
      if (target.type === "checkbox") target.checked = target.hasAttribute("checked");
      else if (target.hasAttribute("value")) target.value = target.getAttribute("value");
    }
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["checked", "value"] });

  // Over a histogram of margins a range is dragged.
  document.addEventListener("pointerdown", (event) => {
    const bars = event.target.closest(".margins .bars"), brushed = bars?.querySelector(".brushed");
    if (!bars || event.button) return;
    event.preventDefault();
    bars.setPointerCapture(event.pointerId);
    const { left, width } = bars.getBoundingClientRect(), before = brushed.style.cssText;
    const share = (at) => Math.min(1, Math.max(0, (at.clientX - left) / width));
    const ends = (to) => [share(event), share(to)].sort((one, other) => one - other);
    bars.onpointermove = (to) => {
      const [low, high] = ends(to);
      brushed.style.cssText = `left: ${100 * low}%; right: ${100 - 100 * high}%`;
    };
    bars.onpointerup = bars.onpointercancel = (to) => {
      bars.onpointermove = bars.onpointerup = bars.onpointercancel = null;
      const limit = Number(bars.closest(".margins").dataset.limit);
      // At the edge, what lies beyond it is meant, too.
      const [low, high] = ends(to).map((each) => each % 1 ? Number(((2 * each - 1) * limit).toPrecision(3)) : null);
      if (to.type === "pointerup" && Math.abs(to.clientX - event.clientX) > 3) send(bars.closest(".relayed"), "margin", { low, high });
      else brushed.style.cssText = before;
    };
  });
  document.addEventListener("dblclick", (event) => {
    const bars = event.target.closest(".margins .bars");
    if (bars) send(bars.closest(".relayed"), "margin", {});
  });

  // A figure's models, bars and ranges, from when it is first pressed.
  const PLOTS = {
    "pairs-plot": (part) => ({
      plotly_click: (event) => {
        const key = event.points[0].customdata;
        if (key) send(part, "goto", { value: key });
      },
    }),
    "lengths-plot": (part) => ({
      plotly_click: (event) => {
        const [measure, low, high, subset] = event.points[0].customdata || [];
        if (measure && (low ?? high ?? null) !== null) {
          send(part, "range", { measure, low, high, ...(subset && { subset }) });
        }
      },
      plotly_selected: (event) => {
        const reach = event?.range?.x || Object.entries(event?.range || {})
          .find(([axis]) => axis.startsWith("x"))?.[1];
        if (!reach) return;
        const [low, high] = [...reach].sort((one, other) => one - other);
        send(part, "range", { low: Math.ceil(low), high: Math.floor(high) });
      },
    }),
  };
  document.addEventListener("pointerdown", (event) => {
    const figure = event.target.closest(".js-plotly-plot");
    if (!figure?.on || figure.explorerListens) return;
    figure.explorerListens = true;
    for (const [plot, listeners] of Object.entries(PLOTS)) {
      if (!figure.closest(`.${plot}`)) continue;
      Object.entries(listeners(figure.closest(".relayed"))).forEach(([name, listen]) => figure.on(name, listen));
    }
  }, true);

  // The address says what is on screen; the search fields say what the address does.
  const setField = (element, value) => {
    if (element === document.activeElement && element.type === "search") return;
    if (element.type === "checkbox") element.checked = Boolean(value);
    else element.value = value || (element.matches("select") ? "all" : "");
  };
  const addresses = new Map();
  const source = (query) => new URLSearchParams(query).get("source");
  const asked = new URLSearchParams(location.search).get("tab") || "pairs";
  const asksForApi = new URLSearchParams(location.search).get("view") === "api";
  let tab = "pairs", linked = [];
  // What opens something is a step that Back undoes; what is typed, ticked or walked through changes
  // the step one is on. While Back is followed the address is the browser's.
  const OPENS = new Set([
    "open", "goto", "random", "panel", "model", "against", "cell", "slices", "a", "b", "add", "swap", "close", "ticked",
  ]);
  const going = () => pending(document.getElementById("go"));
  // In a review that has begun the pair on screen is the review's.
  const reviewed = () => new URLSearchParams(addresses.get(REVIEW)).get("key");
  const addressOf = (id) => {
    const query = addresses.get(id), key = reviewed();
    if (!key || id !== "pairs" || new URLSearchParams(query).get("panel") !== REVIEW) return query;
    const others = query.split("&").filter((each) => !each.startsWith("pair="));
    return [...others, `pair=${encodeURIComponent(key).replaceAll("%3A", ":")}`].join("&");
  };
  const write = (anew = false) => {
    if (going().some((act) => act.sent.back)) return;
    const parts = [tab === "pairs" ? "" : `tab=${tab}`, addressOf(tab)];
    const query = parts.filter(Boolean).join("&");
    const address = query ? `?${query}` : location.pathname;
    try {
      if (!anew) history.replaceState(history.state, "", address);
      else if (query !== location.search.slice(1)) history.pushState(history.state, "", address);
      if (window.parent !== window) {
        window.parent.postMessage({ queryString: query, hash: "" }, "https://huggingface.co");
      }
    } catch { /* some browsers refuse many changes of the address in a short time */ }
  };
  // A tab that is turned to is brought up to date, and filled where it was never open.
  const look = (part) => {
    if (part?.id === tab && linked.includes(tab)) send(part, "turned", {});
  };
  const turn = (opened) => {
    const isTurned = tab !== opened && !going().length; // else a link turns to it, and fills it
    tab = opened;
    if (linked.length && isTurned) {
      if (!VIEWS.includes(opened) || tabIn(location.search) !== opened) write(true);
      if (VIEWS.includes(opened)) window.explorerViews?.get(opened)?.open(location.search);
      else look(document.getElementById(opened));
    }
    return [];
  };
  const fill = (id, query) => {
    const part = document.getElementById(id);
    const params = new URLSearchParams(query);
    addresses.set(id, query);
    // A tab that was never open is not on the page yet.
    for (const field of part?.querySelectorAll(".searchbar [data-param]") || []) {
      setField(field, params.get(field.dataset.param));
    }
    return [];
  };
  // By it the server knows what belongs to this browser.
  const SECRET = "rewardbench-explorer-secret";
  const keepSecret = (secret) => {
    try {
      if (localStorage.getItem(SECRET) === secret) return;
      localStorage.setItem(SECRET, secret);
    } catch { return; }
    for (const view of window.explorerViews?.values() ?? []) view.open(location.search);
  };
  const opened = (ids, queries) => {
    ids.forEach((id, place) => { if (queries[place]) fill(id, queries[place]); });
    document.documentElement.dataset.explorer = "ready";
    linked = ids;
    requestAnimationFrame(() => seeRow(document.getElementById("pairs")));
    showAsked(location.search);
    if (tab !== asked && !addresses.has(tab)) look(document.getElementById(tab));
    // Pairs that the address asks for and that are not here yet are still asked for by it.
    if (!VIEWS.includes(asked) && [null, source(queries[0])].includes(source(location.search))) write();
    keepSecret(queries[ids.length]);
    // To Gradio it is open, but not loaded before its button is pressed: closed, and opened.
    if (asksForApi) { pressApi(); pressApi(); }
    return [];
  };
  // The page of the endpoints opens by a button in Gradio's footer, which is not shown.
  const pressApi = () => document.querySelector("footer .show-api")?.click();
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href="?view=api"]');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    pressApi();
  });
  const went = ([go, ...ids], queries) => {
    const part = document.getElementById(go), { query, back } = part.explorerSent?.sent ?? {};
    ids.forEach((id, place) => { wrote(id, queries[place], null); });
    tab = new URLSearchParams(query).get("tab") || "pairs";
    if (tab === "pairs" && !back) showAsked(query);
    next(part);
    write(!back);
    requestAnimationFrame(() => seeRow(document.getElementById("pairs")));
    return [];
  };
  addEventListener("popstate", () => {
    if (VIEWS.includes(tabIn(location.search))) openView(location.search);
    else send(document.getElementById("go"), "go", { query: location.search, back: true });
  });
  // anew: whether the address is a step of its own; null where it is not to be written.
  const wrote = (id, query, anew = false) => {
    const part = document.getElementById(id);
    if (typeof query !== "string") return [];
    if (id === "pairs" && source(query) !== source(addresses.get(id))) document.getElementById("dataset").hidePopover();
    addresses.set(id, query);
    if (!(part?.explorerQueue || []).some((act) => act.act === "search")) fill(id, query);
    if (id === tab && anew !== null) write(anew);
    if (id === REVIEW && tab === "pairs") write();
    return [];
  };
  // On narrow screens one pane of the Pairs tab is in view.
  const showPane = (part, pane) => {
    part.dataset.pane = pane;
    for (const button of part.querySelectorAll("button[data-pane]")) {
      button.setAttribute("aria-pressed", button.dataset.pane === pane);
    }
  };
  const showAsked = (query) => {
    showPane(document.getElementById("pairs"), new URLSearchParams(query).has("pair") ? "pair" : "list");
  };
  document.addEventListener("click", (event) => {
    const part = event.target.closest("#pairs"), isOpen = part?.dataset.pane === "filters";
    const pane = event.target.closest("button[data-pane]")?.dataset.pane;
    if (pane) showPane(part, isOpen && pane === "filters" ? "list" : pane);
    else if (isOpen && innerWidth > 900 && event.target.closest(".list-pane, .reader-pane")) showPane(part, "list");
  });
  // The open row stays in sight in its list, and a pair that was stepped to on the screen.
  const seeRow = (part) => {
    const row = part.querySelector(".list tr[aria-current]");
    const list = row?.closest(".list");
    if (!list) return;
    const head = list.querySelector("thead").offsetHeight;
    const [top, bottom] = [row.offsetTop - head, row.offsetTop + row.offsetHeight];
    if (top < list.scrollTop) list.scrollTop = top;
    if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
  };
  const follow = (part) => {
    if (part.explorerAct === "open") {
      part.querySelector(".drawer")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    }
    seeRow(part);
    if (!["step", "random", "goto", "open"].includes(part.explorerAct)) return;
    part.querySelector(".reader-scroll")?.scrollTo(0, 0);
    if (part.id === "pairs" && part.explorerAct !== "step") showPane(part, "pair");
  };
  let walked = false;
  const done = (id, query, made) => {
    const part = document.getElementById(id), name = part?.explorerAct;
    wrote(id, query, OPENS.has(name) || (name === "step" && !walked));
    walked = name === "step";
    if (id === REVIEW) {
      keepReviews(part, made);
      if (part.explorerAct === "offer") takeUpPresses(part);
      next(part);
    } else if (part) requestAnimationFrame(() => {
      for (const field of part.querySelectorAll(".once input")) field.value = "";
      follow(part);
      next(part);
    });
    return [];
  };

  const refused = (id) => {
    const part = document.getElementById(id);
    if (!part) return [];
    if (part.explorerSent && isPress(part.explorerSent)) {
      const act = part.explorerSent;
      act.refusals = (act.refusals ?? 0) + 1;
      setTimeout(() => part.explorerSend(act), AGAIN * Math.min(act.refusals, 15));
      if (isStuck(part)) { relays().forEach(advance); showBusy(); }
      return [];
    }
    for (const box of part.querySelectorAll(".facet input[type=checkbox]")) box.checked = box.hasAttribute("checked");
    next(part);
    return [];
  };

  const copy = async (words) => {
    try { await navigator.clipboard.writeText(words); } catch {
      const field = document.body.appendChild(document.createElement("textarea"));
      field.value = words;
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  };
  // A table as spreadsheets take it: below a head that spans two rows there is an empty cell.
  const cells = (table) => [...table.rows].map((row) => {
    const spanned = [...row.previousElementSibling?.cells ?? []].filter((head) => head.rowSpan > 1).map(() => "");
    const words = [...row.cells].flatMap((cell) => [cell.textContent, ...Array(cell.colSpan - 1).fill("")]);
    return [...spanned, ...words].join("\t");
  }).join("\n");
  // A figure as a file: by Plotly's own button, which is out of sight, on a white ground.
  document.addEventListener("click", (event) => {
    const format = event.target.closest("[data-picture]")?.dataset.picture;
    const figure = format && event.target.closest(".relayed").querySelector(".lengths-plot .js-plotly-plot");
    if (!figure) return;
    const ground = figure.layout.paper_bgcolor;
    figure.layout.paper_bgcolor = "white";
    figure._context.toImageButtonOptions = { format, filename: "lengths", scale: format === "png" ? 2 : 1 };
    figure._fullLayout._modeBar.buttons.flat().find((button) => button.name === "toImage").click(figure);
    figure.layout.paper_bgcolor = ground;
  });
  // Of a review that has begun, what is sent to others is the pair on screen.
  const linkedSearch = () => reviewed()
    ? location.search.replace(`&panel=${REVIEW}`, "") : location.search;
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const base = button.dataset.copy;
    const from = base !== "link" && document.querySelector(base);
    const words = base === "link" ? (button.dataset.base || location.origin + location.pathname) + linkedSearch()
      : (from?.rows ? cells(from) : from?.textContent) || "";
    await copy(words);
    const said = button.textContent;
    if (button.dataset.said && said !== button.dataset.said) {
      button.textContent = button.dataset.said;
      setTimeout(() => { button.textContent = said; }, 1500);
    }
  });

  const act = (id, name, sent) => { send(document.getElementById(id), name, sent); return []; };
  const idle = async (id, inputs) => {
    const part = document.getElementById(id);
    while (pending(part).length && !isStuck(part)) await new Promise((go) => setTimeout(go, 50));
    return inputs;
  };

  window.explorer = { act, follow: followLink, opened, went, wrote, refused, done, turn, look, idle, reviews };
})
