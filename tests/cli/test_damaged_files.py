"""A damaged file of a run is refused with its name, or changes nothing; there is never a
traceback.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from polyglot.core.errors import PolyglotError
from polyglot.core.file_checks import DAMAGED
from polyglot.core.stored_json import CHECKSUM_KEY, json_checksum
from polyglot.decoding.shortlist import Shortlist
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.inference.translator import Translator
from polyglot.report.files import RunFiles
from polyglot.report.sections.configuration import configuration
from polyglot.report.sections.curves import curves
from polyglot.report.sections.examples import examples
from polyglot.report.sections.headline import headline
from polyglot.report.sections.matrix import matrix
from polyglot.runs import config_changes
from polyglot.runs.data_folder import start_folder
from polyglot.runs.integrity import check_run
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.resume import last_checkpoint

WRONG_VALUES = [None, True, -1, 3, 1e308, 10**400, "x", "../../x", "\0", [], {}, [[[3]]], {"x": []}]
WRONG_CONTENTS = [
    b"",
    b"null",
    b"3",
    b'"x"',
    b"[]",
    b"{}",
    b"\xff\xfe",
    b"\0" * 1000,
    b"1" * 5000,
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"step": 1e999, "files": NaN}',
]
NOT_FOR_THE_PROGRAM = (".lock", ".png", ".csv", ".md")

Stage = Callable[[Path], Any]


def translations(path: Path) -> Any:
    return Translator.load(path).translate(["das Kind liest"], source="de", target="fr")


def resumed_state(path: Path) -> Any:
    run = Run.open_with_overrides(path, ["training.steps=9"])
    checkpoint = last_checkpoint(run)
    digest = hashlib.sha256()
    for name, tensor in sorted(checkpoint.training_tensors().items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return checkpoint.training_state(), digest.hexdigest(), run.config


def scores(path: Path) -> Any:
    matrix = ScoreMatrix.load(path / "evaluation" / "default")
    return matrix.to_dict(), matrix.hypotheses, matrix.texts


def shortlist(path: Path) -> Any:
    pair = LanguagePair("de", "en")
    return Shortlist.load(Run.open(path).shortlist_file(pair)).scores([[4]]).tolist()


def reported(path: Path) -> Any:
    """Results in the report. The log has no checksum: its lines may differ."""
    files = RunFiles(Run.open(path))
    assert all(isinstance(record["step"], int) for record in files.log)
    for section in (headline, matrix, examples, curves, configuration):
        section(files)
    if files.unreadable:
        raise PolyglotError(f"{files.unreadable}: matrix.json")
    return [evaluation.values for evaluation in files.evaluations]


def other_files(path: Path) -> None:
    """Files without a result of their own."""
    start_folder(Run.open(path))
    check_run(path)


STAGES: list[Stage] = [translations, resumed_state, scores, shortlist, reported, other_files]


def observe(path: Path) -> dict[str, Any]:
    """Result or error message of each stage. Every other exception fails the test."""
    config_changes._noticed.clear()
    results = {}
    for stage in STAGES:
        try:
            results[stage.__name__] = stage(path)
        except PolyglotError as error:
            assert len(str(error)) < 4000
            results[stage.__name__] = error
    return results


@pytest.fixture(scope="module")
def run_copy(evaluated_run, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "mine"
    shutil.copytree(evaluated_run / "runs/mine", path)
    return path


@pytest.fixture(scope="module")
def intact(run_copy) -> dict[str, Any]:
    results = observe(run_copy)
    assert not any(isinstance(result, PolyglotError) for result in results.values()), results
    return results


def stored_files(path: Path) -> list[Path]:
    """Files that the program reads."""
    files = []
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.name.endswith(NOT_FOR_THE_PROGRAM):
            files.append(file)
    return files


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Function from the content of a file to a damaged one."""
    kind = draw(st.sampled_from(["flip", "cut", "replace"]))
    place = draw(st.floats(0, 1, exclude_max=True))
    if kind == "replace":
        wrong = draw(st.sampled_from(WRONG_CONTENTS))
        return lambda content: wrong
    bit = 1 << draw(st.integers(0, 7))

    def damage(content: bytes) -> bytes:
        number = int(place * len(content))
        if kind == "cut":
            return content[:number]
        return content[:number] + bytes([content[number] ^ bit]) + content[number + 1 :]

    return damage


def check_damage(run_copy: Path, intact: dict[str, Any], number: int, damage: Any) -> None:
    files = stored_files(run_copy)
    file = files[number % len(files)]
    content = file.read_bytes()
    try:
        file.write_bytes(damage(content))
        results = observe(run_copy)
    finally:
        file.write_bytes(content)
    for stage, result in results.items():
        if isinstance(result, PolyglotError):
            assert file.name in str(result) or file.parent.name in str(result), (file, result)
        else:
            assert result == intact[stage], (file, stage)


PROPERTY = {
    "deadline": None,
    "database": None,
    "phases": [Phase.generate],  # a failure names file and damage; smaller ones take minutes
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@seed(1)
@settings(max_examples=12, **PROPERTY)
@given(number=st.integers(0, 10_000), damage=damages())
def test_damage_is_refused_or_harmless(run_copy, intact, number, damage):
    check_damage(run_copy, intact, number, damage)


@pytest.mark.slow
@seed(2)
@settings(max_examples=150, **PROPERTY)
@given(number=st.integers(0, 10_000), damage=damages())
def test_much_damage_is_refused_or_harmless(run_copy, intact, number, damage):
    check_damage(run_copy, intact, number, damage)


PIPES = [
    "config.yaml",
    "log.jsonl",
    "settings.json",
    "vocabulary/de.model",
    "shortlists/de-en.safetensors",
    "checkpoints/step-00000004/manifest.json",
    "checkpoints/step-00000004/encoder.de.safetensors",
    "evaluation/default/matrix.json",
    "evaluation/default/hypotheses/de-en.txt",
]


def hangs(*_: object) -> None:
    raise AssertionError("a reader waits for a writer of the named pipe")


@pytest.mark.parametrize("name", PIPES)
def test_named_pipe_in_place_of_a_file_blocks_nothing(name, run_copy, intact):
    """A reader of a FIFO that nobody writes to would wait for ever."""
    file = run_copy / name
    content = file.read_bytes()
    file.unlink()
    os.mkfifo(file)
    previous = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(20)
    try:
        results = observe(run_copy)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        file.unlink()
        file.write_bytes(content)
    for stage, result in results.items():
        if not isinstance(result, PolyglotError) and stage != "reported":
            assert result == intact[stage], stage


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


WRONG_KIND = {
    "log.jsonl": r"log\.jsonl: the log cannot be written: it is not a regular file",
    "checkpoints": r"checkpoints: it is not a folder",
    "config.yaml": r"config\.yaml",
}
REPLACEMENTS = {
    "FIFO": os.mkfifo,
    "folder": os.mkdir,
    "link to nothing": lambda path: path.symlink_to("missing"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to a file": lambda path: path.symlink_to("settings.json"),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS)
@pytest.mark.parametrize("name", ["log.jsonl", "checkpoints", "config.yaml"])
def test_wrong_kind_of_file_is_found_before_training_changes_anything(
    name, replace, evaluated, polyglot
):
    run = evaluated / "runs/mine"
    place = run / name
    remove(place)
    replace(place)
    if name == "checkpoints" and place.is_dir():
        return  # a run that has not begun
    stored = {path: path.read_bytes() for path in stored_files(run) if path != place}

    states = {check.path: check.state for check in check_run(run)}
    assert states[place] == DAMAGED
    for options in ([], ["--dry-run"]):
        errors = polyglot.refuses("train", run, "--resume", "training.steps=9", *options)
        assert re.search(WRONG_KIND[name], errors)
    assert {path: path.read_bytes() for path in stored_files(run) if path != place} == stored


@pytest.mark.parametrize("name", ["evaluation", "shortlists", "analysis"])
def test_check_finds_what_is_in_the_place_of_a_folder(name, evaluated):
    run = evaluated / "runs/mine"
    remove(run / name)
    os.mkfifo(run / name)
    states = {check.path: check.state for check in check_run(run)}
    assert states[run / name] == DAMAGED


def retype(values: Any, draw: Callable[[int], int]) -> Any:
    """Replace one value in nested JSON by another type. draw: returns a number below a limit."""
    while isinstance(values, (dict, list)) and values:
        keys = list(values) if isinstance(values, dict) else range(len(values))
        key = keys[draw(len(keys))]
        inner = values[key]
        if not isinstance(inner, (dict, list)) or not inner or draw(4) == 0:
            values[key] = WRONG_VALUES[draw(len(WRONG_VALUES))]
            return
        values = inner


def check_retyped(run_copy: Path, number: int, data: st.DataObject) -> None:
    files = [file for file in stored_files(run_copy) if file.suffix in (".json", ".jsonl")]
    file = files[number % len(files)]
    content = file.read_bytes()
    lines = content.splitlines() if file.suffix == ".jsonl" else [content]
    values = json.loads(lines[0])
    retype(values, lambda limit: data.draw(st.integers(0, limit - 1)))
    if CHECKSUM_KEY in values:
        values[CHECKSUM_KEY] = json_checksum(values)
    try:
        file.write_bytes(b"\n".join([json.dumps(values).encode(), *lines[1:]]) + b"\n")
        observe(run_copy)
    finally:
        file.write_bytes(content)


@seed(3)
@settings(max_examples=12, **PROPERTY)
@given(number=st.integers(0, 10_000), data=st.data())
def test_wrong_types_with_a_right_checksum_give_no_traceback(run_copy, intact, number, data):
    check_retyped(run_copy, number, data)


@pytest.mark.slow
@seed(4)
@settings(max_examples=150, **PROPERTY)
@given(number=st.integers(0, 10_000), data=st.data())
def test_many_wrong_types_give_no_traceback(run_copy, intact, number, data):
    check_retyped(run_copy, number, data)
