/* report.html: what the scripts of this page share. Everything shown comes from the JSON in #data, and only ever as
 * text: no markup is made from it. review.js and classes.js draw the page. */
const rerReport = (function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const names = data.classes;
  const values = data.values || names;

  /* ---- small helpers ------------------------------------------------------------------------------ */

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
    if (p > 0 && p < 0.00005) return "< 0.01 %";
    return (100 * p).toFixed(p < 0.0995 ? 2 : 1) + " %";
  }

  /* ---- what a row looks like ---------------------------------------------------------------------- */

  function barPicture(bars) {
    const width = 4 * bars.length;
    const path = bars.map((bar, i) => `M${4 * i + 2} 32v${(-0.3 * bar).toFixed(1)}`).join("");
    return svg("svg", { class: "bars", viewBox: `0 0 ${width} 64`, preserveAspectRatio: "none", role: "img",
      "aria-label": "its features, each against the mean" },
      svg("line", { x1: 0, y1: 32, x2: width, y2: 32 }), svg("path", { d: path }));
  }

  const short = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));

  /* What stands out in a row of a table with named columns. */
  function barWords(bars) {
    const order = bars.map((bar, j) => j).sort((a, b) => Math.abs(bars[b]) - Math.abs(bars[a])).slice(0, 3);
    return make("ul", { class: "values" }, ...order.filter((j) => Math.abs(bars[j]) > 33)
      .map((j) => make("li", {}, make("bdi", { text: data.columns[j] }), bars[j] > 0 ? " high" : " low")));
  }

  /* Where the picture's file is, seen from this page. */
  function fileAddress(row) {
    const path = data.files[row].startsWith("/") ? data.files[row] : data.origin + data.files[row];
    return (path.startsWith("/") ? "file://" : "") + path.split("/").map(encodeURIComponent).join("/");
  }

  const fileName = (row) => data.files && data.files[row] ? data.files[row].split("/").pop() : null;

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
    const bars = data.bars && data.bars[row];
    if (bars) box.append(bars.length === data.columns.length ? barWords(bars) : barPicture(bars));
    return box;
  }

  const kind = data.texts && !data.pictures ? " texts" : "";

  return { data, $, names, values, make, svg, nameOf, label, grouped, percent, short, show, fileAddress, fileName, kind };
})();
