// Notes on pairs, which this browser keeps by their texts.
(() => {
  const NOTES = "rewardbench-explorer-pair-notes", MOST = 2000;
  const notes = () => { try { return JSON.parse(localStorage.getItem(NOTES)) ?? {}; } catch { return {}; } };
  const keep = (all) => {
    try { localStorage.setItem(NOTES, JSON.stringify(all)); return true; } catch { return false; }
  };
  // A field may come to stand under another pair while somebody types in it.
  const stoodUnder = new WeakMap();
  let isTyped = false;
  const show = (view) => {
    for (const field of view.querySelectorAll("[data-note]")) {
      const { note } = field.dataset, before = stoodUnder.get(field) ?? note;
      if (before !== note && isTyped) write(field, before);
      if (before !== note || field !== document.activeElement) field.value = notes()[note] ?? "";
      stoodUnder.set(field, note);
    }
    const all = notes();
    for (const row of view.querySelectorAll("[data-mark]")) row.classList.toggle("noted", row.dataset.mark in all);
  };
  document.addEventListener("drawn", ({ target }) => show(target));
  addEventListener("storage", ({ key }) => { if (key === NOTES) show(document); });
  const write = (field, mark) => {
    isTyped = false;
    const { [mark]: _, ...others } = notes(), words = field.value.trim().replace(/\s+/g, " ");
    const isFull = words && Object.keys(others).length >= MOST;
    const isKept = !isFull && keep(words ? { ...others, [mark]: words } : others);
    const said = field.parentElement.querySelector(".note-told");
    said.hidden = isKept;
    said.textContent = isKept ? "" : said.dataset[isFull ? "full" : "refused"];
  };
  document.addEventListener("input", ({ target }) => {
    if (target.matches("[data-note]")) isTyped = true;
  });
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-note]")) return;
    write(target, stoodUnder.get(target) ?? target.dataset.note);
    show(document);
  });
  // Notes from elsewhere, where there is none yet.
  const addNotes = (found) => {
    const all = notes();
    for (const [mark, words] of found) {
      const line = typeof words === "string" ? words.trim().replace(/\s+/g, " ") : "";
      if (mark && line && !all[mark] && Object.keys(all).length < MOST) all[mark] = line;
    }
    const isKept = keep(all);
    show(document);
    return isKept;
  };
  // A note is kept when its field is left, or the page is.
  addEventListener("pagehide", () => {
    const field = document.activeElement;
    if (field?.matches("[data-note]")) field.dispatchEvent(new Event("change", { bubbles: true }));
  });
  Object.assign(window.explorer, { notes, addNotes });
})
