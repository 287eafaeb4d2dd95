"""`polyglot analyse RUN WHAT` as a user meets it, and what the report shows of it."""

from __future__ import annotations

import json
import shutil

import pytest

from polyglot.analysis.page import file_name
from polyglot.report.files import RunFiles
from polyglot.report.page import page as report_page
from polyglot.runs.run import Run
from tests.analysis.conftest import run  # noqa: F401
from tests.builders.command_line import Program


@pytest.fixture
def copied(run, tmp_path, monkeypatch):
    shutil.copytree(run.path, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "analysis", ignore_errors=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def word_of(copied, language="de"):
    return Run.open(copied).vocabularies[language].pieces([9])[0].removeprefix("▁")


def test_every_analysis_is_shown_written_and_in_the_report(copied, monkeypatch, capsys):
    polyglot, english = Program(monkeypatch, capsys), word_of(copied, "en")
    calls = {
        "roles.decoder.fr": ("roles", "--side", "decoder", "--language", "fr", "--sentences", "4"),
        "roles.encoder.de.u2e": (
            "roles",
            "--token",
            "▁.",
            "--into",
            "en",
            "--language",
            "de",
            "--sentences",
            "4",
        ),
        "graph.de": ("graph", "--sentence", "de=Der alte Bauer schläft.", "--sentences", "4"),
        f"chart.encoder.de.{word_of(copied)}": ("chart", word_of(copied), "--language", "de"),
        f"chart.decoder.en.{file_name(english)}": (
            "chart",
            english,
            "--side",
            "decoder",
            "--sentence",
            "de=Ein Haus.",
        ),
        "heads": (
            "heads",
            "--sentence",
            "de=Der alte Bauer schläft.",
            "--sentence",
            "en=The old farmer sleeps.",
        ),
    }
    for name, arguments in calls.items():
        result = polyglot("analyse", "run", *arguments)
        assert result.status == 0 and result.output, result.errors
        content = json.loads((copied / "analysis" / name / "page.json").read_text())
        assert (
            content["tables"]
            and content["pictures"]
            and f"written to run/analysis/{name}" in " ".join(result.errors.split())
        )
    html = report_page(RunFiles(Run.open(copied)))
    assert html.count("<h3>") >= 5 and html.count("data:image/png;base64,") == 8
    assert "Latent graph of the encoder of de" in html and "Roles of the decoder of fr" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("rolls",),
            "rolls: there is no such run; or, if that is what to look at: no analysis named 'rolls'. Did you mean 'roles'?",
        ),
        (("chart",), "chart needs one word"),
        (("chart", " "), "chart needs one word"),
        (("roles", "der"), "nothing else takes one"),
        (("roles", "--side", "left"), "--side: found 'left'; encoder or decoder"),
        (
            ("graph", "--sentence", "Ein Haus."),
            "--sentence: found 'Ein Haus.'; write language and text",
        ),
        (
            ("chart", "lac", "--language", "fr", "--sentence", "fr=Le lac."),
            "the encoder of fr has the same words in every --sentence",
        ),
        (
            ("graph", "--sentence", "de=Ein Haus.", "--language", "en"),
            "--sentence de=…: the encoder of en reads en alone",
        ),
        (
            ("roles", "--sentence", "de=Ein Haus."),
            "--sentence: roles has no use for it, only graph and chart and heads",
        ),
        (("roles", "--into", "fr"), "--into: roles translates nothing without --token"),
        (("chart", "lac", "--token", "lac"), "--token: chart has no use for it, only roles"),
        (("heads", "--output", "page.md"), "--output: heads has no use for it, only embeddings"),
        (("heads", "--sentence", "cs=Dům."), "no encoder named 'cs'"),
    ],
)
def test_mistakes_are_sentences(copied, monkeypatch, capsys, arguments, message):
    result = Program(monkeypatch, capsys)("analyse", "run", *arguments)
    assert result.status == 2 and message in " ".join(result.errors.split())


def test_what_another_version_wrote_is_left_out_of_the_report(copied):
    (copied / "analysis" / "roles.encoder.de").mkdir(parents=True)
    (copied / "analysis" / "roles.encoder.de" / "page.json").write_text('{"format": 99}')
    assert "What was learnt" not in report_page(RunFiles(Run.open(copied)))
