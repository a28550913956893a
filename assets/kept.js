// What stands in fields that no address holds stays in this browser, and is there again when the page is.
(() => {
  const KEPT = "rewardbench-explorer-texts", FIELDS = "[data-sent]:not([type=password], [type=checkbox])";
  const kept = () => { try { return JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { return {}; } };
  const keep = (texts) => {
    try { localStorage.setItem(KEPT, JSON.stringify({ ...kept(), ...texts })); } catch { /* it is full */ }
  };
  const nameOf = (field) => `${field.closest("[data-tab]").dataset.tab}-${field.dataset.sent}`;
  document.addEventListener("input", ({ target }) => {
    if (target.matches(FIELDS)) keep({ [nameOf(target)]: target.value });
  });
  // Texts that the server writes into fields of a view, and those before, to which one can go back.
  const MOST = 20, before = [];
  const fill = (view, texts) => {
    for (const field of view.querySelectorAll(FIELDS)) {
      const text = texts[field.dataset.sent];
      if (text === undefined || field.value === text) continue;
      field.value = text;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    for (const button of view.querySelectorAll("[data-undo]")) button.disabled = !before.length;
  };
  const write = (view, texts) => {
    if (!Object.keys(texts).length) return;
    before.push(Object.fromEntries([...view.querySelectorAll(FIELDS)].map((each) => [each.dataset.sent, each.value])));
    before.splice(0, before.length - MOST);
    fill(view, texts);
  };
  document.addEventListener("click", ({ target }) => {
    const view = target.closest("[data-undo]")?.closest("[data-tab]");
    if (view && before.length) fill(view, before.pop());
  });
  const restored = new WeakSet(); // fields are filled once: what is typed then is theirs
  document.addEventListener("drawn", ({ target }) => {
    fill(target, {});
    const texts = kept();
    for (const field of target.querySelectorAll(FIELDS)) {
      const text = texts[nameOf(field)];
      if (text !== undefined && !restored.has(field)) field.value = text;
      restored.add(field);
    }
  });
  // What an earlier version kept of the texts of Try. Gives whether it is kept here.
  const takeTyped = (typed) => {
    if (!(typed?.length >= 3) || "try-prompt" in kept()) return true;
    const texts = Object.fromEntries(["prompt", "chosen", "rejected"].map((name, at) => [name, typed.at(at - 3)]));
    keep(Object.fromEntries(Object.entries(texts).map(([name, text]) => [`try-${name}`, text])));
    const view = document.querySelector("[data-tab=try]");
    if (view) fill(view, texts);
    return "try-prompt" in kept();
  };
  Object.assign(window.explorer, { write, takeTyped });
})
