/* report.html: the list of suspects with its filters, the chosen one, and the review by keyboard. */
(function () {
  "use strict";

  const { data, $, names, values, make, nameOf, label, grouped, percent, show, kind } = rerReport;
  const { suspects, byRow, store, decisionOf, badgeText, exportDecisions, loadDecisions } = rerReport;
  const PAGE = 60; /* cards that are drawn at once */

  /* ---- filters and the list ----------------------------------------------------------------------- */

  let shown = suspects;
  let drawn = 0;
  let chosen = -1; /* place in `shown` */

  function wordsOf(s) {
    if (s.words === null)
      s.words = [s.row, s.id, nameOf(s.given), nameOf(s.suggested), data.texts ? data.texts[s.row] : ""].join("\n").toLowerCase();
    return s.words;
  }

  const sorts = {
    probability: (a, b) => a.place - b.place,
    chi: (a, b) => (b.chi ?? -1) - (a.chi ?? -1) || a.place - b.place,
    pair: (a, b) => nameOf(a.given).localeCompare(nameOf(b.given)) ||
      nameOf(a.suggested).localeCompare(nameOf(b.suggested)) || a.place - b.place,
    row: (a, b) => a.row - b.row,
  };

  function filter() {
    const find = $("find").value.trim().toLowerCase();
    const over = Number($("over").value) / 100;
    const only = $("class").value === "" ? -1 : Number($("class").value);
    const pair = $("pair").value;
    const state = $("state").value;
    const before = shown[chosen];
    $("over-shown").textContent = Math.round(100 * over) + " %";
    shown = suspects.filter((s) =>
      (s.p === null ? over === 0 : s.p >= over) && (only < 0 || s.given === only || s.suggested === only) &&
      (pair === "" || `${s.given}-${s.suggested}` === pair) && (find === "" || wordsOf(s).includes(find)) &&
      (state === "all" || (state === "done") === store.state.has(s.row)));
    shown.sort(sorts[$("sort").value]);
    $("list").replaceChildren();
    drawn = 0;
    drawMore();
    const again = before ? shown.indexOf(before) : -1;
    choose(again >= 0 ? again : shown.length > 0 ? 0 : -1);
    $("none").hidden = shown.length > 0;
    $("count").textContent = shown.length === suspects.length ? `${grouped(suspects.length)} suspects`
      : `${grouped(shown.length)} of ${grouped(suspects.length)} suspects`;
  }

  function fillCard(card, s) {
    const badge = badgeText(s);
    card.classList.toggle("decided", badge !== null);
    card.replaceChildren(
      show(s.row, nameOf(s.given)),
      make("div", { class: "labels" }, label(s.given, "given"), " → ", label(s.suggested, "suggested")),
      make("div", { class: "foot" }, make("span", { text: s.id === null ? `row ${s.row}` : s.id }),
        make("span", { class: s.flagged ? "p flagged" : "p", text: percent(s.p) })),
      ...(badge === null ? [] : [make("span", { class: "badge", text: badge })]));
  }

  function drawMore() {
    const until = Math.min(drawn + PAGE, shown.length);
    const cards = [];
    for (; drawn < until; drawn++) {
      const place = drawn;
      const card = make("div", { class: "card", role: "option", id: `card-${place}`, "aria-selected": "false" });
      card.addEventListener("click", () => {
        choose(place);
        if (getComputedStyle($("detail")).position === "static") $("detail").scrollIntoView({ block: "start" });
      });
      fillCard(card, shown[place]);
      cards.push(card);
    }
    $("list").append(...cards);
    $("more").hidden = drawn >= shown.length;
  }

  function choose(place) {
    const before = $(`card-${chosen}`);
    if (before) before.setAttribute("aria-selected", "false");
    chosen = place;
    while (chosen >= drawn && drawn < shown.length) drawMore();
    const card = $(`card-${chosen}`);
    if (card) {
      card.setAttribute("aria-selected", "true");
      $("list").setAttribute("aria-activedescendant", card.id);
    }
    drawDetail();
  }

  function step(by) {
    if (shown.length === 0) return;
    choose(Math.max(0, Math.min(shown.length - 1, chosen + by)));
    $(`card-${chosen}`).scrollIntoView({ block: "nearest" });
  }

  /* ---- the chosen suspect ------------------------------------------------------------------------- */

  function reason(s) {
    const atHome = s.nearness !== null && s.nearness <= 1.1;
    if (s.outlier && !atHome) return ["None of the classes fits: it is like nothing else here. ", ...nearRows(s), ...nearness(s)];
    return s.near > 0 ? nearRows(s) : nearness(s);
  }

  /* From the second look: whose rows are next to it, and how near that class is. */
  function nearRows(s) {
    if (s.near === 0) return [];
    const words = s.nearness === null ? ["."]
      : s.nearness <= 1.1 ? ["; as near to ", label(s.suggested), " as a typical one. "]
        : s.nearness < 10 ? [`; ${s.nearness.toFixed(1)}× as far from `, label(s.suggested), " as a typical one. "]
          : ["; far away from them. "];
    return [`${s.nearSuggested} of its ${s.near} nearest are `, label(s.suggested), ...words];
  }

  function nearness(s) {
    if (s.chi === null) return [];
    const nearer = s.chi >= 1;
    const ratio = nearer ? s.chi : 1 / s.chi;
    const times = (ratio < 1.995 ? ratio.toFixed(2) : ratio < 100 ? ratio.toFixed(1)
      : ratio < 1000 ? ratio.toPrecision(3) : "over 1000") + "×";
    return nearer ? [`${times} closer to `, label(s.suggested), " than to its own class."]
      : [`Its own class is ${times} closer than `, label(s.suggested), "."];
  }

  function examplesOf(c, rows) {
    if (rows.length === 0) return [];
    return [make("h4", {}, "Clean examples of ", label(c)),
      make("div", { class: "examples" + kind }, ...rows.map((row) => show(row, nameOf(c))))];
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
    const made = decisionOf(s);
    const button = (key, decision, ...text) => make("button", { type: "button", "data-act": decision,
      class: made && made.decision === decision ? "chosen" : null, onclick: () => decide(decision) },
      make("span", {}, ...text), make("kbd", { text: key }));
    const fill = make("span", {});
    fill.style.width = 100 * (s.p || 0) + "%";
    const big = show(s.row, nameOf(s.given));
    big.classList.add("big");
    $("detail").replaceChildren(
      make("div", { class: "top" },
        make("h3", {}, s.id === null ? `Row ${s.row}` : s.id, s.id === null ? null : make("small", { text: `row ${s.row}` })),
        make("span", { class: "buttons" },
          make("button", { type: "button", "data-act": "previous", "aria-label": "previous", text: "←", onclick: () => step(-1) }),
          make("button", { type: "button", "data-act": "next", "aria-label": "next", text: "→", onclick: () => step(1) }))),
      big,
      make("div", { class: "change" }, label(s.given, "given"), " → ", label(s.suggested, "suggested")),
      make("div", { class: "meter", "aria-hidden": "true" }, fill),
      make("p", { class: "why" }, make("b", { text: `${percent(s.p)} likely wrong. ` }), ...reason(s)),
      make("div", { class: "decide" },
        button("k", "keep", "Keep ", label(s.given)), button("f", "fix", "Fix to ", label(s.suggested)),
        button("c", "choose", made && made.decision === "choose" ? badgeText(s) : "Choose another"),
        button("d", "drop", "Drop the sample")),
      make("div", { class: "choose", id: "choose", hidden: true }),
      ...examplesOf(s.given, s.like), ...examplesOf(s.suggested, s.unlike));
  }

  function redraw(s) {
    const place = shown.indexOf(s);
    const card = $(`card-${place}`);
    if (card) fillCard(card, s);
    if (place === chosen) drawDetail();
    drawProgress();
  }

  function refresh() {
    for (let place = 0; place < drawn; place++) fillCard($(`card-${place}`), shown[place]);
    drawDetail();
    drawProgress();
  }

  function drawProgress() {
    const done = store.state.size;
    $("done").max = suspects.length;
    $("done").value = done;
    $("done-shown").textContent = `${grouped(done)} of ${grouped(suspects.length)} decided`;
    $("undo").disabled = store.log.length === 0;
    $("clear").disabled = done === 0;
    $("export").disabled = done === 0;
  }

  /* Decides on the chosen suspect and moves on to the next one that is still open. */
  function decide(decision, value) {
    const s = shown[chosen];
    if (!s) return;
    if (decision === "choose" && value === undefined) {
      openChoice();
      return;
    }
    if (decision === "fix" && s.suggested < 0) return;
    if (decision === "choose" && value === values[s.given]) decision = "keep";
    if (decision === "choose" && value === values[s.suggested]) decision = "fix";
    store.add(s.row, decision, decision === "fix" ? values[s.suggested] : decision === "choose" ? value : "");
    redraw(s);
    let next = chosen + 1;
    while (next < shown.length && store.state.has(shown[next].row)) next++;
    if (next < shown.length) step(next - chosen);
  }

  function undo() {
    const entry = store.log.pop();
    if (!entry) return;
    store.write();
    const s = byRow.get(entry[0]);
    const place = shown.indexOf(s);
    redraw(s);
    if (place >= 0) step(place - chosen);
  }

  /* ---- choosing another label: type to find ------------------------------------------------------- */

  function openChoice() {
    const box = $("choose");
    const input = make("input", { type: "text", placeholder: "type to find a label", role: "combobox", "aria-label": "Another label",
      "aria-expanded": "true", "aria-controls": "choices", autocomplete: "off", spellcheck: "false" });
    const list = make("ul", { class: "choices", id: "choices", role: "listbox" });
    let found = [];
    let at = 0;
    const draw = () => {
      list.replaceChildren(...found.map((c, i) => make("li", { role: "option", id: `choice-${i}`, "aria-selected": String(i === at),
        onclick: () => decide("choose", values[c]) }, label(c))));
      input.setAttribute("aria-activedescendant", found.length > 0 ? `choice-${at}` : "");
    };
    const search = () => {
      const find = input.value.trim().toLowerCase();
      const rank = (name) => (name === find ? 0 : name.startsWith(find) ? 1 : name.includes(find) ? 2 : 3);
      found = names.map((name, c) => [rank(String(name).toLowerCase()), c]).filter(([r]) => r < 3)
        .sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, 8).map(([, c]) => c);
      at = 0;
      draw();
    };
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        at = Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
        draw();
      } else if (event.key === "Enter" && found.length > 0) {
        decide("choose", values[found[at]]);
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

  const keys = {
    k: () => decide("keep"), f: () => decide("fix"), d: () => decide("drop"), c: () => decide("choose"), u: undo,
    n: () => step(1), p: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1),
    "/": () => $("find").focus(),
  };

  /* In the list itself, up and down go by its rows. */
  const columns = () => getComputedStyle($("list")).gridTemplateColumns.split(" ").length;
  const listKeys = {
    ArrowDown: () => step(columns()), ArrowUp: () => step(-columns()),
    Home: () => step(-shown.length), End: () => step(shown.length),
  };

  function reviewIsSeen() {
    const box = $("review").getBoundingClientRect();
    return box.top < innerHeight && box.bottom > 0;
  }

  function onKey(event) {
    const typing = event.target.closest("input, select, textarea, canvas");
    if (typing || event.ctrlKey || event.altKey || event.metaKey || !reviewIsSeen()) return;
    const act = event.target === $("list") && listKeys[event.key] || Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
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

  function startReview() {
    if (suspects.length === 0 || !$("review")) return;
    store.read();
    $("review").hidden = false;
    $("storage").hidden = store.kept;
    $("list").className = "list" + kind;
    $("bars-note").hidden = !data.bars;
    fillSelects();
    for (const id of ["find", "over"]) $(id).addEventListener("input", filter);
    for (const id of ["class", "pair", "state", "sort"]) $(id).addEventListener("change", filter);
    $("more").addEventListener("click", drawMore);
    $("all").addEventListener("click", () => {
      for (const id of ["find", "class", "pair"]) $(id).value = "";
      $("over").value = 0;
      $("state").value = "all";
      filter();
    });
    $("undo").addEventListener("click", undo);
    $("export").addEventListener("click", exportDecisions);
    let armed = 0;
    $("clear").addEventListener("click", () => {
      clearTimeout(armed);
      if ($("clear").textContent !== "Clear all") {
        store.log = [];
        store.write();
        refresh();
        $("clear").textContent = "Clear all";
        return;
      }
      $("clear").textContent = "Really clear?";
      armed = setTimeout(() => { $("clear").textContent = "Clear all"; }, 4000);
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

  Object.assign(rerReport, { showPair, hasPair });
  startReview();
})();
