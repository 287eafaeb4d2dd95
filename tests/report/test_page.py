"""The page holds what the run has, as text and nothing else; what a run lacks is left out or said."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup

from polyglot.core.errors import ConfigError
from polyglot.report import write
from polyglot.report.files import RunFiles
from polyglot.report.page import page
from polyglot.report.section import Section
from polyglot.runs.run import Run
from tests.builders.runs import tiny_run
from tests.report.pages import NASTY, nasty_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return nasty_run(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def html(run: Run) -> str:
    path = write(run, sentences=[("de", NASTY)])
    assert path == run.path / "report.html"
    return path.read_text(encoding="utf-8")


class Reader(HTMLParser):
    """What a browser would see: tags with attributes, and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def data_of(html: str) -> dict:
    return json.loads(
        re.search(
            r'<script type="application/json" id="report-data">(.*?)</script>', html, re.DOTALL
        )[1]
    )


def test_a_script_in_a_corpus_stays_text(html: str) -> None:
    read = Reader(html)
    assert [attributes for tag, attributes in read.tags if tag == "script"] == [
        {"type": "application/json", "id": "report-data"},
        {},
    ]
    assert NASTY in read.texts, "as the caption of its attention"
    rows = data_of(html)["examples"]["evaluations"]["default"]["routes"]["de-fr"]
    assert NASTY in [row["source"] for row in rows] and NASTY in [
        output[1] for row in rows for output in row["outputs"]
    ]
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)


def test_nothing_is_loaded_and_only_our_script_may_run(html: str) -> None:
    read = Reader(html)
    policy = next(
        attributes["content"]
        for tag, attributes in read.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    (ours,) = re.findall(r"<script>(.*?)</script>\n", html, re.DOTALL)[-1:]
    digest = base64.b64encode(hashlib.sha256(ours.encode()).digest()).decode()
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy
    assert (
        not re.search(r'(?:src|href)="(?!#)', html) and "url(" not in html and "@import" not in html
    )


def test_every_part_is_there(html: str) -> None:
    read = Reader(html)
    names = [attributes["id"] for tag, attributes in read.tags if tag == "section"]
    assert names == [
        "headline",
        "matrix",
        "examples",
        "curves",
        "attention",
        "data",
        "configuration",
    ]
    assert [attributes["href"] for tag, attributes in read.tags if tag == "a"][1:] == [
        f"#{name}" for name in names
    ]
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_a_table_stands_behind_every_picture(html: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) == 6 and all(
        figure.count("<table>") == 1 and "<svg" in figure for figure in figures
    )  # the gradient norm was never a number
    assert html.count('<table class="grid">') == 4 and html.count('<table class="heat">') == 1


def test_the_numbers_are_those_of_the_matrix(run: Run, html: str) -> None:
    values = json.loads((run.evaluation / "default" / "matrix.json").read_text(encoding="utf-8"))
    (one,) = data_of(html)["matrix"]["evaluations"]
    assert (
        one["lower"] == ["ter", "ter-paper"]
        and one["pivot"] == "en"
        and one["paper"]["measure"] == "bleu-paper"
    )
    ours = {cell["name"]: cell["scores"]["bleu"][0] for cell in one["cells"]}
    assert ours == {
        name_of(cell): cell["scores"]["bleu"]["value"]
        for cell in (*values["cells"], *values["pivots"])
    }
    assert f"{values['means']['bleu']['supervised']:.1f}" in html
    (signature,) = values["signatures"]["bleu"]
    assert (
        one["signatures"]["bleu"] == [f"BLEU|{signature}"]
        and f"4 sentences of each direction; BLEU|{signature}" in html
    )


def name_of(cell: dict) -> str:
    source, _, target = cell["pair"].partition("-")
    return f"{source}-{cell['via']}-{target}" if cell["via"] else cell["pair"]


def test_heads_are_shown_with_shares_that_sum_to_one(run: Run) -> None:
    from polyglot.inference.translator import Translator
    from polyglot.report.sections.attention import weights

    found = weights(Translator.load(run), "de", "ein Hund singt", chosen=True)
    assert len(found["pieces"]) == 3 and len(found["heads"]) == 3
    assert all(sum(head) == pytest.approx(1) for head in found["heads"])


def test_a_sentence_in_a_language_that_is_not_read_is_an_error(run: Run) -> None:
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        page(RunFiles(run, (("xx", "a"),)))


def test_a_run_that_was_only_begun_has_a_page(tmp_path: Path) -> None:
    html = page(RunFiles(tiny_run(tmp_path)))
    assert (
        "has not been evaluated" in html and 'id="matrix"' not in html and 'id="curves"' not in html
    )


def test_text_that_is_elsewhere_is_said(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "moved")
    text = (
        (tmp_path / "moved" / "config.yaml")
        .read_text(encoding="utf-8")
        .replace(run.config.data.folder, str(tmp_path / "nowhere"))
    )
    (tmp_path / "moved" / "config.yaml").write_text(text, encoding="utf-8")
    html = page(RunFiles(Run.open(tmp_path / "moved")))
    assert "The training text cannot be read here" in html and 'id="examples"' in html


def test_what_another_version_wrote_is_left_out_and_said(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "old")
    for damaged in ('{"format": 1}', '{"form', "[]"):
        (tmp_path / "old" / "evaluation" / "default" / "matrix.json").write_text(damaged)
        html = page(RunFiles(Run.open(tmp_path / "old")))
        assert (
            "another version of Polyglot wrote it: evaluation/default. " in html
            and 'id="matrix"' not in html
        )


def test_an_evaluation_that_is_being_written_is_not_shown(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "begun")
    place = tmp_path / "begun" / "evaluation" / "default"
    (place / ".unfinished").mkdir()
    (place / "matrix.json").rename(place / ".unfinished" / "matrix.json")
    files = RunFiles(Run.open(tmp_path / "begun"))
    assert files.evaluations == [] and files.unreadable == []


def test_further_sections_stand_before_the_configuration(run: Run) -> None:
    html = page(
        RunFiles(run),
        more=[
            Section("map", "A map", Markup("<p>here &amp; there</p>"), {"points": ["</script>"]})
        ],
    )
    assert (
        html.index('<section id="data"')
        < html.index('<section id="map"')
        < html.index('<section id="configuration"')
    )
    assert data_of(html)["map"] == {"points": ["</script>"]} and "<p>here &amp; there</p>" in html
