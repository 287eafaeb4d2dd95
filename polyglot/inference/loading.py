"""Reading of what a translator needs from a run directory."""

from __future__ import annotations

from collections.abc import Sequence

from polyglot.core.errors import CheckpointError
from polyglot.decoding.shortlist import Shortlist
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.averaging import load_average
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


def load_model(
    run: Run,
    chosen: Sequence[Checkpoint],
    pairs: Sequence[LanguagePair],
) -> TranslationModel:
    """Return the model of these directions, with the mean of the chosen checkpoints."""
    _check_vocabularies(run, pairs)
    sizes = {language: len(vocabulary) for language, vocabulary in run.vocabularies.items()}
    model = TranslationModel(
        run.config.model,
        vocabulary_sizes=sizes,
        pairs=pairs,
        seed=None,
        sharing=run.config.sharing,
    )
    load_average(chosen, model.component_tensors())
    return model.eval()


def load_shortlist(run: Run, pair: LanguagePair) -> Shortlist:
    """Return the shortlist of a direction.

    Raises CheckpointError if it is missing or was made with other vocabularies.
    """
    path = run.shortlist_file(pair)
    command = f"polyglot shortlist {run.path} {pair}"
    run.fetch([path])
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; make it from the training text: `{command}`")
    shortlist = Shortlist.load(path)
    source_size = len(run.vocabularies[pair.source])
    target_size = len(run.vocabularies[pair.target])
    fits_source = len(shortlist.starts) == source_size + 2
    fits_target = len(shortlist.unigrams) == target_size
    if not fits_source or not fits_target:
        raise CheckpointError(f"{path}: made with other vocabularies; make it again: `{command}`")
    return shortlist


def _check_vocabularies(run: Run, pairs: Sequence[LanguagePair]) -> None:
    """Raise CheckpointError if a vocabulary of these directions is missing."""
    for pair in pairs:
        for language in (pair.source, pair.target):
            if language not in run.vocabularies:
                raise CheckpointError(
                    f"{run.vocabulary_file(language)}: this vocabulary is missing, "
                    f"so {language} cannot be translated"
                )
