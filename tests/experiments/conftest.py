"""A folder with an experiment that takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.core.yaml import dump_yaml
from tests.builders.command_line import CONFIG, SMALL_PHRASEBOOK, SMALL_RUN, write_text

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
"""The English-centric experiment on very little of the phrasebook, with models of a few thousand parameters."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "experiment.yaml").write_text(dump_yaml(MINE))
    return tmp_path
