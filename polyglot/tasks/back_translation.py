"""Online back-translation: tasks without parallel text, whose sources the present model translates.

A task `de-fr` takes French sentences from the text of another task, such as `en-fr`. The model
translates them into German, and then trains from this German into the real French.
Source: random online back-translation of Zhang et al. 2020 (arXiv 2004.11867).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy
from pydantic import Field

from polyglot.core.errors import ConfigError, collect_errors, unknown_name
from polyglot.core.language_codes import find_language
from polyglot.core.problems import Problem
from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import StepNumber
from polyglot.tasks.named_pairs import fill_in_center
from polyglot.tasks.pairs import LanguagePair, Task, match_pairs

SEPARATE_DRAWS = 1
"""Word of the counter of the random generator; the draws of tasks have 0."""


class BackTranslation(ComponentConfig):
    """Online back-translation: the model translates target sentences, and trains on the result."""

    pairs: list[str] = ["*-*"]
    """Pairs that train with a generated source, as patterns; source and target need an encoder and
    a decoder from other tasks."""
    include_trained: bool = False
    """Patterns also match pairs that are trained with text."""
    weight: float = Field(0.3, gt=0, lt=1)
    """Share of the draws that are back-translated; these pairs are drawn equally often."""
    from_step: StepNumber = 0
    """First step with back-translation: the model should translate by then."""
    search: Literal["greedy", "sample"] = "greedy"
    """Generated source: the most probable words, or words drawn by their probability."""
    through: str | None = None
    """Language that sentences are translated into first, such as `en`; null for none."""
    max_length_ratio: float = Field(2.0, ge=0, le=100)
    """Largest length of a generated source: this number of tokens per token of the target, plus
    `max_length_extra`."""
    max_length_extra: int = Field(10, ge=1, le=10_000)
    """Number of tokens added to the largest length."""


@dataclass(frozen=True, slots=True)
class BackTranslationTask(Task):
    """A pair that trains with a generated source."""

    text: Task | None = None
    """Task whose target sentences are translated."""

    @property
    def name(self) -> str:
        return f"{self.pair} back-translation"

    @property
    def text_name(self) -> str:
        return self.text.name


class BackTranslationDraws:
    """Chooses the draws of a schedule that are back-translated, and their tasks."""

    def __init__(
        self,
        settings: BackTranslation,
        pairs: Sequence[LanguagePair],
        share: Callable[[Task], float],
        *,
        seed: int,
    ) -> None:
        """pairs: those that are back-translated. share: frequency of a task among others."""
        self.settings = settings
        self.pairs = pairs
        self.seed = seed
        self._share = share
        self._tasks: dict[int, tuple[Sequence[Task], list[list[BackTranslationTask]]]] = {}

    def choose(
        self,
        step: int,
        active: Sequence[Task],
        draw: int,
    ) -> BackTranslationTask | None:
        """Return the task of a draw; None if the draw is not back-translated.

        active: tasks with text at this step; only their sentences are translated.
        """
        if step < self.settings.from_step:
            return None
        # A counter-based generator for each draw: no draw depends on the draws before it.
        bits = numpy.random.Philox(key=self.seed, counter=[0, SEPARATE_DRAWS, 0, draw])
        generator = numpy.random.Generator(bits)
        if generator.random() >= self.settings.weight:
            return None
        choices = self.tasks(active)
        if not choices:
            return None

        tasks = choices[generator.integers(len(choices))]
        ends = numpy.cumsum([self._share(task.text) for task in tasks])
        point = generator.random() * ends[-1]
        return tasks[int(numpy.searchsorted(ends, point, side="right"))]

    def tasks(self, active: Sequence[Task]) -> list[list[BackTranslationTask]]:
        """Return the tasks of each pair, one for each active task with text into its target.

        A pair without such text is left out.
        """
        cached = self._tasks.get(id(active))
        if cached is not None and cached[0] is active:
            return cached[1]

        texts_into: dict[str, list[Task]] = {}
        for task in active:
            texts_into.setdefault(task.target, []).append(task)
        choices = []
        for pair in self.pairs:
            texts = texts_into.get(pair.target, [])
            if texts:
                choices.append([BackTranslationTask(pair, text=text) for text in texts])
        self._tasks[id(active)] = (active, choices)
        return choices

    def mixed_shares(
        self,
        step: int,
        active: Sequence[Task],
        shares: Mapping[Task, float],
    ) -> dict[Task, float]:
        """Return the share of each text in all draws of a step.

        shares: of each active task in the draws that are not back-translated.
        """
        if step < self.settings.from_step or not self.tasks(active):
            return dict(shares)
        weight = self.settings.weight
        translated = self._text_shares(active)
        mixed = {}
        for task, share in shares.items():
            mixed[task] = (1 - weight) * share + weight * translated.get(task, 0.0)
        return mixed

    def _text_shares(self, active: Sequence[Task]) -> dict[Task, float]:
        """Return the share of each text in the draws that are back-translated; the sum is 1."""
        shares: dict[Task, float] = {}
        choices = self.tasks(active)
        for tasks in choices:
            total = sum(self._share(task.text) for task in tasks)
            for task in tasks:
                share = self._share(task.text) / total / len(choices)
                shares[task.text] = shares.get(task.text, 0.0) + share
        return shares


def back_translated_pairs(
    settings: BackTranslation,
    tasks: Iterable[Task],
    languages: Sequence[str],
    *,
    center: str,
) -> list[LanguagePair]:
    """Return the pairs that are back-translated. tasks: those with text.

    Raises ConfigError with every pattern that leaves no pair, and an impossible `through`.
    """
    trained = {task.pair for task in tasks}
    sources = {pair.source for pair in trained}
    complete = sources & {pair.target for pair in trained}
    problems: list[Problem] = []
    pairs: dict[LanguagePair, None] = {}
    patterns: list[str] = []
    with collect_errors(problems, "pairs"):
        patterns = fill_in_center(settings.pairs, languages, center)
    if not settings.pairs:
        problems.append(Problem(("pairs",), "names no pair; leave back_translation out for none"))
    for pattern in patterns:
        with collect_errors(problems, "pairs"):
            matches = match_pairs([pattern], languages)
            usable = _usable_pairs(settings, matches, trained, complete)
            if not usable:
                raise ConfigError(_nothing_usable(pattern, matches, complete))
            pairs.update(dict.fromkeys(usable))

    if settings.through is not None:
        with collect_errors(problems, "through"):
            _check_through(settings.through, languages, complete)
    if problems:
        raise ConfigError(problems)
    return list(pairs)


def _usable_pairs(
    settings: BackTranslation,
    pairs: Iterable[LanguagePair],
    trained: set[LanguagePair],
    complete: set[str],
) -> list[LanguagePair]:
    """Return the pairs of languages with encoder and decoder, without those that text trains."""
    usable = []
    for pair in pairs:
        has_text = pair in trained and not settings.include_trained
        if not has_text and not pair.is_copy and {pair.source, pair.target} <= complete:
            usable.append(pair)
    return usable


def _nothing_usable(pattern: str, pairs: Sequence[LanguagePair], complete: set[str]) -> str:
    """Message for a pattern of which no pair can be back-translated."""
    if all(pair.is_copy for pair in pairs):
        return f"{pattern!r} is a copy; a sentence is not translated into its own language"
    if any({pair.source, pair.target} <= complete for pair in pairs):
        return (
            f"{pattern!r} matches only pairs that are trained with text; "
            "include_trained: true back-translates them too"
        )
    return (
        f"{pattern!r} matches no pair of which both languages are sources and targets of "
        "schedule.pairs; the model must translate in both directions"
    )


def _check_through(name: str, languages: Sequence[str], complete: set[str]) -> None:
    """Raise ConfigError for a pivot that is unknown, or that the model cannot read and write."""
    language = find_language(name, languages)
    if language is None:
        message = unknown_name("language", name, languages)
        raise ConfigError([Problem((), message, languages=(name,))])
    if language not in complete:
        raise ConfigError(
            f"{language} is not both source and target of schedule.pairs; "
            "the model must translate from and into it"
        )
