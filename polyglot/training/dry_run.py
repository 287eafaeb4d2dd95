"""What a configuration would do, found out without training: tasks, vocabularies, parameters, memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.table import Table

from polyglot.config.schema import Config
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora import Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.streaming import StreamedDataset
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, match_pairs
from polyglot.training.build import build_datasets, build_model, build_schedule, dataset_sizes
from polyglot.training.memory_estimate import (
    MEBIBYTE,
    PROGRAM_MEBIBYTES,
    count_parameters,
    describe_memory,
    memory_warning,
    activation_memory,
    parameter_memory,
)
from polyglot.training.placement import Placement, check_processes, build_placement
from polyglot.training.preflight import preflight, directions
from polyglot.training.vocabularies import initial_vocabularies, learn_symbols
from polyglot.training.warm_start import WarmStart, freeze

logger = logging.getLogger("polyglot")

MAX_LISTED_PROCESSES = 8
"""So many processes are shown one by one."""


@dataclass(frozen=True)
class TrainingPlan:
    """All that can be said of a run before its first step."""

    config: Config
    vocabulary_sizes: dict[str, int]
    datasets: dict[str, TaskDataset | StreamedDataset]
    parameters: dict[str, int]
    """by component"""
    placement: Placement

    def memory(self) -> dict[str, int]:
        """Bytes by purpose, estimated; of several processes those of the largest."""
        largest = max(
            map(self.parameters_of, range(self.placement.processes)),
            key=lambda own: sum(own.values()),
        )
        parameters = parameter_memory(
            self.config, largest, trained_at_once=self.placement.trained_at_once
        )
        return parameters | {"activations": activation_memory(self.config, self.datasets)}

    def parameters_of(self, process: int) -> dict[str, int]:
        """How many parameters a process has, by component."""
        return {
            name: count_parameters
            for name, count_parameters in self.parameters.items()
            if process in self.placement.holders(name)
        }

    def tables(self) -> Iterator[Table]:
        """For the terminal."""
        tasks = Table(
            "task", "sentences", "left out", "source tokens", "target tokens", title="Tasks"
        )
        for name, dataset in self.datasets.items():
            about, of = "", ""
            sentences, factor = len(dataset.source_lengths), 1.0
            if isinstance(
                dataset, StreamedDataset
            ):  # what it has is known of its first sentences only
                about, of = "about ", f" of the first {dataset.sample.seen:,}"
                sentences, factor = (
                    dataset.about,
                    dataset.about and dataset.about / dataset.sample.seen,
                )
            dropped = ", ".join(
                f"{lines} {reason}" for reason, lines in dataset.dropped.items() if lines
            )
            tokens = (
                int(lengths.sum()) for lengths in (dataset.source_lengths, dataset.target_lengths)
            )
            figures = (sentences, *(factor and round(factor * one) for one in tokens))
            told = ["not known" if one is None else f"{about}{one:,}" for one in figures]
            tasks.add_row(name, told[0], f"{dropped or 'none'}{of}", *told[1:])
        yield tasks
        vocabularies = Table("language", "pieces", title="Vocabularies")
        for language, size in self.vocabulary_sizes.items():
            vocabularies.add_row(language, f"{size:,}")
        yield vocabularies
        components = Table("component", "parameters", title="Components")
        for name, parameters in self.parameters.items():
            components.add_row(name, f"{parameters:,}")
        components.add_section()
        components.add_row("all", f"{sum(self.parameters.values()):,}")
        yield components
        several = self.placement.processes > 1
        if several:
            yield self._processes()
        title = "Memory of training, estimated" + (", of one process" if several else "")
        memory = Table("memory for", "MiB", "which is", title=title)
        sizes, made_of = (
            self.memory(),
            describe_memory(self.config, trained_at_once=self.placement.trained_at_once),
        )
        for purpose, size in sizes.items():
            memory.add_row(purpose, f"{size / MEBIBYTE:,.0f}", made_of[purpose])
        memory.add_section()
        memory.add_row(
            "all",
            f"{sum(sizes.values()) / MEBIBYTE:,.0f}",
            f"besides the program itself, about {PROGRAM_MEBIBYTES} MiB",
        )
        yield memory

    def _processes(self) -> Table:
        """Each of a few processes; of many those with the fewest and the most parameters."""
        number = self.placement.processes
        rows = [
            (sum(self.parameters_of(one).values()), len(self.placement.tasks(one)), str(one))
            for one in range(number)
        ]
        if number > MAX_LISTED_PROCESSES:
            (*least, first), (*most, last) = min(rows), max(rows)
            rows = [(*least, f"{first}, the smallest of {number}"), (*most, f"{last}, the largest")]
            rows = rows if least != most else [(*least, f"each of {number}")]
        table = Table("process", "tasks", "parameters", title="Processes")
        for parameters, tasks, name in rows:
            table.add_row(name, f"{tasks:,}", f"{parameters:,}")
        return table


def plan_training(config: Config, processes: int = 1, *, begun: Run | None = None) -> TrainingPlan:
    """Check a configuration with its data and this machine; nothing is written but the cache of the text.

    processes: that shall train. begun: the run that shall go on with it, whose vocabularies and components are there.
    """
    check_processes(config, processes)
    corpora = preflight(config, begun=begun is not None)
    _check_held_out(config, config.data.valid, [task.pair for task in config.tasks])
    if config.validation.best_by == "bleu":
        _check_held_out(
            config, config.data.valid, match_pairs(config.validation.bleu_pairs, config.languages)
        )
    _check_held_out(config, config.data.test, directions(config))
    run, initial = (
        begun or Run.for_config(config),
        WarmStart(config) if config.initialize and not begun else None,
    )
    if begun:
        vocabularies = {language: begun.vocabularies[language] for language in config.languages}
    else:
        run.symbols = learn_symbols(config, corpora, initial)
        vocabularies = initial_vocabularies(
            config, corpora, run.normalisers, initial, languages=config.languages
        )
    datasets = build_datasets(config, corpora, vocabularies, run.normalisers, config.tasks)
    placement = build_placement(build_schedule(config, dataset_sizes(datasets)), config, processes)
    with torch.device("meta"):
        model = build_model(config, vocabularies, seed=None)
    if initial:
        initial.check_shapes(model)
    freeze(model, config.freeze, config.tasks)
    found = TrainingPlan(
        config,
        {language: len(each) for language, each in vocabularies.items()},
        datasets,
        count_parameters(model),
        placement,
    )
    if more := memory_warning(found.memory()):
        logger.warning(more)
    return found


def _check_held_out(
    config: Config, corpora: Sequence[ComponentConfig], wanted: Sequence[LanguagePair]
) -> None:
    """Raises DataError where validation or evaluation would: for text of none of the pairs, or for text that cannot be used."""
    if corpora:
        text = Corpora(corpora, folder=Path(config.data.folder), languages=config.languages)
        text.check_any(wanted)
        for pair in wanted:
            if pair in text.pairs():
                text.parallel(pair)
