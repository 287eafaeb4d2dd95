"""`polyglot analyse RUN ANALYSIS`, and its pages in the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from polyglot.analysis.page import file_name
from polyglot.report.files import RunFiles
from polyglot.report.page import page as report_page
from polyglot.runs.run import Run
from tests.analysis import conftest as analysis_fixtures
from tests.cli.small_run import one_line

run = analysis_fixtures.run
GERMAN_SENTENCE = "de=Der alte Bauer schläft."


@pytest.fixture
def run_path(run, tmp_path, monkeypatch) -> Path:
    """A copy of the run with all options, without analyses; `run` in the working directory."""
    path = tmp_path / "run"
    shutil.copytree(run.path, path)
    shutil.rmtree(path / "analysis", ignore_errors=True)
    monkeypatch.chdir(tmp_path)
    return path


def word_in(run_path: Path, language: str) -> str:
    return Run.open(run_path).vocabularies[language].pieces([9])[0].removeprefix("▁")


def test_analyses_are_printed_written_and_in_the_report(run_path, polyglot):
    german = word_in(run_path, "de")
    english = word_in(run_path, "en")
    few = ("--sentences", "4")
    english_sentence = "en=The old farmer sleeps."
    analyses = {
        "roles.decoder.fr": ("roles", "--side", "decoder", "--language", "fr", *few),
        "roles.encoder.de.u2e": (
            "roles",
            "--token",
            "▁.",
            "--into",
            "en",
            "--language",
            "de",
            *few,
        ),
        "graph.de": ("graph", "--sentence", GERMAN_SENTENCE, *few),
        f"chart.encoder.de.{german}": ("chart", german, "--language", "de"),
        f"chart.decoder.en.{file_name(english)}": (
            "chart",
            english,
            "--side",
            "decoder",
            "--sentence",
            "de=Ein Haus.",
        ),
        "heads": ("heads", "--sentence", GERMAN_SENTENCE, "--sentence", english_sentence),
    }
    for name, arguments in analyses.items():
        result = polyglot("analyse", "run", *arguments)
        assert result.status == 0, result.errors
        assert result.output
        assert f"written to run/analysis/{name}" in one_line(result.errors)
        page = json.loads((run_path / "analysis" / name / "page.json").read_text())
        assert page["tables"]
        assert page["pictures"]

    report = report_page(RunFiles(Run.open(run_path)))
    assert report.count("<h3>") >= 5
    assert report.count("data:image/png;base64,") == 8
    assert "Latent graph of the encoder of de" in report
    assert "Roles of the decoder of fr" in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("rolls",),
            "rolls: neither a run nor an analysis: no analysis named 'rolls'. "
            "Did you mean 'roles'?",
        ),
        (("chart",), "chart needs one word"),
        (("chart", " "), "chart needs one word"),
        (("roles", "der"), "the other analyses take no word"),
        (("roles", "--side", "left"), "--side: found 'left'; expected encoder or decoder"),
        (
            ("graph", "--sentence", "Ein Haus."),
            "--sentence: found 'Ein Haus.'; write language and text",
        ),
        (
            ("chart", "lac", "--language", "fr", "--sentence", "fr=Le lac."),
            "the encoder of fr has no context gate",
        ),
        (
            ("graph", "--sentence", "de=Ein Haus.", "--language", "en"),
            "--sentence de=…: the encoder of en reads only en",
        ),
        (
            ("roles", "--sentence", "de=Ein Haus."),
            "--sentence: roles does not use it; it is for graph and chart and heads",
        ),
        (("roles", "--into", "fr"), "--into: roles translates only with --token"),
        (("chart", "lac", "--token", "lac"), "--token: chart does not use it; it is for roles"),
        (
            ("heads", "--output", "page.md"),
            "--output: heads does not use it; it is for embeddings",
        ),
        (("heads", "--sentence", "cs=Dům."), "no encoder named 'cs'"),
    ],
)
def test_mistake_in_the_arguments(arguments, message, run_path, polyglot):
    errors = polyglot.refuses("analyse", "run", *arguments)
    assert message in one_line(errors)


def test_several_runs_for_an_analysis_of_one_run(run_path, polyglot):
    message = polyglot.refuses("analyse", "run", "run", "heads")
    assert "analyse: heads takes one run; found 2: run, run" in message


def test_page_of_another_version_is_not_in_the_report(run_path):
    page = run_path / "analysis" / "roles.encoder.de" / "page.json"
    page.parent.mkdir(parents=True)
    page.write_text('{"format": 99}')
    assert "What was learnt" not in report_page(RunFiles(Run.open(run_path)))
