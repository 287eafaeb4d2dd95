"""Settings of the systems, the goals and the sizes of an experiment."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from polyglot.config.overrides import override_key
from polyglot.core.errors import ConfigError
from polyglot.core.registry import ComponentConfig
from polyglot.evaluation.references import ReferenceName
from polyglot.tasks.pairs import LanguagePair

RESERVED_KEYS = ("run", "seed")
"""Keys of a training configuration that the experiment sets for each run."""

MEAN_KINDS = ("supervised", "zero-shot")
"""Kinds of directions whose mean can be a goal."""


def _check_unique(values: list[Any]) -> list[Any]:
    """Raise ValueError for repeated entries, which would count twice."""
    repeated = []
    for value in dict.fromkeys(values):
        if values.count(value) > 1:
            repeated.append(str(value))
    if repeated:
        raise ValueError(f"{', '.join(repeated)} named twice; name each only once")
    return values


def _check_not_empty(values: list[Any]) -> list[Any]:
    """Raise ValueError for an empty list: it would not mean the same as the default."""
    if not values:
        raise ValueError("found an empty list; name at least one, or leave the key out")
    return values


def _check_overrides(overrides: list[str]) -> list[str]:
    """Raise ValueError for keys that the experiment sets itself."""
    for override in overrides:
        key = override_key(override)
        if key in RESERVED_KEYS:
            raise ValueError(
                f"{override}: the experiment sets {key} of every run itself; leave it out"
            )
    return overrides


def _check_pair(pair: str) -> None:
    """Raise ValueError for a text that is not a language pair."""
    try:
        LanguagePair.parse(pair)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _as_list(value: Any) -> Any:
    """Return a single name as a list with this name."""
    return [value] if isinstance(value, str) else value


Seeds = Annotated[list[int], Field(min_length=1), AfterValidator(_check_unique)]
Names = Annotated[list[str], AfterValidator(_check_not_empty)]
NameOrNames = Annotated[Names, BeforeValidator(_as_list), AfterValidator(_check_unique)]
Overrides = Annotated[list[str], AfterValidator(_check_overrides)]


class SystemConfig(ComponentConfig):
    """One of the compared systems."""

    config: str | None = None
    """Configuration, as for `polyglot train`; default: that of the size or of the experiment. It is
    trained once for each seed."""
    set: Overrides = []
    """Settings that differ, as on the command line: `schedule.base=english_centric`. `SEED` stands
    for the seed, and `RUNS` for the folder of the runs, so that a system can start from another
    one: `initialize={"*": RUNS/softmax-seedSEED}`."""
    separately: Annotated[list[str], AfterValidator(_check_unique)] = []
    """Pairs with one model each, as in a table of bilingual models; the system has the directions
    of all of them. In `set`, `SOURCE` and `TARGET` stand for the languages of the pair:
    `languages=[SOURCE, TARGET]`."""
    seeds: Seeds | None = None
    """Seeds; default: those of the experiment."""
    run: NameOrNames = []
    """Existing run directories, in place of a configuration; several count as several seeds."""
    ensemble: NameOrNames = []
    """One or more systems whose runs of all seeds translate together, in place of a configuration:
    at least two runs, trained on the same pairs, with the same vocabularies."""
    reference: ReferenceName | None = None
    """Table of `evaluation/references/` to compare with: same test text, first condition of the
    table."""
    paper: dict[str, float] = {}
    """Scores of a paper on other text, by direction. The page compares their differences from the
    system `beside` with ours; if the paper lacks that system, their differences from the system
    which that one is compared with."""
    beside: str | None = None
    """System to compare with: differences and tests are from it. Default: the first system."""

    @field_validator("separately", "paper")
    @classmethod
    def _check_pairs(cls, pairs: list[str] | dict[str, float]) -> list[str] | dict[str, float]:
        for pair in pairs:
            _check_pair(pair)
        return pairs

    @model_validator(mode="after")
    def _check_origin(self) -> SystemConfig:
        origins = []
        for name in ("config", "run", "ensemble"):
            if getattr(self, name):
                origins.append(name)
        if len(origins) > 1:
            raise ValueError(
                f"found {' and '.join(origins)}; set only one of `config`, `run` and `ensemble`"
            )
        if not self.is_trained and (self.set or self.seeds or self.separately):
            raise ValueError(
                "`set`, `seeds` and `separately` need a `config`; "
                "a `run` or an `ensemble` is not trained here"
            )
        return self

    @property
    def is_trained(self) -> bool:
        """False for existing runs and for ensembles of the runs of other systems."""
        return not self.run and not self.ensemble


class Goal(ComponentConfig):
    """Goal of a system, written before the training; the page says whether it was reached."""

    system: str
    """Name of the system."""
    scores: str
    """`supervised` or `zero-shot` for the mean over these directions, or one direction such as
    `en-de`."""
    at_least: float | None = None
    """Score to reach, by the main metric of the page."""
    above_paper: float | None = None
    """Least difference from the table of the system's `reference`, over the common directions."""
    each_above_paper: bool = False
    """Every common direction must be above that table."""
    behind_pivot: float | None = Field(None, ge=0)
    """Greatest distance behind pivot translation, over the directions with both."""

    AIMS: ClassVar = ("at_least", "above_paper", "each_above_paper", "behind_pivot")

    @field_validator("scores")
    @classmethod
    def _check_scores(cls, scores: str) -> str:
        if scores in MEAN_KINDS:
            return scores
        try:
            LanguagePair.parse(scores)
        except ConfigError:
            raise ValueError(
                f"found {scores!r}; write supervised, zero-shot or a direction such as en-de"
            ) from None
        return scores

    @model_validator(mode="after")
    def _check_one_aim(self) -> Goal:
        fields = type(self).model_fields
        aims = []
        for name in self.AIMS:
            if getattr(self, name) is not fields[name].default:
                aims.append(name)
        if len(aims) != 1:
            raise ValueError(
                f"found {', '.join(aims) or 'none'} of {', '.join(self.AIMS)}; set exactly one"
            )
        return self

    @property
    def compares_with_paper(self) -> bool:
        return self.above_paper is not None or self.each_above_paper

    @property
    def description(self) -> str:
        """`with copies, zero-shot: at least 20`."""
        if self.at_least is not None:
            aim = f"at least {self.at_least:g}"
        elif self.above_paper is not None:
            aim = f"at least {self.above_paper:g} above the paper"
        elif self.each_above_paper:
            aim = "each above the paper"
        else:
            aim = f"at most {self.behind_pivot:g} behind pivot translation"
        return f"{self.system}, {self.scores}: {aim}"


class SizeConfig(ComponentConfig):
    """Size of an experiment: shorter or longer training, fewer or more systems and seeds."""

    about: str = ""
    """Cost, as a sentence for the page."""
    config: str | None = None
    """Configuration of every system without its own, in place of that of the experiment."""
    set: Overrides = []
    """Settings of every system; those of the system override them."""
    only: Names = []
    """Systems of this size; default: all."""
    separately: Names = []
    """Pairs of systems with one model per pair; default: all."""
    systems: dict[str, Overrides] = {}
    """Settings of single systems; they override those of the system."""
    seeds: Seeds | None = None
    """Seeds, in place of those of the experiment."""
