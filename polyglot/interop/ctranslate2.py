"""Export of one direction of a run to CTranslate2, which translates with the same parameters."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from polyglot.core.atomic_files import temporary_path
from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.inference.ctranslate2_spec import build_spec, import_ctranslate2
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.vocabulary import Vocabulary


def export_ctranslate2(
    run: Run,
    pair: LanguagePair,
    folder: Path,
    *,
    checkpoint: str | int = "best",
) -> None:
    """Write the model of a direction to a new folder, with its vocabularies and a README.

    Raises ConfigError if CTranslate2 is not installed, cannot compute the model, or if the folder
    exists, and CheckpointError if the folder cannot be written.
    """
    import_ctranslate2()
    if folder.exists():
        raise ConfigError(f"{folder}: exists; choose another folder with --to")

    translator = Translator.load(
        run,
        checkpoint=checkpoint,
        pairs=[pair],
        device="cpu",
    )
    [source] = translator.sources
    [target] = translator.targets
    pair = LanguagePair(source, target)  # as the run spells the languages
    spec = build_spec(
        translator.model,
        pair,
        source_pieces=_pieces(translator, source),
        target_pieces=_pieces(translator, target),
    )
    _write_model(spec, translator, pair, folder, readme=_readme(run, pair))


def _readme(run: Run, pair: LanguagePair) -> str:
    """Text that says how to translate with the exported model."""
    steps = []
    for step in run.config.text.for_language(pair.source):
        steps.append(step.type)
    names = ", ".join(steps)
    return README.format(pair=pair, steps=names or "none")


def _write_model(
    spec: Any,
    translator: Translator,
    pair: LanguagePair,
    folder: Path,
    *,
    readme: str,
) -> None:
    """Write a new folder, complete or not at all."""
    temporary = temporary_path(folder.parent)
    try:
        temporary.mkdir(parents=True)
        spec.save(str(temporary))
        _save_vocabularies(translator, pair, temporary)
        (temporary / "README.md").write_text(readme, encoding="utf-8")
        temporary.rename(folder)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _pieces(translator: Translator, language: str) -> list[str]:
    """Pieces of a vocabulary by their ids."""
    vocabulary = translator.vocabularies[language]
    return list(vocabulary.pieces(range(len(vocabulary))))


def _save_vocabularies(
    translator: Translator,
    pair: LanguagePair,
    folder: Path,
) -> None:
    """Write the SentencePiece models as `source.model` and `target.model`."""
    for name, language in (("source", pair.source), ("target", pair.target)):
        vocabulary = translator.vocabularies[language]
        if isinstance(vocabulary, Vocabulary):  # the pieces of a word list are separated by spaces
            vocabulary.save(folder / f"{name}.model")


README = """# {pair} for CTranslate2

Text steps before the pieces (`text.steps` of the run): {steps}.

```python
import ctranslate2
import sentencepiece

source = sentencepiece.SentencePieceProcessor(model_file="source.model")
target = sentencepiece.SentencePieceProcessor(model_file="target.model")
translator = ctranslate2.Translator(".", compute_type="auto")
pieces = source.encode(["…"], out_type=str)
results = translator.translate_batch(pieces, beam_size=5)
print(target.decode([result.hypotheses[0] for result in results]))
```
"""
