"""The benchmarks: systems take turns, failures are named, results keep their conditions."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
import suite
from programs import ROOT, Polyglot, Reading, source_tree
from suite import ROWS, Bench, Row, measure_row, row
from suite_page import page
from suite_text import prepare_text

LIMITS = {"float32": 400.0}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    text = prepare_text(None, tmp_path, quick=True)
    versions = [Polyglot(name, ROOT, tmp_path / name, text, 1) for name in ("Polyglot", "old")]
    monkeypatch.setattr(Bench, "limits", lambda self: LIMITS)
    return Bench(text, tmp_path, versions, threads=1, quick=True)


@pytest.fixture
def rows(monkeypatch):
    """Rows that exist only in a test."""
    monkeypatch.setattr(suite, "ROWS", {})
    return suite.ROWS


def test_systems_take_turns(bench):
    calls = []

    def measure(version):
        calls.append(version.name)
        return Reading(len(calls))

    chosen = Row("name", "Title", "seconds", lambda bench: bench.each_version(measure))
    results = measure_row(chosen, bench, repetitions=3)
    assert calls == ["Polyglot", "old"] * 3
    values = [reading["value"] for reading in results["old"].readings]
    assert values == [2, 4, 6]
    assert all(reading["limits"] == LIMITS for reading in results["old"].readings)


def test_a_system_that_fails_is_named_and_the_others_go_on(bench):
    calls = []

    def measure(version):
        calls.append(version.name)
        if version.name == "old":
            version.run("-c", "raise SystemExit('no such setting')")
        return Reading(1.0)

    chosen = Row("name", "Title", "seconds", lambda bench: bench.each_version(measure))
    results = measure_row(chosen, bench, repetitions=2)
    assert calls == ["Polyglot", "old", "Polyglot"]
    assert "no such setting" in results["old"].failure
    assert len(results["Polyglot"].readings) == 2


def test_a_version_runs_its_own_source_tree(bench, tmp_path):
    package = tmp_path / "tree" / "polyglot"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    version = Polyglot("old", package.parent, tmp_path / "runs", bench.text, 1)
    printed = version.run("-c", "import polyglot; print(polyglot.__file__)")
    assert printed.strip() == str(package / "__init__.py")


def test_a_revision_of_the_clone_is_written_to_a_temporary_folder():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    with source_tree(commit) as folder:
        assert (folder / "polyglot" / "__init__.py").is_file()
        assert not (folder / ".git").exists()
    assert not folder.exists()
    with pytest.raises(suite.MeasurementError, match="no-such-revision"):
        with source_tree("no-such-revision"):
            pass


def command(bench, *words):
    return suite.main(words=[str(bench.work / "results"), "--quick", "--threads", "1", *words])


def add_rows(values):
    """Add a row for each name. values: of the systems of the row."""
    for name, numbers in values.items():

        def systems(bench, numbers=numbers):
            """Title of a row."""
            return {system: lambda value=value: value for system, value in numbers.items()}

        row(name, unit="seconds", lower_is_better=True)(systems)


def test_the_page_has_ratio_quality_and_conditions(bench, rows):
    add_rows({"first": {"Polyglot": Reading(2.0, "loss 1.25"), "peer": Reading(3.0)}})
    assert command(bench) == 0
    text = (bench.work / "results" / "benchmarks.md").read_text()
    # Lower is better: the first system is one and a half times as fast.
    assert "|  | peer | 3.000 | 3.000 – 3.000 | 1.50 |  | 400 |" in text
    assert (
        "| Title of a row, seconds | Polyglot | 2.000 | 2.000 – 2.000 |  | loss 1.25 | 400 |"
        in text
    )
    assert "phrasebook" in text
    assert "--quick" in text
    assert "1 thread," in text
    assert "AVX" in text or "NEON" in text or "instruction sets" in text


def test_rows_that_are_not_measured_again_stay(bench, rows):
    values = {name: {"Polyglot": Reading(2.0)} for name in ("first", "second")}
    add_rows(values)
    assert command(bench) == 0
    rows.clear()
    values["second"] = {"Polyglot": Reading(7.0)}
    add_rows(values)
    assert command(bench, "--only", "second") == 0
    results = json.loads((bench.work / "results" / "benchmarks.json").read_text())
    medians = {}
    for name, result in results.items():
        assert result["machine"]["model"]
        medians[name] = result["systems"]["Polyglot"]["readings"][0]["value"]
    assert medians == {"first": 2.0, "second": 7.0}


def test_a_failure_is_on_the_page_and_in_the_exit_code(bench, rows):
    @row("first", unit="seconds")
    def first(bench):
        """Title of a row"""
        return {"Polyglot": lambda: bench.current.run("-c", "import no_such_module")}

    assert command(bench) == 1
    text = (bench.work / "results" / "benchmarks.md").read_text()
    assert "| Polyglot | failed |" in text
    assert "no_such_module" in text


def test_ratios_where_higher_is_better():
    def system(value):
        return {"readings": [{"value": value, "quality": "", "limits": LIMITS}], "failure": ""}

    result = {
        "title": "Training",
        "unit": "tokens/s",
        "lower_is_better": False,
        "systems": {"Polyglot": system(3000.0), "peer": system(2000.0)},
        "quick": False,
        "text": "Multi30k",
        "machine": {
            "model": "Some processor",
            "instruction_sets": ["AVX2"],
            "cores": 2,
            "threads": 2,
            "torch": "2",
            "limits": LIMITS,
        },
        "programs": ["Polyglot abc"],
        "repetitions": 1,
        "measured": "2026-01-01 10:00",
    }
    text = page({"lstm": result})
    assert "|  | peer | 2,000 | 2,000 – 2,000 | 1.50 |" in text
    assert "phrasebook" not in text
    assert "Some processor, 2 cores, AVX2, 2 threads, torch 2, float32 400 GFLOP/s" in text


def test_the_list_names_every_row(capsys):
    with pytest.raises(SystemExit) as end:
        suite.main(words=["--list"])
    assert end.value.code in (0, None)
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == list(ROWS)


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "name the folder for the results"),
        (["no/such/folder", "work"], "is no folder"),
        (["work", "--only", "no_such_row"], "no_such_row"),
    ],
)
def test_wrong_arguments_are_refused(words, message, capsys):
    with pytest.raises(SystemExit) as end:
        suite.main(words=words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err
