"""Dry run: tasks, vocabularies, parameters and memory of a configuration, without training."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import torch

from polyglot.config.schema import Config
from polyglot.core.registry import ComponentConfig
from polyglot.core.tables import FoldedTable
from polyglot.data.corpora import Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.overlap import Overlap
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.runs.data_folder import find_data_folder
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, match_pairs
from polyglot.training.build import (
    build_datasets,
    build_model,
    build_schedule,
    dataset_sizes,
    warn_about_untrained,
)
from polyglot.training.epochs import has_steps, mean_batch_sizes, with_steps_of_epochs
from polyglot.training.memory_estimate import (
    PROGRAM_MEBIBYTES,
    activation_memory,
    count_option_parameters,
    count_parameters,
    describe_memory,
    in_mebibytes,
    memory_warning,
    parameter_memory,
)
from polyglot.training.overlap import overlap_table, training_overlaps
from polyglot.training.placement import Placement, build_placement, check_processes
from polyglot.training.preflight import check_and_open_corpora, directions
from polyglot.training.setting_warnings import warn_about_settings
from polyglot.training.task_table import back_translation_table, task_table
from polyglot.training.vocabularies import initial_vocabularies, learn_symbols
from polyglot.training.warm_start import freeze, open_warm_start

logger = logging.getLogger("polyglot")

MAX_LISTED_PROCESSES = 8
"""with more processes than this, the table shows only the smallest and the largest"""


class ProcessRow(NamedTuple):
    """Row of the table of processes; rows are compared by their fields in this order."""

    parameters: int
    tasks: int
    name: str


@dataclass(frozen=True)
class TrainingPlan:
    """Tasks, vocabularies, parameters and placement of a training run before its first step."""

    config: Config
    vocabulary_sizes: dict[str, int]
    datasets: dict[str, TaskDataset | StreamedDataset]
    parameters: dict[str, int]
    """number of parameters by component"""
    placement: Placement
    option_parameters: dict[str, dict[str, int]]
    """number of parameters of each option, by component; components without options are left out"""
    overlaps: list[Overlap]
    """held-out text with sentences of the training text"""

    def memory(self) -> dict[str, int]:
        """Estimated bytes by purpose; with several processes, those of the largest one."""
        return dict(self._memory)

    @cached_property
    def _memory(self) -> dict[str, int]:
        ranks = range(self.placement.process_count)
        counts_by_rank = [self.parameters_of(rank) for rank in ranks]
        largest = max(counts_by_rank, key=lambda counts: sum(counts.values()))
        memory = parameter_memory(
            self.config,
            largest,
            gradient_task_count=self.placement.gradient_task_count,
        )
        memory["activations"] = activation_memory(self.config, self.datasets)
        return memory

    def parameters_of(self, rank: int) -> dict[str, int]:
        """Number of parameters that a rank has, by component."""
        counts = {}
        for name, count in self.parameters.items():
            if rank in self.placement.ranks_of(name):
                counts[name] = count
        return counts

    def tables(self) -> Iterator[FoldedTable]:
        """Tables for the terminal."""
        yield task_table(self.datasets)
        schedule = self.placement.schedule
        if schedule.back_translation:
            yield back_translation_table(schedule.back_translation, schedule.tasks)
        if self.overlaps:
            yield overlap_table(self.overlaps)
        yield self._vocabulary_table()
        yield self._component_table()
        if self.option_parameters:
            yield self._option_table()
        if self.placement.process_count > 1:
            yield self._process_table()
        yield self._memory_table()

    def _vocabulary_table(self) -> FoldedTable:
        table = FoldedTable("language", "pieces", title="Vocabularies")
        for language, size in self.vocabulary_sizes.items():
            table.add_row(language, f"{size:,}")
        return table

    def _component_table(self) -> FoldedTable:
        table = FoldedTable("component", "parameters", title="Components")
        for name, count in self.parameters.items():
            table.add_row(name, f"{count:,}")
        table.add_section()
        total = sum(self.parameters.values())
        table.add_row("all", f"{total:,}")
        return table

    def _option_table(self) -> FoldedTable:
        """Active options of each component; their parameters are part of the component's."""
        table = FoldedTable("component", "option", "parameters", title="Options")
        for component, counts in self.option_parameters.items():
            for option, count in counts.items():
                table.add_row(component, option, f"{count:,}")
        return table

    def _process_table(self) -> FoldedTable:
        """Tasks and parameters of each process, or of the smallest and the largest process."""
        process_count = self.placement.process_count
        rows = []
        for rank in range(process_count):
            parameters = sum(self.parameters_of(rank).values())
            tasks = len(self.placement.tasks_of(rank))
            rows.append(ProcessRow(parameters, tasks, str(rank)))

        if process_count > MAX_LISTED_PROCESSES:
            rows = _smallest_and_largest(rows)

        table = FoldedTable("process", "tasks", "parameters", title="Processes")
        for parameters, tasks, name in rows:
            table.add_row(name, f"{tasks:,}", f"{parameters:,}")
        return table

    def _memory_table(self) -> FoldedTable:
        title = "Memory of training, estimated"
        if self.placement.process_count > 1:
            title += ", of one process"
        table = FoldedTable(
            "memory for",
            "MiB",
            "details",
            title=title,
            text_columns={"details"},
        )

        memory = self.memory()
        descriptions = describe_memory(
            self.config,
            gradient_task_count=self.placement.gradient_task_count,
        )
        for purpose, size in memory.items():
            table.add_row(purpose, in_mebibytes(size), descriptions[purpose])

        table.add_section()
        total = sum(memory.values())
        table.add_row(
            "all",
            in_mebibytes(total),
            f"plus about {PROGRAM_MEBIBYTES} MiB for the program itself (not counted here)",
        )
        return table


def plan_training(
    config: Config,
    process_count: int = 1,
    *,
    resumed_run: Run | None = None,
) -> TrainingPlan:
    """Check a configuration with its data and this machine; writes nothing but the text cache.

    process_count: number of processes that will train. resumed_run: run to continue with this
    configuration; it already has vocabularies and components.
    """
    check_processes(config, process_count)
    corpora = check_and_open_corpora(config, resuming=resumed_run is not None, run=resumed_run)
    _check_held_out_texts(config, resumed_run)
    warm_start = open_warm_start(config, resuming=resumed_run is not None)

    if resumed_run:
        run = resumed_run
        vocabularies = {language: run.vocabularies[language] for language in config.languages}
    else:
        run = Run.for_config(config)
        run.symbols = learn_symbols(config, corpora, warm_start)
        vocabularies = initial_vocabularies(
            config,
            corpora,
            run.normalisers,
            warm_start,
            languages=config.languages,
        )
    datasets = build_datasets(config, corpora, vocabularies, run.normalisers, config.tasks)
    sizes = dataset_sizes(datasets)
    placement = build_placement(build_schedule(config, sizes), config, process_count)
    if not has_steps(config, resuming=resumed_run is not None):
        config = with_steps_of_epochs(
            config,
            placement,
            sizes=sizes,
            batch_sizes=mean_batch_sizes(datasets, config),
        )
    warn_about_untrained(placement.schedule, config)

    with torch.device("meta"):
        model = build_model(config, vocabularies, seed=None)
    if warm_start:
        warm_start.check_shapes(model)
    freeze(model, config.freeze, config.tasks)
    warn_about_settings(config, model, resuming=resumed_run is not None)

    plan = TrainingPlan(
        config,
        {language: len(vocabulary) for language, vocabulary in vocabularies.items()},
        datasets,
        count_parameters(model),
        placement,
        count_option_parameters(model),
        training_overlaps(config, corpora, resumed_run),
    )
    _warn_about_memory(plan)
    return plan


def _warn_about_memory(plan: TrainingPlan) -> None:
    warning = memory_warning(plan.memory())
    if warning:
        logger.warning(warning)


def _check_held_out_texts(config: Config, run: Run | None) -> None:
    """Check the validation and test text.

    These are the validation text of the tasks and of the pairs whose BLEU is measured, and the test
    text of all directions.
    """
    _check_held_out_text(config, run, config.data.valid, [task.pair for task in config.tasks])
    if config.validation.best_by == "bleu":
        bleu_pairs = match_pairs(config.validation.bleu_pairs, config.languages)
        _check_held_out_text(config, run, config.data.valid, bleu_pairs)
    _check_held_out_text(config, run, config.data.test, directions(config))


def _check_held_out_text(
    config: Config,
    run: Run | None,
    corpora: Sequence[ComponentConfig],
    pairs: Sequence[LanguagePair],
) -> None:
    """Check that held-out text can be used.

    Raises DataError in the same cases as validation or evaluation: if no pair has text, or if a
    text cannot be used.
    """
    if not corpora:
        return
    if run:
        folder = find_data_folder(run, corpora)
    else:
        folder = Path(config.data.folder)
    text = Corpora(corpora, folder=folder, languages=config.languages)
    text.check_any(pairs)
    for pair in pairs:
        if pair in text.pairs():
            text.parallel(pair)


def _smallest_and_largest(rows: Sequence[ProcessRow]) -> list[ProcessRow]:
    """Rows of the smallest and the largest process; one row if they are equal."""
    process_count = len(rows)
    smallest = min(rows)
    largest = max(rows)
    if smallest._replace(name="") == largest._replace(name=""):
        return [smallest._replace(name=f"each of {process_count}")]
    return [
        smallest._replace(name=f"{smallest.name}, the smallest of {process_count}"),
        largest._replace(name=f"{largest.name}, the largest"),
    ]
