"""An experiment: systems, each of one or several runs, that are trained if they are missing, and evaluated under one protocol."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from polyglot import shipped
from polyglot.config import Config, check_settings, load_config
from polyglot.data.corpora import Corpora
from polyglot.errors import ConfigError, PolyglotError, unknown_name
from polyglot.evaluate.embeddings.analysis import Analysis, analyse
from polyglot.evaluate.embeddings.page import save as save_analysis
from polyglot.evaluate.embeddings.settings import AnalysisSettings
from polyglot.evaluate.evaluation import Progress, evaluate
from polyglot.evaluate.experiments.results import Results, SystemResult
from polyglot.evaluate.matrix import Matrix
from polyglot.evaluate.protocol import Protocol, Reference, references
from polyglot.inference import Directions, Translator
from polyglot.registry import ComponentConfig
from polyglot.run import Run
from polyglot.synced import replace_file
from polyglot.yaml_file import read_yaml

Train = Callable[[Sequence[str]], None]
"""Calls `polyglot train` with these arguments; returns when the run is complete and raises otherwise."""


class SystemConfig(ComponentConfig):
    """One of the things that are compared."""

    config: str | None = None
    """A configuration, as `polyglot train` takes it; it is trained once for each seed."""
    set: list[str] = []
    """Settings that differ, as on the command line: `schedule.base=english_centric`. `SEED` stands for the seed, and `RUNS` for the
    folder of the experiment's runs, so that one system can start from another: `initialize={"*": RUNS/softmax-seedSEED}`."""
    seeds: list[int] | None = Field(None, min_length=1)
    """Seeds; by default those of the experiment."""
    run: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = []
    """Run directories that exist, to be taken as they are, in the place of a configuration; several are several seeds."""
    reference: str | None = None
    """A table of `evaluation/references/` to be shown beside it."""

    @field_validator("reference")
    @classmethod
    def _reference_is_there(cls, reference: str | None) -> str | None:
        if reference is not None and reference not in references():
            raise ValueError(unknown_name("reference", reference, references()))
        return reference

    @model_validator(mode="after")
    def _either(self) -> SystemConfig:
        if (self.config is None) == (not self.run):
            raise ValueError("either `config` or `run` says where its parameters come from")
        if self.run and (self.set or self.seeds):
            raise ValueError("`set` and `seeds` are for a `config`; a `run` is taken as it is")
        return self


class Experiment(ComponentConfig):
    """What an experiment's file says."""

    title: str
    """The heading of the result page."""
    question: str = ""
    """What is asked, in a sentence or two below it."""
    protocol: Annotated[Protocol, BeforeValidator(lambda value: Protocol.load(value) if isinstance(value, str) else value)] = Field(
        "default", validate_default=True
    )
    """How every run is evaluated: the name of a protocol, or its keys."""
    embeddings: AnalysisSettings | None = None
    """Measures the sentence embeddings of every run as well, by the keys of an analysis; `{}` takes its defaults."""
    checkpoint: str = "best"
    """`best`, `last`, a step or `average:N`, of every run."""
    seeds: list[int] = Field([1], min_length=1)
    """Each system is trained once for each of them."""
    systems: dict[str, SystemConfig] = Field(min_length=1)
    """By the name that the page has for them; differences are tested against the first."""
    figure: Literal["systems", "left_out"] = "systems"
    """What `result.png` draws: bars of every system; or for each direction that some system was trained without, its zero-shot score there
    beside mean and standard deviation of the systems that saw it (Vázquez et al. 2018, leaving one pair out)."""

    @field_validator("checkpoint")
    @classmethod
    def _checkpoint_is_one(cls, checkpoint: str) -> str:
        if not re.fullmatch(r"best|last|[0-9]+|average:[1-9][0-9]*", checkpoint):
            raise ValueError(f"found {checkpoint!r}; write best, last, a step, or average:N")
        return checkpoint

    @field_validator("systems")
    @classmethod
    def _names_are_different_folders(cls, systems: dict[str, SystemConfig]) -> dict[str, SystemConfig]:
        slugs = list(map(slug, systems))
        for name, folder in zip(systems, slugs):
            if not folder or slugs.count(folder) > 1:
                raise ValueError(f"{name!r} makes no folder name of its own; use other letters or digits")
        return systems

    @classmethod
    def load(cls, name: str) -> Experiment:
        """From a file or a shipped name. Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(shipped.find("evaluation/experiments", name)), where=name)


def slug(name: str) -> str:
    """`with copies` to `with-copies`."""
    return re.sub(r"[^\w]+", "-", name.casefold()).strip("-")


@dataclass(frozen=True)
class Member:
    """One run of a system."""

    system: str
    name: str
    """of its folders"""
    path: Path
    config: Config | None = None
    """what it is trained with; None for a run that is taken as it is"""
    arguments: Sequence[str] = ()
    """of `polyglot train`"""


def carry_out(
    experiment: Experiment,
    folder: Path,
    *,
    train: Train,
    tell: Callable[[str], None] = lambda sentence: None,
    progress: Progress = lambda what, done, of: None,
) -> Results:
    """Train what is missing below `folder/runs`, evaluate all of it below `folder/evaluation`, and put the results together.

    Called again it continues: complete runs are not trained again, and directions that were scored are not translated again.
    Everything is checked before anything is trained; raises ConfigError, DataError and the errors of training and evaluation.
    """
    protocol, members = experiment.protocol, checked(experiment, folder)
    missing = [member for member in members if not is_complete(member)]
    for number, member in enumerate(missing, start=1):
        tell(f"training {member.name} ({number} of {len(missing)}) in {member.path}")
        begun = (member.path / "config.yaml").is_file()
        train([str(member.path), "--resume"] if begun else member.arguments)
        replace_file(member.path / COMPLETE, "{}\n")
    found: dict[str, list[tuple[Member, Matrix]]] = {}
    for member in members:
        tell(f"evaluating {member.name}")
        found.setdefault(member.system, []).append((member, matrix_of(member, experiment, protocol, folder, progress)))
    analyses = {}
    for member in members if experiment.embeddings else ():
        tell(f"measuring the sentence embeddings of {member.name}")
        analyses[member.system if len(found[member.system]) == 1 else member.name] = analysis_of(member, experiment, folder)
    systems = [
        SystemResult(
            name,
            [matrix for _, matrix in runs],
            reference=Reference.load(system.reference) if (system := experiment.systems[name]).reference else None,
            commands=[
                shlex.join(["polyglot", "train", *member.arguments]) if member.arguments else f"taken as it is: {member.path.name}"
                for member, _ in runs
            ],
            seconds=[training_seconds(member.path) for member, _ in runs],
            folders=[member.name for member, _ in runs],
            settings=dict(flat(Run.open(runs[0][0].path).config.model_dump(mode="json", exclude={"run", "seed"}))),
        )
        for name, runs in found.items()
    ]
    return Results(experiment.title, experiment.question, experiment.figure, systems, analyses)


def checked(experiment: Experiment, folder: Path) -> list[Member]:
    """Every run, after a look at its configuration, directions, pivot and test text. Raises ConfigError and DataError."""
    members = list(members_of(experiment, folder))
    if experiment.protocol.test_sets:
        raise ConfigError("protocol.test_sets: an experiment has one test set; name it in `test`")
    for member in members:
        check_test(member, experiment.protocol)
    return members


COMPLETE = ".complete"  # in a run that was trained to its end, or stopped early by its own patience


def members_of(experiment: Experiment, folder: Path) -> Iterator[Member]:
    """Every run. Raises ConfigError with every problem of their configurations, and for a run that is not there."""
    problems = []
    for name, system in experiment.systems.items():
        for path in system.run:
            try:
                Run.open(path)
            except PolyglotError as error:
                problems.append(f"systems.{name}.run: {error}")
            yield Member(name, f"{slug(name)}-{Path(path).resolve().name}", Path(path))
        for seed in (system.seeds or experiment.seeds) if system.config else ():
            path = folder / "runs" / f"{slug(name)}-seed{seed}"
            own = [each.replace("SEED", str(seed)).replace("RUNS", str(path.parent)) for each in system.set]
            settings = [*own, f"seed={seed}", f"run={path}"]
            try:
                config = load_config(system.config, settings)
            except PolyglotError as error:
                problems.append(f"systems.{name}: {error}")
                continue
            yield Member(name, path.name, path, config, [system.config, *settings])
    if problems:
        raise ConfigError(problems, where="experiment")


def check_test(member: Member, protocol: Protocol) -> None:
    """Raises ConfigError for a direction that the run will not have the components for, and DataError where there is no test text."""
    config = member.config or Run.open(member.path).config
    directions = Directions.of(config.pairs)
    pairs = protocol.pairs_of(directions, config.languages, config.pairs)
    protocol.check_pivot(directions)
    if corpora := protocol.test or config.data.test:
        Corpora(corpora, folder=Path(config.data.folder), languages=config.languages).check_any(pairs)
    else:
        raise ConfigError(f"{member.name}: data.test names no corpus; name one there, or `test` in the protocol")


def is_complete(member: Member) -> bool:
    """Whether there is nothing to train. Raises ConfigError for a run that was begun with other settings."""
    if member.config is None:
        return True
    if not (member.path / "config.yaml").is_file():
        return False
    if Run.open(member.path).config != member.config:
        raise ConfigError(f"{member.path}: was begun with other settings than the experiment has now; remove it, or name another --folder")
    return (member.path / COMPLETE).is_file()


def matrix_of(member: Member, experiment: Experiment, protocol: Protocol, folder: Path, progress: Progress) -> Matrix:
    """The matrix of one run, from the folder of the experiment or anew."""
    run = Run.open(member.path)
    place = folder / "evaluation" / member.name
    translator = Translator.load(run, checkpoint=experiment.checkpoint)
    matrix = evaluate(run, translator, protocol, folder=place, progress=progress)
    matrix.save(place)
    return matrix


def flat(values: Mapping[str, Any], *, above: str = "") -> Iterator[tuple[str, str]]:
    """Every key with its place, `model.encoder.size`, and its value as JSON."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from flat(value, above=f"{above}{key}.")
        else:
            yield f"{above}{key}", json.dumps(value, ensure_ascii=False)


def analysis_of(member: Member, experiment: Experiment, folder: Path) -> Analysis:
    """The embeddings of one run, measured anew."""
    run = Run.open(member.path)
    found = analyse(run, Translator.load(run, checkpoint=experiment.checkpoint), experiment.embeddings)
    save_analysis(found, folder / "analysis" / member.name)
    return found


def training_seconds(path: Path) -> float | None:
    """Of training, as the log says; None without a log."""
    log = path / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    seconds = [values["seconds"] for line in lines if line.endswith("}") and (values := json.loads(line)).get("kind") == "training"]
    return seconds[-1] if seconds else None
