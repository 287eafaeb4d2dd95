"""Schedules: a pure function from seed and step to tasks, so that ranks need no communication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated

import numpy
from pydantic import Field, model_validator

from polyglot.core.errors import ConfigError, collect_errors
from polyglot.core.problems import InvalidSettings, KeyPath, Problem
from polyglot.core.registry import ComponentConfig, Registry, UnusedSetting
from polyglot.core.setting_types import StepCount, StepNumber
from polyglot.tasks.back_translation import (
    BackTranslation,
    BackTranslationDraws,
    back_translated_pairs,
)
from polyglot.tasks.named_pairs import fill_in_center, named_pairs
from polyglot.tasks.noise import CopyNoise
from polyglot.tasks.pairs import LanguagePair, Task, match_pairs

SCHEDULES: Registry[Schedule] = Registry("schedule")


class Phase(ComponentConfig):
    """A range of steps that trains only some of the tasks."""

    from_step: StepNumber = 0
    """First step of the phase."""
    until_step: StepCount | None = None
    """First step after the phase; by default it lasts to the end."""
    pairs: list[str] = []
    """Pairs that train in this phase, as patterns."""
    copies: bool | list[str] = False
    """Languages that are copied in this phase; true for all."""

    @model_validator(mode="after")
    def _check(self) -> Phase:
        problems = []
        if not self.pairs and not self.copies:
            problems.append("names neither pairs nor copies; name what trains in this phase")
        first = self.from_step
        end = self.until_step
        if end is not None and end <= first:
            problems.append(f"until_step {end} is not after from_step {first}")
        if problems:
            raise InvalidSettings(problems)
        return self

    def covers(self, step: int) -> bool:
        if step < self.from_step:
            return False
        return self.until_step is None or step < self.until_step


class Schedule:
    """Chooses the tasks of each update from all tasks of a run."""

    class Config(ComponentConfig):
        pairs: list[str] = ["*-*"]
        """Pairs that train: `de-en`, `*-en`, `en-*`, `*-*`; `{center}` is the language below."""
        center: str = "en"
        """Language of the pairs that are written with `{center}`, in any spelling."""
        exclude: list[str] = []
        """Pairs that do not train, as patterns; `de-de` is a copy."""
        copies: bool | list[str] = False
        """Languages that also learn to copy their own sentences; true for all."""
        copy_weight: float = Field(1.0, gt=0, le=1000)
        """Weight of a copy, where a pair has weight 1."""
        copy_noise: CopyNoise = CopyNoise()
        """Noise on the sources of copies."""
        back_translation: BackTranslation | None = None
        """Training of pairs without text on sentences that the present model translates: `{}` with
        the defaults below; null for none."""
        tasks_per_update: int = Field(1, ge=1, le=10_000)
        """Number of tasks that contribute a batch to each update."""
        phases: list[Phase] = []
        """Phases that train only some tasks; a step outside of all phases trains all of them."""

        def settings_without_effect(self) -> Iterator[UnusedSetting]:
            yield from super().settings_without_effect()
            if not self.copies and not any(map(_is_copy_pattern, self.pairs)):
                reason = "no effect: needs copies, found none"
                yield UnusedSetting(("copy_noise",), ("copies",), reason)

    needs_sizes = False
    """True if the schedule depends on the number of sentences of each task."""

    def __init__(
        self,
        config: Config,
        *,
        tasks: Sequence[Task],
        languages: Sequence[str],
        sizes: Mapping[LanguagePair, int],
        seed: int,
    ) -> None:
        """sizes: number of sentences of each task."""
        self.config = config
        self.tasks = list(tasks)
        self.seed = seed
        self._sizes = sizes
        self._phases = []
        for phase in config.phases:
            pairs = named_pairs(phase.pairs, phase.copies, languages, center=config.center)
            self._phases.append((phase, set(pairs)))
        self.back_translation: BackTranslationDraws | None = None
        if config.back_translation is not None:
            settings = config.back_translation
            pairs = back_translated_pairs(settings, tasks, languages, center=config.center)
            self.back_translation = BackTranslationDraws(settings, pairs, self.share, seed=seed)
        # Every rank computes the draws of all ranks at each step: with thousands of tasks, lists
        # of active tasks and sums of shares take longer than an update. They change only at the
        # boundaries of phases.
        self._active_tasks: dict[tuple[int, ...], tuple[Sequence[Task], list[Task]]] = {}
        self._cumulative_shares: dict[int, tuple[Sequence[Task], numpy.ndarray]] = {}

    def tasks_at(self, step: int, *, process: int = 0, processes: int = 1) -> list[Task]:
        """Return the tasks of one update on one rank, if all ranks have all tasks."""
        active = self.active(step)
        update = step * processes + process  # counted over the updates of all ranks
        tasks: list[Task] = []
        for draw in self._draws(update):
            task = None
            if self.back_translation:
                task = self.back_translation.choose(step, active, draw)
            tasks.append(task or self.choose(active, draw))
        return tasks

    def local_tasks_at(self, step: int, local_tasks: Sequence[Task], *, process: int) -> list[Task]:
        """Return the tasks of one update on a rank that has only `local_tasks`.

        The list is empty if the active phases train none of them.
        """
        active = self.active(step, local_tasks)
        if not active:
            return []
        return [self.choose(active, draw, process) for draw in self._draws(step)]

    def _draws(self, update: int) -> range:
        """Numbers of the draws of one update on one rank."""
        count = self.config.tasks_per_update
        first = update * count
        return range(first, first + count)

    def active(self, step: int, tasks: Sequence[Task] | None = None) -> list[Task]:
        """Return those of `tasks` (default: all) that may train at this step."""
        if tasks is None:
            tasks = self.tasks
        phases = [index for index, (phase, _) in enumerate(self._phases) if phase.covers(step)]
        if not phases:
            return tasks
        key = (id(tasks), *phases)
        if key not in self._active_tasks:
            active_pairs = set().union(*(self._phases[index][1] for index in phases))
            active = [task for task in tasks if task.pair in active_pairs]
            self._active_tasks[key] = (tasks, active)
        kept_tasks, active = self._active_tasks[key]
        assert kept_tasks is tasks
        return active

    @property
    def boundaries(self) -> list[int]:
        """Step 0, and the steps at which a phase or back-translation begins or a phase ends.

        Only there the tasks change.
        """
        boundaries = {0}
        if self.back_translation:
            boundaries.add(self.back_translation.settings.from_step)
        for phase, _ in self._phases:
            boundaries.add(phase.from_step)
            if phase.until_step is not None:
                boundaries.add(phase.until_step)
        return sorted(boundaries)

    def untrained_tasks(self, *, steps: int) -> list[Task]:
        """Return the tasks that may not train at any of the first `steps` steps."""
        trained: set[Task] = set()
        for step in self.boundaries:
            if step < steps or step == 0:
                active = self.active(step)
                trained.update(active)
        return [task for task in self.tasks if task not in trained]

    def text_shares(self, step: int, tasks: Sequence[Task] | None = None) -> dict[Task, float]:
        """Return the share of the text of each active task in the draws of a step; the sum is 1.

        tasks: those that a rank may draw; by default all.
        """
        active = self.active(step, tasks)
        total = sum(self.share(task) for task in active)
        shares = {task: self.share(task) / total for task in active}
        if self.back_translation:
            shares = self.back_translation.mixed_shares(step, active, shares)
        return shares

    def choose(self, active: Sequence[Task], draw: int, process: int = 0) -> Task:
        """Return the task of one draw, with probability proportional to its share.

        draw: counts the batches of the run, or of one rank if ranks have different tasks.
        """
        ends = self._share_ends(active)
        # A counter-based generator for each draw: no draw depends on the draws before it.
        bits = numpy.random.Philox(key=self.seed, counter=[0, 0, process, draw])
        generator = numpy.random.Generator(bits)
        point = generator.random() * ends[-1]
        number = numpy.searchsorted(ends, point, side="right")
        return active[int(number)]

    def _share_ends(self, active: Sequence[Task]) -> numpy.ndarray:
        """Cumulative sums of the shares; computed once for each list of tasks."""
        cached = self._cumulative_shares.get(id(active))
        if cached is not None and cached[0] is active:
            return cached[1]
        ends = numpy.cumsum([self.share(task) for task in active])
        self._cumulative_shares[id(active)] = (active, ends)
        return ends

    def share(self, task: Task) -> float:
        """Return the relative frequency of a task."""
        raise NotImplementedError


@SCHEDULES.register("uniform")
class Uniform(Schedule):
    """All tasks equally often, except copies by `copy_weight` (the attention bridge paper)."""

    def share(self, task: Task) -> float:
        return task.weight


@SCHEDULES.register("round_robin")
class RoundRobin(Schedule):
    """All tasks in turn."""

    def choose(self, active: Sequence[Task], draw: int, process: int = 0) -> Task:
        return active[draw % len(active)]

    def share(self, task: Task) -> float:
        return 1.0


@SCHEDULES.register("proportional")
class Proportional(Schedule):
    """Tasks in proportion to their number of sentences."""

    needs_sizes = True

    def share(self, task: Task) -> float:
        return task.weight * self._sizes[task.pair]


@SCHEDULES.register("temperature")
class TemperatureSampling(Schedule):
    """Tasks by their number of sentences to the power 1/T (Arivazhagan et al. 2019, section 3.1).

    T = 1 is proportional; a large T is nearly uniform.
    """

    needs_sizes = True

    class Config(Schedule.Config):
        temperature: float = Field(5.0, ge=1, le=1e6)
        """T."""

    def share(self, task: Task) -> float:
        exponent = 1 / self.config.temperature
        size = self._sizes[task.pair]
        return task.weight * size**exponent


@SCHEDULES.register("weighted")
class Weighted(Schedule):
    """Tasks by weights from the configuration."""

    class Config(Schedule.Config):
        weights: dict[str, Annotated[float, Field(gt=0, le=1_000_000)]] = {}
        """Weight of single pairs, such as `de-en: 2.0`; all others have 1."""

    def share(self, task: Task) -> float:
        weight = self.config.weights.get(task.name, 1.0)
        return task.weight * weight


PAIR_KEYS = (("schedule", "pairs"), ("schedule", "copies"))
NOT_SCHEDULED = "not among schedule.pairs and schedule.copies"


def schedule_tasks(config: Schedule.Config, languages: Sequence[str]) -> list[Task]:
    """Return all tasks of a schedule, in the order of the languages.

    Raises ConfigError with all problems of its pairs, copies, phases and weights.
    """
    settings = config.model_dump_json()
    return list(_cached_tasks(type(config), settings, tuple(languages)))


@lru_cache(maxsize=8)
def _cached_tasks(
    kind: type[Schedule.Config],
    settings: str,
    languages: Sequence[str],
) -> list[Task]:
    """Tasks of the settings of a schedule, as JSON.

    The properties of a configuration ask for the same tasks again and again, and 100 languages have
    9,900.
    """
    config = kind.model_validate_json(settings)
    problems: list[Problem] = []
    named: list[LanguagePair] = []
    excluded: set[LanguagePair] = set()
    with collect_errors(problems, "schedule"):
        named = named_pairs(config.pairs, config.copies, languages, center=config.center)
    with collect_errors(problems, "schedule", "exclude"):
        patterns = fill_in_center(config.exclude, languages, config.center)
        excluded.update(match_pairs(patterns, languages))
    pairs = [pair for pair in dict.fromkeys(named) if pair not in excluded]

    pairs_are_valid = not problems
    for number, phase in enumerate(config.phases):
        path = ("schedule", "phases", number)
        with collect_errors(problems, *path):
            phase_pairs = named_pairs(phase.pairs, phase.copies, languages, center=config.center)
            if pairs_are_valid:
                problems += _unscheduled_pairs(path, phase_pairs, pairs)
    if pairs_are_valid:
        problems += _unscheduled_weights(config, pairs)

    tasks = [_task(pair, config) for pair in pairs]
    if config.back_translation is not None and not problems:
        with collect_errors(problems, "schedule", "back_translation"):
            back_translated_pairs(config.back_translation, tasks, languages, center=config.center)
    if problems:
        raise ConfigError(problems)
    return tasks


def _task(pair: LanguagePair, config: Schedule.Config) -> Task:
    if pair.is_copy:
        return Task(pair, config.copy_weight)
    return Task(pair)


def _is_copy_pattern(pattern: str) -> bool:
    """True if the pattern names a copy, such as `de-de`."""
    half = len(pattern) // 2
    return pattern[:half] == pattern[half + 1 :]


def _unscheduled_pairs(
    path: KeyPath,
    phase_pairs: Sequence[LanguagePair],
    pairs: Sequence[LanguagePair],
) -> list[Problem]:
    scheduled = set(pairs)
    names = [str(pair) for pair in phase_pairs if pair not in scheduled]
    if not names:
        return []
    message = f"{NOT_SCHEDULED}: {', '.join(names)}"
    return [Problem(path, message, related=PAIR_KEYS)]


def _unscheduled_weights(config: Schedule.Config, pairs: Sequence[LanguagePair]) -> list[Problem]:
    weights = getattr(config, "weights", {})
    if not weights:
        return []
    scheduled = list(map(str, pairs))
    known_names = set(scheduled)
    names = [name for name in weights if name not in known_names]
    if not names:
        return []
    unscheduled = ", ".join(names)
    available = ", ".join(scheduled)
    message = f"{NOT_SCHEDULED}: {unscheduled}; there are {available}"
    return [Problem(("schedule", "weights"), message, related=PAIR_KEYS)]
