// In a frame of another site a browser may keep nothing, and Gradio reads what it kept: for this page then.
(() => {
  let isForgetful = false;
  for (const name of ["localStorage", "sessionStorage"]) {
    try { if (window[name]) continue; } catch { /* access is denied */ }
    isForgetful = true;
    const kept = new Map();
    Object.defineProperty(window, name, { value: {
      getItem: (key) => kept.get(String(key)) ?? null,
      setItem: (key, value) => { kept.set(String(key), String(value)); },
      removeItem: (key) => { kept.delete(String(key)); },
      clear: () => kept.clear(),
    } });
  }
  // By it the server knows what belongs to this browser. An earlier version kept it in another way (page.js).
  const SECRET = "rewardbench-explorer-secret", FORMER = "rewardbench-explorer-visitor";
  const keepSecret = (former) => {
    const random = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24)))).replace(/[^A-Za-z0-9]/g, "-");
    try { localStorage.setItem(SECRET, former || random); } catch { /* it is full: nothing belongs to it */ }
  };
  if (!localStorage.getItem(SECRET) && !localStorage.getItem(FORMER)) keepSecret();
  // Before anything is drawn, so that nothing moves.
  if (localStorage.getItem("rewardbench-explorer-welcome")) document.documentElement.dataset.welcome = "seen";
  // The tab that an address opens.
  const tabIn = (query) => {
    const asked = new URLSearchParams(query).get("tab");
    return ["models", "score", "try", "about"].includes(asked) ? asked : "pairs";
  };
  const hasSecret = () => Boolean(localStorage.getItem(SECRET));
  window.explorer = { tabIn, isForgetful, keepSecret, hasSecret, hash: location.hash };
})();
