/* report.html: the suspects and their review, the table of classes, the matrix. Everything shown comes from the
 * JSON in #data, and only ever as text: no markup is made from it. */
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const names = data.classes;
  const values = data.values || names;
  const PAGE = 60;

  /* ---- small helpers -------------------------------------------------------------------------- */

  function make(tag, settings, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(settings || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "text") element.textContent = value;
      else if (key === "class") element.className = value;
      else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  function svg(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const nameOf = (c) => (c < 0 ? "–" : names[c] === "" ? "(empty)" : names[c]);
  const label = (c, kind) => make("bdi", { class: kind, text: nameOf(c) });
  const grouped = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");

  function percent(p) {
    if (p === null) return "–";
    if (p > 0.9995) return "> 99.9 %";
    return (100 * p).toFixed(p < 0.0995 ? 2 : 1) + " %";
  }

  /* ---- what a row looks like ------------------------------------------------------------------ */

  function barPicture(bars) {
    const width = 4 * bars.length;
    const path = bars.map((bar, i) => `M${4 * i + 2} 32v${(-0.3 * bar).toFixed(1)}`).join("");
    return svg("svg", { class: "bars", viewBox: `0 0 ${width} 64`, preserveAspectRatio: "none", role: "img",
      "aria-label": "its features, each against the mean" },
      svg("line", { x1: 0, y1: 32, x2: width, y2: 32 }), svg("path", { d: path }));
  }

  function show(row, what) {
    const box = make("div", { class: "shown" });
    if (data.pictures && data.pictures[row]) {
      const image = make("img", { alt: `${what}, row ${row}`, src: "data:image/webp;base64," + data.pictures[row] });
      image.addEventListener("load", () => image.classList.toggle("small", Math.max(image.naturalWidth, image.naturalHeight) <= 48));
      box.append(image);
    } else if (data.pictures && !data.texts) {
      box.append(make("span", { class: "missing", text: `row ${row}: no picture` }));
    }
    if (data.texts && data.texts[row] !== undefined)
      box.append(make("p", { class: "excerpt", dir: "auto", text: data.texts[row] || "(empty)" }));
    if (data.bars && data.bars[row]) box.append(barPicture(data.bars[row]));
    return box;
  }

  const kind = data.texts && !data.pictures ? " texts" : "";

  /* ---- decisions ------------------------------------------------------------------------------ */

  const suspects = data.suspects.map((s, place) => ({
    place, row: s[0], given: s[1], suggested: s[2], p: s[3], chi: s[4], flagged: s[5] === 1, like: s[6], unlike: s[7],
    id: data.ids ? data.ids[s[0]] : null, words: null,
  }));
  const byRow = new Map(suspects.map((s) => [s.row, s]));

  const isDecision = (text) => ["keep", "fix", "choose", "drop"].includes(text);

  /* A log of [row, decision, label]: the last entry of a row holds, and undo takes one off the end. */
  const store = {
    key: `rer-decisions-${data.checksum}-${data.features}`,
    log: [],
    state: new Map(),
    kept: true,
    read() {
      let text = null;
      try {
        text = localStorage.getItem(this.key);
        localStorage.setItem(this.key, text === null ? "[]" : text); /* some allow reading alone */
      } catch {
        this.kept = false;
      }
      try {
        this.log = Array.from(JSON.parse(text) || []).filter((entry) => Array.isArray(entry) && byRow.has(entry[0]) && isDecision(entry[1]));
      } catch {
        this.log = []; /* not ours */
      }
      this.replay();
    },
    replay() {
      this.state = new Map();
      for (const [row, decision, value] of this.log)
        this.state.set(row, { decision, value });
    },
    write() {
      this.replay();
      try {
        if (this.kept) localStorage.setItem(this.key, JSON.stringify(this.log));
      } catch {
        this.kept = false;
      }
      $("storage").hidden = this.kept;
    },
    add(row, decision, value) {
      this.log.push([row, decision, value]);
      this.write();
    },
  };

  const decisionOf = (s) => store.state.get(s.row);

  function badgeText(s) {
    const made = decisionOf(s);
    if (!made) return null;
    if (made.decision === "keep") return "kept";
    if (made.decision === "drop") return "dropped";
    const c = values.indexOf(made.value);
    return "→ " + (c >= 0 ? nameOf(c) : made.value);
  }

  function cell(text) {
    const value = text === null || text === undefined ? "" : String(text);
    return /[",\r\n]/.test(value) ? '"' + value.replaceAll('"', '""') + '"' : value;
  }

  function decisionsAsCsv() {
    const named = data.values !== null;
    const head = ["index", ...(data.ids ? ["id"] : []), "given_label", "decision", "new_label",
      ...(named ? ["given_name", "new_name"] : []), "mistakenness", "labels_checksum"];
    const lines = [head];
    for (const s of suspects) {
      const made = decisionOf(s);
      if (!made) continue;
      const value = made.decision === "drop" ? "" : made.decision === "keep" ? values[s.given] : made.value;
      const c = made.decision === "drop" ? -1 : values.indexOf(value);
      lines.push([s.row, ...(data.ids ? [s.id] : []), values[s.given], made.decision, value,
        ...(named ? [names[s.given], c >= 0 ? names[c] : ""] : []), s.p, "rer:" + data.checksum]);
    }
    return lines.map((line) => line.map(cell).join(",") + "\n").join("");
  }

  function exportDecisions() {
    const address = URL.createObjectURL(new Blob([decisionsAsCsv()], { type: "text/csv" }));
    const link = make("a", { href: address, download: "decisions.csv" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function parseCsv(text) {
    const rows = [[]];
    const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
    for (let match; pattern.lastIndex < text.length && (match = pattern.exec(text)); ) {
      rows[rows.length - 1].push(match[1] !== undefined ? match[1].replaceAll('""', '"') : match[2]);
      if (match[3] !== ",") rows.push([]);
    }
    return rows.filter((row) => row.length > 1);
  }

  function loadDecisions(text) {
    const rows = parseCsv(text);
    const head = rows.shift() || [];
    const at = (name) => head.indexOf(name);
    if (["index", "decision", "new_label", "labels_checksum"].some((name) => at(name) < 0))
      return "This file holds no decisions of a label report.";
    if (rows.some((row) => row[at("labels_checksum")] !== "rer:" + data.checksum))
      return "These decisions were made for other labels: nothing was loaded.";
    let loaded = 0;
    for (const row of rows) {
      const index = Number(row[at("index")]);
      const decision = row[at("decision")];
      if (!byRow.has(index) || !isDecision(decision)) continue;
      store.log.push([index, decision, decision === "keep" || decision === "drop" ? "" : row[at("new_label")]]);
      loaded++;
    }
    store.write();
    refresh();
    return `${loaded} of ${rows.length} decisions loaded.`;
  }

  /* ---- filters and the list ------------------------------------------------------------------- */

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
    pair: (a, b) => nameOf(a.given).localeCompare(nameOf(b.given)) || nameOf(a.suggested).localeCompare(nameOf(b.suggested)) || a.place - b.place,
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

  /* ---- the chosen suspect --------------------------------------------------------------------- */

  function reason(s) {
    if (s.chi === null) return [];
    const nearer = s.chi >= 1;
    const ratio = nearer ? s.chi : 1 / s.chi;
    const times = (ratio < 1.995 ? ratio.toFixed(2) : ratio < 100 ? ratio.toFixed(1) : ratio.toPrecision(3)) + "×";
    return nearer ? [`${times} closer to `, label(s.suggested), " than to its own class."]
      : [`Its own class is ${times} closer than `, label(s.suggested), "."];
  }

  function examplesOf(c, rows) {
    if (rows.length === 0) return [];
    return [make("h4", {}, "Clean examples of ", label(c)),
      make("div", { class: "examples" + kind }, ...rows.map((row) => show(row, nameOf(c))))];
  }

  function drawDetail() {
    const s = shown[chosen];
    if (!s) {
      $("detail").replaceChildren();
      return;
    }
    const made = decisionOf(s);
    const button = (key, decision, ...text) => make("button", { type: "button", "data-decision": decision,
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
          make("button", { type: "button", "aria-label": "previous", text: "←", onclick: () => step(-1) }),
          make("button", { type: "button", "aria-label": "next", text: "→", onclick: () => step(1) }))),
      big,
      make("div", { class: "change" }, label(s.given, "given"), " → ", label(s.suggested, "suggested")),
      make("div", { class: "meter", "aria-hidden": "true" }, fill),
      make("p", { class: "why" }, make("b", { text: `${percent(s.p)} likely wrong. ` }), ...reason(s)),
      make("div", { class: "decide" },
        button("k", "keep", "Keep ", label(s.given)), button("f", "fix", "Fix to ", label(s.suggested)),
        button("c", "choose", made && made.decision === "choose" ? badgeText(s) : "Choose another"), button("d", "drop", "Drop the sample")),
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

  /* ---- choosing another label: type to find --------------------------------------------------- */

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

  /* ---- setting up the review ------------------------------------------------------------------ */

  const keys = {
    k: () => decide("keep"), f: () => decide("fix"), d: () => decide("drop"), c: () => decide("choose"), u: undo,
    n: () => step(1), p: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1),
    "/": () => $("find").focus(),
  };

  function reviewIsSeen() {
    const box = $("review").getBoundingClientRect();
    return box.top < innerHeight && box.bottom > 0;
  }

  function onKey(event) {
    const typing = event.target.closest("input, select, textarea, canvas");
    if (typing || !reviewIsSeen() || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
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

  function showPair(a, b) {
    const key = [`${a}-${b}`, `${b}-${a}`].find((pair) => $("pair").querySelector(`option[value="${pair}"]`));
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

  /* ---- classes -------------------------------------------------------------------------------- */

  const rows = data.table.map((t, c) => ({ c, name: nameOf(c), n: t[0], chi: t[1], noise: t[2], issues: t[3], other: t[4],
    low: t[5], high: t[6], heights: t[7], easy: t[8], hard: t[9] }));

  function spark(row) {
    if (row.low === null) return "";
    const heights = Array.from(row.heights, (digit) => parseInt(digit, 36) / 35);
    const n = heights.length / 2;
    const w = 132 / n;
    const own = heights.slice(0, n).map((h, i) => `M${(i * w + 0.5).toFixed(1)} 29h${(w - 1).toFixed(1)}v${(-28 * h).toFixed(1)}h${(1 - w).toFixed(1)}z`).join("");
    const other = "M0 29" + heights.slice(n).map((h, i) => `L${(i * w).toFixed(1)} ${(29 - 28 * h).toFixed(1)}h${w.toFixed(1)}`).join("") + "V29";
    return svg("svg", { class: "spark", viewBox: "0 0 132 30", role: "img",
      "aria-label": `errors from ${row.low.toPrecision(3)} to ${row.high.toPrecision(3)}` },
      svg("path", { class: "own", d: own }), svg("path", { class: "other", d: other }));
  }

  function strip(title, list, c) {
    return list.length === 0 ? [] : [make("h4", { text: title }),
      make("div", { class: "strip" + kind }, ...list.map((row) => show(row, nameOf(c))))];
  }

  function classRow(row) {
    const canOpen = row.easy.length > 0;
    const name = canOpen ? make("button", { type: "button", class: "open", "aria-expanded": "false" }, label(row.c)) : label(row.c, "name");
    const line = make("tr", {}, make("td", {}, name), make("td", { class: "n", text: grouped(row.n) }),
      make("td", { class: "n", text: row.chi === null ? "–" : row.chi.toFixed(3) }), make("td", { class: "n", text: percent(row.noise) }),
      make("td", { class: "n", text: grouped(row.issues) }), make("td", {}, label(row.other)), make("td", {}, spark(row)));
    if (canOpen)
      name.addEventListener("click", () => {
        const open = name.getAttribute("aria-expanded") === "true";
        name.setAttribute("aria-expanded", String(!open));
        if (open) line.nextSibling.remove();
        else line.after(make("tr", { class: "unfolded" }, make("td", { colspan: 7 }, ...strip("Easiest", row.easy, row.c), ...strip("Hardest", row.hard, row.c))));
      });
    return line;
  }

  function startClasses() {
    if (rows.length === 0 || !$("class-table")) return;
    let key = "chi";
    let descending = true;
    let count = PAGE;
    const draw = () => {
      const find = $("find-class").value.trim().toLowerCase();
      const sign = descending ? -1 : 1;
      const wanted = rows.filter((row) => find === "" || row.name.toLowerCase().includes(find));
      wanted.sort((a, b) => (key === "name" ? sign * a.name.localeCompare(b.name, undefined, { numeric: true })
        : sign * ((a[key] ?? -1) - (b[key] ?? -1))) || a.c - b.c);
      $("class-rows").replaceChildren(...wanted.slice(0, count).map(classRow));
      $("more-classes").hidden = wanted.length <= count;
    };
    for (const head of document.querySelectorAll("#class-table th[data-key]"))
      head.querySelector("button").addEventListener("click", () => {
        descending = head.dataset.key === key ? !descending : head.dataset.key !== "name";
        key = head.dataset.key;
        for (const other of document.querySelectorAll("#class-table th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        draw();
      });
    $("find-class").addEventListener("input", draw);
    $("more-classes").addEventListener("click", () => { count += 5 * PAGE; draw(); });
    $("class-table").hidden = false;
    draw();
  }

  /* ---- the matrix of many classes ------------------------------------------------------------- */

  const MARGIN = 120; /* for names, once they fit */

  function startMatrix() {
    if (data.pairs.length === 0 || !$("matrix")) return;
    $("confused").hidden = $("confused-lead").hidden = $("pairs").hidden = false;
    $("pairs").append(...data.pairs.slice(0, 12).map(([a, b, ab, ba]) =>
      make("button", { type: "button", onclick: () => showPair(a, b) },
        make("span", {}, label(a), " / ", label(b)), make("span", { class: "muted", text: grouped(ab + ba) }))));
    if (data.order.length <= 40) return; /* drawn already */
    const n = data.order.length;
    const place = new Array(n);
    data.order.forEach((c, i) => { place[c] = i; });
    const cells = new Map(); /* row * n + column -> samples */
    for (const [a, b, ab, ba] of data.pairs) {
      if (ab > 0) cells.set(place[a] * n + place[b], ab);
      if (ba > 0) cells.set(place[b] * n + place[a], ba);
    }
    $("matrix").hidden = false;
    const canvas = $("canvas");
    const view = { x: 0, y: 0, size: n };
    const shareOf = (key, count) => count / Math.max(1, rows[data.order[Math.floor(key / n)]].n);

    function draw() {
      const side = canvas.clientWidth;
      const ratio = devicePixelRatio || 1;
      canvas.width = canvas.height = Math.round(side * ratio);
      const pen = canvas.getContext("2d");
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(name).trim();
      pen.scale(ratio, ratio);
      pen.clearRect(0, 0, side, side);
      const named = (side - MARGIN) / view.size >= 11;
      const from = named ? MARGIN : 0;
      const unit = (side - from) / view.size;
      view.from = from;
      view.unit = unit;
      pen.save();
      pen.beginPath();
      pen.rect(from, from, side - from, side - from);
      pen.clip();
      pen.strokeStyle = colour("--chart-grid");
      for (let i = 0; i < n; ) {
        let j = i;
        while (j < n && data.blocks[j] === data.blocks[i]) j++;
        if (j - i > 1) pen.strokeRect(from + (i - view.x) * unit, from + (i - view.y) * unit, (j - i) * unit, (j - i) * unit);
        i = j;
      }
      pen.fillStyle = colour("--c1");
      const dot = Math.max(unit, 1.6);
      for (const [key, count] of cells) {
        const x = (key % n) - view.x;
        const y = Math.floor(key / n) - view.y;
        if (x < -1 || y < -1 || x > view.size || y > view.size) continue;
        pen.globalAlpha = Math.min(1, 0.15 + 0.85 * Math.sqrt(shareOf(key, count) / 0.3));
        pen.fillRect(from + x * unit, from + y * unit, dot, dot);
      }
      pen.globalAlpha = 1;
      pen.restore();
      if (!named) return;
      pen.fillStyle = colour("--chart-text");
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      const short = (i) => { const name = nameOf(data.order[i]); return name.length > 17 ? name.slice(0, 16) + "…" : name; };
      for (let i = Math.max(0, Math.floor(view.y)); i < Math.min(n, view.y + view.size); i++) {
        const y = from + (i + 0.5 - view.y) * unit;
        pen.textAlign = "right";
        if (y > from) pen.fillText(short(i), from - 5, y);
      }
      for (let i = Math.max(0, Math.floor(view.x)); i < Math.min(n, view.x + view.size); i++) {
        const x = from + (i + 0.5 - view.x) * unit;
        if (x < from) continue;
        pen.save();
        pen.translate(x, from - 5);
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "left";
        pen.fillText(short(i), 0, 0);
        pen.restore();
      }
    }

    function zoom(factor, x, y) {
      const size = Math.max(6, Math.min(n, view.size * factor));
      const at = (p, start) => start + ((p - view.from) / view.unit) * (1 - size / view.size);
      const middle = canvas.clientWidth / 2;
      view.x = at(x ?? middle, view.x);
      view.y = at(y ?? middle, view.y);
      view.size = size;
      move(0, 0);
    }

    function move(x, y) {
      view.x = Math.max(0, Math.min(n - view.size, view.x + x));
      view.y = Math.max(0, Math.min(n - view.size, view.y + y));
      draw();
    }

    function cellAt(event) {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left - view.from) / view.unit + view.x);
      const row = Math.floor((event.clientY - box.top - view.from) / view.unit + view.y);
      return column >= 0 && row >= 0 && column < n && row < n ? [row, column] : null;
    }

    /* The nearest cell with samples: at a thousand classes a place is smaller than a pixel. */
    function filledAt(event) {
      const at = cellAt(event);
      if (at === null) return null;
      const reach = Math.ceil(3 / view.unit);
      let best = null;
      for (let r = at[0] - reach; r <= at[0] + reach; r++)
        for (let c = at[1] - reach; c <= at[1] + reach; c++) {
          const count = r >= 0 && c >= 0 && r < n && c < n ? cells.get(r * n + c) : undefined;
          const far = Math.hypot(r - at[0], c - at[1]);
          if (count !== undefined && (best === null || far < best.far)) best = { row: r, column: c, count, far };
        }
      return best;
    }

    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; });
    canvas.addEventListener("pointermove", (event) => {
      if (drag && event.buttons === 1 && view.size < n) {
        if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 3 && !drag.moved) return;
        move((drag.x - event.clientX) / view.unit, (drag.y - event.clientY) / view.unit);
        drag = { x: event.clientX, y: event.clientY, moved: true };
        return;
      }
      const found = filledAt(event);
      const name = (i) => nameOf(data.order[i]);
      $("cell").textContent = found === null ? "Point at a place to read it; click to see its suspects."
        : `${name(found.row)} → ${name(found.column)}: ${grouped(found.count)} samples, ${percent(shareOf(found.row * n + found.column, found.count))} of ${name(found.row)}`;
    });
    canvas.addEventListener("click", (event) => {
      const found = drag && drag.moved ? null : filledAt(event);
      drag = null;
      if (found) showPair(data.order[found.row], data.order[found.column]);
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const by = view.size / 8;
      const steps = { ArrowRight: [by, 0], ArrowLeft: [-by, 0], ArrowDown: [0, by], ArrowUp: [0, -by] };
      if (Object.hasOwn(steps, event.key)) move(...steps[event.key]);
      else if (event.key === "+" || event.key === "=") zoom(0.6);
      else if (event.key === "-") zoom(1.7);
      else return;
      event.preventDefault();
    });
    $("zoom-in").addEventListener("click", () => zoom(0.6));
    $("zoom-out").addEventListener("click", () => zoom(1.7));
    $("zoom-all").addEventListener("click", () => { view.size = n; move(0, 0); });
    new ResizeObserver(draw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  startReview();
  startClasses();
  startMatrix();
})();
