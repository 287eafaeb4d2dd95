"""What was trained on: sentences of each task, and how the vocabularies cut the text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from polyglot.core.errors import PolyglotError
from polyglot.data.corpora import Corpora
from polyglot.report.files import Files
from polyglot.report.section import Section, render
from polyglot.text.vocabulary import UNK

SAMPLE = 2000  # sentences that a vocabulary is tried on


def data(files: Files) -> Section:
    run, config = files.run, files.run.config
    corpora = Corpora(
        config.data.train, folder=Path(config.data.folder), languages=config.languages
    )
    try:
        counts = {
            str(pair): None
            if corpora.streams(pair)
            else sum(len(text.source) for text in corpora.parallel(pair))
            for pair in config.pairs
        }
        languages = [
            _language(files, corpora, language)
            for language in config.languages
            if language in run.vocabularies
        ]
        reason = ""
    except PolyglotError as error:  # the text need not be on this machine; the vocabularies are
        counts, reason = {}, f"The training text cannot be read here: {error}"
        languages = [
            {"name": language, "pieces": len(vocabulary)}
            for language, vocabulary in run.vocabularies.items()
        ]
    weights = {str(task.pair): task.weight for task in config.tasks}
    tasks = [
        {"name": name, "weight": weights[name], "sentences": counts.get(name)} for name in weights
    ]
    return Section(
        "data",
        "Text and vocabularies",
        render("data.html", tasks=tasks, languages=languages, reason=reason, sample=SAMPLE),
    )


def _language(files: Files, corpora: Corpora, language: str) -> dict[str, Any]:
    """Of the first training sentences: words, pieces, and what the vocabulary has no piece for."""
    steps, vocabulary = files.run.normalisers[language], files.run.vocabularies[language]
    lines = [steps.apply(line) for line in islice(corpora.sentences(language), SAMPLE)]
    ids = vocabulary.encode(lines)
    words, pieces = sum(len(line.split()) for line in lines), sum(map(len, ids))
    return {
        "name": language,
        "pieces": len(vocabulary),
        "words": words / max(1, len(lines)),
        "per_word": pieces / max(1, words),
        "unknown": 100 * sum(one == UNK for sentence in ids for one in sentence) / max(1, pieces),
    }
