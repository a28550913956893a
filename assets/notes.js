// Notes on pairs, which this browser keeps by their texts.
(() => {
  const NOTES = "rewardbench-explorer-pair-notes", MOST = 2000;
  const notes = () => { try { return JSON.parse(localStorage.getItem(NOTES)) ?? {}; } catch { return {}; } };
  const keep = (all) => {
    try { localStorage.setItem(NOTES, JSON.stringify(all)); return true; } catch { return false; }
  };
  const show = (view) => {
    const all = notes();
    for (const field of view.querySelectorAll("[data-note]")) {
      if (field !== document.activeElement) field.value = all[field.dataset.note] ?? "";
    }
    for (const row of view.querySelectorAll("[data-mark]")) row.classList.toggle("noted", row.dataset.mark in all);
  };
  document.addEventListener("drawn", ({ target }) => show(target));
  addEventListener("storage", ({ key }) => { if (key === NOTES) show(document); });
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-note]")) return;
    const { [target.dataset.note]: _, ...others } = notes(), words = target.value.trim().replace(/\s+/g, " ");
    const isFull = words && Object.keys(others).length >= MOST;
    const isKept = !isFull && keep(words ? { ...others, [target.dataset.note]: words } : others);
    const said = target.parentElement.querySelector(".note-told");
    said.hidden = isKept;
    said.textContent = isKept ? "" : said.dataset[isFull ? "full" : "refused"];
    show(document);
  });
  // Notes from elsewhere, where there is none yet.
  const addNotes = (found) => {
    const all = notes();
    for (const [mark, words] of found) {
      const line = typeof words === "string" ? words.trim().replace(/\s+/g, " ") : "";
      if (mark && line && !all[mark] && Object.keys(all).length < MOST) all[mark] = line;
    }
    keep(all);
    show(document);
  };
  // A note is kept when its field is left, or the page is.
  addEventListener("pagehide", () => {
    const field = document.activeElement;
    if (field?.matches("[data-note]")) field.dispatchEvent(new Event("change", { bubbles: true }));
  });
  Object.assign(window.explorer, { notes, addNotes });
})
