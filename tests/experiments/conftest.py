"""A folder with an experiment that takes seconds, and a trained run of a very small model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from polyglot.core.yaml import dump_yaml
from polyglot.evaluation import significance
from tests.builders.command_line import CONFIG, SMALL_PHRASEBOOK, SMALL_RUN, Program, write_text

MINE = {
    "title": "With and without <copies>",
    "question": "What are they worth?",
    "protocol": {"metrics": ["bleu"], "pivot": "en", "search": {"beam": 1}, "resamples": 20},
    "seeds": [1, 2],
    "goals": [{"system": "without copies", "scores": "zero-shot", "at_least": 99}],
    "systems": {
        "with copies": {
            "config": "phrasebook",
            "set": [*SMALL_RUN, *SMALL_PHRASEBOOK],
            "reference": "attention_bridge_english_centric_with_copies",
        },
        "without copies": {
            "config": "phrasebook",
            "set": [*SMALL_RUN, *SMALL_PHRASEBOOK, "schedule.base=english_centric"],
            "seeds": [1],
        },
    },
}
"""The English-centric experiment on a small part of the phrasebook, with very small models."""

TRAINED_RUNS: dict[str, Path] = {}
"""Folder of the run `runs/mine`, trained once for all tests of this process."""


@pytest.fixture(autouse=True)
def few_samples(
    few_resamples: None, small_pictures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let intervals and tests of significance draw 20 samples, to save time.

    Pictures have one pixel; `test_results.py` draws one of each kind.
    """
    test = significance._test

    def test_with_few_samples(systems, measure, name, samples):
        return test(systems, measure, name, samples or 20)

    monkeypatch.setattr(significance, "_test", test_with_few_samples)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "experiment.yaml").write_text(dump_yaml(MINE))
    return tmp_path


@pytest.fixture
def trained_folder(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The folder with a copy of the trained run `runs/mine` of `mine.yaml`."""
    if "mine" not in TRAINED_RUNS:
        result = Program(monkeypatch, capsys)("train", "mine.yaml")
        assert result.status == 0, result.errors
        shared = tmp_path_factory.mktemp("trained") / "mine"
        shutil.move(folder / "runs" / "mine", shared)
        TRAINED_RUNS["mine"] = shared
    shutil.copytree(TRAINED_RUNS["mine"], folder / "runs" / "mine")
    return folder
