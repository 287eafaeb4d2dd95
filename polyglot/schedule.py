"""Which tasks train at which step: a pure function of seed and step, so that every process knows it without asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy
from pydantic import Field

from polyglot.errors import ConfigError
from polyglot.registry import ComponentConfig, Registry
from polyglot.task import LanguagePair, Task, match_pairs

SCHEDULES: Registry[Schedule] = Registry("schedule")


class Phase(ComponentConfig):
    """Some of the tasks, for some of the steps."""

    from_step: int = Field(0, ge=0)
    """First step of the phase."""
    until_step: int | None = Field(None, ge=1)
    """First step after the phase; by default it lasts to the end."""
    pairs: list[str] = []
    """Pairs that train in this phase, as patterns."""
    copies: bool | list[str] = False
    """Languages that are copied in this phase; true for all."""

    def covers(self, step: int) -> bool:
        return self.from_step <= step and (self.until_step is None or step < self.until_step)


class Schedule:
    """The tasks of a run, and who is next."""

    class Config(ComponentConfig):
        pairs: list[str] = ["*-*"]
        """Pairs that train: `de-en`, `*-en`, `en-*`, `*-*`."""
        exclude: list[str] = []
        """Pairs that do not, in the same manner."""
        copies: bool | list[str] = False
        """Languages that also learn to copy their own sentences; true for all."""
        copy_weight: float = Field(1.0, gt=0)
        """Weight of a copy beside a pair's 1."""
        tasks_per_update: int = Field(1, ge=1)
        """How many tasks contribute a batch to each update."""
        phases: list[Phase] = []
        """Narrows the tasks for some steps; a step that no phase covers has all of them."""

    def __init__(self, config: Config, *, tasks: Sequence[Task], languages: Sequence[str], sizes: Mapping[LanguagePair, int], seed: int) -> None:
        """sizes: sentences of each task."""
        self.config, self.tasks, self.seed = config, list(tasks), seed
        self._sizes = sizes
        self._phases = [(phase, set(_pairs(phase.pairs, [], phase.copies, languages))) for phase in config.phases]

    def at(self, step: int, *, process: int = 0, processes: int = 1) -> list[Task]:
        """The tasks of one update on one process."""
        active = self.active(step)
        first = (step * processes + process) * self.config.tasks_per_update
        return [self.choose(active, first + number) for number in range(self.config.tasks_per_update)]

    def active(self, step: int) -> list[Task]:
        """The tasks that may train at this step."""
        phases = [pairs for phase, pairs in self._phases if phase.covers(step)]
        return [task for task in self.tasks if not phases or any(task.pair in pairs for pairs in phases)]

    def choose(self, active: Sequence[Task], draw: int) -> Task:
        """The task of the draw-th batch of the run: drawn by the shares."""
        shares = numpy.cumsum([self.share(task) for task in active])
        # One counter-based generator a draw: any draw is known without those before it.
        point = numpy.random.Generator(numpy.random.Philox(key=self.seed, counter=[0, 0, 0, draw])).random() * shares[-1]
        return active[int(numpy.searchsorted(shares, point, side="right"))]

    def share(self, task: Task) -> float:
        """How often the task is drawn, relative to others."""
        raise NotImplementedError


@SCHEDULES.register("uniform")
class Uniform(Schedule):
    """Every task as often as any other (the paper's)."""

    def share(self, task: Task) -> float:
        return task.weight


@SCHEDULES.register("round_robin")
class RoundRobin(Schedule):
    """One task after the other."""

    def choose(self, active: Sequence[Task], draw: int) -> Task:
        return active[draw % len(active)]


@SCHEDULES.register("proportional")
class Proportional(Schedule):
    """As often as its share of the sentences."""

    def share(self, task: Task) -> float:
        return task.weight * self._sizes[task.pair]


@SCHEDULES.register("temperature")
class Temperature(Schedule):
    """Sentences to the power 1/T: proportional at 1, uniform when T is large (Arivazhagan et al. 2019, section 3.1)."""

    class Config(Schedule.Config):
        temperature: float = Field(5.0, ge=1)
        """T."""

    def share(self, task: Task) -> float:
        return task.weight * self._sizes[task.pair] ** (1 / self.config.temperature)


@SCHEDULES.register("weighted")
class Weighted(Schedule):
    """By weights that the user names."""

    class Config(Schedule.Config):
        weights: dict[str, float] = {}
        """Weight of single pairs, such as `de-en: 2.0`; the others have 1."""

    def share(self, task: Task) -> float:
        return task.weight * self.config.weights.get(task.name, 1.0)


def tasks_of(config: Schedule.Config, languages: Sequence[str]) -> list[Task]:
    """Every task of a schedule, in the order of the languages. Raises ConfigError naming what matches nothing."""
    pairs = dict.fromkeys(_pairs(config.pairs, config.exclude, config.copies, languages))
    for number, phase in enumerate(config.phases):
        extra = [pair for pair in _pairs(phase.pairs, [], phase.copies, languages) if pair not in pairs]
        if extra:
            raise ConfigError(f"schedule.phases.{number}: {', '.join(map(str, extra))} are not among the pairs and copies of the schedule")
    for weighted in getattr(config, "weights", {}):
        if LanguagePair.parse(weighted) not in pairs:
            raise ConfigError(f"schedule.weights: {weighted} is not among the pairs and copies of the schedule: {', '.join(map(str, pairs))}")
    return [Task(pair, config.copy_weight if pair.is_copy else 1.0) for pair in pairs]


def _pairs(patterns: list[str], exclude: list[str], copies: bool | list[str], languages: Sequence[str]) -> list[LanguagePair]:
    left_out = set(match_pairs(exclude, languages))
    copied = (languages if copies is True else copies) or []
    unknown = [language for language in copied if language not in languages]
    if unknown:
        raise ConfigError(f"schedule.copies: {', '.join(unknown)} not among the languages {', '.join(languages)}")
    return [pair for pair in match_pairs(patterns, languages) if pair not in left_out] + [LanguagePair(one, one) for one in copied]
