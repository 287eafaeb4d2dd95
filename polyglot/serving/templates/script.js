"use strict";
// Text of people and of the model is only ever added as text: every node is created here, and no string is parsed as HTML.
const data = JSON.parse(document.getElementById("page-data").textContent);
const find = (id) => document.getElementById(id);
const AUTO = "auto";
const PAUSE = 350; // milliseconds without a key before a request

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

// Light or dark theme: that of the system, until the user changes it.
find("theme").hidden = false;
find("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark;
  root.dataset.theme = isDark ? "light" : "dark";
});

// Languages -----------------------------------------------------------------------------------------------------------

const trained = new Set(data.trained);

function languageName(code) {
  const { name } = data.languages[code];
  return name === code ? code : name + " (" + code + ")";
}

function kindOf(source, target) {
  if (source === target) return "copy";
  return trained.has(source + "-" + target) ? "supervised" : "zero-shot";
}

// Attributes of an element with text in this language.
const textAttributes = (code) => ({ lang: data.languages[code].tag, dir: data.languages[code].dir });

function setLanguage(node, code) {
  for (const [key, value] of Object.entries(textAttributes(code))) node.setAttribute(key, value);
}

// Requests ------------------------------------------------------------------------------------------------------------

async function post(path, values, signal) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(values),
    signal,
  });
  const answer = await response.json().catch(() => ({ error: "the server sent no answer" }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// Results -------------------------------------------------------------------------------------------------------------

const form = find("controls");
const text = find("text");
const { source: sourceField, target: targetField, pivot: pivotField, count: countField } = form.elements;
let detected = null; // language of the text, if it was identified
let best = ""; // direct translation that is shown
let controller = new AbortController(); // of the requests under way

const sourceLanguage = () => (sourceField.value === AUTO ? detected : sourceField.value);

function drawTargets() {
  const source = sourceLanguage();
  const options = data.targets.map((target) => {
    const isZeroShot = source !== null && kindOf(source, target) === "zero-shot";
    return [target, languageName(target) + (isZeroShot ? " †" : "")];
  });
  fill(targetField, options, targetField.value);
}

function drawPivots() {
  const isPivot = (code) => data.sources.includes(code) && code !== sourceLanguage() && code !== targetField.value;
  const pivots = data.targets.filter(isPivot).map((code) => [code, languageName(code)]);
  fill(pivotField, [["", "no other language"], ...pivots], pivotField.value);
}

function drawKind() {
  const source = sourceLanguage();
  const kind = source === null ? null : kindOf(source, targetField.value);
  const mark = kind === null ? [] : [make("span", { class: "mark", "data-kind": kind }, kind)];
  find("direct-kind").replaceChildren(...mark);
}

function drawNote() {
  const length = Array.from(text.value).length;
  const note = length.toLocaleString("en") + " of " + data.characters.toLocaleString("en") + " characters";
  const name = detected === null ? "" : " · identified as " + languageName(detected);
  find("text-note").textContent = note + (sourceField.value === AUTO ? name : "");
  if (sourceField.value === AUTO) {
    text.removeAttribute("lang");
    text.dir = "auto";
  } else {
    setLanguage(text, sourceField.value);
  }
}

const scoreText = (hypothesis) => hypothesis.score.toFixed(2);

// Nodes of the translations: the best one, and a list of all if there are several.
function translationNodes(answer) {
  const [first, ...others] = answer.hypotheses;
  if (!others.length) return [make("p", textAttributes(answer.target), first.text)];
  const items = answer.hypotheses.map((hypothesis) =>
    make(
      "li",
      {},
      make("span", textAttributes(answer.target), hypothesis.text),
      make("span", { class: "score", title: "log-probability, divided by the length penalty" }, scoreText(hypothesis)),
    ),
  );
  const list = make("ol", { "aria-label": "Best translations with their scores" }, ...items);
  return [make("p", textAttributes(answer.target), first.text), list];
}

function drawDirect(answer) {
  best = answer.hypotheses[0].text;
  detected = answer.detectedLanguage ? answer.source : null;
  find("direct").replaceChildren(...translationNodes(answer));
  drawTargets();
  drawPivots();
  drawKind();
  drawNote();
}

function drawPivot(answer) {
  const between = make("div", { class: "between", ...textAttributes(answer.pivot) }, answer.pivotText);
  find("pivot-result").replaceChildren(between, ...translationNodes(answer));
}

function drawPivotTitle() {
  find("pivot").hidden = !pivotField.value;
  if (!pivotField.value) return;
  const mark = make("span", { class: "mark", "data-kind": "pivot" }, "pivot");
  find("pivot-title").replaceChildren("Through " + languageName(pivotField.value), mark);
}

function setBusy(isBusy) {
  for (const id of ["direct", "pivot-result"]) find(id).setAttribute("aria-busy", String(isBusy));
}

function clearResults() {
  best = "";
  detected = null;
  for (const id of ["direct", "pivot-result"]) find(id).replaceChildren();
  find("status").textContent = "";
  find("error").textContent = "";
  if (data.heads) drawAttention({ sentences: [] });
}

// Attention -----------------------------------------------------------------------------------------------------------

function makeMap({ text: sentence, pieces, weights }, language) {
  const attributes = textAttributes(language);
  const pieceCells = pieces.map((piece) => make("th", { scope: "col", class: "piece", ...attributes }, piece));
  const rows = weights.map((row, number) => {
    const cells = row.map((weight) => {
      const cell = make("td", {}, (100 * weight).toFixed(0));
      cell.style.setProperty("--v", weight);
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row" }, String(number + 1)), ...cells);
  });
  const table = make(
    "table",
    { class: "heat", dir: attributes.dir === "rtl" ? "rtl" : null },
    make("caption", {}, make("span", attributes, sentence)),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "head"), ...pieceCells)),
    make("tbody", {}, ...rows),
  );
  const label = "Attention on: " + sentence;
  return make("div", { class: "scroll tall heads", tabindex: "0", role: "region", "aria-label": label }, table);
}

function drawAttention(answer) {
  find("attention-maps").replaceChildren(...answer.sentences.map((map) => makeMap(map, answer.language)));
  find("attention-note").hidden = answer.sentences.length > 0;
}

// Update --------------------------------------------------------------------------------------------------------------

async function update() {
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  drawPivotTitle();
  drawNote();
  if (!text.value.trim()) {
    clearResults();
    drawKind();
    setBusy(false);
    return;
  }
  const values = { q: text.value, source: sourceField.value };
  const request = { ...values, target: targetField.value, count: Number(countField.value) };
  setBusy(true);
  try {
    const work = [post("hypotheses", request, signal).then((answer) => signal.aborted || drawDirect(answer))];
    if (pivotField.value) {
      const pivotRequest = { ...request, pivot: pivotField.value };
      work.push(post("hypotheses", pivotRequest, signal).then((answer) => signal.aborted || drawPivot(answer)));
    }
    if (data.heads) work.push(post("attention", values, signal).then((answer) => signal.aborted || drawAttention(answer)));
    await Promise.all(work);
    find("error").textContent = "";
  } catch (error) {
    if (signal.aborted) return; // a newer request has taken its place
    find("error").textContent = error instanceof TypeError ? "The server cannot be reached." : error.message;
  }
  if (!signal.aborted) setBusy(false);
}

let pause = 0;
function updateSoon() {
  clearTimeout(pause);
  pause = setTimeout(update, PAUSE);
}

function swap() {
  const source = sourceLanguage() || data.sources[0];
  const target = targetField.value;
  if (!data.sources.includes(target) || !data.targets.includes(source)) {
    find("status").textContent = "The run cannot translate from " + languageName(target) + " into " + languageName(source) + ".";
    return;
  }
  sourceField.value = target;
  detected = null;
  drawTargets();
  targetField.value = source;
  if (best) text.value = best;
  changeLanguages();
}

function changeLanguages() {
  find("status").textContent = "";
  drawTargets();
  drawPivots();
  drawKind();
  update();
}

const sourceOptions = data.sources.map((code) => [code, languageName(code)]);
fill(sourceField, [[AUTO, "identify the language"], ...sourceOptions], data.sources[0]);
drawTargets();
targetField.value = data.targets.find((target) => target !== sourceField.value) || data.targets[0];
drawPivots();
drawKind();
drawNote();
form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", changeLanguages);
find("swap").addEventListener("click", swap);
text.addEventListener("input", updateSoon);
