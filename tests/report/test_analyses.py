"""Sentence embeddings and the heads of the bridge on the page: what `polyglot analyse` wrote, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest

from polyglot.analysis.embeddings.analysis import Analysis, Correlations, analyse
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.analysis.embeddings.page import save
from polyglot.report.files import RunFiles
from polyglot.report.page import page
from polyglot.report.sections.analysis import analysis
from polyglot.report.sections.embeddings import HEIGHT, MARGIN, WIDTH, draw_plane, embeddings
from polyglot.report.sections.heads import heads
from polyglot.runs.run import Run
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator

NASTY = "<script>document.title='broken'</script> & \"quoted\""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """German says something nasty; `z-last` was analysed besides `default`."""
    run = tiny_run(tmp_path_factory.mktemp("analyses"))
    (Path(run.config.data.folder) / "test.de").write_text(
        "\n".join([NASTY, *TEXT["de"][1:]]), encoding="utf-8"
    )
    (Path(run.config.data.folder) / "sts.tsv").write_text(
        "".join(f"{line}\t{line[::-1]}\t{len(line)}\n" for line in TEXT["en"])
    )
    return run


@pytest.fixture(scope="module")
def found(run: Run) -> Analysis:
    similarity = [{"name": "mine", "languages": ["en", "en"], "path": "sts.tsv"}]
    settings = AnalysisSettings.model_validate(
        {"similarity": similarity, "probe_sentences": 0, "map_sentences": 4}
    )
    found = analyse(run, tiny_translator(run), settings)
    save(found, run.path / "analysis" / "default")
    return found


def test_a_run_that_was_not_analysed_has_neither(tmp_path: Path) -> None:
    files = RunFiles(tiny_run(tmp_path))
    assert embeddings(files) is None and heads(files) is None


def test_every_sentence_is_a_dot_that_says_it_and_is_text_only(run: Run, found: Analysis) -> None:
    html = str(embeddings(RunFiles(run)).body)
    assert html.count("<circle") == 4 * 3 * len(found.map.planes) and html.count("<figure") == len(
        found.map.planes
    )
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 2 * len(found.map.planes), (
        "in a dot, and in the table behind the picture"
    )
    for line in TEXT["fr"][:4]:
        assert f"fr: {line.replace(chr(39), '&#39;')}</title>" in html
    for figure in re.findall(r"<figure.*?</figure>", html, re.DOTALL):
        assert figure.count("<table>") == 1 and figure.count('<input type="checkbox"') == 3


def test_the_numbers_are_those_of_the_analysis(run: Run, found: Analysis) -> None:
    html = str(embeddings(RunFiles(run)).body)
    for name, matrix in found.retrieval.items():
        values = [
            matrix.means(metric)[kind]
            for kind in ("supervised", "zero-shot")
            for metric in ("p@1", "mrr", "xsim")
        ]
        row = f'<th scope="row">{name}</th><td>{found.sizes[name]}</td>' + "".join(
            f"<td>{value:,.1f}</td>" for value in values
        )
        assert row in html
        assert (
            f'<th scope="row">{name}</th><td>{100 * found.similarity[name][0].spearman:,.1f}</td>'
            in html
        )


def test_a_plane_fills_its_picture() -> None:
    picture = draw_plane({"en": [(-1.0, 5.0), (0.0, 6.0)], "de": [(3.0, 7.0), (1.0, 6.0)]})
    en, de = picture["languages"]
    assert en["dots"] == [
        (MARGIN, HEIGHT - MARGIN),
        (MARGIN + (WIDTH - 2 * MARGIN) / 4, HEIGHT / 2),
    ]
    assert de["dots"][0] == (WIDTH - MARGIN, MARGIN)
    assert picture["lines"][:2] == [
        (MARGIN, HEIGHT - MARGIN, WIDTH / 2, HEIGHT / 2),
        (WIDTH - MARGIN, MARGIN, WIDTH / 2, HEIGHT / 2),
    ]


def test_heads_from_the_front_of_a_sentence_to_its_end(run: Run, found: Analysis) -> None:
    path = run.path / "analysis" / "default" / "analysis.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    assert values["heads"]["similarity"] == found.heads.similarity.tolist()
    front, end = [[1.0, *[0.0] * 9], [*[0.0] * 9, 1.0]]
    values["heads"] = {
        "positions": {"en": [end, front], "de": [end, front]},
        "similarity": [[1.0, 0.25], [0.25, 1.0]],
    }
    other = path.parent.parent / "made-up" / "analysis.json"
    other.parent.mkdir()
    other.write_text(json.dumps(values), encoding="utf-8")
    html = str(heads(RunFiles(run)).body)
    assert html.index("<h3>default</h3>") < html.index("<h3>made-up</h3>")
    made_up = html[html.index("<h3>made-up</h3>") :]
    assert "2 heads" in made_up and "two heads: 0.250" in made_up
    first, second = re.findall(r'<tr><th scope="row">(\d)</th>(.*?)</tr>', made_up)[:2]
    assert (first[0], second[0]) == ("2", "1")
    assert first[1].startswith('<td style="--v: 1.000">100</td>') and second[1].endswith(
        ">100</td>"
    )


@pytest.mark.parametrize("file", ["analysis.json", "page.json"])
@pytest.mark.parametrize(
    "content", ['{"format": 99}', '{"form', "[]", "null"], ids=["version", "cut", "list", "null"]
)
def test_what_another_version_wrote_or_damage_is_left_out_and_said(
    file: str, content: str, tmp_path: Path
) -> None:
    run = tiny_run(tmp_path)
    (run.path / "analysis" / "default").mkdir(parents=True)
    (run.path / "analysis" / "default" / file).write_text(content)
    assert (
        embeddings(RunFiles(run)) is None
        and heads(RunFiles(run)) is None
        and analysis(RunFiles(run)) is None
    )
    assert "another version of Polyglot wrote it: analysis/default. " in page(RunFiles(run))


def test_a_correlation_that_there_is_none_of_is_a_dash(run: Run, found: Analysis) -> None:
    place = run.path / "analysis" / "alike"
    similarity = {
        name: [Correlations("alike", ("en", "en"), None, None, 2)] for name in found.retrieval
    }
    save(dataclasses.replace(found, similarity=similarity), place)
    html = embeddings(RunFiles(run)).body
    shutil.rmtree(place)
    assert '<th scope="col">alike</th>' in html and "<td>–</td>" in html
