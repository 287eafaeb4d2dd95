"""The page of all results: it is what the results say, and every command on it is one."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer

from polyglot import cli
from polyglot.core import presets
from polyglot.core.errors import DataError
from polyglot.core.yaml import read_yaml
from polyglot.evaluation.references import Reference, reference_files
from polyglot.experiments import Experiment
from polyglot.experiments.runs import members_of
from tests.conftest import ROOT

RESULTS = ROOT / "evaluation" / "results"
TABLES = read_yaml(RESULTS / "tables.yaml")
EVERY = [each for paper in TABLES["papers"] for each in paper["tables"]]


@pytest.fixture
def script():
    return runpy.run_path(str(RESULTS / "record.py"))


def test_the_page_is_what_the_results_say(script):
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == script["page"](TABLES), (
        "run: python evaluation/results/record.py"
    )


def test_every_table_and_every_experiment_of_a_paper_is_on_it():
    assert {each["reference"] for each in EVERY if "reference" in each} == set(reference_files())
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    for name in presets.names("evaluation/experiments"):
        assert not Experiment.load(name).sizes or re.search(
            rf"`polyglot experiment {name}( --size \w+)?`", text
        ), name
    for each in EVERY:
        assert {"systems", "experiment", "commands", "numbers", "not_here"} & each.keys(), each
        for name, systems in each.get("systems", {}).items():
            assert all(
                Experiment.load(name).systems[system].reference == each["reference"]
                for system in systems
            )


def test_a_system_with_a_reference_stands_in_the_table_of_that_reference():
    for name in presets.names("evaluation/experiments"):
        for system, settings in Experiment.load(name).systems.items():
            tables = [
                each
                for each in EVERY
                if settings.reference and each.get("reference") == settings.reference
            ]
            assert all(system in each["systems"].get(name, ()) for each in tables), (name, system)


def test_every_result_and_every_page_has_its_line():
    stems = {
        f"{name}.{size}"
        for name in presets.names("evaluation/experiments")
        for size in Experiment.load(name).sizes
    }
    listed = set(TABLES["others"]) | {"README.md"}
    assert {path.name for path in RESULTS.glob("*.md") if path.stem not in stems} == listed


def test_a_page_that_a_table_leads_to_is_there():
    assert all((RESULTS / each["ours"]).exists() for each in EVERY if "ours" in each)


def test_numbers_of_ours_stand_on_the_page_that_a_table_leads_to():
    """As they are there: those of a cell in one table or paragraph, and those of each of its parts in one line of it."""
    for each in (one for one in EVERY if "numbers" in one and "ours" in one):
        blocks = (RESULTS / each["ours"]).read_text(encoding="utf-8").split("\n\n")
        for row in each["numbers"]["rows"]:
            for cell in (
                cell
                for head, cell in zip(each["numbers"]["head"], row)
                if "ours" in f"{head} {row[0]}"
            ):
                parts = list(map(_numbers, re.split(r"\), | → ", cell)))
                assert any(
                    _numbers(cell) <= _numbers(block)
                    and all(
                        any(part <= _numbers(line) for line in block.splitlines()) for part in parts
                    )
                    for block in blocks
                ), (each["table"], cell)


def _numbers(text):
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))


@pytest.mark.parametrize(
    "command", [command for each in EVERY for command in each.get("commands", ())]
)
def test_a_command_of_an_analysis_is_one(command):
    """Its verb takes these options, and the runs are among those that the experiment makes."""
    verb, *rest = shlex.split(command)[1:]
    assert typer.main.get_command(cli.app.app).commands[verb].make_context(verb, list(rest)).params
    for run in (Path(word) for word in rest if word.startswith("experiments/")):
        _, name, size, _, member = run.parts
        assert member in {
            each.name for each in members_of(Experiment.load(name).at(size), Path("x"))
        }


def test_a_system_that_a_size_leaves_out_has_no_number(script):
    result = script["Result"]("mine", "cpu")
    spread = {"mean": 33.62, "deviation": None, "count": 1}
    cell = {"kind": "supervised", "scores": {"bleu": spread}}
    result.__dict__["values"] = {
        "measure": "bleu",
        "systems": {"one": {"directions": {"de-en": cell}}},
    }
    assert (
        result.score("one", "de-en"),
        result.score("one", "en-de"),
        result.score("two", "de-en"),
    ) == ("33.62", "–", "–")


def test_a_size_that_leaves_a_system_out_has_no_line_in_its_table(script, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "{title: Mine, config: phrasebook, systems: {one: {}, two: {}}, sizes: {cpu: {only: [one]}, full: {}}}",
        encoding="utf-8",
    )
    sizes = {
        those: [each.size for each in script["results_of"](str(file), those)]
        for those in ((), ("one",), ("one", "two"), ("two",))
    }
    assert sizes == {
        (): ["cpu", "full"],
        ("one",): ["cpu", "full"],
        ("one", "two"): ["cpu", "full"],
        ("two",): ["full"],
    }


def test_systems_of_one_result_are_columns_beside_each_other(script):
    """A mean of other directions than the paper's would say nothing beside it."""
    reference = Reference.load("attention_bridge_bilingual")

    def scored(value, directions):
        spread = {"mean": value, "deviation": None, "count": 1}
        cell = {"kind": "supervised", "scores": {"bleu": spread}}
        return {
            "directions": dict.fromkeys(directions, cell),
            "kinds": {"bleu": {"supervised": spread}},
        }

    result = script["Result"]("mine", "cpu")
    systems = {"one": scored(30.0, reference.scores), "two": scored(40.0, ["en-de"])}
    result.__dict__["values"] = {"measure": "bleu", "systems": systems}
    lines = script["_beside_the_reference"](
        reference, {"mine": ["one", "two", "left out"]}, run=[result]
    ).splitlines()
    assert lines[0] == "|  | the paper | mine, cpu: one | mine, cpu: two |"
    assert lines[2] == "| **mean, supervised** | 35.93 | 30.00 | – |"
    assert "| en-de | 36.78 | 30.00 | 40.00 |" in lines and "| en-cs | 28.00 | 30.00 | – |" in lines


def test_a_result_is_taken_over_with_its_picture_and_what_was_written_by_hand_stays(
    script, tmp_path, monkeypatch
):
    taken = script["take_over"]
    monkeypatch.setitem(taken.__globals__, "HERE", tmp_path / "evaluation" / "results")
    monkeypatch.setitem(taken.__globals__, "PICTURES", tmp_path / "pictures")
    for folder in ("evaluation/results", "evaluation/experiments", "pictures", "out/mine/cpu"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "evaluation" / "experiments" / "mine.yaml").write_text(
        "{title: Mine, config: x, systems: {one: {}}, sizes: {cpu: {}}}"
    )
    out = tmp_path / "out" / "mine" / "cpu"
    (out / "result.json").write_text(json.dumps({"size": "cpu"}))
    (out / "result.png").write_bytes(b"picture")
    (out / "result.md").write_text("# Mine\n\n![](result.png)\n\nfirst\n")
    page = taken(out)
    assert (
        page.name == "mine.cpu.md"
        and (tmp_path / "pictures" / "mine.cpu.png").read_bytes() == b"picture"
    )
    assert (
        page.read_text()
        == "# Mine\n\n<!-- as it came out -->\n\n![](../../docs/pictures/mine.cpu.png)\n\nfirst\n"
    )
    page.write_text(page.read_text().replace("# Mine\n", "# Mine\n\nWhat it shows.\n"))
    (out / "result.md").write_text("# Mine\n\nsecond\n")
    assert (
        taken(out).read_text() == "# Mine\n\nWhat it shows.\n\n<!-- as it came out -->\n\nsecond\n"
    )
    page.write_text("# Mine\n\nwritten by hand, without the line\n")
    with pytest.raises(DataError, match="no line '<!-- as it came out -->'"):
        taken(out)
    assert page.read_text() == "# Mine\n\nwritten by hand, without the line\n"
    page.unlink()
    for written, sentence in (
        ('{"size": "big"}', "found the size 'big'; mine has cpu"),
        ("{}", "does not say which size it is of"),
        ("{", "size"),
    ):
        (out / "result.json").write_text(written)
        with pytest.raises(DataError, match=sentence):
            taken(out)
    out.joinpath("result.png").unlink()
    with pytest.raises(DataError, match="no result.png"):
        taken(out)
    assert not page.exists()
    out.joinpath("result.png").touch()
    out.rename(tmp_path / "other")
    (tmp_path / "other" / "result.json").write_text(json.dumps({"size": ""}))
    with pytest.raises(DataError, match="'other' is none of evaluation/experiments"):
        taken(tmp_path / "other")


def test_a_folder_without_a_result_is_the_users_mistake(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["record.py", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        script["main"]()
    assert end.value.code == 2 and capsys.readouterr().err.startswith(
        f"error: {tmp_path}: no result.json"
    )


def test_the_page_of_experiments_counts_as_they_do():
    """Models, updates and tasks in an update, which its estimate of time goes on from."""
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    for name in (
        name for name in presets.names("evaluation/experiments") if name.startswith("multi30k")
    ):
        configs = [
            member.config for member in members_of(Experiment.load(name).at("full"), Path("x"))
        ]
        (tasks,) = {config.schedule.tasks_per_update for config in configs}
        assert (
            f"| `{name}` | {len(configs)} | {sum(config.training.steps for config in configs):,} | {tasks} |"
            in page
        )


def test_what_was_left_out_stands_beside_the_models_that_saw_it(script):
    result = script["Result"]("mine", "cpu")
    seen = {"mean": 24.0, "deviation": 1.0, "count": 2}
    left_out = {
        "en-de": {"zero-shot": 22.0, "supervised": seen},
        "de-en": {"zero-shot": 21.0, "supervised": seen},
        "en-fr": {"zero-shot": 9.0, "supervised": None},
    }
    result.__dict__["values"] = {"left_out": left_out}
    lines = script["_left_out"](result).splitlines()
    assert lines[2:] == [
        "| en-de | 22.00† | 24.00 ± 1.00 | -2.00 |",
        "| de-en | 21.00† | 24.00 ± 1.00 | -3.00 |",
        "| **mean of 2** | 21.50† | 24.00 | -2.50 |",
    ]


@pytest.mark.parametrize(
    ("runs", "test", "said"),
    [
        (2, "* differs from one", True),
        (2, "* differs from one; of means over the seeds", False),
        (1, "* differs from one", False),
        (2, None, False),
    ],
)
def test_a_mark_of_first_seeds_beside_means_says_so(script, runs, test, said):
    result = script["Result"]("mine", "cpu")
    result.__dict__["values"] = {
        "test": test,
        "systems": {"one": {"kinds": {"bleu": {"supervised": {"count": runs}}}}},
    }
    assert ("of the first seed of each" in result.mark) == said
