"""Section with the training text: sentences of each task, and the segmentation by vocabularies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from polyglot.core.errors import PolyglotError
from polyglot.data.corpora import Corpora
from polyglot.report.files import RunFiles
from polyglot.report.section import Section, render
from polyglot.runs.data_folder import find_data_folder, tried_folders
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.vocabulary import UNK

SAMPLE = 2000  # training sentences that are segmented
MAX_TASKS = 200  # rows of the table of tasks; more tasks are summed by language


def data(files: RunFiles) -> Section:
    config = files.run.config
    folder = find_data_folder(files.run, config.data.train)
    corpora = Corpora(config.data.train, folder=folder, languages=config.languages)
    reason = ""
    counts: dict[str, int | None] = {}
    try:
        for pair in config.pairs:
            counts[str(pair)] = _count_sentences(corpora, pair)
        languages = _languages(files, corpora)
    except PolyglotError as error:  # the text may be on another machine; the vocabularies are here
        places = tried_folders(files.run)
        if not places:
            places = f"; relative paths start from {os.path.realpath(folder)}: set data.folder"
        reason = f"The training text cannot be read here: {error}{places}"
        counts = {}
        languages = []
        for language, vocabulary in files.run.vocabularies.items():
            languages.append({"name": language, "pieces": len(vocabulary)})

    tasks = {}
    for task in config.tasks:
        name = str(task.pair)
        tasks[name] = {
            "name": name,
            "weight": task.weight,
            "sentences": counts.get(name),
        }
    body = render(
        "data.html",
        tasks=[] if len(tasks) > MAX_TASKS else list(tasks.values()),
        task_count=len(tasks),
        sums=_task_sums(config.tasks, counts) if len(tasks) > MAX_TASKS else [],
        languages=languages,
        reason=reason,
        sample=SAMPLE,
    )
    return Section("data", "Text and vocabularies", body)


def _task_sums(
    tasks: Sequence[Task],
    counts: Mapping[str, int | None],
) -> list[dict[str, Any]]:
    """Number of tasks and of sentence pairs from and into each language.

    The sentences are None if they are not known for one of the tasks.
    """
    sums: dict[str, dict[str, Any]] = {}
    for task in tasks:
        for side, language in (("from", task.source), ("into", task.target)):
            empty = {"name": language, "from": 0, "into": 0, "sentences": {"from": 0, "into": 0}}
            row = sums.setdefault(language, empty)
            row[side] += 1
            count = counts.get(task.name)
            total = row["sentences"][side]
            if total is None or count is None:
                row["sentences"][side] = None
            else:
                row["sentences"][side] = total + count
    return list(sums.values())


def _count_sentences(corpora: Corpora, pair: LanguagePair) -> int | None:
    """Number of sentence pairs; None for streamed text."""
    if corpora.is_streamed(pair):
        return None
    return sum(len(text.source) for text in corpora.parallel(pair))


def _languages(files: RunFiles, corpora: Corpora) -> list[dict[str, Any]]:
    """Statistics of each language with a vocabulary."""
    languages = []
    for language in files.run.config.languages:
        if language in files.run.vocabularies:
            languages.append(_statistics(files, corpora, language))
    return languages


def _statistics(files: RunFiles, corpora: Corpora, language: str) -> dict[str, Any]:
    """Words, pieces and unknown pieces of the first training sentences of a language."""
    normaliser = files.run.normalisers[language]
    vocabulary = files.run.vocabularies[language]
    sentences = islice(corpora.sentences(language), SAMPLE)
    lines = [normaliser.apply(line) for line in sentences]
    words = sum(len(line.split()) for line in lines)
    pieces = 0
    unknown = 0
    for ids in vocabulary.encode(lines):
        pieces += len(ids)
        unknown += sum(piece == UNK for piece in ids)
    return {
        "name": language,
        "pieces": len(vocabulary),
        "words": words / max(1, len(lines)),
        "per_word": pieces / max(1, words),
        "unknown": 100 * unknown / max(1, pieces),
    }
