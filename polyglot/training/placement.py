"""Placement: maps tasks and components to ranks.

A placement is a pure function of the step, so every process knows the tasks of all processes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, abbreviate
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.schedule import Schedule
from polyglot.tasks.sharing import component_names

Ranks = tuple[int, ...]


class ScheduledBatch(NamedTuple):
    """One batch of an update: the rank that trains it and its task."""

    rank: int
    task: Task


class Placement:
    """Maps tasks and components to ranks; by default every rank has everything."""

    replicated = True
    """True if every rank has every component"""

    def __init__(self, schedule: Schedule, config: Config, process_count: int) -> None:
        self.schedule = schedule
        self.config = config
        self.process_count = process_count

    def batches_at(self, step: int) -> list[ScheduledBatch]:
        """Batches of one update on all ranks, in the order in which they take their sentences."""
        raise NotImplementedError

    def tasks_of(self, rank: int) -> list[Task]:
        """Tasks that a rank may draw."""
        return self.config.tasks

    def readers(self, task: Task) -> list[int]:
        """Ranks that may draw a task; they divide its text if it is streamed."""
        return list(range(self.process_count))

    def pairs_of(self, rank: int) -> list[LanguagePair]:
        """Language pairs whose components a rank has."""
        return self.config.pairs

    def ranks_of(self, component: str) -> Ranks:
        """Ranks that have a component."""
        return tuple(range(self.process_count))

    @property
    def gradient_task_count(self) -> int:
        """Number of tasks whose components have gradients on a rank at the end of an update.

        A rank that has every component also receives the gradients of the tasks of other ranks.
        """
        tasks_per_update = self.config.schedule.tasks_per_update
        if self.replicated and self.config.parallel.tasks == "mixed":
            return tasks_per_update * self.process_count
        return tasks_per_update

    @property
    def sharing_rank_groups(self) -> list[Ranks]:
        """Sets of ranks that share a component: more than one rank, but not all."""
        return []


class Replicated(Placement):
    """Placement in which every rank has every component and every text."""

    def batches_at(self, step: int) -> list[ScheduledBatch]:
        """Batches of one update on all ranks.

        `parallel.tasks: mixed` draws like a single process with N times as many tasks per update,
        N = number of processes. `same` draws the same tasks on every rank, each rank with different
        sentences.
        """
        batches = []
        for rank in range(self.process_count):
            if self.config.parallel.tasks == "same":
                tasks = self.schedule.tasks_at(step)
            else:
                tasks = self.schedule.tasks_at(step, process=rank, processes=self.process_count)
            batches += [ScheduledBatch(rank, task) for task in tasks]
        return batches


class Partitioned(Placement):
    """Placement in which each rank has its own tasks and only the components that they use.

    A component that the tasks of several ranks use is on all of these ranks.
    """

    replicated = False

    def __init__(self, schedule: Schedule, config: Config, process_count: int) -> None:
        """Raises ConfigError for more processes than groups of tasks."""
        super().__init__(schedule, config, process_count)
        self.assigned = assign_tasks(schedule, config.tasks, process_count)

    def batches_at(self, step: int) -> list[ScheduledBatch]:
        batches = []
        for rank, rank_tasks in enumerate(self.assigned):
            drawn = self.schedule.local_tasks_at(step, rank_tasks, process=rank)
            batches += [ScheduledBatch(rank, task) for task in drawn]
        return batches

    def tasks_of(self, rank: int) -> list[Task]:
        return self.assigned[rank]

    def readers(self, task: Task) -> list[int]:
        ranks = []
        for rank, tasks in enumerate(self.assigned):
            if task in tasks:
                ranks.append(rank)
        return ranks

    def pairs_of(self, rank: int) -> list[LanguagePair]:
        """Language pairs whose components a rank has.

        The first rank also keeps the pairs that an earlier run trained (`trained_before`).
        """
        tasks = self.assigned[rank]
        pairs = [task.pair for task in tasks]
        if rank == 0:
            pairs += [LanguagePair.parse(name) for name in self.config.trained_before]
        return list(dict.fromkeys(pairs))

    def ranks_of(self, component: str) -> Ranks:
        return self._ranks_by_component.get(component, ())

    @property
    def sharing_rank_groups(self) -> list[Ranks]:
        groups = []
        for ranks in set(self._ranks_by_component.values()):
            if 1 < len(ranks) < self.process_count:
                groups.append(ranks)
        return sorted(groups)

    @cached_property
    def _ranks_by_component(self) -> dict[str, Ranks]:
        ranks: defaultdict[str, list[int]] = defaultdict(list)
        for rank in range(self.process_count):
            components: set[str] = set()
            for pair in self.pairs_of(rank):
                components.update(component_names(pair, self.config.sharing))
            for name in components:
                ranks[name].append(rank)
        return {name: tuple(component_ranks) for name, component_ranks in ranks.items()}

    def sampling_ratios(self) -> tuple[float, float]:
        """Smallest and largest ratio of a task's real to its scheduled frequency.

        Each rank draws equally often, so the tasks of a rank with a small load are drawn more
        often than the schedule says.
        """
        loads = [_load(self.schedule, tasks) for tasks in self.assigned]
        mean = sum(loads) / len(loads)
        return mean / max(loads), mean / min(loads)


def assign_tasks(
    schedule: Schedule,
    tasks: Sequence[Task],
    process_count: int,
) -> list[list[Task]]:
    """Assign task groups to ranks: the largest group first, to the rank with the smallest load.

    Raises ConfigError for more processes than groups.
    """
    groups = task_groups(tasks, process_count)
    groups.sort(key=lambda group: -_load(schedule, group))

    loads = [0.0] * process_count
    rank_of: dict[Task, int] = {}
    for group in groups:
        rank = loads.index(min(loads))
        loads[rank] += _load(schedule, group)
        rank_of.update(dict.fromkeys(group, rank))

    tasks_by_rank: list[list[Task]] = [[] for _ in range(process_count)]
    for task in tasks:  # each rank keeps the order of the configuration
        rank = rank_of[task]
        tasks_by_rank[rank].append(task)
    return tasks_by_rank


def task_groups(tasks: Sequence[Task], process_count: int) -> list[list[Task]]:
    """Group tasks by language; the tasks of a group stay on one rank.

    Of its two languages, a task is grouped under the one that fewer tasks use. Raises ConfigError
    for more processes than groups.
    """
    frequency: Counter[str] = Counter()
    for task in tasks:
        frequency.update({task.source, task.target})

    groups: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        language = min(task.source, task.target, key=frequency.__getitem__)
        groups[language].append(task)

    if len(groups) < process_count:
        raise ConfigError(
            f"parallel.placement: 'partitioned' divides {len(groups)} groups of tasks "
            f"({abbreviate(sorted(groups))}), but there are {process_count} processes; "
            f"start at most {len(groups)} processes, or use 'replicated'"
        )
    return list(groups.values())


def _load(schedule: Schedule, tasks: Sequence[Task]) -> float:
    """Sum of the sampling weights of these tasks."""
    return sum(schedule.share(task) for task in tasks)


def check_processes(config: Config, process_count: int) -> None:
    """Check a placement before any text is read.

    Raises ConfigError for more processes than groups of tasks, and for back-translation, which
    needs the components of all languages in every process.
    """
    if not is_partitioned(config, process_count):
        return
    if config.schedule.back_translation is not None:
        raise ConfigError(
            "schedule.back_translation: needs encoders and decoders of all its languages in every "
            "process, and parallel.placement 'partitioned' divides them; use 'replicated', or a "
            "single process"
        )
    task_groups(config.tasks, process_count)


def build_placement(schedule: Schedule, config: Config, process_count: int) -> Placement:
    """Placement that the configuration names."""
    if is_partitioned(config, process_count):
        return Partitioned(schedule, config, process_count)
    return Replicated(schedule, config, process_count)


def is_partitioned(config: Config, process_count: int) -> bool:
    """Return whether tasks are divided over ranks; a single process always has everything."""
    return config.parallel.placement == "partitioned" and process_count > 1
