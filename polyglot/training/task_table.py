"""Tables of the tasks of a dry run; with many tasks, their sums by target language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from polyglot.core.errors import abbreviate
from polyglot.core.tables import FoldedTable
from polyglot.data.dataset import TaskDataset
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.tasks.back_translation import BackTranslationDraws, BackTranslationTask
from polyglot.tasks.pairs import Task

Dataset = TaskDataset | StreamedDataset

MAX_TASKS = 200
"""With more tasks than this, a row of the table is a target language."""


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
    totals = [0.0, 0.0, 0.0]
    are_known = True
    is_estimated = False
    for dataset in datasets:
        left_out += sum(dataset.dropped.values())
        sentences = len(dataset.source_lengths)
        factor = 1.0
        if isinstance(dataset, StreamedDataset):
            is_estimated = True
            if dataset.estimated_size is None:
                are_known = False
                continue
            sentences = dataset.estimated_size
            factor = dataset.estimated_size / dataset.sample.rows_read
        totals[0] += sentences
        totals[1] += factor * int(dataset.source_lengths.sum())
        totals[2] += factor * int(dataset.target_lengths.sum())

    prefix = "about " if is_estimated else ""
    numbers = ["not known"] * len(totals)
    if are_known:
        numbers = [f"{prefix}{round(total):,}" for total in totals]
    total_sentences, sources, targets = numbers
    return [f"{len(datasets):,}", total_sentences, f"{left_out:,}", sources, targets]


def _task_cells(dataset: Dataset) -> list[str]:
    """Sentences, left out, source and target tokens of a task.

    The numbers of streamed text are estimated from its first sentences.
    """
    source_tokens = int(dataset.source_lengths.sum())
    target_tokens = int(dataset.target_lengths.sum())
    dropped = []
    for reason, lines in dataset.dropped.items():
        if lines:
            dropped.append(f"{lines} {reason}")
    left_out = ", ".join(dropped) or "none"
    if not isinstance(dataset, StreamedDataset):
        numbers = [len(dataset.source_lengths), source_tokens, target_tokens]
        sentences, sources, targets = (f"{number:,}" for number in numbers)
        return [sentences, left_out, sources, targets]

    left_out += f" of the first {dataset.sample.rows_read:,}"
    if dataset.estimated_size is None:
        return ["not known", left_out, "not known", "not known"]
    factor = dataset.estimated_size / dataset.sample.rows_read
    return [
        f"about {dataset.estimated_size:,}",
        left_out,
        f"about {round(factor * source_tokens):,}",
        f"about {round(factor * target_tokens):,}",
    ]
