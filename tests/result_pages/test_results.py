"""Pages of results: they agree with the result files, and every command on it is valid."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from itertools import chain
from pathlib import Path

import pytest
import typer

from polyglot import cli
from polyglot.core import presets
from polyglot.core.errors import DataError
from polyglot.core.yaml import read_yaml
from polyglot.evaluation.references import Reference, reference_files
from polyglot.experiments import Experiment
from polyglot.experiments.runs import experiment_runs
from tests.conftest import ROOT

RESULTS = ROOT / "evaluation" / "results"
CONTENTS = read_yaml(RESULTS / "tables.yaml")
TABLES = list(chain.from_iterable(paper["tables"] for paper in CONTENTS["papers"]))
COMMANDS = list(chain.from_iterable(table.get("commands", ()) for table in TABLES))
EXPERIMENTS = presets.names("evaluation/experiments")
RECORDED_PAGES = {
    path.stem for path in RESULTS.glob("*.md") if path.stem.split(".")[0] in EXPERIMENTS
}
"""Pages of experiments, with a part that record.py writes."""


@pytest.fixture
def script():
    return runpy.run_path(str(RESULTS / "record.py"))


def set_values(result, values: dict) -> None:
    """Give a result of the script these values in place of those of its file."""
    result.__dict__["values"] = values


def test_the_page_is_up_to_date(script):
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert page == script["page"](CONTENTS), "run: python evaluation/results/record.py"


def test_every_reference_has_a_table():
    references = {table["reference"] for table in TABLES if "reference" in table}
    assert references == set(reference_files())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_on_the_page(name):
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    if Experiment.load(name).sizes:
        assert re.search(rf"`polyglot experiment {name}( --size \w+)?`", page)


def test_every_table_has_a_source_of_numbers():
    for table in TABLES:
        assert {"systems", "experiment", "commands", "numbers", "not_here"} & table.keys(), table
        for name, systems in table.get("systems", {}).items():
            experiment = Experiment.load(name)
            for system in systems:
                assert experiment.systems[system].reference == table["reference"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_system_with_a_reference_is_in_the_table_of_that_reference(name):
    for system, settings in Experiment.load(name).systems.items():
        for table in TABLES:
            if settings.reference and table.get("reference") == settings.reference:
                assert system in table["systems"].get(name, ())


def test_every_page_of_results_is_listed():
    experiment_pages = set()
    for name in EXPERIMENTS:
        experiment_pages.update(f"{name}.{size}" for size in Experiment.load(name).sizes)
    pages = {path.name for path in RESULTS.glob("*.md") if path.stem not in experiment_pages}
    assert pages == set(CONTENTS["others"]) | {"README.md"}


OLD_PHRASES = re.compile(
    r"nothing else is said|two hops|One hop and two|has all of it|stands beside|beside"
    r"|taken as it is|What is wrong with|How it was made|Under every condition|Not here"
    r"|of the first seed of each|into itself|A number over several seeds|as it came out"
)
"""Unclear phrases of older pages, which a recorded result must not bring back."""


@pytest.mark.parametrize("name", [*sorted(RECORDED_PAGES), "README"])
def test_generated_text_has_no_old_phrases(name, script):
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    _, _, generated = page.rpartition(script["MARKER"])  # the README is generated as a whole
    assert not OLD_PHRASES.findall(generated)


@pytest.mark.parametrize("name", sorted(RECORDED_PAGES))
def test_recorded_pages_have_one_marker(name, script):
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert page.count(script["MARKER"]) == 1


@pytest.mark.parametrize("command", ["existing run: mine", "taken as it is: mine"])
def test_new_and_older_result_files_name_existing_runs(script, command):
    result = script["Result"]("mine", "")
    set_values(result, {"systems": {"first": {"machine": "A", "commands": [command]}}})
    assert result.row[1].endswith(", from existing runs")


def test_a_trained_run_is_not_an_existing_run(script):
    result = script["Result"]("mine", "cpu")
    system = {"machine": "A", "commands": ["polyglot train x"], "days": ["2026-11-01", None]}
    set_values(result, {"systems": {"first": system}})
    command = "`polyglot experiment mine --size cpu`"
    assert result.row == [command, "[mine.cpu.md](mine.cpu.md)", "2026-11-01", "A"]


@pytest.mark.parametrize("paper", CONTENTS["papers"], ids=lambda paper: paper["title"][:20])
def test_each_claim_has_a_verdict_and_a_page_with_a_command(paper, script):
    for claim in paper["claims"]:
        assert claim["verdict"] in script["VERDICTS"]
        assert claim["claim"].endswith(".")
        if claim["verdict"] == "not run":
            assert "page" not in claim
        else:
            assert "polyglot " in (RESULTS / claim["page"]).read_text(encoding="utf-8")


def test_an_unknown_verdict_is_refused(script):
    claim = {"claim": "c", "verdict": "maybe", "paper": "1", "ours": "2"}
    with pytest.raises(AssertionError):
        script["_claims_table"]([claim])


def test_the_linked_pages_exist():
    for table in TABLES:
        if "ours" in table:
            assert (RESULTS / table["ours"]).exists()


def numbers_in(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))


def is_copied_from(cell: str, block: str) -> bool:
    """True if a block has all numbers of a cell, and one of its lines those of each part."""
    if not numbers_in(cell) <= numbers_in(block):
        return False
    for part in re.split(r"\), | → ", cell):
        if not any(numbers_in(part) <= numbers_in(line) for line in block.splitlines()):
            return False
    return True


def test_our_numbers_are_on_the_linked_page():
    """All numbers of a cell are in one table or paragraph of the page."""
    for table in TABLES:
        if "numbers" not in table or "ours" not in table:
            continue
        blocks = (RESULTS / table["ours"]).read_text(encoding="utf-8").split("\n\n")
        for row in table["numbers"]["rows"]:
            for head, cell in zip(table["numbers"]["head"], row):
                if "ours" in f"{head} {row[0]}":
                    is_there = any(is_copied_from(cell, block) for block in blocks)
                    assert is_there, (table["table"], cell)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_an_analysis_is_valid(command):
    """The command has these options, and the experiment makes the runs that it names."""
    verb, *arguments = shlex.split(command)[1:]
    commands = typer.main.get_command(cli.app.app).commands
    assert commands[verb].make_context(verb, list(arguments)).params
    for argument in arguments:
        if argument.startswith("experiments/"):
            _, name, size, _, run = Path(argument).parts
            runs = experiment_runs(Experiment.load(name).at_size(size), Path("x"))
            assert run in {experiment_run.name for experiment_run in runs}


def test_a_system_that_a_size_leaves_out_has_no_score(script):
    result = script["Result"]("mine", "cpu")
    spread = {"mean": 33.62, "deviation": None, "count": 1}
    cell = {"kind": "supervised", "scores": {"bleu": spread}}
    set_values(result, {"measure": "bleu", "systems": {"first": {"directions": {"de-en": cell}}}})
    assert result.score("first", "de-en") == "33.62"
    assert result.score("first", "en-de") == "–"
    assert result.score("second", "de-en") == "–"


@pytest.mark.parametrize(
    ("systems", "sizes"),
    [
        ((), ["cpu", "full"]),
        (("first",), ["cpu", "full"]),
        (("first", "second"), ["cpu", "full"]),
        (("second",), ["full"]),
    ],
)
def test_a_size_without_the_systems_of_a_table_has_no_line(script, tmp_path, systems, sizes):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "{title: Mine, config: phrasebook, systems: {first: {}, second: {}}, "
        "sizes: {cpu: {only: [first]}, full: {}}}",
        encoding="utf-8",
    )
    assert [result.size for result in script["results_of"](str(file), systems)] == sizes


def test_systems_of_one_result_are_columns_of_a_table(script):
    """A mean is shown only over the directions of the paper."""
    reference = Reference.load("attention_bridge_bilingual")

    def scored(value, directions):
        spread = {"mean": value, "deviation": None, "count": 1}
        cell = {"kind": "supervised", "scores": {"bleu": spread}}
        return {
            "directions": dict.fromkeys(directions, cell),
            "kinds": {"bleu": {"supervised": spread}},
        }

    result = script["Result"]("mine", "cpu")
    systems = {"first": scored(30.0, reference.scores), "second": scored(40.0, ["en-de"])}
    set_values(result, {"measure": "bleu", "systems": systems})
    page = script["_reference_table"](
        reference, {"mine": ["first", "second", "left out"]}, [result]
    )
    lines = page.splitlines()
    assert lines[0] == "|  | the paper | mine, cpu: first | mine, cpu: second |"
    assert lines[2] == "| **mean, supervised** | 35.93 | 30.00 | – |"
    assert "| en-de | 36.78 | 30.00 | 40.00 |" in lines
    assert "| en-cs | 28.00 | 30.00 | – |" in lines


@pytest.fixture
def record_result(script, tmp_path, monkeypatch):
    """`record_result` of the script, with an experiment `mine` and its finished size `cpu`."""
    function = script["record_result"]
    monkeypatch.setitem(function.__globals__, "HERE", tmp_path / "evaluation" / "results")
    monkeypatch.setitem(function.__globals__, "PICTURES", tmp_path / "pictures")
    for folder in ("evaluation/results", "evaluation/experiments", "pictures", "out/mine/cpu"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "evaluation" / "experiments" / "mine.yaml").write_text(
        "{title: Mine, config: x, systems: {first: {}}, sizes: {cpu: {}}}"
    )
    out = tmp_path / "out" / "mine" / "cpu"
    (out / "result.json").write_text(json.dumps({"size": "cpu"}))
    (out / "result.png").write_bytes(b"picture")
    (out / "result.md").write_text("# Mine\n\n![](result.png)\n\nfirst\n")
    return function


def test_a_result_is_copied_with_its_picture(record_result, tmp_path, script):
    page = record_result(tmp_path / "out" / "mine" / "cpu")
    assert page.name == "mine.cpu.md"
    assert (tmp_path / "pictures" / "mine.cpu.png").read_bytes() == b"picture"
    picture = "![](../../docs/pictures/mine.cpu.png)"
    assert page.read_text() == f"# Mine\n\n{script['MARKER']}\n\n{picture}\n\nfirst\n"


def test_text_above_the_marker_stays(record_result, tmp_path, script):
    out = tmp_path / "out" / "mine" / "cpu"
    marker = script["MARKER"]
    page = record_result(out)
    page.write_text(page.read_text().replace("# Mine\n", "# Mine\n\nThe finding.\n"))
    (out / "result.md").write_text("# Mine\n\nsecond\n")
    assert record_result(out).read_text() == f"# Mine\n\nThe finding.\n\n{marker}\n\nsecond\n"


def test_a_page_without_the_marker_is_not_replaced(record_result, tmp_path, script):
    out = tmp_path / "out" / "mine" / "cpu"
    page = record_result(out)
    page.write_text("# Mine\n\nwithout the marker\n")
    with pytest.raises(DataError, match=f"no line '{script['MARKER']}'"):
        record_result(out)
    assert page.read_text() == "# Mine\n\nwithout the marker\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"size": "big"}', "found the size 'big'; sizes of mine: cpu"),
        ("{}", "has no size"),
        ("{", "size"),
    ],
)
def test_an_invalid_result_file_is_an_error(record_result, tmp_path, content, sentence):
    out = tmp_path / "out" / "mine" / "cpu"
    (out / "result.json").write_text(content)
    with pytest.raises(DataError, match=sentence):
        record_result(out)
    assert not list((tmp_path / "evaluation" / "results").iterdir())


def test_a_result_without_picture_is_an_error(record_result, tmp_path):
    out = tmp_path / "out" / "mine" / "cpu"
    (out / "result.png").unlink()
    with pytest.raises(DataError, match="no result.png"):
        record_result(out)
    assert not list((tmp_path / "evaluation" / "results").iterdir())


def test_a_result_of_an_unknown_experiment_is_an_error(record_result, tmp_path):
    out = tmp_path / "out" / "mine" / "cpu"
    out.rename(tmp_path / "other")
    (tmp_path / "other" / "result.json").write_text(json.dumps({"size": ""}))
    with pytest.raises(DataError, match="'other' is not an experiment of evaluation/experiments"):
        record_result(tmp_path / "other")


def test_a_folder_without_a_result_is_a_mistake_of_the_user(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["record.py", str(tmp_path)])
    with pytest.raises(SystemExit) as exit_info:
        script["main"]()
    assert exit_info.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: no result.json")


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("multi30k")])
def test_the_page_of_experiments_has_their_models_updates_and_tasks(name):
    """Its estimates of time depend on models, updates, and tasks per update."""
    page = (ROOT / "docs" / "research" / "experiments.md").read_text(encoding="utf-8")
    runs = experiment_runs(Experiment.load(name).at_size("full"), Path("x"))
    configs = [run.config for run in runs]
    (tasks,) = {config.schedule.tasks_per_update for config in configs}
    updates = sum(config.training.steps for config in configs)
    assert f"| `{name}` | {len(configs)} | {updates:,} | {tasks} |" in page


def test_left_out_directions_are_compared_with_models_that_trained_them(script):
    result = script["Result"]("mine", "cpu")
    trained = {"mean": 24.0, "deviation": 1.0, "count": 2}
    left_out = {
        "en-de": {"zero-shot": 22.0, "supervised": trained},
        "de-en": {"zero-shot": 21.0, "supervised": trained},
        "en-fr": {"zero-shot": 9.0, "supervised": None},
    }
    set_values(result, {"left_out": left_out})
    lines = script["_left_out_table"](result).splitlines()
    assert lines[2:] == [
        "| en-de | 22.00† | 24.00 ± 1.00 | -2.00 |",
        "| de-en | 21.00† | 24.00 ± 1.00 | -3.00 |",
        "| **mean of 2** | 21.50† | 24.00 | -2.50 |",
    ]


@pytest.mark.parametrize(
    ("runs", "test", "has_note"),
    [
        (2, "* differs from first", True),
        (2, "* differs from first; the test compares means over the seeds", False),
        (1, "* differs from first", False),
        (2, None, False),
    ],
)
def test_a_test_of_the_first_seeds_has_a_note(script, runs, test, has_note):
    result = script["Result"]("mine", "cpu")
    kinds = {"bleu": {"supervised": {"count": runs}}}
    set_values(result, {"test": test, "systems": {"first": {"kinds": kinds}}})
    assert ("first seed of each" in result.mark_note) == has_note


@pytest.mark.parametrize(
    ("baseline", "difference"),
    [
        ("Transformer", " (+2.13\\*)"),
        ("matched", " (-0.76, not tested)"),
        ("other", ""),
        (None, ""),
    ],
)
def test_a_difference_is_from_the_baseline_of_the_experiment(script, baseline, difference):
    """An older result was compared with the Transformer; the experiment now has another."""
    scores = {"Transformer": 28.01, "matched": 30.90, "RIL": 30.14}
    systems = {}
    for name, score in scores.items():
        cell = {"scores": {"bleu": {"mean": score}}, "kind": "supervised"}
        systems[name] = {"directions": {"de-en": cell}}
    claim = {
        "system": "RIL",
        "direction": "de-en",
        "beside": "Transformer",
        "ours": 2.13,
        "p": 0.01,
    }
    result = script["Result"]("mine", "cpu")
    set_values(result, {"systems": systems, "claims": [claim], "measure": "bleu"})
    assert script["_our_difference"](result, "RIL", "de-en", baseline) == difference
