"""What a configuration would do, found out without training: tasks, vocabularies, parameters, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from rich.table import Table

from polyglot.config import Config
from polyglot.data.batching import epoch_batches
from polyglot.data.corpora import Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.registry import ComponentConfig
from polyglot.run import Run
from polyglot.sharing import components_of
from polyglot.task import LanguagePair, match_pairs
from polyglot.training.initial import Initial, freeze
from polyglot.training.start import (
    build_datasets,
    build_model,
    build_schedule,
    check_machine,
    check_test_text,
    corpora_of,
    directions,
    initial_vocabularies,
)

MEBIBYTE = 2**20
# MiB that a training occupies on a CPU besides what it is about: the largest resident size (`ru_maxrss` of the ended process) of
# `polyglot train phrasebook` with 60 sentences and states of 8, whose own tensors are less than 2 MiB, was 515 after 4 steps and
# 550 after 40.
PROGRAM = 500


@dataclass(frozen=True)
class Plan:
    """All that can be said of a run before its first step."""

    config: Config
    vocabulary_sizes: dict[str, int]
    datasets: dict[str, TaskDataset]
    parameters: dict[str, int]
    """by component"""

    def memory(self) -> dict[str, int]:
        """Bytes by purpose; the activations are an estimate for the widest batch of the first epoch of the longest task."""
        config, total = self.config, sum(self.parameters.values())
        own = lambda pair: sum(self.parameters.get(name, 0) for name in components_of(pair, config.sharing))  # noqa: E731
        gradients = max(own(task.pair) for task in config.tasks) * config.schedule.tasks_per_update
        return {
            "parameters": 4 * total,
            "optimizer": 4 * self._kept() * total,
            "gradients": 4 * gradients,
            "activations": self._activations(),
        }

    def memory_in_words(self) -> dict[str, str]:
        """What that is, by purpose."""
        kept, batches, optimizer = self._kept(), self.config.schedule.tasks_per_update, self.config.optimizer.type
        numbers = f"{kept} number{'s' if kept > 1 else ''} of {optimizer} for each parameter"
        return {
            "parameters": "4 bytes each",
            "optimizer": numbers if kept else f"nothing: {optimizer} keeps none",
            "gradients": f"of the components that {'one task trains' if batches == 1 else f'{batches} tasks train'} in an update",
            "activations": "of the widest batch",
        }

    def _kept(self) -> int:
        """Numbers that the optimizer keeps for each parameter."""
        return {"sgd": 1 if getattr(self.config.optimizer, "momentum", 0) else 0}.get(self.config.optimizer.type, 2)

    def _activations(self) -> int:
        """Numbers kept for the way back: about 16 states for each layer and position, as many bytes each as a float has."""
        widest = 0
        batching, seed = self.config.batching, self.config.seed
        for name, dataset in self.datasets.items():
            sources, targets = dataset.source_lengths, dataset.target_lengths
            batches = epoch_batches(sources, targets, batching, seed=seed, task_name=name, epoch=0)
            cells = max(len(rows) * int(numpy.maximum(sources, targets + 1)[rows].max()) for rows in batches)
            widest = max(widest, cells)
        model = self.config.model
        layers = getattr(model.encoder, "layers", 1) * model.encoder.size + getattr(model.decoder, "layers", 1) * model.decoder.size
        return 4 * 16 * widest * (layers + model.embedding.size)

    def tables(self) -> Iterator[Table]:
        """For the terminal."""
        tasks = Table("task", "sentences", "left out", "source tokens", "target tokens", title="Tasks")
        for name, dataset in self.datasets.items():
            dropped = ", ".join(f"{count} {reason}" for reason, count in dataset.dropped.items() if count)
            counts = (int(lengths.sum()) for lengths in (dataset.source_lengths, dataset.target_lengths))
            tasks.add_row(name, f"{len(dataset):,}", dropped or "none", *(f"{count:,}" for count in counts))
        yield tasks
        vocabularies = Table("language", "pieces", title="Vocabularies")
        for language, size in self.vocabulary_sizes.items():
            vocabularies.add_row(language, f"{size:,}")
        yield vocabularies
        components = Table("component", "parameters", title="Components")
        for name, count in self.parameters.items():
            components.add_row(name, f"{count:,}")
        components.add_section()
        components.add_row("all", f"{sum(self.parameters.values()):,}")
        yield components
        memory = Table("memory for", "MiB", "which is", title="Memory of training, estimated")
        sizes, made_of = self.memory(), self.memory_in_words()
        for purpose, size in sizes.items():
            memory.add_row(purpose, f"{size / MEBIBYTE:,.0f}", made_of[purpose])
        memory.add_section()
        memory.add_row("all", f"{sum(sizes.values()) / MEBIBYTE:,.0f}", f"besides the program itself, about {PROGRAM} MiB")
        yield memory


def plan(config: Config) -> Plan:
    """Check a configuration with its data and this machine; nothing is written but the cache of the text."""
    check_machine(config)
    corpora = corpora_of(config, config.data.train)
    _check_held_out(config, config.data.valid, [task.pair for task in config.tasks])
    if config.validation.best_by == "bleu":
        _check_held_out(config, config.data.valid, match_pairs(config.validation.bleu_pairs, config.languages))
    check_test_text(config)
    _check_held_out(config, config.data.test, directions(config))
    normalisers = Run(config.run, config).normalisers
    initial = Initial(config) if config.initialize else None
    vocabularies = initial_vocabularies(config, corpora, normalisers, initial, languages=config.languages)
    datasets = build_datasets(config, corpora, vocabularies, normalisers)
    build_schedule(config, datasets)
    with torch.device("meta"):
        model = build_model(config, vocabularies, seed=None)
    if initial:
        initial.check_shapes(model)
    freeze(model, config.freeze, config.tasks)
    parameters = {name: sum(each.numel() for each in own.values()) for name, own in model.component_parameters().items()}
    return Plan(config, {language: len(each) for language, each in vocabularies.items()}, datasets, parameters)


def _check_held_out(config: Config, corpora: Sequence[ComponentConfig], wanted: Sequence[LanguagePair]) -> None:
    """Raises DataError where validation or evaluation would: for text of none of the pairs, or for text that cannot be used."""
    if corpora:
        text = Corpora(corpora, folder=Path(config.data.folder), languages=config.languages)
        text.check_any(wanted)
        for pair in wanted:
            if pair in text.pairs():
                text.parallel(pair)
