"""Rows of the benchmarks: each one runs, on little text."""

from __future__ import annotations

import dataclasses
import json
import stat
import subprocess
import sys

import multi30k
import pytest
import run_all  # noqa: F401, I001  the rows, in the order of the page
import speed
import transformer
from programs import ROOT, OpenNMT, Polyglot
from suite import QUICK_SETTINGS, ROWS, Bench, measure_row
from suite_text import prepare_text

from tests.benchmarks import BENCHMARKS
from tests.benchmarks.in_process import run_in_process

IN_THE_TABLE = [name for name, row in ROWS.items() if not row.only_by_name]
BUILD_VOCABULARY = """#!/bin/sh
test -f "$2" || exit 1
mkdir -p onmt
touch onmt/vocab.src onmt/vocab.tgt
echo "$2" >> built
"""
TRAIN = """#!/bin/sh
test -f onmt/vocab.tgt || exit 1
grep path_src "$2" | sed 's/.*path_src: \\([^,]*\\),.*/\\1/' | xargs ls > /dev/null || exit 1
for speed in 10 20 3000 3100 3200; do
  echo "Step 1/ 5; acc: 1.0; ppl: 9.0; $speed/$speed tok/s; 1 sec" >&2
done
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    work = tmp_path_factory.mktemp("benchmarks")
    text = prepare_text(None, work, quick=True)
    version = Polyglot("Polyglot", ROOT, work / "this", text, 1, QUICK_SETTINGS)
    return Bench(text, work, [version], threads=1, quick=True)


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    monkeypatch.setattr("programs.run_process", run_in_process)
    monkeypatch.setattr("transformer.run_process", run_in_process)


@pytest.fixture
def opennmt(bench, tmp_path, monkeypatch):
    """Programs with the names of OpenNMT-py."""
    from measuring import run_process

    monkeypatch.setattr("programs.run_process", run_process)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in (("onmt_build_vocab", BUILD_VOCABULARY), ("onmt_train", TRAIN)):
        path = programs / name
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return OpenNMT(programs, tmp_path / "opennmt", bench.text, 1)


SLOW_ROWS = {"loaded_greedy": "loaded_greedy_int8", "loaded_beam5_int8": "loaded_beam5"}
"""Rows of the slow tests, each with a row that is measured in the same way."""
MARKED_ROWS = []
for row_name in ROWS:
    mark = pytest.mark.slow if row_name in SLOW_ROWS else ()
    MARKED_ROWS.append(pytest.param(row_name, marks=mark))


@pytest.mark.parametrize("name", MARKED_ROWS)
def test_every_row_measures_all_its_systems(name, bench):
    results = measure_row(ROWS[name], bench, repetitions=1)
    for system, result in results.items():
        assert not result.failure, system
        [reading] = result.readings
        assert reading["value"] > 0
        assert set(reading["limits"]) >= {"float32"}
    assert list(results)[0].startswith("Polyglot") or name in ("products", "linear")


@pytest.mark.parametrize("name", IN_THE_TABLE)
def test_every_row_of_the_table_has_the_previous_version(name, bench, monkeypatch):
    previous = dataclasses.replace(bench.current, name="Polyglot v1")
    versions = dataclasses.replace(bench, versions=[bench.current, previous])
    systems = ROWS[name].systems(versions)
    assert name == "products" or any("v1" in system for system in systems)


def test_each_configuration_of_opennmt_is_prepared_in_a_new_folder(opennmt):
    rates = []
    for name, config in (("lstm", speed.PEER_CONFIG), ("transformer", transformer.PEER_CONFIG)):
        rates.append(opennmt.training_rate(name, config, updates=5).value)
        assert (opennmt.folder / f"{name}.yaml").exists()
    # Two windows are a warm-up. The vocabulary is built once.
    assert rates == [3100, 3100]
    assert (opennmt.folder / "built").read_text().split() == ["lstm.yaml"]


@pytest.mark.parametrize("name", ["lstm", "lstm_input_feeding", "transformer"])
def test_opennmt_is_measured_where_it_is_given(name, bench, opennmt):
    systems = ROWS[name].systems(dataclasses.replace(bench, opennmt=opennmt))
    assert systems["OpenNMT-py"]().value == 3100


def test_a_busy_process_runs_beside_the_measurement_only(bench, monkeypatch):
    states = []

    def training_rate(*arguments, **settings):
        states.append(processes[-1].poll())
        return 1.0

    processes = []
    popen = multi30k.busy_process.__wrapped__.__globals__["subprocess"].Popen

    def start(*arguments, **settings):
        processes.append(popen(*arguments, **settings))
        return processes[-1]

    monkeypatch.setattr("measuring.subprocess.Popen", start)
    monkeypatch.setattr(multi30k, "training_rate", training_rate)
    measure = next(iter(ROWS["threads_busy"].systems(bench).values()))
    assert measure() == 1.0
    assert states == [None]
    assert processes[-1].poll() is not None


@pytest.mark.slow
def test_all_rows_in_processes_of_their_own(tmp_path):
    """Two versions, started as a user starts them."""
    script = BENCHMARKS / "run_all.py"
    options = ["--quick", "--repetitions", "1", "--threads", "1"]
    if (ROOT / ".git").exists():
        options += ["--previous", "HEAD"]
    done = subprocess.run(
        [sys.executable, script, tmp_path, *options], text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "benchmarks.json").read_text())
    assert list(results) == IN_THE_TABLE
