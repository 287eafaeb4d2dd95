"""Table of tasks: one row for each, or sums by target language if there are many."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy
import pytest

from polyglot.core.tables import FoldedTable
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.training import task_table


def datasets(*names: str, has_weights: bool = False) -> dict[str, SimpleNamespace]:
    """Three sentences of each task, with 12 source and 15 target tokens; one more is left out."""
    by_name = {}
    for name in names:
        by_name[name] = SimpleNamespace(
            task=Task(LanguagePair.parse(name)),
            dropped={"ratio": 1, "length": 0},
            has_weights=has_weights,
            source_lengths=numpy.array([3, 4, 5]),
            target_lengths=numpy.array([4, 5, 6]),
        )
    return by_name


def rows(table: FoldedTable) -> Iterator[list[str]]:
    for row in table.rows:
        yield [cell.plain for cell in row]


def test_few_tasks_have_a_row_each() -> None:
    table = task_table.task_table(datasets("en-de", "de-en"))
    assert list(rows(table)) == [
        ["en-de", "3", "1 ratio", "12", "15"],
        ["de-en", "3", "1 ratio", "12", "15"],
    ]


def test_many_tasks_are_summed_by_target_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_table, "MAX_TASKS", 2)
    table = task_table.task_table(datasets("en-de", "fr-de", "de-en"))
    assert table.title == "3 tasks, by target language"
    assert list(rows(table)) == [
        ["de", "2", "6", "2", "24", "30"],
        ["en", "1", "3", "1", "12", "15"],
        ["all", "3", "9", "3", "36", "45"],
    ]


@pytest.mark.parametrize("max_tasks", [1, 9])
def test_the_title_says_which_numbers_count_the_weights(
    max_tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_table, "MAX_TASKS", max_tasks)
    names = ("en-de", "de-en")
    plain = task_table.task_table(datasets(*names)).title
    weighted = task_table.task_table(datasets(*names, has_weights=True)).title
    assert weighted == (
        f"{plain}; sentences and tokens of an epoch, with the weights of the corpora; "
        "left out: sentences of the text, each once"
    )
