"""Share of the test text that a vocabulary does not cover."""

from __future__ import annotations

from collections.abc import Sequence

from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.runs.run import Run
from polyglot.text.vocabulary import UNK


def unknown_shares(run: Run, matrices: Sequence[ScoreMatrix]) -> dict[str, float]:
    """Share of unknown pieces (0 to 1) in the source text of each language that was evaluated."""
    lines_by_language: dict[str, dict[str, Sequence[str]]] = {}
    for matrix in matrices:
        for cell in matrix.cells.values():
            if cell.source_text in matrix.texts:
                texts = lines_by_language.setdefault(cell.pair.source, {})
                texts[cell.source_text] = matrix.texts[cell.source_text]

    shares = {}
    for language, texts in lines_by_language.items():
        if language in run.vocabularies:
            shares[language] = _unknown_share(run, language, list(texts.values()))
    return shares


def _unknown_share(run: Run, language: str, texts: Sequence[Sequence[str]]) -> float:
    steps = run.normalisers[language]
    pieces = 0
    unknown = 0
    for lines in texts:
        prepared = [steps.apply(line) for line in lines]
        for ids in run.vocabularies[language].encode(prepared):
            pieces += len(ids)
            unknown += sum(piece == UNK for piece in ids)
    return unknown / max(1, pieces)
