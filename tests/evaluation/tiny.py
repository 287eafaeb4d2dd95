"""A run of three languages on a corpus of a few lines, with an untrained model: everything but good translations."""

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


def tiny_run(folder: Path, **sections: Any) -> Run:
    """A run directory below `folder`, its corpora beside it; only de-en, en-de, en-fr and fr-en are trained."""
    for part in ("train", "valid", "test"):
        for language, lines in TEXT.items():
            (folder / f"{part}.{language}").write_text(
                "".join(f"{line}\n" for line in lines), encoding="utf-8"
            )
    values = {
        "languages": ["en", "de", "fr"],
        "run": str(folder / "run"),
        "data": {"folder": str(folder)}
        | {
            part: [{"type": "text", "path": f"{part}.{{language}}"}]
            for part in ("train", "valid", "test")
        },
        "vocabulary": {"type": "word", "size": 100},
        "schedule": {"type": "uniform", "pairs": ["en-*", "*-en"]},
        "model": {
            "embedding": {"size": 8},
            "encoder": {"type": "lstm", "size": 8, "layers": 1},
            "bridge": {"type": "attention", "heads": 2, "hidden_size": 8},
            "decoder": {"type": "lstm", "size": 8, "layers": 1},
        },
        "search": {"beam": 2},
        "training": {"steps": 1},
    }
    for section, own in sections.items():
        values[section] = {**values.get(section, {}), **own}
    run = Run.create(check_config(values, where="tiny"))
    corpora = load_training_corpora(run.config)
    for language, vocabulary in build_vocabularies(
        run.config, corpora, run.normalisers, languages=run.config.languages
    ).items():
        vocabulary.save(run.vocabulary_file(language))
    return run


def tiny_model(run: Run) -> TranslationModel:
    return build_model(run.config, run.vocabularies, seed=1).eval()


def tiny_translator(run: Run, *, sha256: str | None = None) -> Translator:
    """sha256: of its parameters, as one from a checkpoint has it."""
    description = {"run": run.path.name, "checkpoint": "last", "steps": [7]} | (
        {"sha256": sha256} if sha256 else {}
    )
    given = {
        "vocabularies": run.vocabularies,
        "normalisers": run.normalisers,
        "search_config": run.config.search,
    }
    return Translator(tiny_model(run), **given, description=description)
