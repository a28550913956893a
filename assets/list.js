// The list is endless: what was scrolled to stays while the same pairs are listed, and more follows at its ends.
(() => {
  const EARLY = "800px 0px", MOST = 150, LATER = 3000;
  const rowsOf = (list) => [...list.querySelectorAll("tbody tr")];
  const numberOf = (row) => Number(row.id.slice("row-".length));
  const goesOn = (root) => Boolean(root.querySelector("[data-refresh]"));
  // The rows of a page put in their places; gives whether they are of the list, and touch those that stand there.
  const put = (list, html, isLook) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    const made = template.content.querySelector(".list");
    if (!list || made?.dataset.list !== list.dataset.list || goesOn(template.content)) return false;
    const rows = rowsOf(list), page = rowsOf(made), first = numberOf(rows[0]), last = numberOf(rows.at(-1));
    if (last < numberOf(page[0]) - 1 || first > numberOf(page.at(-1)) + 1) return false;
    const anchor = rows.find((row) => row.offsetTop + row.offsetHeight > list.scrollTop) ?? rows[0];
    const { top } = anchor.getBoundingClientRect();
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
    if (anchor.isConnected) list.scrollTop += anchor.getBoundingClientRect().top - top;
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
  // Who walks along the rows by Tab comes to the link at their end, and past it.
  const isWalked = (list) => list.contains(document.activeElement) && document.activeElement.matches(":focus-visible");
  let watch = null, isAsking = false;
  const follow = async (entries) => {
    const link = entries.find((each) => each.isIntersecting && each.target.isConnected)?.target;
    const list = link?.closest(".list");
    if (!link || isAsking || isWalked(list)) return;
    isAsking = true;
    const html = await window.explorerViews.get("pairs").page(link.search).catch(() => null);
    isAsking = false;
    if (html && list.isConnected && put(list, html, true)) watchAll();
    else setTimeout(watchAll, LATER);
  };
  const watchAll = () => {
    watch?.disconnect();
    const list = document.querySelector("#pairs .list");
    watch = null;
    if (!list || goesOn(list.closest("[data-region]"))) return;
    watch = new IntersectionObserver(follow, { root: list, rootMargin: EARLY });
    list.querySelectorAll(".more-rows:not([hidden])").forEach((link) => watch.observe(link));
  };
  document.addEventListener("drawn", watchAll);
  Object.assign(window.explorer, { putRows: (region, html) => put(region.querySelector(".list"), html, false) });
})
