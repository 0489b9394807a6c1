/* report.html: the suspects, what was decided about them, and the file that rer apply reads. */
(function () {
  "use strict";

  const { data, $, names, values, make, nameOf, fileName } = rerReport;

  const suspects = data.suspects.map((s, place) => ({
    place, row: s[0], given: s[1], suggested: s[2], p: s[3], chi: s[4],
    flagged: (s[5] & 1) !== 0, outlier: (s[5] & 2) !== 0, like: s[6], unlike: s[7],
    near: s[8], nearSuggested: s[9], nearness: s[10], group: s[11], nearest: s[12], neighbours: s[13], telling: s[14],
    likely: new Map(s[15]), favoured: s[16],
    ranked: (s[5] & 4) !== 0,
    id: data.ids ? data.ids[s[0]] : null, name: data.ids ? data.ids[s[0]] : fileName(s[0]), words: null,
  }));
  const byRow = new Map(suspects.map((s) => [s.row, s]));

  const isDecision = (text) => ["keep", "fix", "choose", "new", "drop", "none", "unsure"].includes(text);
  const hasLabel = (decision) => ["fix", "choose", "new"].includes(decision);
  const isEntry = (text) => isDecision(text) || text === "open" || text === "note";

  /* A log of [row, decision, label, step]: the last entry of a row holds ("open": none, "note": a text beside it), and
   * undo takes those of the last step off the end. */
  const store = {
    key: `rer-decisions-${data.checksum}-${data.features}`,
    log: [],
    state: new Map(),
    notes: new Map(),
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
        this.log = Array.from(JSON.parse(text) || [])
          .filter((entry) => Array.isArray(entry) && byRow.has(entry[0]) && isEntry(entry[1]));
      } catch {
        this.log = []; /* not ours */
      }
      this.replay();
    },
    replay() {
      this.state = new Map();
      this.notes = new Map();
      for (const [row, decision, value] of this.log)
        if (decision === "note") this.notes.set(row, value);
        else if (decision === "open") this.state.delete(row);
        else this.state.set(row, { decision, value });
      for (const [row, text] of this.notes)
        if (text === "") this.notes.delete(row);
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
    stepOf(entry) { return entry ? entry[3] || 0 : 0; },
    /* Entries [row, decision, label] that are undone together. */
    add(entries) {
      const step = this.stepOf(this.log[this.log.length - 1]) + 1;
      for (const entry of entries) this.log.push([...entry, step]);
      this.write();
    },
    /* Returns the rows that changed, the first one first. */
    undo() {
      const last = this.log[this.log.length - 1];
      const step = this.stepOf(last);
      const rows = [];
      while (this.log.length > 0 && (rows.length === 0 || step > 0 && this.stepOf(this.log[this.log.length - 1]) === step))
        rows.unshift(this.log.pop()[0]);
      if (rows.length > 0) this.write();
      return rows;
    },
  };

  const decisionOf = (s) => store.state.get(s.row);

  function badgeText(s) {
    const made = decisionOf(s);
    if (!made) return null;
    const words = { keep: "kept", drop: "dropped", none: "none fits", unsure: "unsure" };
    if (Object.hasOwn(words, made.decision)) return words[made.decision];
    const c = values.indexOf(made.value);
    return "→ " + (c >= 0 ? nameOf(c) : made.value);
  }

  function cell(text) {
    const value = text === null || text === undefined ? "" : String(text);
    return /[\x22,\r\n]/.test(value) ? '"' + value.replaceAll('"', '""') + '"' : value;
  }

  function decisionsAsCsv() {
    const named = data.values !== null;
    const head = ["index", ...(data.ids ? ["id"] : []), "given_label", "decision", "new_label",
      ...(named ? ["given_name", "new_name"] : []), "mistakenness", "labels_checksum", ...(store.notes.size > 0 ? ["note"] : [])];
    const lines = [head];
    for (const s of suspects) {
      const made = decisionOf(s) || (store.notes.has(s.row) ? { decision: "unsure" } : null);
      if (!made) continue;
      const stays = made.decision === "keep" || made.decision === "unsure";
      const value = stays ? values[s.given] : hasLabel(made.decision) ? made.value : "";
      const c = stays || hasLabel(made.decision) ? values.indexOf(value) : -1;
      lines.push([s.row, ...(data.ids ? [s.id] : []), values[s.given], made.decision, value,
        ...(named ? [names[s.given], c >= 0 ? names[c] : ""] : []), s.p, "rer:" + data.checksum,
        ...(store.notes.size > 0 ? [store.notes.get(s.row)] : [])]);
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
    const pattern = /(?:\x22((?:[^\x22]|\x22\x22)*)\x22|([^\x22,\r\n]*))(,|\r?\n|$)/gy;
    for (let match; pattern.lastIndex < text.length && (match = pattern.exec(text)); ) {
      rows[rows.length - 1].push(match[1] !== undefined ? match[1].replaceAll('""', '"') : match[2]);
      if (match[3] !== ",") rows.push([]);
    }
    return rows.filter((row) => row.length > 1);
  }

  /* Adds the decisions of an exported file; returns what to tell. */
  function loadDecisions(text) {
    const rows = parseCsv(text);
    const head = rows.shift() || [];
    const at = (name) => head.indexOf(name);
    if (["index", "decision", "new_label", "labels_checksum"].some((name) => at(name) < 0))
      return "This file holds no decisions of a label report.";
    if (rows.some((row) => row[at("labels_checksum")] !== "rer:" + data.checksum))
      return "These decisions were made for other labels: nothing was loaded.";
    const found = rows.map((row) => [Number(row[at("index")]), row[at("decision")], row[at("new_label")], row[at("note")]])
      .filter(([index, decision]) => byRow.has(index) && isDecision(decision));
    store.add(found.flatMap(([index, decision, value, note]) => [
      [index, decision, hasLabel(decision) ? value : ""], ...(note ? [[index, "note", note]] : [])]));
    return `${found.length} of ${rows.length} decisions loaded.`;
  }

  /* Where the labels are numbers, a new one that is none needs texts. */
  function needsTexts() {
    const isNumber = (text) => /^\d+$/.test(text);
    return values.every((value) => /^-?\d+$/.test(value)) &&
      Array.from(store.state.values()).some((made) => made.decision === "new" && !isNumber(made.value));
  }

  Object.assign(rerReport, { needsTexts, suspects, byRow, store, decisionOf, badgeText, exportDecisions, loadDecisions });
})();
