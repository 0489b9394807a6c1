/* Every report: the navigation from the headings, and tables that are sorted by their headings. */
(function () {
  "use strict";

  function makeContents() {
    const nav = document.getElementById("contents");
    const list = document.createElement("ul");
    for (const heading of document.querySelectorAll("h2[id]")) {
      const link = document.createElement("a");
      link.href = "#" + heading.id;
      link.textContent = heading.dataset.short || heading.textContent;
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    nav.append(list);
    nav.hidden = list.children.length < 2;
    const headings = Array.from(document.querySelectorAll("h2[id]"));
    const mark = () => {
      const here = headings.filter((heading) => heading.getBoundingClientRect().top < 140).pop();
      for (const link of list.querySelectorAll("a")) {
        const isHere = here !== undefined && link.hash === "#" + here.id;
        link.classList.toggle("here", isHere);
        if (isHere) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (!waiting) requestAnimationFrame(() => { waiting = false; mark(); });
      waiting = true;
    }, { passive: true });
    mark();
  }

  function keyOf(row, column) {
    const cell = row.cells[column];
    if (!cell) return "";
    if (cell.dataset.sort === undefined) return cell.textContent;
    return cell.dataset.sort === "" ? -Infinity : Number(cell.dataset.sort);
  }

  function sortBy(table, column, button) {
    const head = button.closest("th");
    const isNumber = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : isNumber;
    const sign = descending ? -1 : 1;
    const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: keyOf(row, column) }));
    rows.sort((a, b) => sign * (typeof a.key === "number" ? a.key - b.key || 0 : a.key.localeCompare(b.key)));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map((item) => item.row));
  }

  function makeSortable(table) {
    Array.from(table.tHead.rows[0].cells, (head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, column, button));
      head.append(button);
    });
  }

  makeContents();
  document.querySelectorAll("table.sortable").forEach(makeSortable);
})();
