/* report.html: the table of classes, the matrix of many classes, samples that fit none. */
(function () {
  "use strict";

  const { data, $, make, svg, nameOf, label, grouped, percent, show, kind, showPair, hasPair } = rerReport;
  const PAGE = 60; /* rows that are drawn at once */

  /* ---- classes ------------------------------------------------------------------------------------ */

  const rows = data.table.map((t, c) => ({ c, name: nameOf(c), n: t[0], chi: t[1], noise: t[2], issues: t[3], other: t[4],
    low: t[5], high: t[6], heights: t[7], easy: t[8], hard: t[9] }));

  function spark(row) {
    if (row.low === null) return "";
    const heights = Array.from(row.heights, (digit) => parseInt(digit, 36) / 35);
    const n = heights.length / 2;
    const w = 132 / n;
    const f = (value) => value.toFixed(1);
    const own = heights.slice(0, n).map((h, i) => `M${f(i * w + 0.5)} 29h${f(w - 1)}v${f(-28 * h)}h${f(1 - w)}z`).join("");
    const other = "M0 29" + heights.slice(n).map((h, i) => `L${f(i * w)} ${f(29 - 28 * h)}h${f(w)}`).join("") + "V29";
    return svg("svg", { class: "spark", viewBox: "0 0 132 30", role: "img",
      "aria-label": `errors from ${row.low.toPrecision(3)} to ${row.high.toPrecision(3)}` },
      svg("path", { class: "own", d: own }), svg("path", { class: "other", d: other }));
  }

  function strip(title, list, c) {
    return list.length === 0 ? [] : [make("h3", { text: title }),
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
        else
          line.after(make("tr", { class: "unfolded" }, make("td", { colspan: 7 },
            ...strip("Easiest", row.easy, row.c), ...strip("Hardest", row.hard, row.c))));
      });
    return line;
  }

  function startClasses() {
    if (rows.length === 0 || !$("class-table")) return;
    let key = "issues";
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
    if (data.clusters > 0) {
      $("likely-wrong").textContent = "likely of another";
      $("find-class").previousElementSibling.textContent = "Find a cluster";
      document.querySelector('[data-key="name"] button').textContent = "cluster";
      document.querySelector("#class-table caption").textContent = "Clusters";
    }
    draw();
  }

  /* ---- the matrix of many classes ----------------------------------------------------------------- */

  const TITLE = 22; /* for the axes' titles */
  const NAMES = 120; /* for names at most, once they fit */

  function startMatrix() {
    if (data.pairs.length === 0 || !$("matrix")) return;
    $("confused").hidden = $("confused-lead").hidden = $("pairs").hidden = false;
    const often = data.pairs.filter(([, , ab, ba]) => ab + ba > 1).slice(0, 12); /* once is chance */
    $("pairs").hidden = often.length === 0;
    $("pairs").append(...often.map(([a, b, ab, ba]) => {
      const open = hasPair(a, b);
      return make(open ? "button" : "div", { type: open ? "button" : null, class: "pair", onclick: open ? () => showPair(a, b) : null },
        make("span", {}, label(a), " / ", label(b)), make("span", { class: "muted", text: grouped(ab + ba) }));
    }));
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

    const short = (i) => { const name = nameOf(data.order[i]); return name.length > 17 ? name.slice(0, 16) + "…" : name; };
    let margin = 0; /* with names, measured once */

    function draw() {
      const side = canvas.clientWidth;
      const ratio = devicePixelRatio || 1;
      canvas.width = canvas.height = Math.round(side * ratio);
      const pen = canvas.getContext("2d");
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(name).trim();
      pen.scale(ratio, ratio);
      pen.clearRect(0, 0, side, side);
      pen.font = "11px system-ui, sans-serif";
      margin = margin || TITLE + 8 + Math.min(NAMES, Math.max(...data.order.map((c, i) => pen.measureText(short(i)).width)));
      const named = (side - margin) / view.size >= 11;
      const from = named ? margin : TITLE;
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
      const dot = Math.max(unit, 2.4); /* a place of many classes is smaller than a pixel */
      for (const [key, count] of cells) {
        const x = (key % n) - view.x;
        const y = Math.floor(key / n) - view.y;
        if (x < -1 || y < -1 || x > view.size || y > view.size) continue;
        pen.globalAlpha = Math.min(1, 0.3 + 0.7 * Math.sqrt(shareOf(key, count) / 0.3));
        pen.fillRect(from + x * unit, from + y * unit, dot, dot);
      }
      pen.globalAlpha = 1;
      pen.restore();
      pen.fillStyle = colour("--chart-text");
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      pen.textAlign = "center";
      const middle = from + (side - from) / 2;
      pen.fillText("nearest class \u2192", middle, TITLE / 2);
      pen.save();
      pen.rotate(-Math.PI / 2);
      pen.fillText("\u2190 given label", -middle, TITLE / 2);
      pen.restore();
      if (!named) return;
      pen.font = "11px system-ui, sans-serif";
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

    const tell = (found) => {
      const name = (i) => nameOf(data.order[i]);
      $("cell").textContent = found === null ? "No samples here."
        : `${name(found.row)} → ${name(found.column)}: ${grouped(found.count)} samples, ` +
          `${percent(shareOf(found.row * n + found.column, found.count))} of ${name(found.row)}`;
    };

    /* For those without a pointer. */
    function fullestInSight() {
      let best = null;
      for (const [key, count] of cells) {
        const row = Math.floor(key / n);
        const column = key % n;
        const seen = row >= view.y && column >= view.x && row + 1 <= view.y + view.size && column + 1 <= view.x + view.size;
        if (seen && (best === null || count > best.count)) best = { row, column, count };
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
      tell(filledAt(event));
    });
    const showCell = (found) => {
      if (!showPair(data.order[found.row], data.order[found.column])) $("cell").textContent += ". None of them is a suspect.";
    };
    canvas.addEventListener("click", (event) => {
      const found = drag && drag.moved ? null : filledAt(event);
      drag = null;
      if (found) showCell(found);
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
      else if (event.key !== "Enter") return;
      event.preventDefault();
      const found = fullestInSight();
      tell(found);
      if (event.key === "Enter" && found) showCell(found);
    });
    $("zoom-in").addEventListener("click", () => zoom(0.6));
    $("zoom-out").addEventListener("click", () => zoom(1.7));
    $("zoom-all").addEventListener("click", () => { view.size = n; move(0, 0); });
    new ResizeObserver(draw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  /* ---- samples that fit no class ------------------------------------------------------------------ */

  function startOutliers() {
    if (!$("outliers")) return;
    $("outliers").className = "strip" + kind;
    $("outliers").append(...data.outliers.map(([row, c]) => make("figure", { class: "outlier" }, show(row, nameOf(c)),
      make("figcaption", {}, label(c), make("br"), data.ids ? data.ids[row] : `row ${row}`))));
  }

  startOutliers();
  startClasses();
  startMatrix();
})();
