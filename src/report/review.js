/* report.html: the list of suspects with its filters, the chosen one, and the review by keyboard. */
(function () {
  "use strict";

  const { data, $, names, values, make, nameOf, label, grouped, percent, short, show, fileAddress, kind } = rerReport;
  const { suspects, byRow, store, decisionOf, badgeText, exportDecisions, loadDecisions, needsTexts } = rerReport;
  const PAGE = 60; /* cards that are drawn at once */

  /* ---- filters and the list ----------------------------------------------------------------------- */

  let shown = suspects;
  let first = 0; /* cards first .. drawn - 1 of `shown` are drawn */
  let drawn = 0;
  let chosen = -1; /* place in `shown` */
  let anchor = -1; /* where a range begins that ends at `chosen`; -1: there is none */

  function wordsOf(s) {
    if (s.words === null)
      s.words = [s.row, s.id, data.files ? data.files[s.row] : "", nameOf(s.given), nameOf(s.suggested),
        data.texts ? data.texts[s.row] : ""].join("\n").toLowerCase();
    return s.words;
  }

  const sorts = {
    probability: (a, b) => a.place - b.place,
    chi: (a, b) => (b.chi ?? -1) - (a.chi ?? -1) || a.place - b.place,
    pair: (a, b) => nameOf(a.given).localeCompare(nameOf(b.given)) ||
      nameOf(a.suggested).localeCompare(nameOf(b.suggested)) || a.place - b.place,
    row: (a, b) => a.row - b.row,
  };

  /* Why it is in the queue: one sample may be there for several reasons. */
  const kinds = { suspect: (s) => s.ranked, copy: (s) => s.group >= 0, outlier: (s) => s.outlier };

  function filter() {
    const find = $("find").value.trim().toLowerCase();
    const over = Number($("over").value) / 100;
    const only = $("class").value === "" ? -1 : Number($("class").value);
    const pair = $("pair").value;
    const state = $("state").value;
    const what = $("what").value;
    const before = shown[chosen];
    $("over-shown").textContent = Math.round(100 * over) + " %";
    shown = suspects.filter((s) =>
      (s.p === null ? over === 0 : s.p >= over) && (only < 0 || s.given === only || s.suggested === only) &&
      (what === "" || kinds[what](s)) && (pair === "" || `${s.given}-${s.suggested}` === pair) &&
      (find === "" || wordsOf(s).includes(find)) &&
      (state === "all" || (state === "done") === store.state.has(s.row)));
    shown.sort(sorts[$("sort").value]);
    drawFrom(0);
    const again = before ? shown.indexOf(before) : -1;
    choose(again >= 0 ? again : firstOpen());
    $("none").hidden = shown.length > 0;
    const noun = suspects.length === 1 ? "suspect" : "suspects";
    $("count").textContent = shown.length === suspects.length ? `${grouped(suspects.length)} ${noun}`
      : `${grouped(shown.length)} of ${grouped(suspects.length)} ${noun}`;
  }

  const firstOpen = () => shown.length === 0 ? -1 : Math.max(0, shown.findIndex((s) => !store.state.has(s.row)));

  /* Rows of a table have no picture: the values that tell most stand for them. */
  function face(s) {
    if (s.telling.length === 0) return show(s.row, nameOf(s.given));
    return make("div", { class: "shown" }, make("ul", { class: "values" }, ...s.telling.slice(0, 3)
      .map(([j, own]) => make("li", {}, make("bdi", { text: data.columns[j] }), " ", make("b", { text: short(own) })))));
  }

  function fillCard(card, s) {
    const badge = badgeText(s);
    card.classList.toggle("decided", badge !== null);
    card.replaceChildren(
      face(s),
      make("div", { class: "labels" }, label(s.given, "given"), " → ", label(s.suggested, "suggested")),
      make("div", { class: "foot" }, make("span", { title: s.name, text: s.name === null ? `row ${s.row}` : s.name }),
        make("span", { class: s.flagged ? "p flagged" : "p", text: percent(s.p) })),
      ...(badge === null ? [] : [make("span", { class: "badge", text: badge })]));
  }

  function makeCard(place) {
    const card = make("div", { class: "card", role: "option", id: `card-${place}`, "aria-selected": "false" });
    card.addEventListener("click", (event) => {
      choose(place, event.shiftKey);
      if (isStacked()) $("detail").scrollIntoView({ block: "start" });
    });
    fillCard(card, shown[place]);
    return card;
  }

  const cardsOf = (from, until) => Array.from({ length: until - from }, (_, i) => makeCard(from + i));

  function countPrinted() {
    const count = drawn - first;
    $("printed").textContent = count < shown.length ? `${grouped(count)} of ${grouped(shown.length)} are printed here.` : "";
  }

  function drawMore() {
    const until = Math.min(drawn + PAGE, shown.length);
    $("list").append(...cardsOf(drawn, until));
    drawn = until;
    $("more").hidden = drawn >= shown.length;
    countPrinted();
  }

  function drawEarlier() {
    const from = Math.max(0, first - PAGE);
    $("list").prepend(...cardsOf(from, first));
    first = from;
    countPrinted();
    $("earlier").hidden = first === 0;
  }

  /* Far away the list begins anew: thousands of cards take seconds. */
  function drawFrom(place) {
    first = drawn = Math.max(0, Math.floor(place / PAGE) * PAGE);
    $("list").replaceChildren();
    $("earlier").hidden = first === 0;
    drawMore();
  }

  const range = () => anchor < 0 ? [chosen, chosen] : [Math.min(anchor, chosen), Math.max(anchor, chosen)];

  /* The suspects that a decision is about. */
  const marked = () => chosen < 0 ? [] : shown.slice(range()[0], range()[1] + 1);

  function markCards() {
    const [from, until] = range();
    for (const card of $("list").querySelectorAll('[aria-selected="true"]')) card.setAttribute("aria-selected", "false");
    for (let place = Math.max(from, first); place <= until && place < drawn; place++)
      $(`card-${place}`).setAttribute("aria-selected", "true");
    const card = $(`card-${chosen}`);
    if (card) $("list").setAttribute("aria-activedescendant", card.id);
    else $("list").removeAttribute("aria-activedescendant");
  }

  function choose(place, extend) {
    anchor = extend ? (anchor < 0 ? chosen : anchor) : -1;
    chosen = place;
    if (chosen >= 0 && (chosen < first || chosen >= drawn + PAGE)) drawFrom(chosen);
    else if (chosen >= drawn && drawn < shown.length) drawMore();
    markCards();
    drawDetail();
    drawBulk();
  }

  /* On a narrow page the chosen one stands above the list: it stays in view, and the list where it is. */
  const isStacked = () => getComputedStyle($("detail")).position === "static";

  function step(by, extend) {
    if (shown.length === 0) return;
    choose(Math.max(0, Math.min(shown.length - 1, chosen + by)), extend);
    if (!isStacked()) $(`card-${chosen}`).scrollIntoView({ block: "nearest" });
  }

  const doubt = data.clusters > 0 ? "of another cluster" : "wrong";
  const own = data.clusters > 0 ? "own cluster" : "own class", all = data.clusters > 0 ? "clusters" : "classes";

  /* ---- the chosen suspect ------------------------------------------------------------------------- */

  function reason(s) {
    const odd = s.outlier && !isAtHome(s);
    const why = nearRowsSpeak(s) ? nearRows(s) : odd && s.near > 0 && s.chi < 1 ? [] : nearness(s);
    return odd ? [`None of the ${all} fits: it is like nothing else here. `, ...why] : why;
  }

  /* The labels that it may have, the likeliest first: by their probabilities where it had a second look, then given and
   * suggested, those of the rows next to it, those that are taken for them. */
  function likely(s) {
    const counts = new Map();
    for (const c of s.nearest) counts.set(c, (counts.get(c) || 0) + 1);
    const near = Array.from(counts).sort((a, b) => b[1] - a[1]).map(([c]) => c);
    const confused = data.pairs.filter(([a, b]) => [s.given, s.suggested].includes(a) !== [s.given, s.suggested].includes(b))
      .map(([a, b]) => ([s.given, s.suggested].includes(a) ? b : a));
    const order = s.p > 0.5 ? [s.suggested, s.given] : [s.given, s.suggested];
    return { counts, order: Array.from(new Set([...s.likely.keys(), ...order, ...near, ...confused])).filter((c) => c >= 0) };
  }

  function likelyLabels(s) {
    const { counts, order } = likely(s);
    const chance = (c) => s.likely.has(c) ? percent(s.likely.get(c)) : c === s.given && s.p !== null ? percent(1 - s.p) : "";
    const witnesses = (c) => counts.has(c) ? `${counts.get(c)} of ${s.nearest.length} ${data.nearWhole ? "nearest" : "near"}` : "";
    return make("ol", { class: "likely", "aria-label": "Likely labels" }, ...order.slice(0, 5).map((c, i) =>
      make("li", {}, make("button", { type: "button", "data-act": `class-${i}`, title: nameOf(c),
        onclick: () => decide("choose", values[c]) },
        make("kbd", { text: i + 1 }), label(c), make("span", { class: "muted", text: witnesses(c) }),
        make("b", { text: chance(c) })))));
  }

  function withLabel(box, c, s) {
    box.append(make("div", { class: "caption" }, label(c, c === s.given ? "given" : c === s.suggested ? "suggested" : null)));
    return box;
  }

  /* Rows that are nearly the same with other labels: one label for all of them, or one row. */
  function copies(s) {
    if (s.group < 0) return [];
    const all = suspects.filter((other) => other.group === s.group);
    const others = all.filter((other) => other !== s);
    const labels = Array.from(new Set(all.map((other) => other.given)));
    const button = (act, entries, ...text) => make("button", { type: "button", "data-act": act,
      onclick: () => moveOn(() => { store.add(entries()); refresh(); }, chosen) }, ...text);
    return [make("h4", { text: "Nearly the same, with their labels" }),
      make("p", { class: "buttons" },
        ...labels.slice(0, 4).map((c) => button(`all-${c}`, () => all.map((each) => entryOf(each, "choose", values[c])),
          `All ${all.length} are `, label(c))),
        button("only", () => [entryOf(s, "keep"), ...others.map((other) => entryOf(other, "drop"))], "Keep this one alone")),
      make("div", { class: "examples" + kind },
      ...others.slice(0, 8).map((other) => withLabel(show(other.row, nameOf(other.given)), other.given, s)))];
  }

  const isAtHome = (s) => s.nearness !== null && s.nearness <= 1.1;

  /* Those of the given class among the nearest rows are fewer, or no more, than those of the suggested one. */
  const nearRowsSpeak = (s) => s.nearSuggested > 0 && s.nearSuggested >= s.nearest.filter((c) => c === s.given).length;

  /* From the second look: whose rows are next to it, and how near that class is. */
  function nearRows(s) {
    const words = s.nearness === null ? ["."]
      : s.nearness <= 1.1 ? ["; as near to ", label(s.suggested), " as a typical one. "]
        : s.nearness < 10 ? [`; ${s.nearness.toFixed(1)}× as far from `, label(s.suggested), " as a typical one. "]
          : ["; far away from them. "];
    const rows = data.nearWhole ? `of its ${s.near} nearest` : `of ${s.near} near rows`; // else some may be nearer
    return [`${s.nearSuggested} ${rows} ${s.nearSuggested === 1 ? "is" : "are"} `, label(s.suggested), ...words];
  }

  /* Where the features do not speak for the suggestion, the user's own probabilities did. */
  const speaksOpinion = (s) => s.favoured >= 0 && s.favoured !== s.given && s.chi < 1.005;

  const placeBetween = (s) => isAtHome(s) ? ["It is as near to ", label(s.suggested), " as a typical one."]
    : [`It lies between its ${own} and `, label(s.suggested), "."];

  function nearness(s) {
    if (s.chi === null) return [];
    if (speaksOpinion(s)) return ["Your probabilities favour ", label(s.favoured), "."];
    const nearer = s.chi >= 1;
    if (!nearer && s.near > 0 && s.p > 0.5) return placeBetween(s);
    const ratio = nearer ? s.chi : 1 / s.chi;
    const times = (ratio < 1.995 ? ratio.toFixed(2) : ratio < 100 ? ratio.toFixed(1)
      : ratio < 1000 ? ratio.toPrecision(3) : "over 1000") + "×";
    return nearer ? [`${times} closer to `, label(s.suggested), ` than to its ${own}.`]
      : [`Its ${own} is ${times} closer than `, label(s.suggested), "."];
  }

  /* The columns that tell its two classes apart; what it is nearer to stands out. */
  function tellingColumns(s) {
    if (s.telling.length === 0) return null;
    const head = (...children) => make("th", { scope: "col", class: "n" }, ...children);
    const cell = (value, nearer) => make("td", { class: nearer ? "n near" : "n", text: short(value) });
    return make("table", { class: "telling" },
      make("caption", { text: "The most telling columns: what is typical of both classes, and this row" }),
      make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "column" }), head(label(s.given, "given")),
        head("this row"), head(label(s.suggested, "suggested")))),
      make("tbody", {}, ...s.telling.map(([j, own, given, suggested]) => {
        const nearer = Math.abs(own - suggested) < Math.abs(own - given);
        return make("tr", {}, make("th", { scope: "row" }, make("bdi", { text: data.columns[j] || `column ${j + 1}` })),
          cell(given, !nearer), make("td", { class: "n own", text: short(own) }), cell(suggested, nearer));
      })));
  }

  function neighboursOf(s) {
    if (s.neighbours.length === 0 || s.telling.length > 0) return [];
    return [make("h4", { text: "The nearest samples, with their labels" }), make("div", { class: "examples" + kind },
      ...s.neighbours.map((row, i) => withLabel(show(row, nameOf(s.nearest[i])), s.nearest[i], s)))];
  }

  function examplesOf(s, c, rows) {
    if (rows.length === 0 || s.telling.length > 0) return [];
    return [make("h4", {}, "Clean examples of ", label(c)),
      make("div", { class: "examples" + kind }, ...rows.map((row) => show(row, nameOf(c))))];
  }

  function original(s) {
    if (!data.files || !data.files[s.row]) return null;
    return make("p", { class: "muted file" }, make("a", { href: fileAddress(s.row), target: "_blank", rel: "noopener",
      "data-act": "file", title: "The original" }, make("bdi", { text: data.files[s.row] })));
  }

  /* The focus stays on the button that was pressed, though the buttons are new ones. */
  function drawDetail() {
    const held = $("detail").contains(document.activeElement) ? document.activeElement.dataset.act : undefined;
    fillDetail();
    if (held === undefined) return;
    ($("detail").querySelector(`[data-act="${held}"]`) || $("list")).focus({ preventScroll: true });
  }

  function fillDetail() {
    const s = shown[chosen];
    if (!s) {
      $("detail").replaceChildren();
      return;
    }
    const many = marked().length;
    const made = decisionOf(s);
    const isOdd = s.outlier && !s.ranked; /* here because nothing fits it, not because something else does */
    const button = (key, decision, ...text) => make("button", { type: "button", "data-act": decision,
      class: made && made.decision === decision ? "chosen" : null, onclick: () => decide(decision) },
      make("span", {}, ...text), make("kbd", { text: key }));
    const [fix, none] = [button("f", "fix", "Fix to ", label(s.suggested)), button("x", "none", "None fits")];
    const fill = make("span", {});
    fill.style.width = 100 * (s.p || 0) + "%";
    const big = tellingColumns(s) || show(s.row, nameOf(s.given));
    big.classList.add("big");
    const name = s.name === null ? `Row ${s.row}` : s.name;
    const note = make("input", { type: "text", id: "note", placeholder: "a note", "aria-label": "A note",
      value: store.notes.get(s.row) || null });
    note.addEventListener("change", () => {
      store.add([[s.row, "note", note.value]]);
      drawProgress();
    });
    /* What is pressed comes first and keeps its place, whatever the sample looks like. */
    $("detail").replaceChildren(...[
      make("div", { class: "top" },
        make("h3", { title: name }, many > 1 ? `${many} chosen, the last: ` : null, name,
          make("small", { text: s.name === null ? "" : `row ${s.row}` })),
        make("span", { class: "buttons" },
          make("button", { type: "button", "data-act": "previous", "aria-label": "previous", text: "←", onclick: () => step(-1) }),
          make("button", { type: "button", "data-act": "next", "aria-label": "next", text: "→", onclick: () => step(1) }))),
      make("div", { class: "decide" },
        button("k", "keep", "Keep ", label(s.given)), isOdd ? none : fix,
        button("c", "choose", made && ["choose", "new"].includes(made.decision) ? badgeText(s) : "Choose another"),
        button("d", "drop", "Drop the sample"), isOdd ? fix : none, button("s", "unsure", "Unsure")),
      make("div", { class: "choose", id: "choose", hidden: true }),
      big, original(s),
      make("div", { class: "change" }, label(s.given, "given"), " → ", label(s.suggested, "suggested")),
      make("div", { class: "meter", "aria-hidden": "true" }, fill),
      make("p", { class: "why" }, make("b", { text: `${percent(s.p)} likely ${doubt}. ` }), ...reason(s)),
      likelyLabels(s),
      note,
      ...copies(s), ...neighboursOf(s), ...examplesOf(s, s.given, s.like), ...examplesOf(s, s.suggested, s.unlike),
    ].filter((part) => part !== null));
  }

  function redraw(s) {
    const place = shown.indexOf(s);
    const card = $(`card-${place}`);
    if (card) fillCard(card, s);
    if (place === chosen) drawDetail();
    drawProgress();
  }

  function refresh() {
    for (let place = first; place < drawn; place++) fillCard($(`card-${place}`), shown[place]);
    drawDetail();
    drawProgress();
  }

  const applyTo = $("apply") ? $("apply").textContent.split(" ").pop() : "";

  function drawProgress() {
    const done = store.state.size;
    $("done").max = suspects.length;
    $("done").value = done;
    $("done-shown").textContent = `${grouped(done)} of ${grouped(suspects.length)} decided`;
    $("undo").disabled = store.log.length === 0;
    drawBulk();
    $("clear").disabled = done === 0;
    if ($("apply")) $("apply").textContent = $("apply").textContent.replace(/y_clean\.\w+$/, needsTexts() ? "y_clean.csv" : applyTo);
    $("export").disabled = done === 0;
  }

  const openOf = (list) => list.filter((s) => !store.state.has(s.row));

  function drawBulk() {
    const open = openOf(shown).length;
    $("bulk-count").textContent = `The ${grouped(open)} undecided of this list:`;
    for (const button of document.querySelectorAll("[data-bulk]")) button.disabled = open === 0;
  }

  /* The entry of the log for one suspect, or null where the decision has no meaning for it. */
  function entryOf(s, decision, value) {
    if (decision === "fix" && s.suggested < 0) return null;
    if (decision === "choose" && value === values[s.given]) decision = "keep";
    if (decision === "choose" && value === values[s.suggested]) decision = "fix";
    if (decision === "fix") value = values[s.suggested];
    return [s.row, decision, ["fix", "choose", "new"].includes(decision) ? value : ""];
  }

  function decideAll(list, decision, value) {
    const entries = list.map((s) => entryOf(s, decision, value)).filter((entry) => entry !== null);
    if (entries.length === 0) return;
    store.add(entries);
    refresh();
  }

  /* Decides on the chosen suspect and moves on to the next one that is still open. */
  function decide(decision, value) {
    const s = shown[chosen];
    if (!s) return;
    if (decision === "choose" && value === undefined) {
      openChoice();
      return;
    }
    const many = marked();
    const entry = entryOf(s, decision, value);
    if (many.length === 1 && entry === null) return;
    moveOn(() => {
      if (many.length > 1) {
        decideAll(many, decision, value);
        return;
      }
      store.add([entry]);
      redraw(s);
    }, range()[1]);
  }

  /* Does something, and goes on to the first open one after the place `until`. */
  function moveOn(act, until) {
    act();
    let next = until + 1;
    while (next < shown.length && store.state.has(shown[next].row)) next++;
    if (next < shown.length) step(next - chosen);
    else choose(chosen);
  }

  function undo() {
    const rows = store.undo();
    if (rows.length === 0) return;
    const place = shown.indexOf(byRow.get(rows[0]));
    if (rows.length > 1) refresh();
    else redraw(byRow.get(rows[0]));
    if (place >= 0) step(place - chosen);
  }

  /* ---- choosing another label: type to find ------------------------------------------------------- */

  function openChoice() {
    const box = $("choose");
    const input = make("input", { type: "text", placeholder: "type to find a label, or a new one", role: "combobox",
      "aria-label": "Another label", "aria-expanded": "true", "aria-controls": "choices", autocomplete: "off", spellcheck: "false" });
    const list = make("ul", { class: "choices", id: "choices", role: "listbox" });
    const liking = likely(shown[chosen]).order;
    const place = (c) => (liking.includes(c) ? liking.indexOf(c) : liking.length + c);
    let found = [];
    let at = 0;
    /* A class, or -1 for what was typed as a new one. */
    const take = (c) => (c < 0 ? decide("new", input.value.trim()) : decide("choose", values[c]));
    const draw = () => {
      list.replaceChildren(...found.map((c, i) => make("li", { role: "option", id: `choice-${i}`, "aria-selected": String(i === at),
        onclick: () => take(c) }, ...(c < 0 ? ["a new label: ", make("bdi", { text: input.value.trim() })] : [label(c)]))));
      input.setAttribute("aria-activedescendant", found.length > 0 ? `choice-${at}` : "");
    };
    const search = () => {
      const find = input.value.trim().toLowerCase();
      const rank = (name) => (name === find ? 0 : name.startsWith(find) ? 1 : name.includes(find) ? 2 : 3);
      found = names.map((name, c) => [rank(String(name).toLowerCase()), c]).filter(([r]) => r < 3)
        .sort((a, b) => a[0] - b[0] || place(a[1]) - place(b[1])).slice(0, 8).map(([, c]) => c);
      const isThere = values.includes(input.value.trim()) || names.some((name) => String(name).toLowerCase() === find);
      if (find !== "" && !isThere) found.push(-1);
      at = 0;
      draw();
    };
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        at = Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
        draw();
      } else if (event.key === "Enter" && found.length > 0) {
        take(found[at]);
        $("list").focus({ preventScroll: true });
      } else if (event.key === "Escape") {
        drawDetail();
        $("list").focus({ preventScroll: true });
      } else {
        return;
      }
      event.preventDefault();
    });
    box.replaceChildren(input, list);
    box.hidden = false;
    search();
    input.focus();
  }

  /* ---- setting up the review ---------------------------------------------------------------------- */

  function decideLikely(place) {
    const c = shown[chosen] ? likely(shown[chosen]).order[place] : undefined;
    if (c !== undefined) decide("choose", values[c]);
  }

  /* Only ever about what is in view: else it is brought there first. */
  const about = (act) => Object.assign(() => {
    const isSeen = (element) => {
      const box = element ? element.getBoundingClientRect() : { top: 0, bottom: 0 };
      return box.top < innerHeight - 40 && box.bottom > 100;
    };
    if (isSeen($(`card-${chosen}`)) || isSeen($("detail").querySelector(".decide"))) act();
    else (isStacked() ? $("detail") : $(`card-${chosen}`) || $("list")).scrollIntoView({ block: "center" });
  }, { brings: true });

  const keys = {
    k: about(() => decide("keep")), f: about(() => decide("fix")), d: about(() => decide("drop")),
    c: about(() => decide("choose")), s: about(() => decide("unsure")),
    x: about(() => decide("none")), u: undo,
    n: () => step(1), p: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1),
    "/": () => $("find").focus(),
  };
  for (let i = 0; i < 5; i++) keys[i + 1] = about(() => decideLikely(i));

  /* In the list itself, up and down go by its rows. */
  const columns = () => getComputedStyle($("list")).gridTemplateColumns.split(" ").length;
  const listKeys = {
    ArrowDown: (extend) => step(columns(), extend), ArrowUp: (extend) => step(-columns(), extend),
    ArrowRight: (extend) => step(1, extend), ArrowLeft: (extend) => step(-1, extend),
    Home: () => step(-shown.length), End: () => step(shown.length),
  };

  function reviewIsSeen() {
    const box = $("review").getBoundingClientRect();
    return box.top < innerHeight && box.bottom > 0;
  }

  function onKey(event) {
    const typing = event.target.closest("input, select, textarea, canvas");
    if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = event.target === $("list") && listKeys[event.key] || Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act || !act.brings && !reviewIsSeen()) return;
    event.preventDefault();
    act(event.shiftKey && event.key.startsWith("Arrow"));
  }

  function fillSelects() {
    const classes = new Map();
    const pairs = new Map();
    const count = (map, key) => map.set(key, (map.get(key) || 0) + 1);
    for (const s of suspects) {
      count(classes, s.given);
      if (s.suggested !== s.given) count(classes, s.suggested);
      count(pairs, `${s.given}-${s.suggested}`);
    }
    const options = (map, text) => Array.from(map).sort((a, b) => b[1] - a[1])
      .map(([key, n]) => make("option", { value: key, text: `${text(key)} (${n})` }));
    $("class").append(...options(classes, nameOf));
    $("pair").append(...options(pairs, (key) => key.split("-").map((c) => nameOf(Number(c))).join(" → ")));
  }

  const pairKey = (a, b) => $("pair") &&
    [`${a}-${b}`, `${b}-${a}`].find((pair) => $("pair").querySelector(`option[value="${pair}"]`));
  const hasPair = (a, b) => Boolean(pairKey(a, b));

  function showPair(a, b) {
    const key = pairKey(a, b);
    if (!key) return false;
    $("class").value = "";
    $("find").value = "";
    $("pair").value = key;
    filter();
    $("suspects").scrollIntoView();
    return true;
  }

  /* One sample, whatever the filters hide. */
  function showRow(row) {
    $("all").click();
    choose(shown.findIndex((s) => s.row === row));
    $(isStacked() ? "detail" : "review").scrollIntoView();
  }

  function startReview() {
    if (suspects.length === 0 || !$("review")) return;
    store.read();
    $("review").hidden = false;
    $("storage").hidden = store.kept;
    $("list").className = "list" + kind;
    $("bars-note").hidden = !data.bars || data.columns.length > 0;
    fillSelects();
    if (data.clusters > 0) {
      $("what").querySelector('[value="suspect"]').textContent = "between two";
      $("class").previousElementSibling.textContent = "Cluster";
    }
    for (const id of ["find", "over"]) $(id).addEventListener("input", filter);
    for (const id of ["what", "class", "pair", "state", "sort"])
      $(id).addEventListener("change", () => {
        filter();
        $("list").focus({ preventScroll: true });
      });
    $("more").addEventListener("click", drawMore);
    $("earlier").addEventListener("click", drawEarlier);
    for (const button of document.querySelectorAll("[data-bulk]"))
      button.addEventListener("click", () => decideAll(openOf(shown), button.dataset.bulk));
    $("all").addEventListener("click", () => {
      for (const id of ["find", "what", "class", "pair"]) $(id).value = "";
      $("over").value = 0;
      $("state").value = "all";
      filter();
    });
    $("undo").addEventListener("click", undo);
    $("export").addEventListener("click", exportDecisions);
    $("clear").addEventListener("click", () => {
      store.add(Array.from(store.state.keys(), (row) => [row, "open", ""]));
      refresh();
    });
    $("load").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", async () => {
      const file = $("file").files[0];
      if (!file) return;
      $("message").textContent = loadDecisions(await file.text());
      refresh();
      $("message").hidden = false;
      $("file").value = "";
    });
    document.addEventListener("keydown", onKey);
    addEventListener("beforeunload", (event) => {
      if (!store.kept && store.log.length > 0) event.preventDefault();
    });
    new IntersectionObserver((entries) => {
      if (entries[entries.length - 1].isIntersecting && drawn > PAGE) drawMore();
    }, { rootMargin: "600px" }).observe($("more"));
    filter();
    drawProgress();
  }

  Object.assign(rerReport, { showPair, hasPair, showRow, refresh });
  startReview();
})();
