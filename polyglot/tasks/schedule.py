"""Which tasks train at which step: a pure function of seed and step, so that every process knows it without asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy
from pydantic import Field, model_validator

from polyglot.core.errors import ConfigError, collect_errors, unknown_name
from polyglot.core.registry import ComponentConfig, Registry
from polyglot.tasks.pairs import LanguagePair, Task, match_pairs

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

    @model_validator(mode="after")
    def _trains_something(self) -> Phase:
        problems = []
        if not self.pairs and not self.copies:
            problems.append("names neither pairs nor copies; name what trains in this phase")
        if self.until_step is not None and self.until_step <= self.from_step:
            problems.append(f"until_step {self.until_step} is not after from_step {self.from_step}")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def covers(self, step: int) -> bool:
        return self.from_step <= step and (self.until_step is None or step < self.until_step)


class Schedule:
    """The tasks of a run, and who is next."""

    class Config(ComponentConfig):
        pairs: list[str] = ["*-*"]
        """Pairs that train: `de-en`, `*-en`, `en-*`, `*-*`."""
        exclude: list[str] = []
        """Pairs that do not, in the same manner; `de-de` is a copy."""
        copies: bool | list[str] = False
        """Languages that also learn to copy their own sentences; true for all."""
        copy_weight: float = Field(1.0, gt=0, le=1000)
        """Weight of a copy beside a pair's 1."""
        tasks_per_update: int = Field(1, ge=1, le=10_000)
        """How many tasks contribute a batch to each update."""
        phases: list[Phase] = []
        """Narrows the tasks for some steps; a step that no phase covers has all of them."""

    needs_sizes = False
    """Whether it must know how many sentences each task has."""

    def __init__(
        self,
        config: Config,
        *,
        tasks: Sequence[Task],
        languages: Sequence[str],
        sizes: Mapping[LanguagePair, int],
        seed: int,
    ) -> None:
        """sizes: sentences of each task."""
        self.config, self.tasks, self.seed = config, list(tasks), seed
        self._sizes = sizes
        self._phases = [(phase, set(_pairs_of(phase, languages))) for phase in config.phases]

    def tasks_at(self, step: int, *, process: int = 0, processes: int = 1) -> list[Task]:
        """The tasks of one update on one process."""
        active = self.active(step)
        first = (step * processes + process) * self.config.tasks_per_update
        return [
            self.choose(active, first + number) for number in range(self.config.tasks_per_update)
        ]

    def local_tasks_at(self, step: int, own: Sequence[Task], *, process: int) -> list[Task]:
        """The tasks of one update on a process that only has some of all; none where no phase has any of its own."""
        active = self.active(step, own)
        first = step * self.config.tasks_per_update
        return [
            self.choose(active, first + number, process)
            for number in range(self.config.tasks_per_update)
            if active
        ]

    def active(self, step: int, tasks: Sequence[Task] | None = None) -> list[Task]:
        """The tasks that may train at this step, of all or of these."""
        phases = [pairs for phase, pairs in self._phases if phase.covers(step)]
        return [
            task
            for task in (self.tasks if tasks is None else tasks)
            if not phases or any(task.pair in pairs for pairs in phases)
        ]

    def untrained_tasks(self, *, steps: int) -> list[Task]:
        """The tasks that no step before `steps` may train."""
        ends = (end for phase, _ in self._phases for end in (phase.from_step, phase.until_step))
        turns = {0} | {end for end in ends if end is not None and end < steps}
        trained = {task for step in turns for task in self.active(step)}
        return [task for task in self.tasks if task not in trained]

    def choose(self, active: Sequence[Task], draw: int, process: int = 0) -> Task:
        """The task of the draw-th batch of the run, or of what a process draws for itself: drawn by the shares."""
        shares = numpy.cumsum([self.share(task) for task in active])
        # One counter-based generator a draw: any draw is known without those before it.
        point = (
            numpy.random.Generator(
                numpy.random.Philox(key=self.seed, counter=[0, 0, process, draw])
            ).random()
            * shares[-1]
        )
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

    def choose(self, active: Sequence[Task], draw: int, process: int = 0) -> Task:
        return active[draw % len(active)]

    def share(self, task: Task) -> float:
        return 1.0


@SCHEDULES.register("proportional")
class Proportional(Schedule):
    """As often as its share of the sentences."""

    needs_sizes = True

    def share(self, task: Task) -> float:
        return task.weight * self._sizes[task.pair]


@SCHEDULES.register("temperature")
class Temperature(Schedule):
    """Sentences to the power 1/T: proportional at 1, uniform when T is large (Arivazhagan et al. 2019, section 3.1)."""

    needs_sizes = True

    class Config(Schedule.Config):
        temperature: float = Field(5.0, ge=1)
        """T."""

    def share(self, task: Task) -> float:
        return task.weight * self._sizes[task.pair] ** (1 / self.config.temperature)


@SCHEDULES.register("weighted")
class Weighted(Schedule):
    """By weights that the user names."""

    class Config(Schedule.Config):
        weights: dict[str, Annotated[float, Field(gt=0, le=1_000_000)]] = {}
        """Weight of single pairs, such as `de-en: 2.0`; the others have 1."""

    def share(self, task: Task) -> float:
        return task.weight * self.config.weights.get(task.name, 1.0)


def schedule_tasks(config: Schedule.Config, languages: Sequence[str]) -> list[Task]:
    """Every task of a schedule, in the order of the languages. Raises ConfigError with each key and what matches nothing."""
    problems: list[str] = []
    named, left_out = [], []
    with collect_errors(problems, "schedule."):
        named = _pairs_of(config, languages)
    with collect_errors(problems, "schedule.exclude: "):
        left_out = match_pairs(config.exclude, languages)
    pairs = [pair for pair in dict.fromkeys(named) if pair not in left_out]
    known = not problems
    for number, phase in enumerate(config.phases):
        with collect_errors(problems, f"schedule.phases.{number}."):
            extra = [
                str(pair) for pair in _pairs_of(phase, languages) if known and pair not in pairs
            ]
            problems += (
                [
                    f"schedule.phases.{number}: not among schedule.pairs and schedule.copies: {', '.join(extra)}"
                ]
                if extra
                else []
            )
    if known and (
        unknown := [one for one in getattr(config, "weights", {}) if one not in map(str, pairs)]
    ):
        there = ", ".join(map(str, pairs))
        problems.append(
            f"schedule.weights: not among schedule.pairs and schedule.copies: {', '.join(unknown)}; there are {there}"
        )
    if problems:
        raise ConfigError(problems)
    return [Task(pair, config.copy_weight if pair.is_copy else 1.0) for pair in pairs]


def _pairs_of(part: Schedule.Config | Phase, languages: Sequence[str]) -> list[LanguagePair]:
    """What `pairs` and `copies` name together. Raises ConfigError with each key and what it names in vain."""
    copied = languages if part.copies is True else part.copies or []
    problems = [
        f"copies: {unknown_name('language', one, languages)}"
        for one in copied
        if one not in languages
    ]
    pairs = []
    with collect_errors(problems, "pairs: "):
        pairs = match_pairs(part.pairs, languages)
    if problems:
        raise ConfigError(problems)
    return pairs + [LanguagePair(one, one) for one in copied]
