// The list is endless: what was scrolled to stays while the same pairs are listed, and more follows at its ends.
(() => {
  const MOST = 100, EARLY = "800px 0px";
  const rowsOf = (list) => [...list.querySelectorAll("tbody tr")];
  const numberOf = (row) => Number(row.id.slice("row-".length));
  const parsed = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template;
  };
  const ends = (list) => {
    const rows = rowsOf(list), { total, rows: ofPage } = list.dataset;
    for (const link of list.querySelectorAll("[data-more]")) {
      const at = link.dataset.more === "after" ? numberOf(rows.at(-1)) + 1 : numberOf(rows[0]) - 1;
      const query = new URLSearchParams(link.search);
      query.set("list-page", Math.floor(at / ofPage) + 1);
      link.href = `?${query}`;
      link.hidden = at < 0 || at >= total;
    }
  };
  // The HTML of a page with the rows that stand around it already; as it is where they do not touch it.
  const withRows = (region, html) => {
    const old = region.querySelector(".list"), template = parsed(html), list = template.content.querySelector(".list");
    if (!old || list?.dataset.list !== old.dataset.list) return html;
    const before = rowsOf(old), now = rowsOf(list), [low, high] = [numberOf(now[0]), numberOf(now.at(-1))];
    if (numberOf(before.at(-1)) < low - 1 || numberOf(before[0]) > high + 1) return html;
    const copies = before.map((row) => row.cloneNode(true));
    copies.forEach((row) => row.removeAttribute("aria-current"));
    now[0].before(...copies.filter((row) => numberOf(row) < low).slice(-MOST));
    now.at(-1).after(...copies.filter((row) => numberOf(row) > high).slice(0, MOST));
    ends(list);
    return template.innerHTML;
  };
  const add = (list, html, isAfter) => {
    const made = parsed(html).content.querySelector(".list");
    if (made?.dataset.list !== list.dataset.list) return;
    const known = new Set(rowsOf(list).map(({ id }) => id)), rows = rowsOf(made).filter(({ id }) => !known.has(id));
    rows.forEach((row) => row.removeAttribute("aria-current"));
    const height = list.scrollHeight, body = list.querySelector("tbody");
    if (isAfter) body.append(...rows); else body.prepend(...rows);
    if (!isAfter && !CSS.supports("overflow-anchor", "auto")) list.scrollTop += list.scrollHeight - height;
    ends(list);
  };
  let isAsking = false;
  const watch = new IntersectionObserver(async (seen) => {
    const link = seen.find((each) => each.isIntersecting && each.target.isConnected)?.target;
    if (!link || isAsking) return;
    isAsking = true;
    const list = link.closest(".list"), view = window.explorerViews.get(link.closest("[data-tab]").dataset.tab);
    const html = await view.page(link.search).catch(() => null);
    isAsking = false;
    if (html && list.isConnected) add(list, html, link.dataset.more === "after");
    watchAll();
  }, { rootMargin: EARLY });
  const watchAll = () => {
    watch.disconnect();
    document.querySelectorAll(".more-rows:not([hidden])").forEach((link) => watch.observe(link));
  };
  document.addEventListener("drawn", watchAll);
  Object.assign(window.explorer, { withRows });
})
