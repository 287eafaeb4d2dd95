"use strict";
// Text of a corpus is only ever added as text: every node is created here, and no string is parsed as HTML.
const data = JSON.parse(document.getElementById("report-data").textContent);
const find = (id) => document.getElementById(id);

// Create an element. Attributes and children that are null or undefined are left out.
function make(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Set the options [value, title] of a select element; keep the selected value if it is still there.
function fill(select, options, selected) {
  select.replaceChildren(...options.map(([value, title]) => make("option", { value }, title)));
  const remains = options.some(([value]) => value === selected);
  select.value = remains ? selected : options[0][0];
}

function scrollable(caption, table) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

// Create a table from texts; the first column has the row headings.
function makeTable(caption, head, rows) {
  const headRow = make("tr", {}, ...head.map((title) => make("th", { scope: "col" }, title)));
  const bodyRows = rows.map(([title, ...values]) => {
    const cells = values.map((value) => make("td", {}, value));
    return make("tr", {}, make("th", { scope: "row" }, title), ...cells);
  });
  const table = make(
    "table",
    {},
    make("caption", {}, caption),
    make("thead", {}, headRow),
    make("tbody", {}, ...bodyRows),
  );
  return scrollable(caption, table);
}

function makeDetails(summary, content) {
  return make("details", {}, make("summary", {}, summary), content);
}

// Light or dark theme: that of the system, until the user changes it.
const themeButton = find("theme");
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  const root = document.documentElement;
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark;
  root.dataset.theme = isDark ? "light" : "dark";
});

// Score matrix --------------------------------------------------------------------------------------------------------

const KIND_MARKS = {
  "supervised": (text) => text,
  "zero-shot": (text) => text + "†",
  "pivot": (text) => text + "‡",
  "copy": (text) => "(" + text + ")",
};
const KINDS = Object.keys(KIND_MARKS);
const DIFFERENCE_VIEWS = ["gap", "beside"];

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1);

// Difference of two scores; null if one of them is missing.
function difference(left, right) {
  return left === null || right === null || right === undefined ? null : left - right;
}

function startMatrix() {
  const form = find("matrix-controls");
  const { measure, view } = form.elements;
  const hiddenKinds = new Set();
  form.hidden = false;

  function selectedEvaluation() {
    const select = form.elements.evaluation; // missing if there is only one evaluation
    return data.matrix.evaluations.find((evaluation) => !select || evaluation.name === select.value);
  }

  function updateControls() {
    const evaluation = selectedEvaluation();
    fill(measure, Object.entries(evaluation.measures), measure.value);
    fill(view, availableViews(evaluation), view.value);
    const kinds = KINDS.filter(
      (kind) => kind !== "pivot" && evaluation.cells.some((cell) => cell.kind === kind),
    );
    find("matrix-kinds").replaceChildren(...kinds.map(makeKindSwitch));
  }

  // Value and title of each view.
  function availableViews(evaluation) {
    const { paper, pivot } = evaluation;
    const views = [["direct", "direct translation"]];
    if (pivot && evaluation.cells.some((cell) => cell.via)) {
      views.push(["pivot", "pivot translation, through " + pivot], ["gap", "direct minus pivot translation"]);
    }
    if (paper && measure.value === paper.measure) {
      views.push(["paper", "the paper's table"], ["beside", "ours minus the paper's"]);
    }
    return views;
  }

  function makeKindSwitch(kind) {
    const box = make("input", { type: "checkbox", value: kind });
    box.checked = !hiddenKinds.has(kind);
    box.addEventListener("change", () => {
      if (box.checked) hiddenKinds.delete(kind);
      else hiddenKinds.add(kind);
      draw();
    });
    return make("label", {}, box, KIND_MARKS[kind](kind));
  }

  // Entry of the table in the selected view: its cell (null for none), value, kind, and the direct translation.
  function entryOf(evaluation, source, target) {
    const findCell = (isPivot) =>
      evaluation.cells.find(
        (cell) => cell.source === source && cell.target === target && Boolean(cell.via) === isPivot,
      );
    const scoreOf = (cell) => (cell && cell.scores[measure.value] ? cell.scores[measure.value][0] : null);
    const direct = findCell(false);
    const pivot = findCell(true);
    const paperScore = evaluation.paper ? evaluation.paper.scores[source + "-" + target] : undefined;
    const entry = { cell: direct, value: scoreOf(direct), kind: direct && direct.kind, direct };
    switch (view.value) {
      case "pivot":
        return { cell: pivot, value: scoreOf(pivot), kind: "pivot", direct };
      case "gap":
        return { ...entry, cell: pivot && direct, value: difference(scoreOf(direct), scoreOf(pivot)) };
      case "paper":
        if (paperScore === undefined) return { ...entry, cell: null, value: null };
        return { ...entry, value: paperScore };
      case "beside":
        return { ...entry, value: difference(scoreOf(direct), paperScore) };
      default:
        return entry;
    }
  }

  // Show all details of an entry below the table.
  function showDetails(evaluation, { cell, value }) {
    const via = cell.via ? " through " + cell.via : "";
    const parts = [cell.source + " → " + cell.target + via, cell.kind];
    if (value === null) {
      parts.push(cell.reason || "no such score");
    } else {
      parts.push(evaluation.measures[measure.value] + " " + value.toFixed(2));
      const interval = cell.scores[measure.value] ? cell.scores[measure.value][1] : null;
      const isScore = view.value === "direct" || view.value === "pivot";
      if (interval !== null && isScore) parts.push("95 % interval ± " + interval.toFixed(2));
      parts.push(cell.sentences + " sentences");
      for (const [name, share, expected] of cell.outputs || []) {
        if (share) parts.push(name + " " + share + (expected ? " (references " + expected + ")" : ""));
      }
    }
    find("matrix-detail").textContent = parts.join(" · ");
  }

  function draw() {
    const evaluation = selectedEvaluation();
    const rows = evaluation.languages.map((source) =>
      evaluation.languages.map((target) => entryOf(evaluation, source, target)),
    );
    drawGrid(evaluation, rows);
    drawMeans(evaluation, rows.flat());
    drawNotes(evaluation);
    drawOutputErrors(evaluation);
    const detail = find("matrix-detail");
    detail.hidden = false;
    detail.textContent =
      "Point at a cell or reach it with the tab key for details; choose it to see its sentences below.";
  }

  function drawGrid(evaluation, rows) {
    const isDifference = DIFFERENCE_VIEWS.includes(view.value);
    const lowerIsBetter = evaluation.lower.includes(measure.value);
    const highest = Math.max(
      ...rows
        .flat()
        .filter((entry) => entry.cell && entry.value !== null && entry.kind !== "copy")
        .map((entry) => Math.abs(entry.value)),
      1e-9,
    );

    const body = rows.map((row, number) => {
      const cells = row.map((entry) => makeCell(evaluation, entry, { isDifference, lowerIsBetter, highest }));
      return make("tr", {}, make("th", { scope: "row" }, evaluation.languages[number]), ...cells);
    });
    const heads = ["from ↓ into →", ...evaluation.languages].map((title) => make("th", { scope: "col" }, title));
    const caption =
      evaluation.measures[measure.value] + ", " + view.selectedOptions[0].textContent +
      (lowerIsBetter ? "; lower is better" : "") + " · " + evaluation.name + ", " + evaluation.title;
    const table = make(
      "table",
      { class: "grid" },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...body),
    );
    find("matrix-shown").replaceChildren(scrollable(caption, table));
  }

  function makeCell(evaluation, entry, { isDifference, lowerIsBetter, highest }) {
    const { cell, value, kind, direct } = entry;
    if (!cell || !direct) return make("td", { class: "none" });

    let text = "–";
    let shade = "--v: 0";
    let isWorse = false;
    if (value !== null) {
      text = isDifference ? signed(value) : KIND_MARKS[kind](value.toFixed(1));
      const share = Math.min(1, Math.abs(value) / highest);
      shade = "--v: " + (lowerIsBetter && !isDifference ? 1 - share : share).toFixed(3);
      isWorse = isDifference && (lowerIsBetter ? value > 0 : value < 0);
    }

    const button = make("button", { type: "button" }, text);
    button.addEventListener("focus", () => showDetails(evaluation, entry));
    button.addEventListener("mouseenter", () => showDetails(evaluation, entry));
    button.addEventListener("click", () => {
      showDetails(evaluation, entry);
      if (showExamples) showExamples(evaluation.name, cell.source + "-" + cell.target);
    });
    const attributes = {
      style: shade,
      "data-kind": kind,
      "data-worse": isWorse ? "" : null,
      class: hiddenKinds.has(direct.kind) ? "faded" : null,
    };
    return make("td", attributes, button);
  }

  // Means of the visible entries by kind, overall and for each language.
  function drawMeans(evaluation, entries) {
    const visible = entries.filter(
      (entry) => entry.cell && entry.value !== null && !hiddenKinds.has(entry.direct.kind),
    );
    const kinds = KINDS.filter((kind) => visible.some((entry) => entry.kind === kind));
    const meanOf = (selected) => (selected.length ? mean(selected.map((entry) => entry.value)).toFixed(1) : "–");
    const meansRow = (title, condition) => {
      const selected = visible.filter((entry) => condition(entry.cell));
      return [title, ...kinds.map((kind) => meanOf(selected.filter((entry) => entry.kind === kind)))];
    };

    const head = ["", ...kinds.map((kind) => KIND_MARKS[kind](kind))];
    const languageRows = evaluation.languages.flatMap((language) => [
      meansRow("from " + language, (cell) => cell.source === language),
      meansRow("into " + language, (cell) => cell.target === language),
    ]);
    find("matrix-means").replaceChildren(
      makeTable("Means of the visible cells", head, [meansRow("all", () => true)]),
      makeDetails("Means by language", makeTable("Means by language", head, languageRows)),
    );
  }

  // Key of the colours, condition of the paper, signatures and test text.
  function drawNotes(evaluation) {
    const isDifference = DIFFERENCE_VIEWS.includes(view.value);
    const colours = isDifference
      ? "blue: better than the score it is compared with, red: worse"
      : "the stronger the blue, the better";
    find("matrix-key").textContent = colours + "; – no score";
    const comparesPaper = evaluation.paper && (view.value === "paper" || view.value === "beside");
    const condition = comparesPaper ? evaluation.paper.title + ": " + evaluation.paper.condition + ". " : "";
    find("matrix-signature").textContent =
      condition + evaluation.signatures[measure.value].join(" · ") + " · " + evaluation.test.join("; ");
  }

  function drawOutputErrors(evaluation) {
    const cells = evaluation.cells.filter((cell) => cell.outputs);
    if (!cells.length) {
      find("matrix-outputs").replaceChildren("");
      return;
    }
    const head = ["direction", "kind", ...cells[0].outputs.map(([name]) => name)];
    const rows = cells.map((cell) => {
      const errors = cell.outputs.map(
        ([, share, expected]) => (share || "–") + (expected ? " (" + expected + ")" : ""),
      );
      return [cell.name, cell.kind, ...errors];
    });
    const summary = "Output errors. In brackets: the same measure for the references.";
    find("matrix-outputs").replaceChildren(makeDetails(summary, makeTable("Output errors of every direction", head, rows)));
  }

  form.addEventListener("change", (event) => {
    if (event.target.tagName === "SELECT") {
      updateControls();
      draw();
    }
  });
  updateControls();
  draw();
}

// Examples ------------------------------------------------------------------------------------------------------------

let showExamples = null; // set by startExamples
const EXAMPLES_PER_PAGE = 10;

// Words of `left` with a mark for those that `right` lacks, by the longest common subsequence. Capitals do not count.
function missingWords(left, right) {
  const words = left.split(/(\s+)/).filter((word) => word.trim());
  const otherWords = right.split(/(\s+)/).filter((word) => word.trim());
  const isSame = (i, j) => words[i].toLocaleLowerCase() === otherWords[j].toLocaleLowerCase();

  // lengths[i][j]: length of the longest common subsequence of words[i…] and otherWords[j…]
  const lengths = Array.from({ length: words.length + 1 }, () => new Uint16Array(otherWords.length + 1));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = otherWords.length - 1; j >= 0; j--) {
      lengths[i][j] = isSame(i, j) ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }

  const marked = [];
  let i = 0;
  let j = 0;
  while (i < words.length) {
    if (j < otherWords.length && isSame(i, j)) {
      marked.push([words[i], false]);
      i++;
      j++;
    } else if (j < otherWords.length && lengths[i][j + 1] >= lengths[i + 1][j]) {
      j++;
    } else {
      marked.push([words[i], true]);
      i++;
    }
  }
  return marked;
}

// Nodes of the words of `left`; words that `right` lacks are in an element with this name.
function markMissingWords(name, left, right) {
  return missingWords(left, right).flatMap(([word, isMissing]) => [isMissing ? make(name, {}, word) : word, " "]);
}

function startExamples() {
  const form = find("examples-controls");
  const moreButton = find("examples-more");
  const { evaluation, pair, order, search } = form.elements;
  const names = Object.keys(data.examples.evaluations);
  let count = EXAMPLES_PER_PAGE;
  form.hidden = false;
  fill(evaluation, names.map((name) => [name, name]));
  evaluation.closest("label").hidden = names.length < 2;

  const selectedEvaluation = () => data.examples.evaluations[evaluation.value];

  function updatePairs() {
    const { kinds, routes } = selectedEvaluation();
    const pairs = Object.keys(routes);
    const first = pairs.find((name) => kinds[name] === "zero-shot") || pairs[0];
    const selected = pairs.includes(pair.value) ? pair.value : first;
    fill(pair, pairs.map((name) => [name, name + " · " + kinds[name]]), selected);
  }

  function matchingRows() {
    const searched = search.value.toLocaleLowerCase();
    const rows = selectedEvaluation().routes[pair.value].filter((row) => {
      const texts = [row.source, row.reference, ...row.outputs.map(([, text]) => text)];
      return texts.some((text) => text.toLocaleLowerCase().includes(searched));
    });
    const scoreOf = (row) => row.outputs[0][2];
    const sign = order.value === "worst" ? 1 : -1;
    if (order.value !== "text") {
      rows.sort((left, right) => sign * (scoreOf(left) - scoreOf(right)) || left.row - right.row);
    }
    return rows;
  }

  function makeExample(row) {
    const [source, target] = pair.value.split("-");
    const sourceTag = source.replaceAll("_", "-");
    const targetTag = target.replaceAll("_", "-");
    const firstOutput = row.outputs[0][1];
    const list = make(
      "dl",
      {},
      make("dt", {}, "source " + source),
      make("dd", { lang: sourceTag }, row.source),
      make("dt", {}, "reference " + target),
      make("dd", { lang: targetTag }, ...markMissingWords("ins", row.reference, firstOutput)),
    );
    for (const [via, text, score] of row.outputs) {
      const words = text ? markMissingWords("del", text, row.reference) : [make("em", {}, "empty")];
      list.append(
        make("dt", {}, (via ? "through " + via : "direct") + ", chrF2 " + score.toFixed(1)),
        make("dd", { lang: targetTag }, ...words),
      );
    }
    return make("li", {}, list);
  }

  function draw() {
    const rows = matchingRows();
    const visible = rows.slice(0, count);
    find("examples-shown").replaceChildren(...visible.map(makeExample));
    find("examples-count").textContent =
      visible.length + " of " + rows.length + " sentences of " + pair.value +
      ", with the worst and the best of them. Underlined: words of the output that the reference lacks. " +
      "Dotted: words of the reference that the first output lacks. Capitals do not count.";
    moreButton.hidden = visible.length === rows.length;
  }

  function update(event) {
    count = EXAMPLES_PER_PAGE;
    if (event.target === evaluation) updatePairs();
    draw();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", update);
  search.addEventListener("input", update);
  moreButton.addEventListener("click", () => {
    count += EXAMPLES_PER_PAGE;
    draw();
  });

  showExamples = (name, direction) => {
    const examples = data.examples.evaluations[name];
    if (!examples || !examples.routes[direction]) return;
    evaluation.value = name;
    updatePairs();
    pair.value = direction;
    count = EXAMPLES_PER_PAGE;
    draw();
    const reducesMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
    find("examples").scrollIntoView({ behavior: reducesMotion ? "auto" : "smooth" });
    pair.focus({ preventScroll: true });
  };
  updatePairs();
  draw();
}

// Curves and heads ----------------------------------------------------------------------------------------------------

function startLegend(box) {
  box.addEventListener("change", () => {
    for (const curve of box.closest("figure").querySelectorAll("g.curve")) {
      if (curve.dataset.curve === box.dataset.curve) curve.style.display = box.checked ? "" : "none";
    }
  });
}

function startAttention() {
  const form = find("attention-controls");
  const select = form.querySelector("select");
  function draw() {
    for (const map of document.querySelectorAll(".heads")) map.hidden = map.dataset.map !== select.value;
  }
  form.hidden = false;
  select.addEventListener("change", draw);
  draw();
}

for (const box of document.querySelectorAll(".legend input")) startLegend(box);
if (data.examples) startExamples();
if (data.matrix) startMatrix();
if (find("attention-controls")) startAttention();
