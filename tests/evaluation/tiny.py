"""A run of three languages on a corpus of a few lines, with an untrained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polyglot.config.loading import check_config
from polyglot.inference.translator import Translator
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.training.build import build_model
from polyglot.training.preflight import load_training_corpora
from polyglot.training.vocabularies import build_vocabularies

TEXT = {
    "en": [
        "a dog sleeps",
        "two cats see a bird",
        "the child reads",
        "it rains",
        "a bird sees two cats and a dog",
    ],
    "de": [
        "Ein Hund schläft",
        "zwei Katzen sehen einen Vogel",
        "das Kind liest",
        "es regnet",
        "ein Vogel sieht zwei Katzen und einen Hund",
    ],
    "fr": [
        "un chien dort",
        "deux chats voient un oiseau",
        "l' enfant lit",
        "il pleut",
        "un oiseau voit deux chats et un chien",
    ],
}
PARTS = ("train", "valid", "test")
SHORT_TRANSLATIONS = {"max_length_ratio": 1.0, "max_length_extra": 4}
"""Settings of the search. An untrained model translates up to the largest length."""


def tiny_run(folder: Path, **sections: Any) -> Run:
    """Create a run directory below `folder`, with its corpora beside it.

    Only de-en, en-de, en-fr and fr-en are trained. sections: changes of the configuration.
    """
    for part in PARTS:
        for language, lines in TEXT.items():
            content = "".join(f"{line}\n" for line in lines)
            (folder / f"{part}.{language}").write_text(content, encoding="utf-8")

    data: dict[str, Any] = {"folder": str(folder)}
    for part in PARTS:
        data[part] = [{"type": "text", "path": f"{part}.{{language}}"}]
    values: dict[str, Any] = {
        "languages": ["en", "de", "fr"],
        "run": str(folder / "run"),
        "data": data,
        "vocabulary": {"type": "word", "size": 100},
        "schedule": {"type": "uniform", "pairs": ["en-*", "*-en"]},
        "model": {
            "embedding": {"size": 8},
            "encoder": {"type": "lstm", "size": 8, "layers": 1},
            "bridge": {"type": "attention", "heads": 2, "hidden_size": 8},
            "decoder": {"type": "lstm", "size": 8, "layers": 1},
        },
        "search": {"beam": 2, **SHORT_TRANSLATIONS},
        "training": {"steps": 1},
    }
    for section, changes in sections.items():
        if isinstance(changes, dict):
            changes = {**values.get(section, {}), **changes}
        values[section] = changes

    run = Run.create(check_config(values, where="tiny"))
    vocabularies = build_vocabularies(
        run.config,
        load_training_corpora(run.config),
        run.normalisers,
        languages=run.config.languages,
    )
    for language, vocabulary in vocabularies.items():
        vocabulary.save(run.vocabulary_file(language))
    return run


def tiny_model(run: Run) -> TranslationModel:
    return build_model(run.config, run.vocabularies, seed=1).eval()


def tiny_translator(run: Run, *, sha256: str | None = None) -> Translator:
    """Translator with an untrained model. sha256: hash of its parameters, as of a checkpoint."""
    description: dict[str, Any] = {"run": run.path.name, "checkpoint": "last", "steps": [7]}
    if sha256:
        description["sha256"] = sha256
    return Translator(
        tiny_model(run),
        vocabularies=run.vocabularies,
        normalisers=run.normalisers,
        search_config=run.config.search,
        description=description,
    )
