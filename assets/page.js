// Links into other tabs, the address of the page, and what else the page does beside its views.
(() => {
  // A link to another part of this page is followed in place; any other way of opening it is a link's.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-go]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    followLink(link.search);
  });
  // Tabs whose address is their state (go.js). The tab's button is pressed once its address is written.
  const { tabIn } = window.explorer;
  let turning = null;
  const openView = (query) => {
    tab = tabIn(query);
    const button = document.querySelector(`#tabs [role=tab][data-tab-id="${tab}"]:not([aria-selected=true])`);
    if (button) turning = tab;
    button?.click();
    window.explorerViews?.get(tab)?.open(query);
  };
  const closeMenus = () => document.querySelectorAll(":popover-open").forEach((menu) => menu.hidePopover());
  const followLink = (query) => {
    closeMenus();
    history.pushState(history.state, "", query);
    openView(query);
  };

  // What stands side by side is scrolled together.
  document.addEventListener("scroll", (event) => {
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
  // The address says what is on screen.
  const addresses = new Map();
  const source = (query) => new URLSearchParams(query).get("source");
  const asked = tabIn(location.search);
  const asksForApi = new URLSearchParams(location.search).get("view") === "api";
  let tab = "pairs", isOpen = false;
  const write = (anew = false) => {
    const parts = [tab === "pairs" ? "" : `tab=${tab}`, addresses.get(tab)];
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
  const turn = (opened) => {
    // Gradio tells late of the tab that it began with.
    if (turning !== null && turning !== opened) return [];
    turning = null;
    const isTurned = tab !== opened; // else a link turned to it, and fills it
    tab = document.documentElement.dataset.tab = opened;
    if (isOpen && isTurned) {
      if (tabIn(location.search) !== opened) write(true);
      window.explorerViews?.get(opened)?.turned();
    }
    return [];
  };
  const opened = (former) => {
    // What a view showed before this script was here.
    for (const [id, view] of window.explorerViews ?? []) wrote(id, view.shown().replace(/^\?tab=\w+&?/, ""), null);
    document.documentElement.dataset.explorer = "ready";
    isOpen = true;
    if (asked !== tab) openView(location.search);
    // The pairs that a link into Score is about are those that the head names.
    const about = asked === "score" && new URLSearchParams(location.search).get("pairs");
    if (about) window.explorerViews?.get("pairs")?.open(`?${about}`);
    if (!window.explorer.hasSecret()) {
      window.explorer.keepSecret(former);
      for (const view of window.explorerViews?.values() ?? []) view.anew();
    }
    // To Gradio it is open, but not loaded before its button is pressed: closed, and opened.
    if (asksForApi) { pressApi(); pressApi(); }
    return [];
  };
  // What an earlier version kept; gives whether it is kept in our way now.
  const takeOver = (name, kept) =>
    name === "notes" ? window.explorer.addNotes(Object.entries(kept ?? {})) : window.explorer.takeTyped(kept);
  // The page of the endpoints opens by a button in Gradio's footer, which is not shown.
  const pressApi = () => document.querySelector("footer .show-api")?.click();
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href="?view=api"]');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    closeMenus();
    pressApi();
  });
  addEventListener("popstate", () => openView(location.search));
  // anew: whether the address is a step of its own; null where it is not to be written.
  const wrote = (id, query, anew = false) => {
    if (id === "pairs" && source(query) !== source(addresses.get(id))) {
      document.getElementById("dataset")?.hidePopover();
      const shown = new URLSearchParams({ tab: "data", source: source(query) ?? "" });
      window.explorerViews?.get("data")?.go(`?${shown}`, "");
    }
    if (id === "pairs" && anew === null && query !== addresses.get(id)) {
      showPane(document.getElementById(id), new URLSearchParams(query).has("pair") ? "pair" : "list");
    }
    addresses.set(id, query);
    if (id === tab && anew !== null) write(anew);
  };
  // On narrow screens one pane of the Pairs tab is in view.
  const showPane = (part, pane) => {
    part.dataset.pane = pane;
    for (const button of part.querySelectorAll("button[data-pane]")) {
      button.setAttribute("aria-pressed", button.dataset.pane === pane);
    }
  };
  document.addEventListener("click", (event) => {
    const part = event.target.closest("#pairs"), isOpen = part?.dataset.pane === "filters";
    const pane = event.target.closest("button[data-pane], a[data-pane]")?.dataset.pane;
    if (pane) showPane(part, isOpen && pane === "filters" ? "list" : pane);
    else if (isOpen && innerWidth > 900 && event.target.closest(".list-pane, .reader-pane")) showPane(part, "list");
  });
  // A pair by its key, from anywhere.
  document.addEventListener("change", (event) => {
    if (!event.target.matches(".goto-key") || !event.target.value) return;
    const query = new URLSearchParams(window.explorerViews?.get("pairs")?.shown() || "?tab=pairs");
    const open = document.querySelector("#pairs .reader [data-key]")?.dataset.key;
    if (open) query.set("keep", open); // if there is no such pair
    query.set("pair", event.target.value);
    query.delete("list-page");
    if (query.get("panel") !== "review") query.delete("panel");
    event.target.value = "";
    event.target.blur();
    followLink(`?${query}`);
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
  let read = null, told = "";
  document.addEventListener("drawn", ({ target }) => {
    if (target.id === "pairs") {
      const words = target.querySelector(".list-pane .told")?.textContent ?? "", before = told;
      told = words;
      if (words && words !== before && target.dataset.pane === "pair") showPane(target, "list"); // where it stands
      const n = target.querySelector("[data-testid=result-count] b")?.textContent ?? "";
      target.querySelector(".pane-switch [data-pane=list]").dataset.n = n;
    }
    const pair = target.querySelector(".reader [data-key]");
    if (!pair || pair.dataset.key === read) return;
    read = pair.dataset.key;
    target.querySelector(".reader-scroll").scrollTo(0, 0);
    seeRow(target);
  });
  const copy = async (button, words) => {
    try { await navigator.clipboard.writeText(words); } catch {
      const field = document.body.appendChild(document.createElement("textarea"));
      field.value = words;
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    const place = button.querySelector("span") ?? button, label = place.textContent;
    if (!button.dataset.said || label === button.dataset.said) return;
    place.textContent = button.dataset.said;
    button.classList.add("said");
    setTimeout(() => { place.textContent = label; button.classList.remove("said"); }, 1500);
  };
  // A table as spreadsheets take it: below a head that spans two rows there is an empty cell.
  const cells = (table) => [...table.rows].map((row) => {
    const spanned = [...row.previousElementSibling?.cells ?? []].filter((head) => head.rowSpan > 1).map(() => "");
    const words = [...row.cells].flatMap((cell) => [cell.textContent, ...Array(cell.colSpan - 1).fill("")]);
    return [...spanned, ...words].join("\t");
  }).join("\n");
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const base = button.dataset.copy;
    const from = base !== "link" && document.querySelector(base);
    const copied = base === "link" ? (button.dataset.base || location.origin + location.pathname) + location.search
      : (from?.rows ? cells(from) : from?.textContent) || "";
    copy(button, copied);
  });

  // What was opened here is shown where somebody waits for it.
  document.addEventListener("drawn", ({ target }) => {
    const link = "awaits" in target.dataset && target.querySelector("[data-follow]");
    if (!link) return;
    delete target.dataset.awaits;
    if (link.closest("[popover]").matches(":popover-open")) followLink(link.search);
  });
  // Pairs that an address names are got by the view that opens others.
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-get]");
    if (button) window.explorerViews.get("data").act("open", undefined, button.dataset.get, "");
  });

  Object.assign(window.explorer, { copy, follow: followLink, opened, takeOver, wrote, turn });
})
