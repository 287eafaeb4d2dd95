"""Who trains what: a pure function of the step, so that every process knows what every other one does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, abbreviate
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.schedule import Schedule
from polyglot.tasks.sharing import component_names

ScheduledBatch = tuple[int, Task]
"""A process and the task that it has a batch of."""


class Placement:
    """Which process trains which tasks, and has what they need."""

    everywhere = True
    """Whether every process has every component."""

    def __init__(self, schedule: Schedule, config: Config, processes: int) -> None:
        self.schedule, self.config, self.processes = schedule, config, processes

    def at(self, step: int) -> list[ScheduledBatch]:
        """The batches of an update, in the order in which the texts are gone through."""
        raise NotImplementedError

    def tasks(self, process: int) -> list[Task]:
        """The tasks that a process may draw."""
        return self.config.tasks

    def readers(self, task: Task) -> list[int]:
        """The processes that may draw a task, and so divide its text when it is streamed."""
        return list(range(self.processes))

    def pairs(self, process: int) -> list[LanguagePair]:
        """The directions that a process has the components of."""
        return self.config.pairs

    def holders(self, component: str) -> tuple[int, ...]:
        """The processes that have a component."""
        return tuple(range(self.processes))

    @property
    def trained_at_once(self) -> int:
        """Tasks whose components a process has gradients of in an update: where it has everything, also those that others train."""
        others = self.processes if self.everywhere and self.config.parallel.tasks == "mixed" else 1
        return self.config.schedule.tasks_per_update * others

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Some of the processes, not all, that have components in common."""
        return []


class Replicated(Placement):
    """Every process has every component and every text."""

    def at(self, step: int) -> list[ScheduledBatch]:
        """As one process alone would take them with so many more tasks an update; or for all the same, each with other sentences."""
        several = {} if self.config.parallel.tasks == "same" else {"processes": self.processes}
        drawn = [
            self.schedule.tasks_at(step, **several, **({"process": one} if several else {}))
            for one in range(self.processes)
        ]
        return [(process, task) for process, own in enumerate(drawn) for task in own]


class Partitioned(Placement):
    """Each process has tasks of its own, and only the components that they use; those of several are in all of them."""

    everywhere = False

    def __init__(self, schedule: Schedule, config: Config, processes: int) -> None:
        """Raises ConfigError for more processes than tasks can be divided over."""
        super().__init__(schedule, config, processes)
        self.assigned = assign_tasks(schedule, config.tasks, processes)

    def at(self, step: int) -> list[ScheduledBatch]:
        drawn = [
            self.schedule.local_tasks_at(step, own, process=process)
            for process, own in enumerate(self.assigned)
        ]
        return [(process, task) for process, own in enumerate(drawn) for task in own]

    def tasks(self, process: int) -> list[Task]:
        return self.assigned[process]

    def readers(self, task: Task) -> list[int]:
        return [process for process, own in enumerate(self.assigned) if task in own]

    def pairs(self, process: int) -> list[LanguagePair]:
        """What was trained before, the first process keeps."""
        before = map(LanguagePair.parse, self.config.trained_before if process == 0 else ())
        return list(dict.fromkeys([*(task.pair for task in self.assigned[process]), *before]))

    def holders(self, component: str) -> tuple[int, ...]:
        return self._holders.get(component, ())

    @property
    def groups(self) -> list[tuple[int, ...]]:
        return sorted(
            members for members in set(self._holders.values()) if 1 < len(members) < self.processes
        )

    @cached_property
    def _holders(self) -> dict[str, tuple[int, ...]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for process in range(self.processes):
            for name in {
                name
                for pair in self.pairs(process)
                for name in component_names(pair, self.config.sharing)
            }:
                found[name].append(process)
        return {name: tuple(members) for name, members in found.items()}

    def departure(self) -> tuple[float, float]:
        """How often the rarest and the most frequent task are drawn, against what the schedule says: each process draws equally often."""
        loads = [sum(map(self.schedule.share, own)) for own in self.assigned]
        return sum(loads) / len(loads) / max(loads), sum(loads) / len(loads) / min(loads)


def assign_tasks(schedule: Schedule, tasks: Sequence[Task], processes: int) -> list[list[Task]]:
    """The tasks of each process: of the groups that stay together those of the largest load first.

    Raises ConfigError for more processes than such groups.
    """
    loads, assigned = [0.0] * processes, [set[Task]() for _ in range(processes)]
    for own in sorted(task_groups(tasks, processes), key=lambda own: -sum(map(schedule.share, own))):
        least = loads.index(min(loads))
        loads[least] += sum(map(schedule.share, own))
        assigned[least].update(own)
    return [[task for task in tasks if task in own] for own in assigned]


def task_groups(tasks: Sequence[Task], processes: int) -> list[list[Task]]:
    """The tasks that stay together: those of a language, of a task's two the one that fewer tasks have.

    Raises ConfigError for more processes than groups.
    """
    often = Counter(language for task in tasks for language in {task.source, task.target})
    groups: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[min(task.source, task.target, key=often.__getitem__)].append(task)
    if len(groups) < processes:
        raise ConfigError(
            f"parallel.placement: 'partitioned' over {processes} processes, but those tasks that stay together, by the language that fewer "
            f"tasks have, are {len(groups)} groups ({abbreviate(sorted(groups))}); start {len(groups)} processes at most, or use 'replicated'"
        )
    return list(groups.values())


def check_processes(config: Config, processes: int) -> None:
    """Raises ConfigError where the tasks cannot be divided over so many: before any text is read."""
    if is_partitioned(config, processes):
        task_groups(config.tasks, processes)


def build_placement(schedule: Schedule, config: Config, processes: int) -> Placement:
    """As the configuration says."""
    return (Partitioned if is_partitioned(config, processes) else Replicated)(
        schedule, config, processes
    )


def is_partitioned(config: Config, processes: int) -> bool:
    """Whether tasks are divided over processes: one alone has everything."""
    return config.parallel.placement == "partitioned" and processes > 1
