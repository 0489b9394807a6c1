/* rer review: what a server adds to report.html. Decisions are saved as they are made; whole pictures and texts; any
 * row can be found; look again. It runs between decisions.js, whose store it takes over, and review.js. */
(function () {
  "use strict";

  const { data, $, names, values, make, grouped, percent, suspects, byRow, store } = rerReport;
  const live = JSON.parse($("live").textContent);
  const AT_ONCE = 200; /* decisions of one request */

  let reviewer = live.reviewer;
  try {
    reviewer = localStorage.getItem("rer-reviewer") || reviewer;
  } catch { /* then the name is the server's */ }

  async function ask(path, body) {
    const answer = await fetch(path, body === undefined ? {} :
      { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
    return answer;
  }

  /* ---- saving ------------------------------------------------------------------------------------ */

  const saved = new Map(); /* row -> what the server has, or is about to have, of this reviewer */
  let waiting = []; /* decisions that are on their way, the oldest first */
  let isSending = false;
  let soon = 0; /* when what was learned is asked for */

  const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

  /* [decision, label, note] of a row, as the store has it. */
  function standing(row) {
    const made = store.state.get(row);
    return [made ? made.decision : "open", made && made.value || "", store.notes.get(row) || ""];
  }

  function collect() {
    for (const row of new Set([...saved.keys(), ...store.state.keys(), ...store.notes.keys()])) {
      const [decision, chosen, note] = standing(row);
      const text = JSON.stringify([decision, chosen, note]);
      if (text === (saved.get(row) || '["open","",""]')) continue;
      saved.set(row, text);
      const s = byRow.get(row);
      waiting.push({ id: newId(), row, decision, label: chosen, note, given: s ? values[s.given] : "" });
    }
  }

  function tell(text, isTrouble) {
    $("live-saved").textContent = text;
    $("live-saved").classList.toggle("trouble", Boolean(isTrouble));
  }

  async function send() {
    if (isSending) return;
    isSending = true;
    while (waiting.length > 0) {
      const now = waiting.slice(0, AT_ONCE);
      try {
        await ask("decide", { reviewer, decisions: now });
        waiting = waiting.slice(now.length);
        if (waiting.length === 0) tell("all saved");
      } catch (error) {
        if (error.status && error.status < 500) {
          waiting = waiting.slice(now.length);
          tell(`not saved: ${error.message}`, true);
        } else {
          tell(`${waiting.length} not saved yet: is rer review still running?`, true);
          await new Promise((done) => setTimeout(done, 1000));
        }
      }
    }
    isSending = false;
    clearTimeout(soon);
    soon = setTimeout(learn, 500);
  }

  /* The server keeps the decisions: the page begins with what it has of this reviewer. */
  store.read = function () {
    this.kept = true;
    this.log = [];
    saved.clear();
    for (const [row, who, decision, value, note] of live.decisions) {
      if (who !== reviewer || !byRow.has(row)) continue;
      if (decision !== "open") this.log.push([row, decision, value]);
      if (note) this.log.push([row, "note", note]);
      saved.set(row, JSON.stringify([decision, value, note]));
    }
    this.replay();
  };
  store.write = function () {
    this.replay();
    collect();
    if (waiting.length > 0) tell("saving …");
    send();
  };
  rerReport.exportDecisions = () => make("a", { href: "decisions.csv", download: "decisions.csv" }).click();
  addEventListener("beforeunload", (event) => {
    if (waiting.length > 0) event.preventDefault();
  });

  /* ---- whole pictures and texts ------------------------------------------------------------------ */

  const showBefore = rerReport.show;
  rerReport.show = function (row, what) {
    const box = showBefore(row, what);
    box.dataset.row = row;
    if (live.pictures && !box.querySelector("img"))
      box.replaceChildren(make("img", { alt: `${what}, row ${row}`, src: `picture?row=${row}`, loading: "lazy" }));
    return box;
  };

  rerReport.fileAddress = (row) => `picture?row=${row}`; /* no browser follows a page from here to a file */

  function enlarge(box) {
    const image = box.querySelector("img");
    const excerpt = box.querySelector(".excerpt");
    const row = box.dataset.row;
    if (image && live.pictures) {
      const small = image.src;
      image.addEventListener("error", () => { image.src = small; }, { once: true });
      image.src = `picture?row=${row}`;
      image.title = "z: as large as it is";
      image.addEventListener("click", zoom);
    }
    if (excerpt && live.texts)
      ask(`text?row=${row}`).then((answer) => answer.text()).then((text) => { excerpt.textContent = text || "(empty)"; }, () => {});
  }

  function zoom() {
    const box = $("detail").querySelector(".big");
    if (!box || !live.pictures) return;
    const row = box.dataset.row;
    const close = () => dialog.close();
    const dialog = make("dialog", { class: "zoom", "aria-label": `Row ${row}`, onclick: close, onclose: () => dialog.remove() },
      make("img", { alt: `row ${row}, as large as it is`, src: `picture?row=${row}` }),
      make("p", {}, data.files && data.files[row] ? data.files[row] : `row ${row}`));
    dialog.addEventListener("keydown", (event) => {
      event.stopPropagation(); /* no key decides on what is hidden */
      if (event.key === "z") close();
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  /* ---- any row ----------------------------------------------------------------------------------- */

  function placeOf([name, value]) {
    if (name === undefined) return -1;
    if (!names.includes(name)) {
      names.push(name);
      if (values !== names) values.push(value);
    }
    return names.indexOf(name);
  }

  function openRow(found) {
    const row = found.row;
    if (!byRow.has(row)) {
      if (found.file) (data.files = data.files || {})[row] = found.file;
      const s = { place: suspects.length, row, given: placeOf(found.given), suggested: placeOf(found.suggested), p: found.p,
        chi: found.chi, flagged: false, outlier: false, ranked: false, like: [], unlike: [], near: 0, nearSuggested: 0,
        nearness: null, group: -1, nearest: [], neighbours: [], telling: [], likely: new Map(), favoured: -1, id: found.id === undefined ? null : found.id,
        name: found.id === undefined ? rerReport.fileName(row) : found.id, words: null };
      suspects.push(s);
      byRow.set(row, s);
      if (found.text !== undefined) (data.texts = data.texts || {})[row] = found.text;
      const mine = live.decisions.find(([r, who]) => r === row && who === reviewer);
      if (mine && mine[2] !== "open") {
        store.log.push([row, mine[2], mine[3]]);
        saved.set(row, JSON.stringify([mine[2], mine[3], mine[4]]));
        store.replay();
      }
    }
    rerReport.showRow(row);
  }

  function rowButton(found) {
    const words = [`row ${found.row}`, found.id, found.given[0], found.text].filter((text) => text !== undefined);
    return make("li", {}, make("button", { type: "button", onclick: () => openRow(found) },
      make("b", { text: words[0] }), " ", words.slice(1).join(" · ").slice(0, 120), " ",
      make("span", { class: "muted", text: percent(found.p) })));
  }

  let asked = 0;
  async function findRows(after) {
    const words = $("live-find").value.trim();
    const mine = ++asked;
    if (!after) $("live-rows").replaceChildren();
    if (words === "") return;
    const found = await (await ask(`rows?find=${encodeURIComponent(words)}&after=${after || 0}`)).json();
    if (mine !== asked) return;
    $("live-rows").append(...found.rows.map(rowButton));
    if (found.rows.length === 0 && !after) $("live-rows").append(make("li", { class: "muted", text: "No row has that." }));
    if (found.next >= 0) {
      const more = make("li", {}, make("button", { type: "button", text: "More", onclick: () => {
        more.remove();
        findRows(found.next);
      } }));
      $("live-rows").append(more);
    }
  }

  /* ---- what was learned, and looking again -------------------------------------------------------- */

  const whole = (x) => grouped(Math.round(x));

  function lesson(t) {
    if (t.looked === 0) return "Nothing was looked at yet.";
    const seen = `Of ${grouped(t.looked)} looked at ${grouped(t.wrong)} ${t.wrong === 1 ? "was" : "were"} wrong (promised ${whole(t.promised)}).`;
    if (t.next === 0) return `${seen} Of what is open fewer than 1 in 20 are wrong: a good place to stop.`;
    return `${seen} About ${whole(t.expected)} more (${whole(t.low)} to ${whole(t.high)}) are among the next ${grouped(t.next)}; ` +
      "after that fewer than 1 in 20: a good place to stop.";
  }

  let isLearning = false;
  async function learn() {
    if (isLearning) return;
    isLearning = true;
    try {
      const taught = await (await ask("taught")).json();
      $("live-taught").textContent = lesson(taught);
      drawDisagreements(taught.disagreements);
    } catch { /* it is told where decisions are saved */ }
    isLearning = false;
  }

  function drawDisagreements(rows) {
    $("live-differ").hidden = rows.length === 0;
    $("live-differ").replaceChildren(make("summary", { text: `${grouped(rows.length)} where reviewers disagree` }),
      make("ul", { class: "rows" }, ...rows.map((row) => make("li", {}, make("button", { type: "button", text: `row ${row}`,
        onclick: async () => {
          const found = await (await ask(`rows?find=${row}`)).json();
          openRow(found.rows.find((item) => item.row === row));
        } })))));
  }

  async function lookAgain() {
    $("live-again").disabled = true;
    try {
      let { again } = await (await ask("again", {})).json();
      while (again.state === "runs") {
        $("live-again").textContent = `Looking again: ${Math.round(100 * again.fraction)} %`;
        await new Promise((done) => setTimeout(done, 300));
        again = (await (await ask("again")).json()).again;
      }
      if (again.state === "failed") throw new Error(again.message);
      location.reload();
    } catch (error) {
      tell(`Looking again failed: ${error.message}`, true);
      $("live-again").textContent = "Look again";
      $("live-again").disabled = false;
    }
  }

  /* ---- setting it up ----------------------------------------------------------------------------- */

  function rename() {
    reviewer = $("live-name").value.trim() || live.reviewer;
    try {
      localStorage.setItem("rer-reviewer", reviewer);
    } catch { /* it holds until the page is closed */ }
    if (waiting.length === 0) location.reload();
  }

  function start() {
    const review = $("review");
    if (!review) return;
    const others = new Set(live.decisions.map(([, who]) => who).filter((who) => who !== reviewer));
    review.prepend(make("section", { class: "live", "aria-label": "This review" },
      make("div", { class: "live-bar" },
        make("label", {}, make("span", { text: "Reviewer" }),
          make("input", { id: "live-name", type: "text", maxlength: 40, value: reviewer, autocomplete: "off", onchange: rename })),
        make("span", { id: "live-saved", role: "status",
          text: others.size > 0 ? `with ${Array.from(others).join(", ")}` : "decisions are saved as they are made" }),
        make("a", { href: "decisions.csv", download: "decisions.csv", text: "All decisions as a table" }),
        make("button", { type: "button", id: "live-again", class: "primary", text: "Look again", disabled: live.why !== null,
          title: live.why || "The analysis once more, with your decisions; what is open is ranked anew", onclick: lookAgain })),
      make("p", { id: "live-taught" }),
      make("details", { id: "live-differ", hidden: true }),
      make("details", { class: "live-all" }, make("summary", { text: `Any of the ${grouped(live.rows)} rows` }),
        make("input", { id: "live-find", type: "search", placeholder: "row, id, label or text", "aria-label": "Search all rows",
          autocomplete: "off", spellcheck: "false", onchange: () => findRows() }),
        make("ul", { id: "live-rows", class: "rows" }))));
    const detail = $("detail");
    new MutationObserver(() => {
      const box = detail.querySelector(".big");
      if (box) enlarge(box);
    }).observe(detail, { childList: true });
    document.addEventListener("keydown", (event) => {
      if (event.key === "z" && !event.target.closest("input, select, textarea")) zoom();
    });
    learn();
  }

  start();
})();
