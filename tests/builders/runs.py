"""Tiny runs for tests: three languages, some sixty lines of a made-up grammar, models of a few
thousand parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import yaml
from accelerate.state import AcceleratorState, PartialState

from polyglot.config.loading import check_config
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.build import build_trainer
from polyglot.training.trainer import Trainer
from polyglot.training.validation import ValidationPass

WORDS = {
    "en": "one two red big dog cat bird house sees finds sings here".split(),
    "de": "ein zwei rot groß Hund Katze Vogel Haus sieht findet singt hier".split(),
    "fr": "un deux rouge grand chien chat oiseau maison voit trouve chante ici".split(),
}
LINES = 60


def sample_sentences(language: str, *, seed: int = 0, lines: int = LINES) -> list[str]:
    """Word for word the same in every language, but French is turned around and German says some
    words twice.
    """
    random = numpy.random.default_rng(seed)
    result = []
    for _ in range(lines):
        chosen = random.integers(0, len(WORDS["en"]), random.integers(1, 9))
        words = [WORDS[language][number] for number in chosen]
        if language == "de":
            words += [words[0]] * int(chosen[0] % 3)
        result.append(" ".join(reversed(words) if language == "fr" else words))
    return result


def write_corpus(folder: Path) -> None:
    """train and valid, line n of each language the same sentence."""
    for part, (seed, lines) in {"train": (0, LINES), "valid": (1, 10)}.items():
        for language in WORDS:
            text = "".join(
                f"{line}\n" for line in sample_sentences(language, seed=seed, lines=lines)
            )
            (folder / f"{part}.{language}").write_text(text, encoding="utf-8")


def tiny_settings(folder: Path, name: str = "run", **sections: Any) -> dict[str, Any]:
    """A configuration on the corpus of that folder; mappings are laid over these settings,
    everything else replaces them.
    """
    values = {
        "languages": ["en", "de", "fr"],
        "run": str(folder / name),
        "data": {
            "folder": str(folder),
            **{
                part: [{"type": "text", "path": f"{part}.{{language}}"}]
                for part in ("train", "valid")
            },
        },
        "vocabulary": {"type": "word", "size": 100},
        "schedule": {"type": "uniform", "pairs": ["en-*", "*-en"]},
        "model": {
            "embedding": {"size": 12, "dropout": 0.0},
            "encoder": {"type": "lstm", "size": 16, "layers": 1, "dropout": 0.0},
            "bridge": {"type": "attention", "heads": 3, "hidden_size": 8},
            "decoder": {"type": "lstm", "size": 16, "layers": 1, "dropout": 0.0},
        },
        "batching": {"size": 8},
        "optimizer": {"type": "adam", "learning_rate": 0.01},
        "training": {"steps": 6, "log_every": 1, "checkpoint": {"every": 1000}},
        "validation": {"every": 1000},
        # A model that has learnt nothing translates up to the largest length.
        "search": {"beam": 2, "max_length_ratio": 1.0, "max_length_extra": 4},
    }
    return _laid_over(values, sections)


def _laid_over(values: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(values)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        if both and value.get("type", result[key].get("type")) == result[key].get("type"):
            value = _laid_over(result[key], value)
        result[key] = value
    return result


def tiny_run(folder: Path, name: str = "run", **sections: Any) -> Run:
    """A new run directory below the folder, with the corpus beside it."""
    if not (folder / "train.en").exists():
        write_corpus(folder)
    return Run.create(check_config(tiny_settings(folder, name, **sections), where="tiny"))


def write_config(folder: Path, **sections: Any) -> Path:
    """The same as a file, for whoever reads one."""
    write_corpus(folder)
    (folder / "tiny.yaml").write_text(
        yaml.safe_dump(tiny_settings(folder, **sections)), encoding="utf-8"
    )
    return folder / "tiny.yaml"


def make_trainer(run: Run, validator: Callable[..., Any] = lambda model: None) -> Trainer:
    """A trainer for a new run, or one that goes on from the last checkpoint."""
    AcceleratorState._reset_state()  # one process trains many runs here
    PartialState._reset_state()
    trainer = build_trainer(run, lambda model: as_validation_pass(validator(model)))
    if checkpoints.steps(run.checkpoints):
        trainer.resume(checkpoints.choose(run.checkpoints, "last")[0])
    return trainer


def as_validation_pass(validate: Callable[[], Any] | None) -> ValidationPass | None:
    """A function of a test that returns validation results, as a pass without text."""
    if validate is None or isinstance(validate, ValidationPass):
        return validate
    return ValidationPass(validate, texts={})


def train(
    run: Run, validator: Callable[..., Any] = lambda model: None, *, stop_after: int | None = None
) -> Trainer:
    """Train to the end, or interrupt the run in the middle of a step as Ctrl-C does."""
    trainer = make_trainer(run, validator)
    if stop_after is not None:
        update = trainer.update

        def interrupted() -> Any:
            trainer.received_signal = trainer.progress.step + 1 == stop_after
            return update()

        trainer.update = interrupted
    trainer.train()
    return trainer
