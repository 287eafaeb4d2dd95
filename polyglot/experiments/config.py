"""What the file of an experiment says: systems, how they are evaluated, and the sizes that all of it can be carried out in."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.config.loading import check_settings
from polyglot.core import presets
from polyglot.core.errors import ConfigError, abbreviate, unknown_name
from polyglot.core.registry import ComponentConfig
from polyglot.core.yaml import read_yaml
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import ReferenceName
from polyglot.tasks.pairs import LanguagePair

LONGEST_NAME = 200  # bytes; file systems have 255 for the name of a folder


def _each_once(those: list[Any]) -> list[Any]:
    """Raises ValueError for what would count twice."""
    if twice := [one for one in dict.fromkeys(those) if those.count(one) > 1]:
        raise ValueError(f"{', '.join(map(str, twice))} named twice; each counts once")
    return those


def _some(those: list[Any]) -> list[Any]:
    """Raises ValueError for a list that is there and names nothing, which is not what the default does."""
    if not those:
        raise ValueError("names nothing; name one, or leave it out")
    return those


def _listed(value: Any) -> Any:
    """One name as a list of it."""
    return [value] if isinstance(value, str) else value


def _own_alone(settings: list[str]) -> list[str]:
    """Raises ValueError for what the experiment sets itself."""
    for setting in settings:
        if (key := setting.partition("=")[0]) in ("run", "seed"):
            raise ValueError(
                f"{setting}: the experiment itself says {key} of every run; leave it out"
            )
    return settings


def _protocol(named: Any) -> Any:
    """A name's keys. Raises ValueError for a name, or a file, that cannot be used."""
    try:
        return Protocol.load(named) if isinstance(named, str) else named
    except ConfigError as error:
        raise ValueError(str(error)) from None


Seeds = Annotated[list[int], Field(min_length=1), AfterValidator(_each_once)]
Some = Annotated[list[str], AfterValidator(_some)]
Overrides = Annotated[list[str], AfterValidator(_own_alone)]


class SystemConfig(ComponentConfig):
    """One of the things that are compared."""

    config: str | None = None
    """A configuration, as `polyglot train` takes it, by default that of the size or of the experiment; it is trained once for each seed."""
    set: Overrides = []
    """Settings that differ, as on the command line: `schedule.base=english_centric`. `SEED` stands for the seed, and `RUNS` for the folder
    of the experiment's runs, so that one system can start from another: `initialize={"*": RUNS/softmax-seedSEED}`."""
    separately: Annotated[list[str], AfterValidator(_each_once)] = []
    """Pairs that have a model each, such as the twelve of a table of bilingual models; their directions together are the system's.
    `SOURCE` and `TARGET` in `set` stand for the languages of the pair: `languages=[SOURCE, TARGET]`."""
    seeds: Seeds | None = None
    """Seeds; by default those of the experiment."""
    run: Annotated[Some, BeforeValidator(_listed), AfterValidator(_each_once)] = []
    """Run directories that exist, to be taken as they are, in the place of a configuration; several are several seeds."""
    ensemble: Annotated[Some, BeforeValidator(_listed), AfterValidator(_each_once)] = []
    """A system, or several, whose runs of all seeds write each translation together, in the place of a configuration: at least two runs,
    trained on the same pairs, whose vocabularies are the same."""
    reference: ReferenceName | None = None
    """A table of `evaluation/references/` to be shown beside it: of the same test text, under the first condition."""
    paper: dict[str, float] = {}
    """A paper's scores of other text, by direction: what stands beside ours is the difference from the system `beside`, or where the paper
    lacks that one, from the one which that is compared with."""
    beside: str | None = None
    """The system that it is compared with: differences and their tests are from it; by default the first."""

    @field_validator("separately", "paper")
    @classmethod
    def _pairs_are_pairs(cls, pairs: list[str] | dict[str, float]) -> list[str] | dict[str, float]:
        for pair in pairs:
            try:
                LanguagePair.parse(pair)
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return pairs

    @model_validator(mode="after")
    def _either(self) -> SystemConfig:
        if sum(map(bool, (self.config, self.run, self.ensemble))) > 1:
            raise ValueError(
                "one of `config`, `run` and `ensemble` says where its parameters come from"
            )
        if self.trains_nothing and (self.set or self.seeds or self.separately):
            raise ValueError(
                "`set`, `seeds` and `separately` are for a `config`; a `run` or an `ensemble` is taken as it is"
            )
        return self

    @property
    def trains_nothing(self) -> bool:
        """Whether it is made of runs that are there, or that others train."""
        return bool(self.run or self.ensemble)


class Goal(ComponentConfig):
    """What a system is to reach, said before it is trained; the page says whether it has."""

    system: str
    """The system."""
    scores: str
    """`supervised` or `zero-shot`, the mean over those directions; or one direction, such as `en-de`."""
    at_least: float | None = None
    """The score to reach, by the measure that the page leads with."""
    above_paper: float | None = None
    """By how much to be above the table of the system's `reference`, over the directions that both have."""
    each_above_paper: bool = False
    """Each of those directions is to be above that table."""
    behind_pivot: float | None = Field(None, ge=0)
    """How much to be behind two hops at most, over the directions that have both."""

    AIMS: ClassVar = ("at_least", "above_paper", "each_above_paper", "behind_pivot")

    @field_validator("scores")
    @classmethod
    def _scores_are_there(cls, scores: str) -> str:
        if scores not in ("supervised", "zero-shot"):
            try:
                LanguagePair.parse(scores)
            except ConfigError:
                raise ValueError(
                    f"found {scores!r}; write supervised, zero-shot or a direction such as en-de"
                ) from None
        return scores

    @model_validator(mode="after")
    def _one_aim(self) -> Goal:
        given = [
            name
            for name in self.AIMS
            if getattr(self, name) is not type(self).model_fields[name].default
        ]
        if len(given) != 1:
            raise ValueError(
                f"found {', '.join(given) or 'none'} of {', '.join(self.AIMS)}; a goal has one of them"
            )
        return self

    @property
    def in_words(self) -> str:
        """`with copies, zero-shot: at least 20`."""
        if self.at_least is not None:
            aim = f"at least {self.at_least:g}"
        elif self.above_paper is not None:
            aim = f"at least {self.above_paper:g} above the paper"
        elif self.each_above_paper:
            aim = "each above the paper"
        else:
            aim = f"at most {self.behind_pivot:g} behind two hops"
        return f"{self.system}, {self.scores}: {aim}"


class SizeConfig(ComponentConfig):
    """How much is spent on an experiment."""

    about: str = ""
    """What it takes, in a sentence for the page."""
    config: str | None = None
    """The configuration of every system that names none, in the place of the experiment's."""
    set: Overrides = []
    """Settings of every system, below its own."""
    only: Some = []
    """The systems that are carried out; by default all."""
    separately: Some = []
    """Of systems that have a model for each pair, the pairs that are carried out; by default all."""
    systems: dict[str, Overrides] = {}
    """Settings of single systems, above their own."""
    seeds: Seeds | None = None
    """Seeds, in the place of the experiment's."""


class Experiment(ComponentConfig):
    """What an experiment's file says."""

    title: str
    """The heading of the result page."""
    question: str = ""
    """What is asked, in a sentence or two below it."""
    expected: str = ""
    """What is expected to come out, and why, said before it is run."""
    protocol: Annotated[Protocol, BeforeValidator(_protocol)] = Field(
        "default", validate_default=True
    )
    """How every run is evaluated: the name of a protocol, or its keys."""
    embeddings: AnalysisSettings | None = None
    """Measures the sentence embeddings of every run as well, by the keys of an analysis; `{}` takes its defaults."""
    checkpoint: str = "best"
    """`best`, `last`, a step or `average:N`, of every run."""
    config: str | None = None
    """The configuration of every system that names none."""
    seeds: Seeds = [1]
    """Each system is trained once for each of them."""
    systems: dict[str, SystemConfig] = Field(min_length=1)
    """By the name that the page has for them; differences are from the first, or from the one that `beside` names."""
    goals: list[Goal] = []
    """What is to be reached, said before it is run."""
    sizes: dict[str, SizeConfig] = {}
    """What `--size` chooses from, such as `cpu` and `full`; by default the first."""
    figure: Literal["systems", "left_out"] = "systems"
    """What `result.png` draws: bars of every system; or for each direction that some system was trained without, its zero-shot score there
    beside mean and standard deviation of the systems that saw it (Vázquez et al. 2018, leaving one pair out)."""
    _named: str = PrivateAttr("experiment")  # one that is made in Python has no file

    @field_validator("checkpoint")
    @classmethod
    def _checkpoint_is_one(cls, checkpoint: str) -> str:
        if not re.fullmatch(r"best|last|[0-9]+|average:[1-9][0-9]*", checkpoint):
            raise ValueError(f"found {checkpoint!r}; write best, last, a step, or average:N")
        return checkpoint

    @field_validator("systems")
    @classmethod
    def _names_are_different_folders(
        cls, systems: dict[str, SystemConfig]
    ) -> dict[str, SystemConfig]:
        folders: dict[str, str] = {}
        for name in systems:
            if not slug(name):
                raise ValueError(f"{name!r} makes no folder name; use letters or digits")
            if (size := len(slug(name).encode())) > LONGEST_NAME:
                raise ValueError(
                    f"{name!r} makes a folder name of {size} bytes; use at most {LONGEST_NAME}, as seeds and pairs come after it"
                )
            if (other := folders.setdefault(slug(name), name)) != name:
                raise ValueError(
                    f"{other!r} and {name!r} are the same folder, {slug(name)}; use other letters or digits for one of them"
                )
        return systems

    @field_validator("sizes")
    @classmethod
    def _sizes_are_folders(cls, sizes: dict[str, SizeConfig]) -> dict[str, SizeConfig]:
        for name in sizes:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(
                    f"{name!r} will be the name of a folder; use letters, digits, underscores, hyphens and dots"
                )
        return sizes

    @model_validator(mode="after")
    def _parts_fit(self) -> Experiment:
        configs = (
            [self.config]
            if not self.sizes
            else [size.config or self.config for size in self.sizes.values()]
        )
        for name, system in self.systems.items():
            if not system.trains_nothing and not system.config and None in configs:
                raise ValueError(
                    f"systems.{name}: one of `config`, `run` and `ensemble` says where its parameters come from"
                )
            for other in system.ensemble:
                self._check_in_an_ensemble(other, f"systems.{name}.ensemble")
            if system.beside is not None and system.beside not in self.systems:
                raise ValueError(
                    f"systems.{name}.beside: {unknown_name('system', system.beside, self.systems)}"
                )
        if (led_by := self.protocol.measure).lower_is_better and (
            self.goals or any(system.paper for system in self.systems.values())
        ):
            what = "goals" if self.goals else "systems, paper"
            raise ValueError(
                f"{what}: the page leads with {led_by.title}, where lower is better; name bleu in the protocol's `metrics`, or chrf first"
            )
        for number, goal in enumerate(self.goals):
            if goal.system not in self.systems:
                raise ValueError(
                    f"goals.{number}.system: {unknown_name('system', goal.system, self.systems)}"
                )
            if (goal.above_paper is not None or goal.each_above_paper) and not self.systems[
                goal.system
            ].reference:
                raise ValueError(f"goals.{number}: {goal.system!r} has no `reference` to be above")
            if goal.behind_pivot is not None and not self.protocol.pivot:
                raise ValueError(f"goals.{number}.behind_pivot: the protocol has no `pivot`")
        for name in self.systems:
            chain = [name]
            while other := self.base_of(chain[-1]):
                if other in chain:
                    raise ValueError(
                        f"systems.{name}.beside: comes back to {other!r}; of two systems one is compared with the other"
                    )
                chain.append(other)
        for name in self.systems:
            found = self.papers_differences(name)
            if lacking := [
                pair
                for pair in self.systems[name].paper
                if self.base_of(name) and pair not in found
            ]:
                raise ValueError(
                    f"systems.{name}.paper: {', '.join(lacking)}: no score of {self.base_of(name)!r} to put it beside"
                )
        for name, size in self.sizes.items():
            for system in size.systems:
                if system not in self.systems or self.systems[system].trains_nothing:
                    trained = [
                        each
                        for each, settings in self.systems.items()
                        if not settings.trains_nothing
                    ]
                    raise ValueError(
                        f"sizes.{name}.systems: {unknown_name('system to be trained', system, trained)}"
                    )
            if unknown := [system for system in size.only if system not in self.systems]:
                raise ValueError(
                    f"sizes.{name}.only: {unknown_name('system', unknown[0], self.systems)}"
                )
            if size.only and (first := next(iter(self.systems))) not in size.only:
                raise ValueError(
                    f"sizes.{name}.only: leaves out {first!r}, the first, which the others are compared with; name it, too"
                )
            for system in size.only:
                if (other := self.systems[system].beside) and other not in size.only:
                    raise ValueError(
                        f"sizes.{name}.only: {system!r} is shown beside {other!r}, which it leaves out; name both or neither"
                    )
                if missing := [
                    other for other in self.systems[system].ensemble if other not in size.only
                ]:
                    raise ValueError(
                        f"sizes.{name}.only: {system!r} is made of {abbreviate(map(repr, missing))}, left out; name all or none"
                    )
            alone = {pair for system in self.systems.values() for pair in system.separately}
            for pair in size.separately:
                if pair not in alone:
                    raise ValueError(
                        f"sizes.{name}.separately: {unknown_name('pair with a model of its own', pair, alone)}"
                    )
            for system, given in self.systems.items():
                if (
                    size.separately
                    and given.separately
                    and not {*size.separately} & {*given.separately}
                ):
                    raise ValueError(
                        f"sizes.{name}.separately: leaves nothing of {system!r}, which has {', '.join(given.separately)}"
                    )
        return self

    def _check_in_an_ensemble(self, name: str, place: str) -> None:
        """Raises ValueError for a system that has no models of its own, or none that translates all of its directions."""
        if name not in self.systems:
            possible = [
                other
                for other, system in self.systems.items()
                if not system.ensemble and not system.separately
            ]
            raise ValueError(f"{place}: {unknown_name('system', name, possible)}")
        if self.systems[name].ensemble:
            raise ValueError(
                f"{place}: {name!r} is an ensemble itself; name the systems whose runs it is made of"
            )
        if self.systems[name].separately:
            raise ValueError(
                f"{place}: {name!r} has a model for each pair (`separately`); name a system whose models have all of them"
            )
        if self.figure == "left_out":
            raise ValueError(
                f"{place}: `figure: left_out` compares models that saw a direction with those that did not, not several together"
            )

    @classmethod
    def load(cls, name: str) -> Experiment:
        """From a file or a shipped name. Raises ConfigError with every problem."""
        experiment = check_settings(
            cls, read_yaml(presets.find("evaluation/experiments", name)), where=name
        )
        experiment._named = name
        return experiment

    @property
    def named(self) -> str:
        """What it was loaded by, for messages."""
        return self._named

    def base_of(self, system: str) -> str | None:
        """The system that one is compared with; None for the first, unless it says otherwise."""
        first = next(iter(self.systems))
        return self.systems[system].beside or (None if system == first else first)

    def papers_differences(self, system: str) -> dict[str, tuple[float, str]]:
        """By direction what a paper's scores of other text differ by, and the system that they differ from.

        Where the paper lacks what a system is compared with, that is the one which that is compared with.
        """
        found = {}
        for direction, score in self.systems[system].paper.items():
            base = self.base_of(system)
            while base and direction not in self.systems[base].paper:
                base = self.base_of(base)
            if base:
                found[direction] = round(score - self.systems[base].paper[direction], 2), base
        return found

    def size_named(self, size: str | None) -> str:
        """That size, or the first, or `""` where there are none. Raises ConfigError for one that there is not."""
        if size is None:
            return next(iter(self.sizes), "")
        if not self.sizes:
            raise ConfigError(
                f"{self.named}: size: found {size!r}, but this experiment has no `sizes`; it is as large as it is"
            )
        if size not in self.sizes:
            raise ConfigError(f"{self.named}: size: {unknown_name('size', size, self.sizes)}")
        return size

    def at(self, size: str | None = None) -> Experiment:
        """What it is at one size: every system with its own settings, and no sizes. Raises ConfigError for an unknown one."""
        name = self.size_named(size)
        chosen = self.sizes[name] if name else SizeConfig()
        systems = {
            each: system
            if system.trains_nothing
            else system.model_copy(
                update={
                    "config": system.config or chosen.config or self.config,
                    "set": [*chosen.set, *system.set, *chosen.systems.get(each, [])],
                    "separately": [
                        pair
                        for pair in system.separately
                        if not chosen.separately or pair in chosen.separately
                    ],
                }
            )
            for each, system in self.systems.items()
            if each in (chosen.only or self.systems)
        }
        return self.model_copy(
            update={"sizes": {}, "seeds": chosen.seeds or self.seeds, "systems": systems}
        )


def slug(name: str) -> str:
    """`with copies` to `with-copies`."""
    return re.sub(r"[^\w]+", "-", name.casefold()).strip("-")
