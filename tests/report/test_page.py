"""Report page: it has what the run has, all text is escaped, and missing parts are left out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest
from markupsafe import Markup

from polyglot.core.errors import ConfigError
from polyglot.core.score_tables import ERROR_TITLES
from polyglot.core.stored_json import with_checksum
from polyglot.inference.translator import Translator
from polyglot.report import write
from polyglot.report.files import RunFiles
from polyglot.report.page import page
from polyglot.report.section import Section
from polyglot.report.sections.attention import weights
from polyglot.report.sections.matrix import matrix
from polyglot.runs.run import Run
from tests.builders.runs import tiny_run
from tests.report.pages import HTML_TEXT, report_run, write_large_evaluation

SECTIONS = ["headline", "matrix", "examples", "curves", "attention", "data", "configuration"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return report_run(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def html(run: Run) -> str:
    path = write(run, sentences=[("de", HTML_TEXT)])
    assert path == run.path / "report.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture
def copied_run(run: Run, tmp_path: Path) -> Path:
    """Path of a copy of the run that a test may change."""
    shutil.copytree(run.path, tmp_path / "copy")
    return tmp_path / "copy"


class PageReader(HTMLParser):
    """Tags with attributes, and texts, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def data_of(html: str) -> dict:
    """Data for the script of a page."""
    pattern = r'<script type="application/json" id="report-data">(.*?)</script>'
    return json.loads(re.search(pattern, html, re.DOTALL)[1])


# Safety


def test_a_script_in_a_corpus_stays_text(html: str) -> None:
    reader = PageReader(html)
    assert reader.attributes("script") == [{"type": "application/json", "id": "report-data"}, {}]
    assert HTML_TEXT in reader.texts, "as caption of its attention"
    rows = data_of(html)["examples"]["evaluations"]["default"]["routes"]["de-fr"]
    assert HTML_TEXT in [row["source"] for row in rows]
    outputs = [output for row in rows for _, output, _ in row["outputs"]]
    assert HTML_TEXT in outputs
    for _, attributes in reader.tags:
        assert not any(name.startswith("on") for name in attributes)


def test_nothing_is_loaded_and_only_our_script_can_run(html: str) -> None:
    policies = []
    for attributes in PageReader(html).attributes("meta"):
        if attributes.get("http-equiv") == "Content-Security-Policy":
            policies.append(attributes["content"])
    (policy,) = policies
    script = re.findall(r"<script>(.*?)</script>\n", html, re.DOTALL)[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert not re.search(r'(?:src|href)="(?!#)', html)
    assert "url(" not in html
    assert "@import" not in html


# Content


def test_every_scored_direction_has_all_output_errors(html: str) -> None:
    matrix = data_of(html)["matrix"]
    evaluation = matrix["evaluations"][0]
    assert matrix["error_titles"] == ERROR_TITLES
    assert list(evaluation["errors"]) == list(ERROR_TITLES)
    count = len(evaluation["cells"]["source"])
    for error in evaluation["errors"].values():
        assert len(error["values"]) == len(error["references"]) == count
    assert None not in evaluation["errors"]["copies"]["values"]


def test_the_examples_of_all_pairs_share_the_size(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine pairs, with space for two of their four sentences."""
    example_section = import_module("polyglot.report.sections.examples")
    monkeypatch.setattr(example_section, "_example_size", lambda evaluation, cells_by_pair: 100)
    monkeypatch.setattr(example_section, "TEXT_SIZE", 9 * 2 * 100)
    monkeypatch.setattr(example_section, "MIN_SENTENCES", 1)
    section = example_section.examples(RunFiles(run))
    routes = section.data["evaluations"]["default"]["routes"]
    assert len(routes) == 9
    assert {len(rows) for rows in routes.values()} == {2}


def test_too_many_pairs_have_examples_of_the_worst_and_best_of_each_kind(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Space for six of nine pairs: two of each of the three kinds."""
    example_section = import_module("polyglot.report.sections.examples")
    monkeypatch.setattr(example_section, "_example_size", lambda evaluation, cells_by_pair: 100)
    monkeypatch.setattr(example_section, "TEXT_SIZE", 6 * 4 * 100)
    monkeypatch.setattr(example_section, "MIN_SENTENCES", 4)
    values = example_section.examples(RunFiles(run)).data["evaluations"]["default"]
    assert values["scored"] == 9
    assert set(values["routes"]) == set(values["kinds"])
    for kind in ("supervised", "zero-shot", "copy"):
        assert list(values["kinds"].values()).count(kind) == 2


def test_the_worst_and_best_are_selected_before_the_first() -> None:
    example_section = import_module("polyglot.report.sections.examples")
    scores = [5.0, 4.0, 9.0, 1.0, 6.0, 7.0, 2.0, 8.0]
    assert example_section._worst_and_best(scores, 6) == [0, 1, 2, 3, 6, 7]


def test_the_headline_is_of_the_evaluation_with_the_most_scored_cells(copied_run: Path) -> None:
    default = copied_run / "evaluation" / "default"
    shutil.copytree(default, copied_run / "evaluation" / "news")
    values = json.loads((default / "matrix.json").read_text(encoding="utf-8"))
    del values["checksum"]
    values["cells"][0]["scores"] = {}
    content = json.dumps(with_checksum(values))
    (default / "matrix.json").write_text(content, encoding="utf-8")

    files = RunFiles(Run.open(copied_run))
    assert [evaluation.name for evaluation in files.evaluations] == ["default", "news"]
    assert files.main_evaluation.name == "news"
    html = page(files)
    assert "Scores of the protocol news" in html
    assert data_of(html)["matrix"]["selected"] == data_of(html)["examples"]["selected"] == "news"


def test_text_has_its_language_and_direction(html: str) -> None:
    reader = PageReader(html)
    captions = [attributes for attributes in reader.attributes("span") if "lang" in attributes]
    assert captions == [{"lang": "de", "dir": "auto"}]
    pieces = [attributes for attributes in reader.attributes("th") if "lang" in attributes]
    assert pieces
    assert {attributes["dir"] for attributes in pieces} == {"auto"}
    assert data_of(html)["tags"] == {"en": "en", "de": "de", "fr": "fr"}


def test_the_size_of_the_page_grows_linearly_with_the_cells(tmp_path: Path) -> None:
    """Without examples, whose size is limited."""
    bytes_per_cell = []
    for count in (10, 40):
        run = tiny_run(tmp_path, f"run-{count}")
        write_large_evaluation(run, languages=count)
        section = matrix(RunFiles(run))
        size = len(section.body) + len(json.dumps(dict(section.data)))
        bytes_per_cell.append(size / count**2)
    # 250 bytes are half of a page of 5 MB with 100 languages.
    assert bytes_per_cell[1] <= bytes_per_cell[0] < 250


def test_many_tasks_are_shown_by_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = import_module("polyglot.report.sections.data")
    run = tiny_run(tmp_path)
    assert "<caption><span>Tasks, with the sentence pairs" in section.data(RunFiles(run)).body
    monkeypatch.setattr(section, "MAX_TASKS", 3)
    body = section.data(RunFiles(run)).body
    assert "4 tasks, by language" in body
    row = '<tr><th scope="row">en</th><td>2</td><td>2</td><td>120</td><td>120</td></tr>'
    assert row in body


def test_many_source_languages_have_one_sentence_each(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = import_module("polyglot.report.sections.attention")
    assert str(section.attention(RunFiles(run)).body).count('class="scroll tall heads"') == 6
    monkeypatch.setattr(section, "MAX_SENTENCES", 2)
    body = str(section.attention(RunFiles(run)).body)
    assert body.count('class="scroll tall heads"') == 2
    assert "too many languages" in body


def test_all_sections_are_on_the_page(html: str) -> None:
    reader = PageReader(html)
    assert [attributes["id"] for attributes in reader.attributes("section")] == SECTIONS
    links = [attributes["href"] for attributes in reader.attributes("a")]
    assert links[1:] == [f"#{name}" for name in SECTIONS]
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_chart_has_a_table(html: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) == 6, "the gradient norm was never a number"
    for figure in figures:
        assert figure.count("<table>") == 1
        assert "<svg" in figure
    assert html.count('<table class="grid">') == 4
    assert html.count('<table class="heat">') == 1


def cell_name(cell: dict) -> str:
    source, target = cell["pair"].split("-")
    return f"{source}-{cell['via']}-{target}" if cell["via"] else cell["pair"]


def test_the_scores_are_those_of_the_matrix(run: Run, html: str) -> None:
    content = (run.evaluation / "default" / "matrix.json").read_text(encoding="utf-8")
    values = json.loads(content)
    (evaluation,) = data_of(html)["matrix"]["evaluations"]
    assert evaluation["lower"] == ["ter", "ter-paper"]
    assert evaluation["pivot"] == "en"
    assert evaluation["paper"]["measure"] == "bleu-paper"
    columns = evaluation["cells"]
    scores = {}
    for number, value in enumerate(evaluation["scores"]["bleu"]["values"]):
        source = evaluation["languages"][columns["source"][number]]
        target = evaluation["languages"][columns["target"][number]]
        via = "en-" if columns["via"][number] else ""
        scores[f"{source}-{via}{target}"] = value
    expected = {}
    for cell in [*values["cells"], *values["pivots"]]:
        expected[cell_name(cell)] = round(cell["scores"]["bleu"]["value"], 3)
    assert scores == expected
    assert evaluation["limits"]["bleu"] == [0, 50]
    assert evaluation["limits"]["ter-paper"] == [100, 0]
    assert f"{values['means']['bleu']['supervised']:.1f}" in html
    (signature,) = values["signatures"]["bleu"]
    assert evaluation["signatures"]["bleu"] == [f"BLEU|{signature}"]
    assert f"4 sentences of each direction; BLEU|{signature}" in html


def test_the_attention_of_each_head_sums_to_one(run: Run) -> None:
    attention = weights(Translator.load(run), "de", "ein Hund singt", chosen=True)
    assert len(attention["pieces"]) == 3
    assert len(attention["heads"]) == 3
    for head in attention["heads"]:
        assert sum(head) == pytest.approx(1)


def test_further_sections_are_placed_before_the_configuration(run: Run) -> None:
    body = Markup("<p>here &amp; there</p>")
    section = Section("map", "A map", body, {"points": ["</script>"]})
    html = page(RunFiles(run), more=[section])
    names = [attributes["id"] for attributes in PageReader(html).attributes("section")]
    assert names[-3:] == ["data", "map", "configuration"]
    assert data_of(html)["map"] == {"points": ["</script>"]}
    assert "<p>here &amp; there</p>" in html


# Missing and damaged parts


def test_a_sentence_in_a_language_without_encoder_is_an_error(run: Run) -> None:
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        page(RunFiles(run, (("xx", "a"),)))


def test_a_run_without_training_has_a_page(tmp_path: Path) -> None:
    html = page(RunFiles(tiny_run(tmp_path)))
    assert "has not been evaluated" in html
    assert 'id="matrix"' not in html
    assert 'id="curves"' not in html


def test_changed_translations_are_left_out(copied_run: Path, caplog) -> None:
    evaluation = RunFiles(Run.open(copied_run)).main_evaluation
    cell = evaluation.cells[0]
    lines = evaluation.hypotheses(cell)
    assert lines
    path = copied_run / "evaluation" / "default" / "hypotheses" / f"{cell_name(cell)}.txt"
    path.write_text("hello\n" * len(lines))
    assert evaluation.hypotheses(cell) == []
    assert "was changed or is damaged" in caplog.text


def test_damaged_log_lines_are_left_out(copied_run: Path) -> None:
    log = copied_run / "log.jsonl"
    count = len(RunFiles(Run.open(copied_run)).log)
    log.write_bytes(log.read_bytes() + b'\xff\xfe\n{"step": \n' + b"[" * 50_000 + b"\n")
    files = RunFiles(Run.open(copied_run))
    assert len(files.log) == count > 0
    assert page(files)


def test_changed_score_is_listed_as_unreadable(copied_run: Path) -> None:
    path = copied_run / "evaluation" / "default" / "matrix.json"
    content = path.read_text(encoding="utf-8")
    changed = content.replace('"value": ', '"value": 9', 1)
    assert changed != content
    path.write_text(changed, encoding="utf-8")
    assert RunFiles(Run.open(copied_run)).unreadable == ["evaluation/default"]


def test_missing_training_text_is_reported(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    write_large_evaluation(run, languages=2)
    for path in tmp_path.glob("train.*"):
        path.unlink()
    html = page(RunFiles(run))
    assert "The training text cannot be read here" in html
    assert f"relative paths start from {tmp_path.resolve()}: set data.folder" in html
    assert 'id="matrix"' in html


@pytest.mark.parametrize("content", ['{"format": 1}', '{"form', "[]"])
def test_an_evaluation_of_another_version_is_left_out(content: str, copied_run: Path) -> None:
    (copied_run / "evaluation" / "default" / "matrix.json").write_text(content)
    html = page(RunFiles(Run.open(copied_run)))
    assert "another version of Polyglot wrote it: evaluation/default. " in html
    assert 'id="matrix"' not in html


def test_an_unfinished_evaluation_is_not_shown(copied_run: Path) -> None:
    folder = copied_run / "evaluation" / "default"
    (folder / ".unfinished").mkdir()
    (folder / "matrix.json").rename(folder / ".unfinished" / "matrix.json")
    files = RunFiles(Run.open(copied_run))
    assert files.evaluations == []
    assert files.unreadable == []
