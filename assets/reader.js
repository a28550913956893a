// The open pair: its differences one by one, where they lie, its formulas, one harmful text.
(() => {
  const KATEX = `${window.gradio_config?.root ?? ""}/katex`, LONGEST_FORMULA = 4000, MOST_CHARACTERS = 60000;
  const TICK = 3, SLICE = 40;
  const DEFINES = /\\(?:[gex]?def|global|long|let|futurelet|(?:new|renew|provide)command|begingroup|char)(?![a-zA-Z])/;
  let one = null;

  const pairs = () => [...document.querySelectorAll(".pair[data-differences]")].filter((pair) => pair.offsetParent);
  const barOf = (pair) => {
    const bars = [...document.querySelectorAll(".reader-bar")].filter((bar) => bar.offsetParent);
    return bars.find((bar) => bar.closest(".view") === pair.closest(".view"));
  };
  const marksOf = (pair, number) => pair.querySelectorAll(`[data-difference="${number}"]`);

  // The current difference of each pair; what is written anew begins at the first.
  const places = new WeakMap();
  const placeOf = (pair) => {
    const known = places.get(pair), shown = pair.dataset.key + pair.dataset.differences;
    if (known?.shown === shown) return known;
    const place = { shown, at: 1, isFirst: true };
    places.set(pair, place);
    return place;
  };

  const tell = (pair) => {
    const n = Number(pair.dataset.differences), bar = barOf(pair)?.querySelector(".differences");
    const { at } = placeOf(pair);
    if (bar) {
      bar.hidden = !n;
      const place = bar.querySelector(".difference-place");
      const words = place.dataset.words.replace("{at}", at).replace("{n}", n);
      if (n && place.textContent !== words) place.textContent = words;
    }
    for (const mark of pair.querySelectorAll(".here")) {
      if (mark.dataset.difference !== String(at)) mark.classList.remove("here");
    }
    for (const mark of marksOf(pair, at)) mark.classList.add("here");
  };

  // A strip at the edge of each card, as high as what is seen of it, with a tick for each difference.
  const draw = (pair) => {
    for (const strip of pair.querySelectorAll(".overview")) {
      const body = strip.parentElement.querySelector(".body"), box = body.getBoundingClientRect();
      const colour = strip.closest(".chosen") ? "chosen" : "rejected", shown = strip.firstElementChild;
      strip.style.top = `${body.offsetTop}px`;
      const height = shown.clientHeight, { at } = placeOf(pair), ticks = new Map();
      for (const mark of height ? body.querySelectorAll("[data-difference]") : []) {
        const { top, bottom } = mark.getBoundingClientRect();
        const where = TICK * Math.round(((top + bottom) / 2 - box.top + body.scrollTop) / body.scrollHeight * (height - TICK) / TICK);
        if (!ticks.get(where)) ticks.set(where, mark.dataset.difference === String(at));
      }
      const stops = [...ticks].sort(([one], [other]) => one - other).map(([where, isHere]) => {
        const ink = `var(--${colour}${isHere ? "-ink" : ""})`;
        return `transparent ${where}px, ${ink} ${where}px, ${ink} ${where + TICK}px, transparent ${where + TICK}px`;
      });
      const image = stops.length ? `linear-gradient(${stops.join(", ")})` : "";
      if (shown.explorerDrawn !== image || !shown.style.backgroundImage !== !image) shown.style.backgroundImage = image;
      shown.explorerDrawn = image;
    }
  };

  // What holds the panes is never scrolled, as scrollIntoView would.
  const bringIn = (mark) => {
    for (let pane = mark.parentElement; pane; pane = pane.parentElement) {
      const scrolls = /auto|scroll/.test(getComputedStyle(pane).overflowY) && pane.scrollHeight > pane.clientHeight;
      if (!scrolls && pane !== document.scrollingElement) continue;
      const { top, bottom } = mark.getBoundingClientRect(), above = Math.max(0, pane.getBoundingClientRect().top);
      const before = pane.scrollTop;
      if (pane.dataset.sync) pane.explorerMoved = true;
      pane.scrollTop += (top + bottom) / 2 - above - Math.min(pane.clientHeight, innerHeight - above) / 2;
      if (pane.scrollTop === before) pane.explorerMoved = false;
    }
  };

  // Where the two sides of a difference are too far apart to be seen at once, the higher one is moved
  // down beside the other.
  const scrollTo = (pair) => {
    const [chosen, rejected] = ["chosen", "rejected"].map((side) => pair.querySelector(`:scope > .${side} > .body`));
    for (const body of [chosen, rejected]) body.style.removeProperty("--moved");
    const marks = [...marksOf(pair, placeOf(pair).at)];
    const tops = [chosen, rejected].map((body) =>
      marks.find((mark) => body.contains(mark))?.getBoundingClientRect().top);
    const isBeside = Math.abs(chosen.getBoundingClientRect().left - rejected.getBoundingClientRect().left) > 9;
    const apart = tops[0] - tops[1];
    if (isBeside && Math.abs(apart) > innerHeight / 3) {
      (apart < 0 ? chosen : rejected).style.setProperty("--moved", `${Math.round(Math.abs(apart))}px`);
    }
    for (const body of [rejected, chosen]) {
      const mark = marks.find((each) => body.contains(each));
      if (mark) bringIn(mark);
    }
    draw(pair);
  };
  const isSeen = (mark) => {
    const { top, bottom } = mark.getBoundingClientRect();
    const pane = mark.closest(".reader-scroll")?.getBoundingClientRect();
    return top >= Math.max(0, pane?.top ?? 0) && bottom <= Math.min(innerHeight, pane?.bottom ?? innerHeight);
  };
  const goTo = (pair, at) => {
    const n = Number(pair.dataset.differences), place = placeOf(pair);
    Object.assign(place, { at: (at - 1 + n) % n + 1, isFirst: false });
    tell(pair);
    scrollTo(pair);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".next-difference, .previous-difference");
    const pair = button && pairs().find((each) => barOf(each)?.contains(button));
    if (pair && Number(pair.dataset.differences)) {
      const { at, isFirst } = placeOf(pair), isNext = button.matches(".next-difference");
      const stays = isFirst && isNext && ![...marksOf(pair, at)].some(isSeen);
      goTo(pair, stays ? at : at + (isNext ? 1 : -1));
    }
    const strip = event.target.closest(".overview > i");
    if (strip) {
      const body = strip.closest("section").querySelector(".body"), box = strip.getBoundingClientRect();
      const { top } = body.getBoundingClientRect();
      const wanted = (event.clientY - box.top) / box.height * body.scrollHeight - body.scrollTop + top;
      const away = (mark) => Math.abs(mark.getBoundingClientRect().top - wanted);
      const marks = [...strip.closest("section").querySelectorAll("[data-difference]")];
      const nearest = marks.reduce((best, mark) => away(mark) < away(best) ? mark : best);
      goTo(strip.closest(".pair"), Number(nearest.dataset.difference));
    }
    const reveal = event.target.closest(".reveal-one");
    if (reveal) {
      one = reveal.closest(".pair").dataset.key;
      show();
    }
  });

  // One harmful text is shown until another pair is.
  const show = () => {
    for (const pair of document.querySelectorAll(".pair.may-harm")) {
      if (pair.dataset.key === one) pair.dataset.shown = "";
    }
    for (const row of document.querySelectorAll(".list tr.may-harm")) {
      row.toggleAttribute("data-shown", row.querySelector(".key").textContent.trim() === one);
    }
  };

  // Formulas are rendered by KaTeX, which is fetched for the first; what it cannot read stays as it is
  // written. Its options, no definitions and a length bound what a formula can do and how long it takes.
  let katex = null;
  const load = () => katex ??= new Promise((loaded, failed) => {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${KATEX}/katex.min.css` });
    const script = Object.assign(document.createElement("script"), { src: `${KATEX}/katex.min.js` });
    Object.assign(script, { onload: () => loaded(window.katex), onerror: () => { katex = null; failed(); } });
    document.head.append(style, script);
  });
  const OPTIONS = { trust: false, throwOnError: false, maxSize: 20, maxExpand: 500, strict: "ignore", errorColor: "inherit", macros: { "\\mbox": "\\text" } };
  const render = (formula) => {
    const written = formula.textContent;
    formula.dataset.rendered = written.length;
    if (written.length > LONGEST_FORMULA || DEFINES.test(written)) return;
    const sign = written.startsWith("\\begin") ? 0 : /^(?:\$\$|\\[[(])/.test(written) ? 2 : 1;
    const displayMode = formula.matches(".display");
    try {
      window.katex.render(written.slice(sign, written.length - sign), formula, { ...OPTIONS, displayMode });
    } catch {
      formula.textContent = written;
    }
    if (formula.querySelector(".katex-error")) formula.textContent = written;
  };
  const waiting = () => {
    let room = MOST_CHARACTERS;
    const hasRoom = ({ dataset, textContent }) => (room -= Number(dataset.rendered ?? textContent.length)) >= 0;
    const shown = [...document.querySelectorAll(".math")].filter((formula) => formula.offsetParent);
    return shown.filter(hasRoom).filter((formula) => !("rendered" in formula.dataset));
  };
  let isRendering = false;
  const renderAll = async () => {
    if (isRendering || !waiting().length) return;
    isRendering = true;
    try {
      await load();
      for (let formulas; (formulas = waiting()).length;) {
        const end = performance.now() + SLICE;
        for (const formula of formulas) {
          render(formula);
          if (performance.now() > end) break;
        }
        await new Promise((go) => setTimeout(go));
      }
    } catch { /* they stay as they are written */ } finally { isRendering = false; }
  };

  // A long prompt is folded, and unfolded until another pair is shown.
  const fold = (prompt) => {
    const button = prompt.querySelector(".unfold"), body = prompt.querySelector(".body");
    const isOpen = "unfolded" in prompt.dataset, words = isOpen ? button.dataset.fold : button.dataset.unfold;
    const hidden = !isOpen && body.scrollHeight <= body.clientHeight + 4;
    if (button.hidden !== hidden) button.hidden = hidden;
    if (button.textContent !== words) button.textContent = words;
  };
  document.addEventListener("click", (event) => {
    const prompt = event.target.closest(".unfold")?.closest(".prompt");
    if (prompt) {
      prompt.toggleAttribute("data-unfolded");
      fold(prompt);
    }
  });

  const refresh = () => {
    show();
    renderAll();
    for (const pair of pairs()) {
      tell(pair);
      draw(pair);
      fold(pair.querySelector(".prompt"));
    }
    for (const pair of document.querySelectorAll(".pair")) resized.observe(pair);
  };
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries.filter((each) => each.target.offsetParent)) {
      if (!("differences" in target.dataset)) continue;
      tell(target);
      draw(target);
      fold(target.querySelector(".prompt"));
    }
    renderAll();
  });
  const PARTS = ".reader-bar, .pair";
  new MutationObserver((changes) => {
    const isOurs = ({ target }) => {
      const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
      return element && !element.closest(".math, .difference-place, .unfold") && (element.closest(PARTS) || element.querySelector(PARTS));
    };
    if (changes.some(isOurs)) refresh();
  }).observe(document.body, { childList: true, characterData: true, subtree: true, attributes: true, attributeFilter: ["data-key", "data-differences"] });
})
