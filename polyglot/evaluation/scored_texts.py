"""Test texts of directions: a mean over directions with different sentences needs a note."""

from __future__ import annotations

from collections.abc import Iterable

from polyglot.evaluation.score_matrix import Cell

DIFFERENT_TEXTS_NOTE = (
    "the directions were scored on different test texts, so their scores and means do not show "
    "which direction is better"
)


def have_different_texts(cells: Iterable[Cell]) -> bool:
    """True if the cells of one kind, which share a mean, have different test sentences.

    Known from the number of sentences, and from two texts in one language.
    """
    lengths: dict[str, set[int]] = {}
    texts: dict[tuple[str, str], set[str]] = {}
    for cell in cells:
        if not cell.scores:
            continue
        lengths.setdefault(cell.kind, set()).add(cell.sentences)
        sides = (
            (cell.pair.source, cell.source_text),
            (cell.pair.target, cell.reference_text),
        )
        for language, text in sides:
            texts.setdefault((cell.kind, language), set()).add(text)

    return any(len(values) > 1 for values in [*lengths.values(), *texts.values()])


def text_content(name: str) -> str:
    """Hash of the lines in the name of a text, which begins with the language."""
    return name.rpartition(".")[2]
