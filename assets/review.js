// A review of the listed pairs: each is marked keep, drop or unsure. This browser keeps the marks.
(() => {
  const MARKS = "rewardbench-explorer-marks", FORMER = "rewardbench-explorer-reviews";
  const VERDICTS = ["keep", "drop", "unsure"];
  const MOST = 50000, LARGEST_FILE = 20e6, LONGEST_NAME = 1000, LONGEST_NOTE = 2000, MOST_LINKS = 300, QUICK = 400;

  // A mark is [source, key, text hash, verdict, seconds since 1970]; a later one of a pair replaces an earlier.
  let unkept = null, known = { words: null, marks: [] };
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const marks = () => {
    if (unkept) return unkept;
    const words = stored(MARKS);
    if (words !== known.words) {
      known = { words, marks: [] };
      try { known.marks = JSON.parse(words)?.filter((each) => each?.length === 5) ?? []; } catch { /* no marks */ }
    }
    return known.marks;
  };
  const keep = (made) => {
    if (made.length > MOST) throw new Error(`A browser keeps ${MOST} marks. Export them, and begin anew.`);
    const words = JSON.stringify(made);
    try {
      localStorage.setItem(MARKS, words);
      [known, unkept] = [{ words, marks: made }, null];
    } catch { unkept = made; }
  };
  const idOf = ([, key, hash]) => `${hash} ${key}`;
  const idOfPair = ([key, hash]) => `${hash} ${key}`;
  const byPair = (made) => new Map(made.map((mark) => [idOf(mark), mark]));
  const seconds = () => Math.floor(Date.now() / 1000);

  const view = () => window.explorerViews?.get("pairs");
  const head = () => document.querySelector(".review-head"), bar = () => document.querySelector(".verdict-bar");
  const tell = (...words) => head()?.querySelector(".review-told").replaceChildren(...words.map((each) => {
    const told = document.createElement("div");
    told.className = "note told";
    told.textContent = each;
    return told;
  }));

  // Key, text hash and subset of the pairs that an address lists; while a run goes on, it lists ever more.
  const lists = new Map();
  const list = (href, n = "") => {
    const name = `${n} ${href}`;
    if (!lists.has(name)) {
      if (lists.size > 3) lists.clear();
      const asked = view().file(href).then(async (answer) => {
        if (!answer.ok) throw new Error(await answer.text());
        return answer.json();
      });
      asked.catch(() => lists.delete(name));
      lists.set(name, asked);
    }
    return lists.get(name);
  };
  const listed = () => list(head().dataset.keys, head().dataset.n);

  // Presses count one after another, each on the pair that the one before it opened, seen already or not: hands
  // are faster than a server. What else was pressed is on screen first. target: the pair that is being opened, the
  // address that opens it, and whether it could not be.
  let target = null, ended = null, pressing = Promise.resolve();
  const press = (name, time) => {
    pressing = pressing.then(() => pressed(name, time)).catch((error) => tell(error.message));
  };
  const pressed = async (name, time) => {
    if (target?.href !== view().asked()) target = null;
    if (!target) await view().settled();
    if (!head() || !bar()) return;
    if (target?.isStuck) {
      open(target.pair);
      throw new Error("The next pair could not be opened, and nothing is marked. It is tried again.");
    }
    const pairs = await listed(), { source, key, hash } = bar().dataset, now = target?.pair ?? [key, hash];
    if (name === "undo") { undo(source); return; }
    if (name !== "skip") {
      // Of a burst, what comes after the last pair is meant for none.
      if (now[0] === ended?.key && time - ended.time < QUICK) return;
      keep([...marks(), [source, ...now.slice(0, 2), name, seconds()]]);
    }
    await draw();
    openNext(pairs, now[0], time);
  };
  const undo = (source) => {
    const made = marks(), place = made.findLastIndex((each) => each[0] === source);
    if (place < 0) { tell("Nothing to undo."); return; }
    keep(made.toSpliced(place, 1));
    open(made[place].slice(1, 3));
  };
  const openNext = (pairs, after = null, time = 0) => {
    const marked = byPair(marks()), place = pairs.findIndex(([key]) => key === after) + 1;
    const next = [...pairs.slice(place), ...pairs.slice(0, place)].find((pair) => !marked.has(idOfPair(pair)));
    if (next) { open(next); return; }
    ended = { key: after, time };
    tell("All pairs are marked. Export the marks, or go back to any pair.");
  };
  const leadingTo = (key) => {
    const query = new URLSearchParams(view().shown());
    query.set("pair", key);
    query.delete("list-page");
    return `?${query}`;
  };
  const open = (pair) => {
    const mine = target = { pair, href: leadingTo(pair[0]), isStuck: false };
    view().go(mine.href).then((isOpen) => { mine.isStuck = !isOpen; });
    draw().catch(shows);
  };

  // What the marks say on the page.
  let shown = null, colleague = null;
  const draw = async () => {
    if (!head()) return;
    await takeOver(head().dataset);
    const { keys: href, n } = head().dataset, pairs = await list(href, n);
    if (href !== head()?.dataset.keys || n !== head().dataset.n) return; // another list is on screen, and drawn
    const marked = byPair(marks()), found = agreement([...marked.values()], colleague ?? []);
    const verdictOf = (pair) => marked.get(idOfPair(pair))?.[3];
    const keys = Object.fromEntries(VERDICTS.map((each) => [each, []]));
    for (const pair of pairs) keys[verdictOf(pair)]?.push(pair[0]);
    keys.differing = found.differing;
    const counts = Object.fromEntries(Object.entries(keys).map(([name, each]) => [name, each.length]));
    drawHead(pairs.length, { ...counts, marked: counts.keep + counts.drop + counts.unsure });
    drawKeys(keys[shown] ?? []);
    drawAgreement(found);
    for (const row of view().element.querySelectorAll(".list [data-mark]")) {
      const key = new URLSearchParams(row.querySelector("a[data-main]").search).get("pair");
      row.dataset.verdict = marked.get(`${row.dataset.mark} ${key}`)?.[3] ?? "";
    }
    drawBar(marked, found);
  };
  const drawHead = (n, counts) => {
    const progress = head().querySelector(".review-progress"), said = { n, ...counts };
    const words = progress.dataset.words.replace(/\{(\w+)\}/g, (_, name) => said[name].toLocaleString("en"));
    if (progress.textContent !== words) progress.textContent = words;
    head().querySelector(".progress > i").style.width = `${n ? 100 * counts.marked / n : 0}%`;
    for (const button of head().querySelectorAll("[data-list]")) {
      button.setAttribute("aria-pressed", button.dataset.list === shown);
      button.querySelector("b").textContent = counts[button.dataset.list].toLocaleString("en");
    }
    head().querySelector(".review-unkept").hidden = !unkept && !(window.explorer.isForgetful && counts.marked);
  };
  const drawKeys = (keys) => {
    const links = keys.slice(0, MOST_LINKS).flatMap((key) => {
      const link = { className: "goto", href: leadingTo(key), textContent: key };
      return [Object.assign(document.createElement("a"), link), " "];
    });
    head().querySelector(".review-keys").replaceChildren(...links, keys.length > MOST_LINKS ? "…" : "");
  };
  const drawBar = (marked, { answers }) => {
    if (!bar()) return;
    const { key, hash } = bar().dataset, mine = marked.get(idOfPair([key, hash]));
    const theirs = mine && answers.get(idOf(mine));
    for (const button of bar().querySelectorAll("[aria-pressed]")) {
      button.setAttribute("aria-pressed", button.dataset.review === mine?.[3]);
    }
    const note = theirs?.note ? ` (${theirs.note})` : "";
    bar().querySelector(".colleague").textContent = theirs ? `Colleague: ${theirs.verdict}${note}` : "";
  };
  const drawAgreement = ({ n, table, observed, kappa }) => {
    const box = head().querySelector(".agreement"), two = (share) => share.toFixed(2).replace("-", "−");
    box.hidden = !colleague;
    if (!colleague) return;
    const said = {
      n, theirs: colleague.length, observed: n ? `${(100 * observed).toFixed(1)} %` : "–",
      kappa: kappa === null ? "undefined" : two(kappa),
    };
    const counts = table.flat();
    for (const each of box.querySelectorAll("[data-is]")) each.textContent = said[each.dataset.is].toLocaleString("en");
    box.querySelectorAll("td").forEach((cell, at) => { cell.textContent = counts[at].toLocaleString("en"); });
  };

  // How far two people agree on the pairs that both marked. Theirs: {source, key, text_hash, verdict, note} of each.
  // Pairs are joined by texts and key, else by texts, else, of one source, by key.
  const agreement = (mine, theirs) => {
    const rules = [
      [([, key, hash]) => `${hash} ${key}`, (each) => `${each.text_hash} ${each.key}`],
      [([, , hash]) => hash, (each) => each.text_hash],
      [([source, key]) => JSON.stringify([source, key]), (each) => JSON.stringify([each.source, each.key])],
    ];
    const answers = new Map(), taken = new Set();
    for (const [ofMine, ofTheirs] of rules) {
      const places = Map.groupBy(theirs.filter((each) => !taken.has(each)), ofTheirs);
      for (const mark of mine) {
        const answer = !answers.has(idOf(mark)) && places.get(ofMine(mark))?.shift();
        if (answer) { answers.set(idOf(mark), answer); taken.add(answer); }
      }
    }
    const joined = mine.filter((mark) => answers.has(idOf(mark))).map((mark) => [mark, answers.get(idOf(mark))]);
    const table = VERDICTS.map((my) => VERDICTS.map((their) =>
      joined.filter(([mark, answer]) => mark[3] === my && answer.verdict === their).length));
    const differing = joined.filter(([mark, answer]) => mark[3] !== answer.verdict).map(([mark]) => mark[1]);
    const n = joined.length, observed = n ? (n - differing.length) / n : null;
    return { n, table, answers, differing, observed, kappa: cohensKappa(table) };
  };
  // Agreement beyond chance, (observed - expected) / (1 - expected), of counts, mine down and theirs across; null
  // where it is undefined. J. Cohen, A coefficient of agreement for nominal scales, 1960. In whole numbers, so that
  // what is expected is exactly 1 where it is.
  const cohensKappa = (table) => {
    const sum = (counts) => counts.reduce((one, other) => one + other, 0);
    const n = sum(table.flat()), agreed = sum(table.map((row, place) => row[place]));
    const chance = sum(table.map((row, place) => sum(row) * sum(table.map((other) => other[place]))));
    return n * n === chance ? null : (n * agreed - chance) / (n * n - chance);
  };

  // Files of marks: a line of JSON for each.
  const read = async (file) => {
    if (file.size > LARGEST_FILE) throw new Error(`A file of marks may have ${LARGEST_FILE / 1e6} MB. Split it.`);
    let lines;
    try {
      lines = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()).split("\n");
    } catch { throw new Error(`${file.name} is not text in UTF-8. Choose a .jsonl file of marks exported here.`); }
    if (lines.length > MOST + 1) throw new Error(`${file.name} has more than ${MOST} lines. Split it.`);
    const found = new Map();
    lines.forEach((line, place) => {
      if (!line.trim()) return;
      try {
        const mark = checked(parsed(line));
        found.set(JSON.stringify([mark.source, mark.key]), mark);
      } catch (error) { throw new Error(`${file.name}, line ${place + 1}: ${error.message}`); }
    });
    if (!found.size) throw new Error(`${file.name} has no marks. Choose a .jsonl file of marks exported here.`);
    return [...found.values()];
  };
  const parsed = (line) => {
    try { return JSON.parse(line); } catch { throw new Error("A line must be one mark in JSON, as in an export."); }
  };
  const checked = (mark) => {
    const { source, key, text_hash, verdict, note, at } = mark ?? {};
    const isName = (name) => typeof name === "string" && name.length > 0 && name.length <= LONGEST_NAME;
    const must = (is, words) => { if (!is) throw new Error(words); };
    must(isName(source) && isName(key), `source and key must be text of 1 to ${LONGEST_NAME} characters.`);
    must(/^[0-9a-f]{16}$/.test(text_hash), "text_hash must be 16 hex digits.");
    must(VERDICTS.includes(verdict), `verdict must be one of ${VERDICTS.join(", ")}.`);
    const isNote = typeof (note ?? "") === "string" && (note ?? "").length <= LONGEST_NOTE;
    must(isNote, `note must be text of at most ${LONGEST_NOTE} characters.`);
    const seconds = /(Z|[+-]\d\d:?\d\d)$/.test(at) ? Math.floor(Date.parse(at) / 1000) : NaN;
    must(seconds >= 0, "at must be a time in ISO 8601 with its zone, such as 2026-01-31T12:00:00Z.");
    return { source, key, text_hash, verdict, note: note ?? "", at: seconds };
  };
  // The marks of both by their times; of one pair the latest holds.
  const merge = (added) => {
    const all = new Map([...marks(), ...added].map((mark) => [JSON.stringify(mark), mark]));
    keep([...all.values()].sort((one, other) => one[4] - other[4]));
  };
  const reading = {
    resume: async (file) => {
      const { source, every } = head().dataset, pairs = await list(every), found = await read(file);
      const [byKey, byHash] = [0, 1].map((at) => new Map(pairs.map((pair) => [pair[at], pair])));
      const pairOf = (mark) => (mark.source === source && byKey.get(mark.key)) || byHash.get(mark.text_hash);
      const here = found.filter(pairOf), left = found.length - here.length;
      if (!here.length) {
        throw new Error(`No mark in this file (of ${found.length}) is on one of these pairs. `
          + "Show the pairs that they were made on, or choose another file.");
      }
      merge(here.map((mark) => [source, ...pairOf(mark).slice(0, 2), mark.verdict, mark.at]));
      window.explorer.addNotes(here.map((mark) => [pairOf(mark)[1], mark.note]));
      await draw();
      openNext(await listed());
      const more = left ? [`${left} left out: pairs that are not here.`] : [];
      tell(`Marks read from the file: ${here.length}.`, ...more);
    },
    compare: async (file) => {
      colleague = await read(file);
      tell();
      await draw();
    },
  };
  const exported = async () => {
    const { source, every } = head().dataset, notes = window.explorer.notes();
    const subsets = new Map((await list(every)).map((pair) => [idOfPair(pair), pair[2]]));
    const lines = [...byPair(marks()).values()].filter((mark) => subsets.has(idOf(mark))).map((mark) => {
      const [, key, text_hash, verdict, seconds] = mark, subset = subsets.get(idOf(mark));
      const note = notes[text_hash] ?? "", at = new Date(1000 * seconds).toISOString().replace(".000", "");
      return JSON.stringify({ source, subset, key, text_hash, verdict, note, at });
    });
    if (!lines.length) { tell("No pair is marked yet, so there is nothing to export."); return; }
    view().download("marks.jsonl", new Blob(lines.map((line) => `${line}\n`)));
  };
  const kept = async () => {
    const ticked = [...document.querySelectorAll("[data-mark-to-export]")].filter((each) => each.checked);
    const chosen = ticked.map((each) => each.dataset.markToExport), marked = byPair(marks());
    const isKept = (pair) => chosen.includes(marked.get(idOfPair(pair))?.[3] ?? "unmarked");
    return { marks: chosen, keys: (await listed()).filter(isKept).map(([key]) => key) };
  };

  // Reviews that this browser kept in another way before, each of a source: its marks, and notes by key.
  const asked = new Set();
  const takeOver = async ({ source, every }) => {
    let former = [];
    if (asked.has(source)) return;
    asked.add(source);
    try { former = JSON.parse(stored(FORMER))?.map((each) => JSON.parse(each)) ?? []; } catch { /* none */ }
    const ours = former.filter((review) => review.source === source);
    if (!ours.length) return;
    const hashOf = new Map(await list(every));
    for (const { decisions, notes = [] } of ours) {
      merge(decisions.map(([key, hash, verdict, , at]) => [source, key, hash, verdict, at]));
      window.explorer.addNotes(decisions.map(([, hash, , note]) => [hash, note]));
      window.explorer.addNotes(notes.map(([key, note]) => [hashOf.get(key), note]));
    }
    if (unkept) return; // once more next time
    const others = former.filter((review) => !ours.includes(review)).map((each) => JSON.stringify(each));
    try { localStorage.setItem(FORMER, JSON.stringify(others)); } catch { /* the same */ }
  };

  const shows = (error) => tell(error.message);
  document.addEventListener("drawn", ({ target: { id } }) => {
    if (id !== "pairs") return;
    target = null;
    draw().catch(shows);
  });
  addEventListener("storage", ({ key }) => {
    if (key !== MARKS) return;
    if (unkept) {
      const ours = unkept;
      unkept = null;
      merge(ours);
    }
    draw().catch(shows);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-review]"), counted = event.target.closest("[data-list]");
    if (button?.dataset.review === "export") exported().catch(shows);
    else if (button) press(button.dataset.review, event.timeStamp);
    if (!counted) return;
    shown = shown === counted.dataset.list ? null : counted.dataset.list;
    draw().catch(shows);
  });
  document.addEventListener("change", ({ target: field }) => {
    const [file] = field.dataset.read && field.files || [];
    if (!file) return;
    reading[field.dataset.read](file).catch(shows);
    field.value = "";
  });
  Object.assign(window.explorer, { kept, review: { agreement, checked } });
})
