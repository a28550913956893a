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
  document.addEventListener("drawn", ({ target }) => {
    const texts = kept();
    for (const field of target.querySelectorAll(FIELDS)) {
      const text = texts[nameOf(field)];
      if (text !== undefined && field !== document.activeElement && field.value !== text) field.value = text;
    }
  });
})
