"""Tables of the tasks of a dry run; with many tasks, their sums by target language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from polyglot.core.errors import abbreviate
from polyglot.core.tables import FoldedTable
from polyglot.data.dataset import TaskDataset
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.tasks.back_translation import BackTranslationDraws, BackTranslationTask
from polyglot.tasks.pairs import Task

Dataset = TaskDataset | StreamedDataset

MAX_TASKS = 200
"""With more tasks than this, a row of the table is a target language."""


class _Counts(NamedTuple):
    """Sentences and tokens; those of streamed text are estimated from its first sentences."""

    sentences: float
    source_tokens: float
    target_tokens: float


def task_table(datasets: Mapping[str, Dataset]) -> FoldedTable:
    """Sentences and tokens of each task, or of all tasks into each language.

    datasets: by the name of the task.
    """
    if len(datasets) > MAX_TASKS:
        return _language_table(list(datasets.values()))
    table = FoldedTable(
        "task",
        "sentences",
        "left out",
        "source tokens",
        "target tokens",
        title=f"Tasks{_weights_note(datasets.values())}",
        text_columns={"left out"},
    )
    for name, dataset in datasets.items():
        table.add_row(name, *_task_cells(dataset))
    return table


def back_translation_table(draws: BackTranslationDraws, tasks: Sequence[Task]) -> FoldedTable:
    """Pairs that are back-translated, or their number into each language.

    tasks: those with text.
    """
    settings = draws.settings
    share = f"{settings.weight:.1%} of the draws from step {settings.from_step}"
    table = FoldedTable(
        "back-translation",
        "target sentences from",
        "translated through",
        "share of draws",
        title=f"Back-translation, {share}",
        text_columns={"target sentences from", "translated through"},
    )
    choices = draws.tasks(tasks)
    rows: dict[str, list[list[BackTranslationTask]]] = {}
    for pair_tasks in choices:
        pair = pair_tasks[0].pair
        name = f"into {pair.target}" if len(choices) > MAX_TASKS else str(pair)
        rows.setdefault(name, []).append(pair_tasks)
    for name, group in rows.items():
        texts = [task.text.name for task in group[0]]
        group_share = settings.weight * len(group) / len(choices)
        table.add_row(name, abbreviate(texts), settings.through or "", f"{group_share:.2%}")
    return table


def _weights_note(datasets: Iterable[Dataset]) -> str:
    """End of the title if corpora have weights: the numbers then count different things."""
    if not any(dataset.has_weights for dataset in datasets):
        return ""
    return (
        "; sentences and tokens of an epoch, with the weights of the corpora; "
        "left out: sentences of the text, each once"
    )


def _language_table(datasets: Sequence[Dataset]) -> FoldedTable:
    table = FoldedTable(
        "target language",
        "tasks",
        "sentences",
        "left out",
        "source tokens",
        "target tokens",
        title=f"{len(datasets):,} tasks, by target language{_weights_note(datasets)}",
    )
    groups: dict[str, list[Dataset]] = {}
    for dataset in datasets:
        groups.setdefault(dataset.task.target, []).append(dataset)
    for language, group in groups.items():
        table.add_row(language, *_sum_cells(group))
    table.add_section()
    table.add_row("all", *_sum_cells(datasets))
    return table


def _sum_cells(datasets: Sequence[Dataset]) -> list[str]:
    """Number of tasks, and their sentences, left out sentences, source and target tokens.

    For streamed text, left out sentences are counted only among the first sentences read.
    """
    left_out = 0
    sentences = 0.0
    source_tokens = 0.0
    target_tokens = 0.0
    is_estimated = False
    is_complete = True
    for dataset in datasets:
        left_out += sum(dataset.dropped.values())
        is_estimated = is_estimated or isinstance(dataset, StreamedDataset)
        counts = _dataset_counts(dataset)
        if counts is None:
            is_complete = False
        else:
            sentences += counts.sentences
            source_tokens += counts.source_tokens
            target_tokens += counts.target_tokens

    total = _Counts(sentences, source_tokens, target_tokens) if is_complete else None
    cells = _count_cells(total, is_estimated=is_estimated)
    return [f"{len(datasets):,}", cells[0], f"{left_out:,}", cells[1], cells[2]]


def _task_cells(dataset: Dataset) -> list[str]:
    """Sentences, left out, source and target tokens of a task."""
    dropped = []
    for reason, lines in dataset.dropped.items():
        if lines:
            dropped.append(f"{lines} {reason}")
    left_out = ", ".join(dropped) or "none"
    is_estimated = isinstance(dataset, StreamedDataset)
    if is_estimated:
        left_out += f" of the first {dataset.sample.rows_read:,}"
    cells = _count_cells(_dataset_counts(dataset), is_estimated=is_estimated)
    return [cells[0], left_out, cells[1], cells[2]]


def _dataset_counts(dataset: Dataset) -> _Counts | None:
    """Sentences and tokens of a dataset; None for streamed text whose size is unknown."""
    source_tokens = int(dataset.source_lengths.sum())
    target_tokens = int(dataset.target_lengths.sum())
    if not isinstance(dataset, StreamedDataset):
        return _Counts(len(dataset.source_lengths), source_tokens, target_tokens)
    if dataset.estimated_size is None:
        return None
    factor = dataset.estimated_size / dataset.sample.rows_read
    return _Counts(dataset.estimated_size, factor * source_tokens, factor * target_tokens)


def _count_cells(counts: _Counts | None, *, is_estimated: bool) -> list[str]:
    """Sentences, source tokens and target tokens in words."""
    if counts is None:
        return ["not known"] * 3
    prefix = "about " if is_estimated else ""
    return [f"{prefix}{round(count):,}" for count in counts]
