"""Sections with sentence embeddings and heads, from the files of `polyglot analyse`."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from polyglot.analysis.embeddings.analysis import Analysis, Correlations, analyse
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.analysis.embeddings.page import save
from polyglot.analysis.page import Page, Table
from polyglot.core.file_checks import DAMAGED
from polyglot.core.stored_analyses import STORED_ANALYSIS, STORED_PAGE
from polyglot.core.stored_json import validate_stored
from polyglot.report.files import RunFiles
from polyglot.report.page import page
from polyglot.report.sections.analysis import analysis as analysis_section
from polyglot.report.sections.embeddings import HEIGHT, MARGIN, WIDTH, draw_plane, embeddings
from polyglot.report.sections.heads import heads
from polyglot.runs.result_checks import check_results
from polyglot.runs.run import Run
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator

HTML_TEXT = "<script>document.title='broken'</script> & \"quoted\""
MAP_SENTENCES = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run whose first German test sentence looks like HTML."""
    run = tiny_run(tmp_path_factory.mktemp("analyses"))
    folder = Path(run.config.data.folder)
    german = "\n".join([HTML_TEXT, *TEXT["de"][1:]])
    (folder / "test.de").write_text(german, encoding="utf-8")
    similarity = "".join(f"{line}\t{line[::-1]}\t{len(line)}\n" for line in TEXT["en"])
    (folder / "sts.tsv").write_text(similarity)
    return run


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    settings = AnalysisSettings.model_validate(
        {
            "similarity": [{"name": "mine", "languages": ["en", "en"], "path": "sts.tsv"}],
            "probe_sentences": 0,
            "map_sentences": MAP_SENTENCES,
        }
    )
    result = analyse(run, tiny_translator(run), settings)
    save(result, run.path / "analysis" / "default")
    return result


def test_a_run_without_analyses_has_no_sections(tmp_path: Path) -> None:
    files = RunFiles(tiny_run(tmp_path))
    assert embeddings(files) is None
    assert heads(files) is None


def test_every_sentence_is_a_dot_with_escaped_text(run: Run, analysis: Analysis) -> None:
    html = str(embeddings(RunFiles(run)).body)
    planes = len(analysis.map.planes)
    assert html.count("<circle") == MAP_SENTENCES * 3 * planes
    assert html.count("<figure") == planes
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 2 * planes, "in a dot, and in the table of the figure"
    for line in TEXT["fr"][:MAP_SENTENCES]:
        escaped = line.replace("'", "&#39;")
        assert f"fr: {escaped}</title>" in html
    for figure in re.findall(r"<figure.*?</figure>", html, re.DOTALL):
        assert figure.count("<table>") == 1
        assert figure.count('<input type="checkbox"') == 3


@pytest.mark.parametrize(("dots", "sentences"), [(1000, MAP_SENTENCES), (8, 2), (6, 2), (2, 1)])
def test_a_plane_has_a_limited_number_of_dots(
    dots: int, sentences: int, run: Run, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three languages: with a limit of 8 or 6 dots, two sentences of each language."""
    section = importlib.import_module("polyglot.report.sections.embeddings")
    monkeypatch.setattr(section, "MAX_DOTS", dots)
    html = str(embeddings(RunFiles(run)).body)
    planes = len(analysis.map.planes)
    assert html.count("<circle") == sentences * 3 * planes
    assert html.count('<td class="words"') == sentences * 3 * planes
    assert f"Lines join the first {sentences} sentences" in html


def test_the_numbers_are_those_of_the_analysis(run: Run, analysis: Analysis) -> None:
    html = str(embeddings(RunFiles(run)).body)
    for name, matrix in analysis.retrieval.items():
        row = f'<th scope="row">{name}</th><td>{analysis.sizes[name]}</td>'
        for kind in ("supervised", "zero-shot"):
            for metric in ("p@1", "mrr", "xsim"):
                row += f"<td>{matrix.means(metric)[kind]:,.1f}</td>"
        assert row in html
        correlation = 100 * analysis.similarity[name][0].spearman
        assert f'<th scope="row">{name}</th><td>{correlation:,.1f}</td>' in html


def test_a_plane_fills_its_figure() -> None:
    plane = draw_plane({"en": [(-1.0, 5.0), (0.0, 6.0)], "de": [(3.0, 7.0), (1.0, 6.0)]})
    english, german = plane["languages"]
    lower_left = (MARGIN, HEIGHT - MARGIN)
    upper_right = (WIDTH - MARGIN, MARGIN)
    centre = (WIDTH / 2, HEIGHT / 2)
    assert english["dots"] == [lower_left, (MARGIN + (WIDTH - 2 * MARGIN) / 4, HEIGHT / 2)]
    assert german["dots"][0] == upper_right
    assert plane["lines"][:2] == [(*lower_left, *centre), (*upper_right, *centre)]


def test_heads_are_ordered_from_start_to_end_of_a_sentence(run: Run, analysis: Analysis) -> None:
    path = run.path / "analysis" / "default" / "analysis.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    assert values["heads"]["similarity"] == analysis.heads.similarity.tolist()

    attends_to_start = [1.0, *[0.0] * 9]
    attends_to_end = [*[0.0] * 9, 1.0]
    positions = [attends_to_end, attends_to_start]
    del values["checksum"]  # of the stored heads
    values["heads"] = {
        "positions": {"en": positions, "de": positions},
        "similarity": [[1.0, 0.25], [0.25, 1.0]],
    }
    invented = run.path / "analysis" / "invented"
    invented.mkdir()
    (invented / "analysis.json").write_text(json.dumps(values), encoding="utf-8")
    html = str(heads(RunFiles(run)).body)
    shutil.rmtree(invented)

    assert html.index("<h3>default</h3>") < html.index("<h3>invented</h3>")
    section = html[html.index("<h3>invented</h3>") :]
    assert "2 heads" in section
    assert "two heads: 0.250" in section
    first, second = re.findall(r'<tr><th scope="row">(\d)</th>(.*?)</tr>', section)[:2]
    assert first[0] == "2"
    assert first[1].startswith('<td style="--v: 1.000">100</td>')
    assert second[0] == "1"
    assert second[1].endswith(">100</td>")


@pytest.mark.parametrize("file", ["analysis.json", "page.json"])
@pytest.mark.parametrize(
    "content", ['{"format": 99}', '{"form', "[]", "null"], ids=["version", "cut", "list", "null"]
)
def test_files_of_another_version_and_damaged_files_are_left_out(
    file: str, content: str, tmp_path: Path
) -> None:
    run = tiny_run(tmp_path)
    folder = run.path / "analysis" / "default"
    folder.mkdir(parents=True)
    (folder / file).write_text(content)
    assert embeddings(RunFiles(run)) is None
    assert heads(RunFiles(run)) is None
    assert analysis_section(RunFiles(run)) is None
    assert "another version of Polyglot wrote it: analysis/default. " in page(RunFiles(run))


def test_an_undefined_correlation_is_a_dash(run: Run, analysis: Analysis) -> None:
    undefined = Correlations("alike", ("en", "en"), None, None, 2)
    similarity = {name: [undefined] for name in analysis.retrieval}
    folder = run.path / "analysis" / "alike"
    save(dataclasses.replace(analysis, similarity=similarity), folder)
    html = embeddings(RunFiles(run)).body
    shutil.rmtree(folder)
    assert '<th scope="col">alike</th>' in html
    assert "<td>–</td>" in html


WRONG_VALUES: list[Any] = [
    None,
    True,
    -1,
    1e308,
    float("nan"),
    10**400,
    "x",
    "../../x",
    "\0",
    "x" * 200_000,
    [],
    {},
    [[]],
    [[[3]]],
    {"x": []},
    {"x": {}},
]


@pytest.fixture(scope="module")
def contents(run: Run, analysis: Analysis) -> dict[str, Any]:
    """Valid content of each file, without its checksum."""
    table = Table("words", ["word", "count"], [["der", "3"], ["die", "2"]], note="of the test text")
    folder = Page("words.de", "Words", [table], {"count": 5}, {"words": b"PNG"}).save(run)
    contents = {}
    for path in (run.path / "analysis/default/analysis.json", folder / "page.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        del values["checksum"]
        contents[path.name] = values
    return contents


def retype(values: Any, random: Random) -> None:
    """Replace one value, or remove one key, somewhere in nested JSON."""
    while True:
        keys = list(values) if isinstance(values, dict) else range(len(values))
        key = random.choice(keys)
        inner = values[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.8:
            values = inner
            continue
        if random.random() < 0.2:
            del values[key]
        else:
            values[key] = random.choice(WRONG_VALUES)
        return


@pytest.mark.parametrize("name", ["analysis.json", "page.json"])
def test_a_file_with_wrong_types_is_shown_or_left_out(
    name: str, contents: dict[str, Any], tmp_path: Path
) -> None:
    run = tiny_run(tmp_path)
    folder = run.path / "analysis" / "default"
    folder.mkdir(parents=True)
    path = folder / name
    random = Random(1)
    left_out = 0
    for _ in range(60):
        values = json.loads(json.dumps(contents[name]))
        retype(values, random)
        path.write_text(json.dumps(values), encoding="utf-8")
        files = RunFiles(run)
        for section in (embeddings, heads, analysis_section):
            section(files)
        left_out += bool(files.unreadable)
    assert left_out > 10


@pytest.mark.parametrize("name", ["analysis.json", "page.json"])
def test_check_finds_wrong_types(name: str, contents: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "analysis" / "default"
    folder.mkdir(parents=True)
    values = dict(contents[name])
    (folder / name).write_text(json.dumps(values))
    assert not any(result.is_problem for result in check_results(tmp_path, tmp_path / "analysis"))
    key = "test" if name == "analysis.json" else "tables"
    del values[key]
    (folder / name).write_text(json.dumps(values))
    (result,) = check_results(tmp_path, tmp_path / "analysis")
    assert result.state == DAMAGED
    assert result.message == f"{key}: Field required"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("heads", "similarity"), [[1.0, 0.5]], "similarity is not square"),
        (("heads", "positions"), {"de": []}, "different numbers of heads"),
        (("heads", "positions"), {"de": [[0.0]], "en": [[0.0]]}, "attend to nothing"),
        (("map", "planes"), {"PCA": {"de": []}}, "the plane 'PCA' needs a point for each sentence"),
        (("map", "sentences"), {"de": ["a"], "en": []}, "the same number of sentences"),
        (("map", "planes"), {"PCA": {"de": [[1.0]]}}, "at least 2 items"),
        (("sizes",), {}, "sizes: '.*' is missing"),
        (("retrieval",), {"bridge.flat": {"means": {}}}, "the means of p@1 are missing"),
    ],
)
def test_parts_of_an_analysis_belong_together(
    path: tuple[str, ...], value: Any, message: str, contents: dict[str, Any]
) -> None:
    values = json.loads(json.dumps(contents["analysis.json"]))
    values["heads"] = {"positions": {"de": [[1.0]]}, "similarity": [[1.0]]}
    place = values
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        validate_stored(values, STORED_ANALYSIS)


@pytest.mark.parametrize("name", ["../words.png", "/etc/passwd", ".hidden", "", "a\0b"])
def test_pictures_are_files_of_the_folder(name: str, contents: dict[str, Any]) -> None:
    values = {**contents["page.json"], "pictures": {"words": name}}
    with pytest.raises(ValueError, match="pictures.words"):
        validate_stored(values, STORED_PAGE)
