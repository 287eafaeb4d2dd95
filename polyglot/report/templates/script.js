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
  return make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption }, table);
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
    make("caption", {}, make("span", {}, caption)),
    make("thead", {}, headRow),
    make("tbody", {}, ...bodyRows),
  );
  return scrollable(caption, table);
}

// Create a details element. Its content is created when it is opened: it may be large.
function makeDetails(summary, makeContent) {
  const details = make("details", {}, make("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(makeContent()), { once: true });
  return details;
}

// Value of the attribute `lang` for a language of the run.
const tagOf = (language) => data.tags[language] || language.replaceAll("_", "-");

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
const ERROR_PREFIX = "error:"; // of an output error in the list of measures
const MANY_LANGUAGES = 8; // a larger matrix has smaller cells, and a field to choose languages

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1);
const within = (share) => Math.min(1, Math.max(0, share));
const percent = (share) => (100 * share).toFixed(1) + " %";

// Difference of two scores; null if one of them is missing.
function difference(left, right) {
  return left === null || right === null || right === undefined ? null : left - right;
}

// Strength of the colour of a value, from 0 to 1. limits: values with the lightest and the darkest colour.
function colourShare(value, [lightest, darkest], isDifference) {
  if (isDifference) return within(Math.abs(value) / largestDifference([lightest, darkest]));
  return within((value - lightest) / (darkest - lightest));
}

// Smallest difference with the darkest colour.
function largestDifference([lightest, darkest]) {
  return data.matrix.difference_share * Math.abs(darkest - lightest);
}

// Cells of an evaluation as objects, and by direction. The page has one list for each property.
function readCells(evaluation) {
  const { cells, languages, pivot } = evaluation;
  evaluation.list = cells.source.map((source, number) => ({
    number,
    source: languages[source],
    target: languages[cells.target[number]],
    via: cells.via[number] ? pivot : null,
    kind: data.matrix.kinds[cells.kind[number]],
    reason: cells.reason[number] === null ? null : cells.reasons[cells.reason[number]],
    sentences: cells.sentences[number],
  }));
  evaluation.direct = new Map();
  evaluation.pivots = new Map();
  for (const cell of evaluation.list) {
    (cell.via ? evaluation.pivots : evaluation.direct).set(cell.source + "-" + cell.target, cell);
  }
}

// Output errors of a cell: title, rate and rate of the references as texts.
function errorTexts(evaluation, cell) {
  return Object.entries(evaluation.errors).map(([name, { values, references }]) => {
    const [value, expected] = [values[cell.number], references[cell.number]];
    const format = name === "length_ratio" ? (ratio) => ratio.toFixed(2) : percent;
    return {
      title: data.matrix.error_titles[name],
      value: value === null ? "" : format(value),
      expected: expected === null ? "" : format(expected),
    };
  });
}

function startMatrix() {
  const form = find("matrix-controls");
  const shown = find("matrix-shown");
  const { measure, view, languages: languageField, numbers } = form.elements;
  const hiddenKinds = new Set();
  let entries = []; // of the table, by row and column
  let current = [0, 0]; // row and column of the cell that the tab key reaches
  form.hidden = false;

  function selectedEvaluation() {
    const select = form.elements.evaluation; // missing if there is only one evaluation
    const evaluations = data.matrix.evaluations;
    const evaluation = select ? evaluations.find(({ name }) => name === select.value) : evaluations[0];
    if (!evaluation.list) readCells(evaluation);
    return evaluation;
  }

  // Title, values and colour limits of the selected measure or output error.
  function selectedMeasure(evaluation) {
    const name = measure.value;
    if (name.startsWith(ERROR_PREFIX)) {
      const error = name.slice(ERROR_PREFIX.length);
      const { values } = evaluation.errors[error];
      return {
        name,
        title: data.matrix.error_titles[error] + ", % of the outputs",
        values: values.map((share) => (share === null ? null : 100 * share)),
        intervals: [],
        limits: [0, 100],
        lowerIsBetter: true,
        isRate: true,
      };
    }
    return {
      name,
      title: evaluation.measures[name],
      ...evaluation.scores[name],
      limits: evaluation.limits[name],
      lowerIsBetter: evaluation.lower.includes(name),
      isRate: false,
    };
  }

  function updateControls() {
    const evaluation = selectedEvaluation();
    const errors = Object.keys(evaluation.errors).filter((name) => name !== "length_ratio");
    const measures = [
      ...Object.entries(evaluation.measures),
      ...errors.map((name) => [ERROR_PREFIX + name, "output errors: " + data.matrix.error_titles[name]]),
    ];
    fill(measure, measures, measure.value);
    fill(view, availableViews(evaluation), view.value);
    const kinds = KINDS.filter(
      (kind) => kind !== "pivot" && evaluation.list.some((cell) => cell.kind === kind),
    );
    find("matrix-kinds").replaceChildren(...kinds.map(makeKindSwitch));

    const isLarge = evaluation.languages.length > MANY_LANGUAGES;
    find("matrix-languages").hidden = !isLarge;
    find("matrix-numbers").hidden = !isLarge;
    placeSummary(isLarge);
  }

  // Details and means beside a small matrix, above a large one.
  function placeSummary(isLarge) {
    const box = shown.parentElement;
    const summary = find("matrix-means").parentElement;
    if (box.classList.contains("stacked") === isLarge) return;
    box.classList.toggle("stacked", isLarge);
    if (isLarge) box.prepend(summary);
    else box.append(summary);
  }

  // Value and title of each view.
  function availableViews(evaluation) {
    const { paper, pivot } = evaluation;
    const views = [["direct", "direct translation"]];
    if (evaluation.pivots.size) {
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

  // Languages of the table: those that start with a word of the field, or all.
  function visibleLanguages(evaluation) {
    const words = languageField.value.toLowerCase().split(/[\s,;]+/).filter((word) => word);
    const all = evaluation.languages;
    const selected = all.filter((language) => {
      const name = language.toLowerCase();
      const isNamed = words.includes(name);
      return isNamed || words.some((word) => name.startsWith(word) && !all.some((other) => other.toLowerCase() === word));
    });
    return selected.length ? selected : all;
  }

  // Entry of the table in the selected view: its cell (null for none), value, kind, and the direct translation.
  function entryOf(evaluation, selected, source, target) {
    const name = source + "-" + target;
    const scoreOf = (cell) => (cell ? selected.values[cell.number] : null);
    const direct = evaluation.direct.get(name);
    const pivot = evaluation.pivots.get(name);
    const paperScore = evaluation.paper ? evaluation.paper.scores[name] : undefined;
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

  // Show all details of an entry, and `note` at their end.
  function showDetails({ cell, value }, note) {
    const evaluation = selectedEvaluation();
    const selected = selectedMeasure(evaluation);
    const via = cell.via ? " through " + cell.via : "";
    const parts = [cell.source + " → " + cell.target + via, cell.kind];
    if (value === null) {
      parts.push(cell.reason || "no such score");
    } else {
      parts.push(selected.title + " " + value.toFixed(2));
      const interval = selected.intervals[cell.number];
      const isScore = view.value === "direct" || view.value === "pivot";
      if (typeof interval === "number" && isScore) parts.push("95 % interval ± " + interval.toFixed(2));
      parts.push(cell.sentences + " sentences");
      for (const error of errorTexts(evaluation, cell)) {
        const expected = error.expected ? " (references " + error.expected + ")" : "";
        if (error.value) parts.push(error.title + " " + error.value + expected);
      }
    }
    if (note) parts.push(note);
    find("matrix-detail").textContent = parts.join(" · ");
  }

  function draw() {
    const evaluation = selectedEvaluation();
    const selected = selectedMeasure(evaluation);
    const languages = visibleLanguages(evaluation);
    entries = languages.map((source) =>
      languages.map((target) => entryOf(evaluation, selected, source, target)),
    );
    drawGrid(evaluation, selected, languages);
    drawMeans(languages);
    drawNotes(evaluation, selected);
    drawOutputErrors(evaluation, languages);
    const detail = find("matrix-detail");
    detail.hidden = false;
    detail.textContent =
      "Point at a cell, or reach the table with the tab key and move with the arrow keys, for details; " +
      "choose a cell to see its sentences below.";
  }

  function drawGrid(evaluation, selected, languages) {
    const body = entries.map((row, rowNumber) => {
      const cells = row.map((entry, column) => makeCell(entry, selected, rowNumber, column));
      return make("tr", {}, make("th", { scope: "row" }, languages[rowNumber]), ...cells);
    });
    const heads = ["from ↓ into →", ...languages].map((title) => make("th", { scope: "col" }, title));
    const caption =
      selected.title + ", " + view.selectedOptions[0].textContent +
      (selected.lowerIsBetter ? "; lower is better" : "") + " · " + evaluation.name + ", " + evaluation.title;
    const sizes = [languages.length > MANY_LANGUAGES ? " many" : "", numbers.checked ? "" : " plain"];
    const table = make(
      "table",
      { class: "grid" + sizes.join(""), role: "grid" },
      make("caption", {}, make("span", {}, caption)),
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...body),
    );
    shown.replaceChildren(scrollable(caption, table));
    setTabStop(cellButton(...current) || shown.querySelector("td button"));
  }

  function makeCell(entry, selected, row, column) {
    const { cell, value, kind, direct } = entry;
    if (!cell || !direct) return make("td", { class: "none" });

    const isDifference = DIFFERENCE_VIEWS.includes(view.value);
    let text = "–";
    let shade = "--v:0";
    let isWorse = false;
    if (value !== null) {
      text = isDifference ? signed(value) : KIND_MARKS[kind](value.toFixed(1));
      shade = "--v:" + colourShare(value, selected.limits, isDifference).toFixed(3);
      isWorse = selected.isRate && !isDifference;
      if (isDifference) isWorse = selected.lowerIsBetter ? value > 0 : value < 0;
    }
    const attributes = {
      style: shade,
      "data-kind": kind,
      "data-worse": isWorse ? "" : null,
      class: hiddenKinds.has(direct.kind) ? "faded" : null,
    };
    const position = { "data-row": row, "data-column": column };
    return make("td", attributes, make("button", { type: "button", tabindex: "-1", ...position }, text));
  }

  // Keyboard: the tab key reaches one cell, the arrow keys move from there.

  const cellButton = (row, column) =>
    shown.querySelector('button[data-row="' + row + '"][data-column="' + column + '"]');
  const positionOf = (button) => [Number(button.dataset.row), Number(button.dataset.column)];
  const entryAt = (button) => entries[button.dataset.row][button.dataset.column];

  function setTabStop(button) {
    if (!button) return;
    const previous = shown.querySelector('button[tabindex="0"]');
    if (previous) previous.tabIndex = -1;
    button.tabIndex = 0;
    current = positionOf(button);
  }

  // Next button from a cell in a direction; places without a cell are passed over.
  function nextButton([row, column], [rowStep, columnStep]) {
    const count = entries.length;
    row += rowStep;
    column += columnStep;
    while (row >= 0 && column >= 0 && row < count && column < count) {
      const button = cellButton(row, column);
      if (button) return button;
      row += rowStep;
      column += columnStep;
    }
    return null;
  }

  function moveFocus(event) {
    const button = event.target.closest("td button");
    if (!button) return;
    const [row, column] = positionOf(button);
    const count = entries.length;
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const starts = { Home: [row, -1], End: [row, count] };
    let next = null;
    if (event.key in steps) next = nextButton([row, column], steps[event.key]);
    else if (event.key in starts) next = nextButton(starts[event.key], [0, event.key === "Home" ? 1 : -1]);
    else return;
    event.preventDefault();
    if (next) next.focus();
  }

  function choose(button) {
    const entry = entryAt(button);
    const direction = entry.cell.source + "-" + entry.cell.target;
    const name = selectedEvaluation().name;
    const found = showExamples !== null && showExamples(name, direction);
    const file = "evaluation/" + name + "/hypotheses/" + direction + ".txt";
    showDetails(entry, found || entry.value === null ? "" : "its sentences are not in this page, but in " + file);
  }

  function forCells(type, action) {
    shown.addEventListener(type, (event) => {
      const button = event.target.closest("td button");
      if (button) action(button);
    });
  }
  forCells("focusin", (button) => {
    setTabStop(button);
    showDetails(entryAt(button));
  });
  forCells("mouseover", (button) => showDetails(entryAt(button)));
  forCells("click", choose);
  shown.addEventListener("keydown", moveFocus);

  // Means of the visible entries by kind, overall and for each language.
  function drawMeans(languages) {
    const visible = entries
      .flat()
      .filter((entry) => entry.cell && entry.value !== null && !hiddenKinds.has(entry.direct.kind));
    const kinds = KINDS.filter((kind) => visible.some((entry) => entry.kind === kind));
    const meansRow = (title, selected) => {
      const means = kinds.map((kind) => {
        const values = selected.filter((entry) => entry.kind === kind).map((entry) => entry.value);
        return values.length ? mean(values).toFixed(1) : "–";
      });
      return [title, ...means];
    };
    const head = ["", ...kinds.map((kind) => KIND_MARKS[kind](kind))];
    const makeLanguageTable = () => {
      const from = new Map(languages.map((language) => [language, []]));
      const into = new Map(languages.map((language) => [language, []]));
      for (const entry of visible) {
        from.get(entry.cell.source).push(entry);
        into.get(entry.cell.target).push(entry);
      }
      const rows = languages.flatMap((language) => [
        meansRow("from " + language, from.get(language)),
        meansRow("into " + language, into.get(language)),
      ]);
      return makeTable("Means by language", head, rows);
    };
    find("matrix-means").replaceChildren(
      makeTable("Means of the visible cells", head, [meansRow("all", visible)]),
      makeDetails("Means by language", makeLanguageTable),
    );
  }

  // Key of the colours, condition of the paper, signatures and test text.
  function drawNotes(evaluation, selected) {
    const [lightest, darkest] = selected.limits;
    const isDifference = DIFFERENCE_VIEWS.includes(view.value);
    let colours = "the stronger the blue, the better (" + lightest + " to " + darkest + ")";
    if (selected.isRate) colours = "the stronger the red, the more frequent (0 to 100 %)";
    if (isDifference) {
      colours =
        "blue: better than the score it is compared with, red: worse; strongest from a difference of " +
        largestDifference(selected.limits).toFixed(0) + " on";
    }
    find("matrix-key").textContent = colours + "; – no score";
    const comparesPaper = evaluation.paper && (view.value === "paper" || view.value === "beside");
    const condition = comparesPaper ? evaluation.paper.title + ": " + evaluation.paper.condition + ". " : "";
    const signatures = evaluation.signatures[selected.name] || [];
    find("matrix-signature").textContent =
      condition + [...signatures, evaluation.test.join("; ")].join(" · ");
  }

  function drawOutputErrors(evaluation, languages) {
    if (!Object.keys(evaluation.errors).length) {
      find("matrix-outputs").replaceChildren();
      return;
    }
    const makeErrorTable = () => {
      const visible = new Set(languages);
      const cells = evaluation.list.filter((cell) => visible.has(cell.source) && visible.has(cell.target));
      const titles = Object.keys(evaluation.errors).map((name) => data.matrix.error_titles[name]);
      const rows = cells.map((cell) => {
        const errors = errorTexts(evaluation, cell).map(
          ({ value, expected }) => (value || "–") + (expected ? " (" + expected + ")" : ""),
        );
        const name = [cell.source, cell.via, cell.target].filter((part) => part).join("-");
        return [name, cell.kind, ...errors];
      });
      return makeTable("Output errors of every direction", ["direction", "kind", ...titles], rows);
    };
    const summary = "Output errors. In brackets: the same measure for the references.";
    find("matrix-outputs").replaceChildren(makeDetails(summary, makeErrorTable));
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => {
    if (event.target.tagName === "SELECT") {
      updateControls();
      draw();
    }
  });
  languageField.addEventListener("input", draw);
  numbers.addEventListener("change", draw);
  updateControls();
  draw();
}

// Examples ------------------------------------------------------------------------------------------------------------

let showExamples = null; // set by startExamples
const EXAMPLES_PER_PAGE = 10;

// Parts of a text: words, and what is between them. tag: language, if it has no spaces between words.
function splitWords(text, tag) {
  if (tag === null || !Intl.Segmenter) return text.split(/(\s+)/).filter((part) => part);
  let segmenter;
  try {
    segmenter = new Intl.Segmenter(tag, { granularity: "word" });
  } catch {
    segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
  }
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

// Parts of `left` with a mark for the words that `right` lacks, by the longest common subsequence of words.
// Capitals do not count.
function missingWords(left, right, tag) {
  const isWord = (part) => part.trim() !== "";
  const parts = splitWords(left, tag);
  const words = parts.filter(isWord).map((word) => word.toLocaleLowerCase());
  const otherWords = splitWords(right, tag).filter(isWord).map((word) => word.toLocaleLowerCase());

  // lengths[i][j]: length of the longest common subsequence of words[i…] and otherWords[j…]
  const lengths = Array.from({ length: words.length + 1 }, () => new Uint16Array(otherWords.length + 1));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = otherWords.length - 1; j >= 0; j--) {
      const isSame = words[i] === otherWords[j];
      lengths[i][j] = isSame ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }

  const isMissing = [];
  let i = 0;
  let j = 0;
  while (i < words.length) {
    if (j < otherWords.length && words[i] === otherWords[j]) {
      isMissing.push(false);
      i++;
      j++;
    } else if (j < otherWords.length && lengths[i][j + 1] >= lengths[i + 1][j]) {
      j++;
    } else {
      isMissing.push(true);
      i++;
    }
  }
  let number = 0;
  return parts.map((part) => [part, isWord(part) && isMissing[number++]]);
}

// Nodes of the text `left`; words that `right` lacks are in an element with this name.
function markMissingWords(name, left, right, tag) {
  return missingWords(left, right, tag).map(([part, isMissing]) => (isMissing ? make(name, {}, part) : part));
}

function startExamples() {
  const form = find("examples-controls");
  const moreButton = find("examples-more");
  const { evaluation, pair, order, search } = form.elements;
  const names = Object.keys(data.examples.evaluations);
  let count = EXAMPLES_PER_PAGE;
  form.hidden = false;
  fill(evaluation, names.map((name) => [name, name]), data.examples.selected);
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
    const wordTag = data.examples.without_spaces.includes(target) ? tagOf(target) : null;
    const sourceText = { lang: tagOf(source), dir: "auto" };
    const targetText = { lang: tagOf(target), dir: "auto" };
    const firstOutput = row.outputs[0][1];
    const list = make(
      "dl",
      {},
      make("dt", {}, "source " + source),
      make("dd", sourceText, row.source),
      make("dt", {}, "reference " + target),
      make("dd", targetText, ...markMissingWords("ins", row.reference, firstOutput, wordTag)),
    );
    for (const [via, text, score] of row.outputs) {
      const words = text ? markMissingWords("del", text, row.reference, wordTag) : [make("em", {}, "empty")];
      list.append(
        make("dt", {}, (via ? "through " + via : "direct") + ", chrF2 " + score.toFixed(1)),
        make("dd", text ? targetText : {}, ...words),
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
      "Dotted: words of the reference that the first output lacks. Capitals do not count." + describeLeftOut();
    moreButton.hidden = visible.length === rows.length;
  }

  function describeLeftOut() {
    const { routes, scored } = selectedEvaluation();
    const inPage = Object.keys(routes).length;
    if (inPage === scored) return "";
    return (
      " The page has sentences of " + inPage + " of " + scored + " directions: of each kind the worst, the best " +
      "and some others. All are in evaluation/" + evaluation.value + "/hypotheses of the run directory."
    );
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
    if (!examples || !examples.routes[direction]) return false;
    evaluation.value = name;
    updatePairs();
    pair.value = direction;
    count = EXAMPLES_PER_PAGE;
    draw();
    const reducesMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
    find("examples").scrollIntoView({ behavior: reducesMotion ? "auto" : "smooth" });
    pair.focus({ preventScroll: true });
    return true;
  };
  updatePairs();
  draw();
}

// Curves and heads ----------------------------------------------------------------------------------------------------

// Switches of the curves of a figure, with buttons for all and none.
function startLegend(figure) {
  const boxes = Array.from(figure.querySelectorAll(".legend input"));
  const curves = new Map();
  for (const curve of figure.querySelectorAll("g.curve")) curves.set(curve.dataset.curve, curve);
  const update = (box) => {
    curves.get(box.dataset.curve).style.display = box.checked ? "" : "none";
  };
  for (const box of boxes) {
    const curve = curves.get(box.dataset.curve);
    const emphasize = (isStrong) => () => curve.classList.toggle("strong", isStrong);
    const label = box.closest("label");
    box.addEventListener("change", () => update(box));
    label.addEventListener("mouseenter", emphasize(true));
    label.addEventListener("mouseleave", emphasize(false));
    box.addEventListener("focus", emphasize(true));
    box.addEventListener("blur", emphasize(false));
  }
  for (const button of figure.querySelectorAll(".legend-buttons button")) {
    button.parentElement.hidden = false;
    button.addEventListener("click", () => {
      for (const box of boxes) {
        box.checked = button.dataset.show === "all";
        update(box);
      }
    });
  }
}

// Path of a curve whose points are means of up to `width` points around them; both ends stay.
function smoothPath(path, width) {
  const points = path.slice(1).split("L").map((point) => point.split(" ").map(Number));
  const half = (width - 1) / 2;
  const corners = points.map(([x], number) => {
    const reach = Math.min(half, number, points.length - 1 - number);
    const around = points.slice(number - reach, number + reach + 1);
    return x + " " + mean(around.map(([, y]) => y)).toFixed(1);
  });
  return "M" + corners.join("L");
}

function startSmoothing(form) {
  const paths = Array.from(document.querySelectorAll("#curves g.curve path"));
  const originals = paths.map((path) => path.getAttribute("d"));
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    const width = Number(form.elements.width.value);
    paths.forEach((path, number) => path.setAttribute("d", smoothPath(originals[number], width)));
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

for (const figure of document.querySelectorAll("figure.chart")) startLegend(figure);
if (find("curves-controls")) startSmoothing(find("curves-controls"));
if (data.examples) startExamples();
if (data.matrix) startMatrix();
if (find("attention-controls")) startAttention();
