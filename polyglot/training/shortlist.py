"""The shortlist of a direction, counted from the training text of a run."""

from __future__ import annotations

from pathlib import Path

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.decoding.shortlist import Shortlist
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.training.build import build_datasets
from polyglot.training.preflight import load_training_corpora


def write_shortlist(run: Run, pair: LanguagePair, *, sentences: int, best: int) -> tuple[Path, int]:
    """Count the first sentences of a direction's training text into the run directory, with so many target words for each source word.

    Returns the file and how many sentences were counted. Raises ConfigError for a language that the run does not have, DataError
    where there is no text.
    """
    for language in (pair.source, pair.target):
        if language not in run.vocabularies:
            raise ConfigError(unknown_name("vocabulary", language, run.vocabularies))
    corpora = load_training_corpora(run.config)
    [dataset] = build_datasets(
        run.config, corpora, run.vocabularies, run.normalisers, [Task(pair)]
    ).values()
    sources, targets = dataset.first(sentences)
    sizes = len(run.vocabularies[pair.source]), len(run.vocabularies[pair.target])
    path = run.shortlist_file(pair)
    path.parent.mkdir(exist_ok=True)
    replace_file(path, Shortlist.learn(sources, targets, sizes, best=best).to_bytes())
    return path, len(sources)
