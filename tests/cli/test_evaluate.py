"""`polyglot evaluate`, `polyglot compare` and `polyglot report`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from polyglot.evaluation.results_cache import results_lock
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.inference.translator import Translator
from tests.builders.command_line import TEXT
from tests.cli.small_run import one_line, start_program

SMALL_PROTOCOL = "pairs: [de-en, de-fr]\nmetrics: [bleu, chrf]\nresamples: 20\n"


@pytest.fixture
def small_protocol(folder) -> str:
    Path("small.yaml").write_text(SMALL_PROTOCOL)
    return "small.yaml"


# evaluate --------------------------------------------------------------------------------------


def test_replaced_scores_of_another_checkpoint_are_named(small_protocol, polyglot):
    options = ("evaluate", "runs/mine", "--protocol", small_protocol)
    assert "replaced" not in polyglot(*options, "--checkpoint", "2").errors
    errors = one_line(polyglot(*options, "--checkpoint", "4").errors)
    assert "replaced the scores of mine, checkpoint of step 2" in errors
    assert "replaced" not in polyglot(*options, "--checkpoint", "4").errors
    errors = one_line(polyglot("compare", "runs/mine", "runs/mine", "--protocol", "small").errors)
    assert "named twice" in errors


def test_evaluate_prints_tables_and_writes_files(folder, polyglot):
    result = polyglot("evaluate", "runs/mine")
    assert result.status == 0
    for part in (
        "BLEU · mine, best checkpoint",
        "chrF2 · mine",
        "supervised",
        "zero-shot†",
        "(copy)",
        "BLEU|nrefs:1|case:mixed",
    ):
        assert part in result.output
    assert "\x1b" not in result.output + result.errors  # colours are for terminals only

    results = Path("runs/mine/evaluation/default")
    assert {path.name for path in results.iterdir()} == {
        "matrix.json",
        "matrix.csv",
        "matrix.md",
        "bleu.png",
        "chrf.png",
        "hypotheses",
        "text",
        "cells",
    }
    assert len(list((results / "hypotheses").iterdir())) == 9


def test_evaluate_with_the_users_protocol(folder, polyglot):
    Path("brief.yaml").write_text("pairs: [de-fr]\nmetrics: [chrf]\nsentences: 2\n")
    options = ("--protocol", "brief.yaml", "--checkpoint", "last")
    assert polyglot("evaluate", "runs/mine", *options).status == 0
    matrix = json.loads(Path("runs/mine/evaluation/brief/matrix.json").read_text())
    assert [cell["pair"] for cell in matrix["cells"]] == ["de-fr"]
    assert matrix["checkpoint"]["checkpoint"] == "last"


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ("quik", "no evaluation protocol named 'quik'. Did you mean 'quick'?"),
        ("wrong.yaml", "metrics: no metric named 'blue'. Did you mean 'bleu'?"),
        ("far.yaml", "target language: no decoder named 'xx'"),
    ],
)
def test_mistake_in_a_protocol(protocol, message, folder, polyglot):
    Path("wrong.yaml").write_text("metrics: [blue]\n")
    Path("far.yaml").write_text("pairs: [de-xx]\n")
    assert message in polyglot.refuses("evaluate", "runs/mine", "--protocol", protocol)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pivot", "xx"), "pivot: target language: no decoder named 'xx'"),
        (("--protocol", "uneven.yaml"), "has 5 lines, but"),
        (("--protocol", "comet.yaml"), "comet: none.ckpt: no such file"),
    ],
)
def test_evaluation_that_cannot_be_done(options, message, folder, polyglot):
    Path("uneven.de").write_text("es regnet\n")
    Path("uneven.en").write_text("".join(f"{line}\n" for line in TEXT["en"]))
    corpus = f'{{type: text, path: "{folder}/uneven.{{language}}"}}'
    Path("uneven.yaml").write_text(f"test: [{corpus}]\npairs: [en-de]\n")
    Path("comet.yaml").write_text("metrics: [comet]\ncomet: none.ckpt\n")
    assert message in polyglot.refuses("evaluate", "runs/mine", *options)


def test_results_that_cannot_be_written(folder, small_protocol, polyglot):
    Path("runs/mine/evaluation").write_text("in the way")
    message = polyglot.refuses("evaluate", "runs/mine", "--protocol", small_protocol)
    assert "runs/mine/evaluation/small: the folder cannot be written" in message


def test_evaluation_of_a_folder_that_another_process_writes(folder, small_protocol, polyglot):
    results = Path("runs/mine/evaluation/small")
    command = ("evaluate", "runs/mine", "--protocol", small_protocol)
    with results_lock(results):
        message = polyglot.refuses(*command)
        start = f"{results}: another process is writing an evaluation there (process {os.getpid()}:"
        assert start in message
        brief = Path("brief.yaml")
        brief.write_text("pairs: [de-fr]\nmetrics: [chrf]\nresamples: 2\n")
        assert polyglot("evaluate", "runs/mine", "--protocol", brief).status == 0
    assert polyglot(*command).status == 0


def test_two_evaluations_at_once(folder, small_protocol):
    """One is refused, or comes after the other; the results are complete."""
    command = ("evaluate", "runs/mine", "--protocol", small_protocol)
    processes = [start_program(*command) for _ in range(2)]
    errors = [process.communicate()[1].decode() for process in processes]
    statuses = [process.returncode for process in processes]
    assert 0 in statuses, errors
    for process, status, error in zip(processes, statuses, errors):
        if status:
            other = next(other.pid for other in processes if other is not process)
            assert status == 2
            assert f"writing an evaluation there (process {other}: evaluate)" in error
    matrix = ScoreMatrix.load(Path("runs/mine/evaluation/small"))
    assert sorted(matrix.hypotheses) == ["de-en", "de-fr"]
    assert all(cell.scores for cell in matrix.all_cells)


def test_interrupted_evaluation_keeps_its_translations(folder, polyglot, monkeypatch):
    generate = Translator.generate

    def interrupted_generate(translator, inputs, target, config):
        if target == "fr":
            raise KeyboardInterrupt
        return generate(translator, inputs, target, config)

    monkeypatch.setattr(Translator, "generate", interrupted_generate)
    result = polyglot("evaluate", "runs/mine")
    assert result.status == 130
    assert result.errors.splitlines()[-1] == "interrupted"
    unfinished = Path("runs/mine/evaluation/default/.unfinished/hypotheses")
    expected = set()
    for source in ("en", "de", "fr"):
        expected |= {f"{source}-en", f"{source}-de"}
    assert {path.stem for path in unfinished.iterdir()} == expected


def test_second_evaluation_of_several_runs_translates_nothing(
    folder, small_protocol, polyglot, monkeypatch
):
    shutil.copytree("runs/mine", "runs/twin")
    arguments = ("evaluate", "runs/mine", "runs/twin", "--pivot", "en")
    arguments += ("--protocol", small_protocol)
    result = polyglot(*arguments)
    assert result.status == 0
    for part in (
        "BLEU: direct and pivot translation, through en",
        "BLEU of 2 runs",
        "de-en-fr",
        "Output errors",
    ):
        assert part in result.output

    def fail(*arguments, **settings):
        pytest.fail("translated again")

    monkeypatch.setattr(Translator, "generate", fail)
    assert polyglot(*arguments).output == result.output


def test_results_of_an_ensemble_have_their_own_folder(folder, small_protocol, polyglot):
    shutil.copytree("runs/mine", "runs/twin")
    options = ("--ensemble", "--protocol", small_protocol)
    result = polyglot("evaluate", "runs/mine", "runs/twin", *options)
    assert result.status == 0
    assert "of 2 runs" not in result.output
    assert Path("runs/mine/evaluation/small+twin/matrix.json").is_file()
    assert not Path("runs/twin/evaluation").exists()


def test_results_with_vocabulary_selection_have_their_own_folder(folder, polyglot):
    Path("one.yaml").write_text("pairs: [de-fr]\nmetrics: [chrf]\nresamples: 0\n")
    assert polyglot("shortlist", "runs/mine", "de-fr").status == 0
    options = ("--protocol", "one.yaml", "--select", 5, "--select-by", "shortlist")
    assert polyglot("evaluate", "runs/mine", *options).status == 0
    results = Path("runs/mine/evaluation/one+select-5+select_by-shortlist")
    assert (results / "matrix.json").is_file()


# compare ---------------------------------------------------------------------------------------


def test_compare_reads_evaluated_runs(folder, small_protocol, polyglot):
    shutil.copytree("runs/mine", "runs/twin")
    compare = ("compare", "runs/mine", "runs/twin", "--protocol", "small")
    assert "has the run been evaluated?" in polyglot.refuses(*compare)

    evaluate = ("evaluate", "runs/mine", "runs/twin", "--protocol", small_protocol)
    assert polyglot(*evaluate).status == 0
    result = polyglot(*compare, "--measure", "chrf", "--test", "bootstrap")
    assert result.status == 0
    assert "chrF2 of 2 runs" in result.output
    assert "paired bootstrap, chrF2|nrefs:1|bs:1000" in one_line(result.output)
    assert "no measure named 'ter'" in polyglot.refuses(*compare, "--measure", "ter")
    assert "no test named 'boot'" in polyglot.refuses(*compare, "--test", "boot")
    same_run = ("compare", "runs/mine", "runs/../runs/mine")
    assert "runs/../runs/mine: named twice" in polyglot.refuses(*same_run)


def test_compare_finds_results_by_the_name_or_path_of_the_protocol(folder, polyglot):
    Path("protocols").mkdir()
    path = Path("protocols/news.v1.yaml")
    path.write_text("metrics: [ter]\npairs: [en-de]\nresamples: 0\n")
    assert polyglot("evaluate", "runs/mine", "--protocol", path).status == 0
    for protocol in (path, folder / path, "news.v1"):
        result = polyglot("compare", "runs/mine", "--protocol", protocol)
        assert "TER of 1 run" in result.output

    shutil.copy(path, "protocols/other.yml")
    absolute_path = folder / "protocols/other.yml"
    assert polyglot("evaluate", "runs/mine", "--protocol", absolute_path).status == 0
    assert Path("runs/mine/evaluation/other/matrix.json").is_file()


# report ----------------------------------------------------------------------------------------


def test_report_is_one_page(folder, polyglot):
    assert polyglot("report", "runs/mine", "--sentence", "de=es regnet").status == 0
    assert "es regnet" in Path("runs/mine/report.html").read_text(encoding="utf-8")

    message = polyglot.refuses("report", "runs/mine", "--sentence", "es regnet")
    assert "--sentence: found 'es regnet'; write language and text" in message
    message = polyglot.refuses("report", "runs/mine", "--sentence", "xx=a")
    assert "no encoder named 'xx'" in message
