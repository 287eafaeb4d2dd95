"""Note below means over directions with different test sentences, in every view."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console, RenderableType

from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.scored_texts import DIFFERENT_TEXTS_NOTE, have_different_texts
from polyglot.evaluation.significance import compare_systems
from polyglot.evaluation.views.markdown import matrix_markdown
from polyglot.evaluation.views.terminal import comparison_table, matrix_tables, measure_table
from polyglot.tasks.pairs import LanguagePair
from tests.evaluation.by_hand import matrix


def has_note(table: RenderableType) -> bool:
    screen = Console(file=io.StringIO(), width=300)
    screen.print(table)
    return DIFFERENT_TEXTS_NOTE in screen.file.getvalue()


def with_other_sources() -> ScoreMatrix:
    """Matrix on another text, so that no difference is tested."""
    cells = {}
    for pair, cell in matrix().cells.items():
        cells[pair] = dataclasses.replace(cell, source_text="xx.88888888")
    return dataclasses.replace(matrix(), cells=cells)


@pytest.mark.parametrize(
    ("changes", "is_mixed"),
    [
        ({}, False),
        ({"sentences": 7}, True),
        ({"source_text": "en.99999999"}, True),
        ({"kind": "supervised", "sentences": 2}, False),
    ],
)
def test_means_over_different_test_texts_have_a_note(changes: dict, is_mixed: bool) -> None:
    """Two texts in English, or different numbers of sentences, within one kind."""
    cells = dict(matrix().cells)
    pair = LanguagePair("en", "de")
    cells[pair] = dataclasses.replace(cells[pair], **changes)
    mixed = dataclasses.replace(matrix(), cells=cells)
    assert have_different_texts(mixed.all_cells) == is_mixed
    assert has_note(measure_table(mixed, "bleu")) == is_mixed
    assert any(map(has_note, matrix_tables(mixed))) == is_mixed
    comparison = compare_systems({"a": [mixed], "b": [with_other_sources()]})
    assert has_note(comparison_table(comparison)) == is_mixed
    assert (DIFFERENT_TEXTS_NOTE in matrix_markdown(mixed)) == is_mixed


def test_copies_may_have_another_test_text() -> None:
    """Copies have a mean of their own."""
    cells = []
    for cell in matrix().cells.values():
        if cell.pair.is_copy:
            text = f"{cell.pair.source}.99999999"
            cell = dataclasses.replace(cell, sentences=7, source_text=text, reference_text=text)
        cells.append(cell)
    assert not have_different_texts(cells)
