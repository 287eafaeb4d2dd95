"""Experiment file: systems, their common evaluation, goals, and the sizes to choose from."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator

from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.config.loading import check_settings
from polyglot.core import presets
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.registry import ComponentConfig
from polyglot.core.yaml import read_yaml
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments import baselines, consistency
from polyglot.experiments.settings import Goal, Seeds, SizeConfig, SystemConfig

LONGEST_NAME = 200  # bytes; file systems have 255 for the name of a folder


def _load_protocol(value: Any) -> Any:
    """Load a protocol by name. Raise ValueError for a name or a file that cannot be used."""
    if not isinstance(value, str):
        return value
    try:
        return Protocol.load(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


class Experiment(ComponentConfig):
    """Content of an experiment file."""

    title: str
    """Heading of the result page."""
    question: str = ""
    """Question, in a sentence or two; the page shows it below the heading."""
    expected: str = ""
    """Expected result and its reason, written before the run."""
    protocol: Annotated[Protocol, BeforeValidator(_load_protocol)] = Field(
        "default", validate_default=True
    )
    """Evaluation of every run: the name of a protocol, or its keys."""
    embeddings: AnalysisSettings | None = None
    """Also measure the sentence embeddings of every run, with the keys of an analysis; `{}` for the
    defaults."""
    checkpoint: str = "best"
    """Checkpoint of every run: `best`, `last`, a step or `average:N`."""
    config: str | None = None
    """Configuration of every system without its own."""
    seeds: Seeds = [1]
    """Each system is trained once for each seed."""
    systems: dict[str, SystemConfig] = Field(min_length=1)
    """Systems by their names on the page. Differences are from the first one, or from the one in
    `beside`."""
    goals: list[Goal] = []
    """Goals, written before the run."""
    sizes: dict[str, SizeConfig] = {}
    """Choices of `--size`, such as `cpu` and `full`; default: the first."""
    figure: Literal["systems", "left_out"] = "systems"
    """Content of `result.png`. `systems`: bars of every system. `left_out`: for each direction that
    some system was trained without, its zero-shot score, compared with mean and standard deviation
    of the systems that trained it (Vázquez et al. 2018, section 5.3)."""
    _source: str = PrivateAttr("experiment")  # an experiment made in Python has no file

    @field_validator("checkpoint")
    @classmethod
    def _check_checkpoint(cls, checkpoint: str) -> str:
        if not re.fullmatch(r"best|last|[0-9]+|average:[1-9][0-9]*", checkpoint):
            raise ValueError(f"found {checkpoint!r}; write best, last, a step, or average:N")
        return checkpoint

    @field_validator("systems")
    @classmethod
    def _check_system_folders(cls, systems: dict[str, SystemConfig]) -> dict[str, SystemConfig]:
        """Raise ValueError for names of systems that cannot be names of different folders."""
        folders: dict[str, str] = {}
        for name in systems:
            folder = slug(name)
            if not folder:
                raise ValueError(
                    f"{name!r} has no letters for a folder name; use letters or digits"
                )
            size = len(folder.encode())
            if size > LONGEST_NAME:
                raise ValueError(
                    f"{name!r} gives a folder name of {size} bytes; use at most {LONGEST_NAME}, "
                    "because seeds and pairs are appended"
                )
            if folder in folders:
                raise ValueError(
                    f"{folders[folder]!r} and {name!r} have the same folder, {folder}; "
                    "use other letters or digits for one of them"
                )
            folders[folder] = name
        return systems

    @field_validator("sizes")
    @classmethod
    def _check_size_folders(cls, sizes: dict[str, SizeConfig]) -> dict[str, SizeConfig]:
        """Raise ValueError for names of sizes that cannot be names of folders."""
        for name in sizes:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(
                    f"{name!r} cannot be the name of a folder; "
                    "use letters, digits, underscores, hyphens and dots"
                )
        return sizes

    @model_validator(mode="after")
    def _check_consistency(self) -> Experiment:
        default_configs = [self.config]
        if self.sizes:
            default_configs = [size.config or self.config for size in self.sizes.values()]
        consistency.check_systems(self.systems, default_configs=default_configs, figure=self.figure)
        consistency.check_main_metric(self.systems, self.goals, self.protocol)
        consistency.check_goals(self.systems, self.goals, self.protocol)
        consistency.check_baselines(self.systems)
        consistency.check_sizes(self.systems, self.sizes)
        return self

    @classmethod
    def load(cls, name: str) -> Experiment:
        """Load a file or a shipped experiment. Raise ConfigError with all problems."""
        values = read_yaml(presets.find("evaluation/experiments", name))
        experiment = check_settings(cls, values, where=name)
        experiment._source = name
        return experiment

    @property
    def source(self) -> str:
        """File or shipped name it was loaded from, for messages."""
        return self._source

    def baseline_of(self, system: str) -> str | None:
        """Return the system with which one is compared; None for the first without `beside`."""
        return baselines.baseline_of(self.systems, system)

    def paper_differences(self, system: str) -> dict[str, tuple[float, str]]:
        """Return differences of a paper's scores by direction, each with the system it is from."""
        return baselines.paper_differences(self.systems, system)

    def resolve_size(self, size: str | None) -> str:
        """Return the name of the size; the first for None, `""` for an experiment without sizes.

        Raise ConfigError for an unknown size.
        """
        if size is None:
            return next(iter(self.sizes), "")
        if not self.sizes:
            raise ConfigError(
                f"{self.source}: size: found {size!r}, but this experiment has no `sizes`; "
                "leave it out"
            )
        if size not in self.sizes:
            raise ConfigError(f"{self.source}: size: {unknown_name('size', size, self.sizes)}")
        return size

    def at_size(self, size: str | None = None) -> Experiment:
        """Return the experiment at one size: complete settings of each system, no sizes.

        Raise ConfigError for an unknown size.
        """
        name = self.resolve_size(size)
        chosen = self.sizes[name] if name else SizeConfig()
        systems = {}
        for system_name, system in self.systems.items():
            if chosen.only and system_name not in chosen.only:
                continue
            if system.is_trained:
                system = self._trained_system_at_size(system_name, chosen)
            systems[system_name] = system
        seeds = chosen.seeds or self.seeds
        return self.model_copy(update={"sizes": {}, "seeds": seeds, "systems": systems})

    def _trained_system_at_size(self, name: str, size: SizeConfig) -> SystemConfig:
        system = self.systems[name]
        pairs = system.separately
        if size.separately:
            pairs = [pair for pair in pairs if pair in size.separately]
        settings = {
            "config": system.config or size.config or self.config,
            "set": [*size.set, *system.set, *size.systems.get(name, [])],
            "separately": pairs,
        }
        return system.model_copy(update=settings)


def slug(name: str) -> str:
    """`with copies` to `with-copies`."""
    return re.sub(r"[^\w]+", "-", name.casefold()).strip("-")
