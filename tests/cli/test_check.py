"""`polyglot check`: every file of a run and of the cache, and what can be done."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import datasets
import pytest

from polyglot.cli.check import _summarize_states
from polyglot.core.file_checks import FileCheck
from tests.cli.small_run import LAST_CHECKPOINT, file_hashes, flip_last_bit, one_line

RUN = Path("runs/mine")
CHECK = ("check", RUN)


def test_an_intact_run(evaluated, polyglot):
    before = file_hashes(evaluated)
    result = polyglot(*CHECK)
    assert result.status == 0
    output = one_line(result.output)
    assert "config.yaml 1 intact settings.json" in output or "settings.json 1 intact" in output
    assert "checkpoints/step-00000004 10 intact" in output
    assert "scores of step" in output
    assert "no damage found" in output
    assert file_hashes(evaluated) == before


UNCHECKED = (".lock", "log.jsonl", ".png", ".csv", ".md", "report.html")


def checked_files(run: Path) -> list[Path]:
    """Files whose damage must be found."""
    files = []
    for path in sorted(run.rglob("*")):
        if path.is_file() and not path.name.endswith(UNCHECKED):
            files.append(path)
    return files


@pytest.mark.slow
def test_every_damaged_and_every_missing_file_is_named(evaluated, polyglot):
    from polyglot.runs.integrity import check_run

    files = checked_files(RUN)
    assert len(files) > 30
    for path in files:
        content = path.read_bytes()
        for damage in ("flipped", "cut off", "empty", "fifo", "missing"):
            if damage == "missing" and path.name in ("started_in.json", "best.json", "config.yaml"):
                continue  # an older run has none; without a configuration it is no run
            if damage == "missing" and "cells" in path.parts:
                continue  # the direction is computed again
            if damage == "missing" and path.name in ("checksums.json", "manifest.json"):
                continue  # an older run; an incomplete checkpoint, tested below
            if damage == "missing" and path.name == "matrix.json":
                continue  # the evaluation is repeated
            path.unlink()
            if damage == "fifo":
                os.mkfifo(path)
            elif damage == "flipped":
                middle = len(content) // 2
                path.write_bytes(
                    content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
                )
            elif damage != "missing":
                path.write_bytes(content[: len(content) // 2 if damage == "cut off" else 0])
            problems = [result for result in check_run(RUN) if result.is_problem]
            named = [str(problem.path) + problem.message for problem in problems]
            assert any(path.name in text for text in named), (path, damage, named)
            assert all(problem.advice for problem in problems), problems
            path.unlink(missing_ok=True)
            path.write_bytes(content)
    assert not any(result.is_problem for result in check_run(RUN))


def test_a_damaged_file_gives_status_1_and_advice(folder, polyglot):
    flip_last_bit(LAST_CHECKPOINT / "decoder.fr.safetensors")
    result = polyglot(*CHECK)
    assert result.status == 1
    assert (
        f"{LAST_CHECKPOINT}/decoder.fr.safetensors: damaged: its SHA-256 is not that of the "
        f"manifest\n  → put it back from a copy of the run, or use another checkpoint; to train "
        f"on, remove {LAST_CHECKPOINT}\n"
    ) in result.output


def test_json_lists_every_file(folder, polyglot):
    (RUN / "vocabulary/fr.model").unlink()
    (RUN / "checkpoints/.x.writing").touch()
    result = polyglot(*CHECK, "--json")
    assert result.status == 1
    [report] = json.loads(result.output)
    assert (report["path"], report["kind"], report["intact"]) == ("runs/mine", "run", False)
    states = {entry["path"]: entry["state"] for entry in report["files"]}
    assert states["runs/mine/vocabulary/fr.model"] == "missing"
    assert states["runs/mine/vocabulary/de.model"] == "intact"
    assert states["runs/mine/checkpoints/.x.writing"] == "left over"
    assert states["runs/mine/log.jsonl"] == "no checksum"


def test_an_incomplete_checkpoint_and_a_missing_best_one(folder, polyglot):
    (LAST_CHECKPOINT / "manifest.json").unlink()
    assert f"{LAST_CHECKPOINT}/manifest.json: damaged" in polyglot(*CHECK).output
    shutil.rmtree(LAST_CHECKPOINT)
    shutil.rmtree(RUN / "checkpoints/step-00000002")
    output = polyglot(*CHECK).output
    assert "missing: it was the best" in output


def test_a_changed_configuration_is_accepted(folder, polyglot):
    path = RUN / "config.yaml"
    path.write_text(path.read_text().replace("beam: 2", "beam: 3"))
    result = polyglot(*CHECK)
    assert result.status == 1
    message = "was changed since the program wrote it: search.beam was 2 and is 3"
    assert f"runs/mine/config.yaml: changed: {message}" in result.output
    assert message in polyglot.refuses("translate", RUN, "--from", "de", "--to", "fr", stdin="x\n")
    once = ("--accept-changes", "--from", "de", "--to", "fr")
    assert polyglot("translate", RUN, *once, stdin="x\n").status == 0
    assert polyglot(*CHECK).status == 1

    result = polyglot(*CHECK, "--accept-changes")
    assert result.status == 0
    assert "stored: search.beam was 2 and is 3" in result.errors
    assert polyglot(*CHECK).status == 0
    assert polyglot("translate", RUN, "--from", "de", "--to", "fr", stdin="x\n").status == 0


def test_files_of_the_cache(folder, polyglot, monkeypatch):
    import pyarrow

    from polyglot.data.cache import cached_dataset

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(folder / "cache"))
    for name in ("one", "two"):
        cached_dataset(name, lambda: [pyarrow.table({"text": ["some text"] * 100})])
    assert polyglot("check", "cache").status == 0
    path = Path("cache/polyglot/two.arrow")
    flip_last_bit(path)
    result = polyglot("check", "cache")
    assert result.status == 1
    assert f"{path}: damaged: its checksum differs\n  → remove it, or leave it" in result.output
    assert polyglot("check", "cache/polyglot/one.arrow").status == 0
    path.write_bytes(path.read_bytes()[:-5])
    assert "it was cut off" in polyglot("check", path).output


@pytest.mark.parametrize(
    ("states", "text", "is_red"),
    [
        (["intact", "intact"], "intact", False),
        (["missing"], "missing", True),
        (["left over"], "left over", False),
        (["intact", "damaged", "intact"], "2 intact, 1 damaged", True),
        (["no checksum", "intact"], "1 no checksum, 1 intact", False),
    ],
)
def test_parts_with_a_problem_are_red(states, text, is_red):
    results = [FileCheck(RUN / str(number), state) for number, state in enumerate(states)]
    summary = _summarize_states(results)
    assert summary.plain == text
    assert ("red" in str(summary.style)) == is_red


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "/etc/passwd", "../matrix.json", "b" * 300])
def test_a_result_that_lists_a_strange_file(name, folder, polyglot):
    result_file = RUN / "evaluation" / "strange.json"
    result_file.parent.mkdir(exist_ok=True)
    result_file.write_text(json.dumps({"files": {name: "0" * 64}}))
    result = polyglot(*CHECK)
    assert result.status == 1
    assert "strange.json" in result.output or "b" * 20 in result.output


def test_names_that_are_not_utf8_and_linked_folders(folder, polyglot):
    name = os.fsdecode(b"caf\xe9")
    (RUN / name).touch()
    (RUN / "linked").symlink_to("/")
    result = polyglot(*CHECK)
    assert result.status == 1
    assert "caf\\udce9" in result.output
    assert "linked: damaged: it is a link to a folder outside of" in one_line(result.output)
    [report] = json.loads(polyglot(*CHECK, "--json").output)
    assert f"{RUN}/{name}" in [file["path"] for file in report["files"]]


def test_wrong_use(folder, polyglot):
    message = "neither a run directory nor a folder with cached text"
    for path in (".", "mine.yaml", "nothing", "runs"):
        assert f"{path}: {message}" in polyglot.refuses("check", path)
    Path("cache").mkdir()
    Path("cache/x.arrow").touch()
    assert "is for runs" in polyglot.refuses("check", "cache", "--accept-changes")


def test_a_damaged_configuration(folder, polyglot):
    (RUN / "config.yaml").write_text("languages: [en\n")
    result = polyglot(*CHECK)
    assert result.status == 1
    assert "no valid YAML" in result.output and "settings.json has its values too" in result.output
