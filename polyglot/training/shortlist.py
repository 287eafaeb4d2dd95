"""Shortlist of a language pair (likely target words per source word), learnt from training text."""

from __future__ import annotations

from pathlib import Path

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.file_locks import output_lock
from polyglot.decoding.shortlist import Shortlist
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.training.build import build_datasets
from polyglot.training.preflight import load_training_corpora


def write_shortlist(
    run: Run,
    pair: LanguagePair,
    *,
    sentences: int,
    words_per_source: int,
) -> tuple[Path, int]:
    """Learn the shortlist (likely target words per source word) and write it to the run directory.

    sentences: number of sentences to learn from, from the beginning of the training text.
    words_per_source: number of target words for each source word.
    Returns the file and the number of sentences that were used. Raises ConfigError for a
    language that the run does not have, DataError if there is no text, CheckpointError if another
    process writes a shortlist of the run.
    """
    for language in (pair.source, pair.target):
        if language not in run.vocabularies:
            raise ConfigError(unknown_name("vocabulary", language, run.vocabularies))

    path = run.shortlist_file(pair)
    with output_lock(path.parent, work="writing a shortlist there"):
        shortlist, used = _learn(run, pair, sentences, words_per_source)
        replace_file(path, shortlist.to_bytes())
    return path, used


def _learn(
    run: Run,
    pair: LanguagePair,
    sentences: int,
    words_per_source: int,
) -> tuple[Shortlist, int]:
    """Learn a shortlist; returns it, and the number of sentences that were used."""
    corpora = load_training_corpora(run.config)
    task = Task(pair)
    datasets = build_datasets(run.config, corpora, run.vocabularies, run.normalisers, [task])
    sources, targets = datasets[task.name].first_pairs(sentences)
    source_vocabulary = run.vocabularies[pair.source]
    target_vocabulary = run.vocabularies[pair.target]
    sizes = (len(source_vocabulary), len(target_vocabulary))
    shortlist = Shortlist.learn(sources, targets, sizes, words_per_source=words_per_source)
    return shortlist, len(sources)
