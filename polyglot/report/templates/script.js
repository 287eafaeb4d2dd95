"use strict";
// Text only ever becomes text: nodes are made one by one, and no string is read as HTML.
const data = JSON.parse(document.getElementById("report-data").textContent);
const find = (id) => document.getElementById(id);

function make(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function fill(select, options, wanted) {
  select.replaceChildren(...options.map(([value, title]) => make("option", { value }, title)));
  select.value = options.some(([value]) => value === wanted) ? wanted : options[0][0];
}

function table(caption, head, rows) {
  const top = make("tr", {}, ...head.map((each) => make("th", { scope: "col" }, each)));
  const body = rows.map((row) => make("tr", {}, ...row.map((each, place) => place ? make("td", {}, each) : make("th", { scope: "row" }, each))));
  const whole = make("table", {}, make("caption", {}, caption), make("thead", {}, top), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, whole);
}

// Light or dark: the system's choice, until somebody chooses.
const theme = find("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

// The matrix ----------------------------------------------------------------------------------------------------------

const SIGNS = { "supervised": (text) => text, "zero-shot": (text) => text + "†", "pivot": (text) => text + "‡", "copy": (text) => "(" + text + ")" };
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1);

function startMatrix() {
  const form = find("matrix-controls");
  const { measure, view } = form.elements;
  const evaluation = () => data.matrix.evaluations.find((one) => !form.elements.evaluation || one.name === form.elements.evaluation.value);
  form.hidden = false;
  const hidden = new Set();

  function options() {
    const one = evaluation();
    fill(measure, Object.entries(one.measures), measure.value);
    const views = [["direct", "in one hop"]];
    if (one.pivot && one.cells.some((cell) => cell.via)) views.push(["pivot", "in two hops, through " + one.pivot], ["gap", "one hop minus two"]);
    if (one.paper && measure.value === one.paper.measure) views.push(["paper", "the paper's table"], ["beside", "ours minus the paper's"]);
    fill(view, views, view.value);
    const kinds = Object.keys(SIGNS).filter((kind) => kind !== "pivot" && one.cells.some((cell) => cell.kind === kind));
    find("matrix-kinds").replaceChildren(...kinds.map((kind) => {
      const box = make("input", { type: "checkbox", value: kind });
      box.checked = !hidden.has(kind);
      box.addEventListener("change", () => { box.checked ? hidden.delete(kind) : hidden.add(kind); draw(); });
      return make("label", {}, box, SIGNS[kind](kind));
    }));
  }

  // What a cell shows: value, kind, and the cell that it comes from.
  function look(one, source, target) {
    const at = (via) => one.cells.find((cell) => cell.source === source && cell.target === target && Boolean(cell.via) === via);
    const score = (cell) => (cell && cell.scores[measure.value] ? cell.scores[measure.value][0] : null);
    const direct = at(false), hops = at(true), paper = one.paper ? one.paper.scores[source + "-" + target] : undefined;
    const minus = (left, right) => (left === null || right === null || right === undefined ? null : left - right);
    switch (view.value) {
      case "pivot": return { cell: hops, value: score(hops), kind: "pivot", from: direct };
      case "gap": return { cell: hops && direct, value: minus(score(direct), score(hops)), kind: direct && direct.kind, from: direct };
      case "paper": return { cell: paper === undefined ? null : direct, value: paper === undefined ? null : paper, kind: direct && direct.kind, from: direct };
      case "beside": return { cell: direct, value: minus(score(direct), paper), kind: direct && direct.kind, from: direct };
      default: return { cell: direct, value: score(direct), kind: direct && direct.kind, from: direct };
    }
  }

  function tell(one, found) {
    const { cell, value } = found;
    const words = [cell.source + " → " + cell.target + (cell.via ? " through " + cell.via : ""), cell.kind];
    if (value === null) words.push(cell.reason || "no such score");
    else {
      words.push(one.measures[measure.value] + " " + value.toFixed(2));
      const interval = cell.scores[measure.value] ? cell.scores[measure.value][1] : null;
      if (interval !== null && (view.value === "direct" || view.value === "pivot")) words.push("95 % interval ± " + interval.toFixed(2));
      words.push(cell.sentences + " sentences");
      for (const [name, share, expected] of cell.outputs || []) if (share) words.push(name + " " + share + (expected ? " (references " + expected + ")" : ""));
    }
    find("matrix-detail").textContent = words.join(" · ");
  }

  function draw() {
    const one = evaluation(), difference = view.value === "gap" || view.value === "beside";
    const rows = one.languages.map((source) => one.languages.map((target) => look(one, source, target)));
    const values = rows.flat().filter((found) => found.cell && found.value !== null && found.kind !== "copy").map((found) => Math.abs(found.value));
    const top = Math.max(...values, 1e-9), lower = one.lower.includes(measure.value);
    const body = rows.map((row, place) => make("tr", {}, make("th", { scope: "row" }, one.languages[place]), ...row.map((found) => {
      if (!found.cell || !found.from) return make("td", { class: "none" });
      const text = found.value === null ? "–" : difference ? signed(found.value) : SIGNS[found.kind](found.value.toFixed(1));
      const share = found.value === null ? 0 : Math.min(1, Math.abs(found.value) / top);
      const button = make("button", { type: "button" }, text);
      button.addEventListener("focus", () => tell(one, found));
      button.addEventListener("mouseenter", () => tell(one, found));
      button.addEventListener("click", () => { tell(one, found); if (showExamples) showExamples(one.name, found.cell.source + "-" + found.cell.target); });
      const style = found.value === null ? "--v: 0" : "--v: " + (lower && !difference ? 1 - share : share).toFixed(3);
      const worse = difference && found.value !== null && (lower ? found.value > 0 : found.value < 0);
      return make("td", { style, "data-kind": found.kind, "data-worse": worse ? "" : null, class: hidden.has(found.from.kind) ? "faded" : null }, button);
    })));
    const caption = one.measures[measure.value] + ", " + view.selectedOptions[0].textContent + (lower ? "; lower is better" : "") + " · " + one.name + ", " + one.title;
    const head = make("tr", {}, make("th", { scope: "col" }, "from ↓ into →"), ...one.languages.map((target) => make("th", { scope: "col" }, target)));
    const grid = make("table", { class: "grid" }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body));
    find("matrix-shown").replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, grid));
    const shown = rows.flat().filter((found) => found.cell && found.value !== null && !hidden.has(found.from.kind));
    const kinds = Object.keys(SIGNS).filter((kind) => shown.some((found) => found.kind === kind));
    const average = (found) => (found.length ? mean(found.map((each) => each.value)).toFixed(1) : "–");
    const line = (name, wanted) => [name, ...kinds.map((kind) => average(shown.filter((found) => found.kind === kind && wanted(found.cell))))];
    const each = one.languages.flatMap((language) => [
      line("out of " + language, (cell) => cell.source === language), line("into " + language, (cell) => cell.target === language)]);
    const all = table("Means of what is shown", ["", ...kinds.map((kind) => SIGNS[kind](kind))], [line("all", () => true)]);
    const more = make("details", {}, make("summary", {}, "Means by language"), table("Means by language", ["", ...kinds.map((kind) => SIGNS[kind](kind))], each));
    find("matrix-means").replaceChildren(all, more);
    find("matrix-key").textContent = (difference ? "blue: better than what it is compared with, red: worse" : "the stronger the colour the better") + "; – no score";
    const condition = one.paper && (view.value === "paper" || view.value === "beside") ? one.paper.title + ": " + one.paper.condition + ". " : "";
    find("matrix-signature").textContent = condition + one.signatures[measure.value].join(" · ") + " · " + one.test.join("; ");
    const judged = one.cells.filter((cell) => cell.outputs);
    find("matrix-outputs").replaceChildren(judged.length ? make("details", {}, make("summary", {}, "What is wrong with the outputs; in brackets the same of the references"),
      table("Outputs of every direction", ["direction", "kind", ...judged[0].outputs.map(([name]) => name)],
        judged.map((cell) => [cell.name, cell.kind, ...cell.outputs.map(([, share, expected]) => (share || "–") + (expected ? " (" + expected + ")" : ""))]))) : "");
    const detail = find("matrix-detail");
    detail.hidden = false;
    detail.textContent = "A cell that is pointed at or reached with the tab key says more; choosing it shows its sentences below.";
  }

  form.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") { options(); draw(); } });
  options();
  draw();
}

// Examples ------------------------------------------------------------------------------------------------------------

let showExamples = null;
const PAGE = 10;

// Words that both have, in order and whatever their capitals (longest common subsequence); the others are marked in each.
function differences(left, right) {
  const one = left.split(/(\s+)/).filter((word) => word.trim()), other = right.split(/(\s+)/).filter((word) => word.trim());
  const same = (i, j) => one[i].toLocaleLowerCase() === other[j].toLocaleLowerCase();
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) for (let j = other.length - 1; j >= 0; j--)
    lengths[i][j] = same(i, j) ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const marked = [];
  for (let i = 0, j = 0; i < one.length;) {
    if (j < other.length && same(i, j)) { marked.push([one[i++], false]); j++; }
    else if (j < other.length && lengths[i][j + 1] >= lengths[i + 1][j]) j++;
    else marked.push([one[i++], true]);
  }
  return marked;
}

function marked(name, left, right) {
  return differences(left, right).flatMap(([word, differs]) => [differs ? make(name, {}, word) : word, " "]);
}

function startExamples() {
  const form = find("examples-controls"), more = find("examples-more");
  const { evaluation, pair, order, search } = form.elements;
  const chosen = () => data.examples.evaluations[evaluation.value];
  form.hidden = false;
  let count = PAGE;
  fill(evaluation, Object.keys(data.examples.evaluations).map((name) => [name, name]));
  evaluation.closest("label").hidden = evaluation.options.length < 2;

  function pairs() {
    const kinds = chosen().kinds, names = Object.keys(chosen().routes);
    const first = names.find((name) => kinds[name] === "zero-shot") || names[0];
    fill(pair, names.map((name) => [name, name + " · " + kinds[name]]), names.includes(pair.value) ? pair.value : first);
  }

  function draw() {
    const [source, target] = pair.value.split("-"), wanted = search.value.toLocaleLowerCase();
    const rows = chosen().routes[pair.value].filter((row) =>
      [row.source, row.reference, ...row.outputs.map(([, text]) => text)].some((text) => text.toLocaleLowerCase().includes(wanted)));
    const score = (row) => row.outputs[0][2];
    if (order.value !== "text") rows.sort((one, other) => (order.value === "worst" ? 1 : -1) * (score(one) - score(other)) || one.row - other.row);
    const shown = rows.slice(0, count);
    const tag = (language) => language.replaceAll("_", "-");
    find("examples-shown").replaceChildren(...shown.map((row) => make("li", {}, make("dl", {},
      make("dt", {}, "source " + source), make("dd", { lang: tag(source) }, row.source),
      make("dt", {}, "reference " + target), make("dd", { lang: tag(target) }, ...marked("ins", row.reference, row.outputs[0][1])),
      ...row.outputs.flatMap(([via, text, value]) => [
        make("dt", {}, (via ? "through " + via : "direct") + ", chrF2 " + value.toFixed(1)),
        make("dd", { lang: tag(target) }, ...(text ? marked("del", text, row.reference) : [make("em", {}, "nothing")]))])))));
    find("examples-count").textContent = shown.length + " of " + rows.length +
      " sentences of " + pair.value + ", the worst and the best among them. Underlined: words of the output that the reference lacks; dotted: words of the reference that the first output lacks; capitals do not count.";
    more.hidden = shown.length === rows.length;
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  const update = (event) => { count = PAGE; if (event.target === evaluation) pairs(); draw(); };
  form.addEventListener("change", update);
  search.addEventListener("input", update);
  more.addEventListener("click", () => { count += PAGE; draw(); });
  showExamples = (name, direction) => {
    if (!data.examples.evaluations[name] || !data.examples.evaluations[name].routes[direction]) return;
    evaluation.value = name;
    pairs();
    pair.value = direction;
    count = PAGE;
    draw();
    find("examples").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    pair.focus({ preventScroll: true });
  };
  pairs();
  draw();
}

// Curves and heads ----------------------------------------------------------------------------------------------------

for (const box of document.querySelectorAll(".legend input")) box.addEventListener("change", () => {
  for (const curve of box.closest("figure").querySelectorAll("g.curve")) if (curve.dataset.curve === box.dataset.curve) curve.style.display = box.checked ? "" : "none";
});

function startAttention() {
  const form = find("attention-controls"), select = form.querySelector("select");
  const draw = () => { for (const map of document.querySelectorAll(".heads")) map.hidden = map.dataset.map !== select.value; };
  form.hidden = false;
  select.addEventListener("change", draw);
  draw();
}

if (data.examples) startExamples();
if (data.matrix) startMatrix();
if (find("attention-controls")) startAttention();
