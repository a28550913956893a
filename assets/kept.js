// What stands in fields that no address holds stays in this browser, and is there again when the page is.
(() => {
  const KEPT = "rewardbench-explorer-texts", FIELDS = "[data-sent]:not([type=password], [type=checkbox])";
  const kept = () => { try { return JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { return {}; } };
  const keep = (texts) => {
    try { localStorage.setItem(KEPT, JSON.stringify({ ...kept(), ...texts })); } catch { /* it is full */ }
  };
  const nameOf = (field) => `${field.closest("[data-tab]").dataset.tab}-${field.dataset.sent}`;
  document.addEventListener("input", ({ target }) => {
    if (!target.matches(FIELDS)) return;
    keep({ [nameOf(target)]: target.value });
    tell(target.closest("[data-tab]"), ""); // it is not about these texts
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
  // A typed pair is sent in a link, behind "#" where no request holds it, or as a file if it is long.
  const LONGEST = 60000, MOST_BYTES = 2500000, SIGN = "#pair=", NAMES = ["prompt", "chosen", "rejected"];
  const through = async (bytes, how) => {
    const parts = [], reader = new Blob([bytes]).stream().pipeThrough(how).getReader();
    for (let size = 0, step; !(step = await reader.read()).done; parts.push(step.value)) {
      if ((size += step.value.length) > MOST_BYTES) throw new RangeError("it unpacks to too much");
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  };
  const packed = async (text) => {
    const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
    const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
  };
  const unpacked = async (word) => {
    const bytes = Uint8Array.from(atob(word.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));
    return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  };
  const tell = (view, words) => {
    const note = view.querySelector(".try-note");
    if (note) [note.textContent, note.hidden] = [words, !words];
  };
  const take = async (view, text, what) => {
    try {
      const found = JSON.parse(await text), texts = Object.fromEntries(NAMES.map((name) => [name, found[name]]));
      for (const field of view.querySelectorAll(FIELDS)) {
        const text = texts[field.dataset.sent];
        if (typeof text !== "string" || text.length > field.maxLength) throw new TypeError("it is no such text");
      }
      write(view, texts);
      tell(view, `The texts are from the ${what}. Undo brings back yours.`);
    } catch { tell(view, `This ${what} holds no pair that can be shown. Nothing was changed.`); }
  };
  const share = async (button, view) => {
    const texts = Object.fromEntries([...view.querySelectorAll(FIELDS)].map((each) => [each.dataset.sent, each.value]));
    const text = JSON.stringify(texts), isLong = Object.values(texts).join("").length > LONGEST;
    tell(view, isLong && button.dataset.share === "link"
      ? "The texts are too long for a link. They were saved as a file: File, Open a file shows them again." : "");
    if (isLong || button.dataset.share === "file") {
      window.explorerViews.get("try").download("pair.json", new Blob([text], { type: "application/json" }));
      button.closest("[popover]")?.hidePopover();
    } else {
      const base = (button.dataset.base || location.origin + location.pathname) + location.search;
      window.explorer.copy(button, `${base}${SIGN}${await packed(text)}`);
    }
  };
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("button[data-share]");
    if (button) share(button, button.closest("[data-tab]"));
  });
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("input[data-share]") || !target.files.length) return;
    const [file] = target.files, view = target.closest("[data-tab]");
    target.closest("[popover]").hidePopover();
    take(view, file.size > MOST_BYTES ? "" : file.text(), "file");
    target.value = "";
  });
  // The link is taken once its fields are there, and leaves the address.
  const open = () => {
    const view = document.querySelector("[data-tab=try]"), { hash } = window.explorer;
    if (!hash.startsWith(SIGN) || !view?.querySelector(FIELDS)) return;
    window.explorer.hash = "";
    history.replaceState(history.state, "", location.pathname + location.search);
    take(view, unpacked(hash.slice(SIGN.length)), "link");
  };
  document.addEventListener("drawn", open);
  addEventListener("hashchange", () => { window.explorer.hash = location.hash; open(); });
  Object.assign(window.explorer, { write, takeTyped });
})
