// The list is endless: what was scrolled to stays while the same pairs are listed, and more follows at its ends.
(() => {
  const EARLY = "800px 0px", MOST = 150;
  const rowsOf = (list) => [...list.querySelectorAll("tbody tr")];
  const numberOf = (row) => Number(row.id.slice("row-".length));
  // The rows of a page put in their places; gives whether they are of the list, and touch those that stand there.
  const put = (list, html, isLook) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    const made = template.content.querySelector(".list");
    if (!list || made?.dataset.list !== list.dataset.list || template.content.querySelector("[data-refresh]")) return false;
    const rows = rowsOf(list), page = rowsOf(made), first = numberOf(rows[0]), last = numberOf(rows.at(-1));
    if (last < numberOf(page[0]) - 1 || first > numberOf(page.at(-1)) + 1) return false;
    const seen = rows.find((row) => row.offsetTop + row.offsetHeight > list.scrollTop) ?? rows[0];
    const { top } = seen.getBoundingClientRect();
    for (const row of isLook ? page : rows) row.removeAttribute("aria-current");
    for (const row of isLook ? [] : page) {
      const old = list.querySelector(`#${row.id}`);
      if (old) Idiomorph.morph(old, row, { morphStyle: "outerHTML" });
    }
    const above = page.filter((row) => numberOf(row) < first), below = page.filter((row) => numberOf(row) > last);
    rows[0].before(...above);
    rows.at(-1).after(...below);
    const all = rowsOf(list), n = Math.max(0, all.length - MOST);
    for (const row of above.length ? all.slice(all.length - n) : all.slice(0, n)) row.remove();
    ends(list);
    if (seen.isConnected) list.scrollTop += seen.getBoundingClientRect().top - top;
    return true;
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
  let watch = null, isAsking = false;
  const follow = async (seen) => {
    const link = seen.find((each) => each.isIntersecting && each.target.isConnected)?.target;
    if (!link || isAsking) return;
    isAsking = true;
    const list = link.closest(".list"), view = window.explorerViews.get(link.closest("[data-tab]").dataset.tab);
    const html = await view.page(link.search).catch(() => null);
    isAsking = false;
    if (html && list.isConnected) put(list, html, true);
    watchAll();
  };
  const watchAll = () => {
    watch?.disconnect();
    const list = document.querySelector("#pairs .list");
    watch = list && new IntersectionObserver(follow, { root: list, rootMargin: EARLY });
    list?.querySelectorAll(".more-rows:not([hidden])").forEach((link) => watch.observe(link));
  };
  document.addEventListener("drawn", watchAll);
  Object.assign(window.explorer, { putRows: (region, html) => put(region.querySelector(".list"), html, false) });
})
