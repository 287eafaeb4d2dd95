"""The runs that an experiment consists of: what each is trained with, and whether that was done."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from polyglot.config.loading import load_config
from polyglot.config.schema import Config
from polyglot.core import presets
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import ConfigError, DataError, PolyglotError, abbreviate
from polyglot.data.corpora import Corpora
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments.config import Experiment, slug
from polyglot.inference.directions import Directions
from polyglot.runs.checkpoint import steps
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair

TAIL = 1 << 18  # bytes of a log that hold its last line about training
COMPLETE = ".complete"  # in a run that was trained to its end, or stopped early by its own patience


@dataclass(frozen=True)
class Member:
    """One run of a system."""

    system: str
    name: str
    """of its folders"""
    path: Path
    seed: int | str
    """which of the system's matrices it belongs to: its seed, or the name of a run that is taken as it is"""
    config: Config | None = None
    """what it is trained with; None for a run that is taken as it is"""
    arguments: Sequence[str] = ()
    """of `polyglot train`"""

    @property
    def starts_from(self) -> set[Path]:
        """Runs that must be complete before it can be trained."""
        return (
            {Path(initial.run) for initial in self.config.initialize.values()}
            if self.config
            else set()
        )

    @property
    def settings(self) -> Config:
        """What it is, or was, trained with."""
        return self.config or Run.open(self.path).config

    @property
    def is_begun(self) -> bool:
        return _is_run(self.path)

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing to train. Raises ConfigError for a run that was begun with other settings."""
        if self.config is None:
            return True
        if self.is_begun and (begun := Run.open(self.path).config) != self.config:
            there, here = (
                dict(flat(config.model_dump(mode="json"))) for config in (begun, self.config)
            )
            changed = (key for key in there | here if there.get(key) != here.get(key))
            differs = abbreviate(
                (
                    f"{key} {there.get(key, 'missing')} there, {here.get(key, 'missing')} here"
                    for key in changed
                ),
                shown=3,
            )
            now = "was begun with other settings than the experiment has now"
            keep = "put the old settings back, or name another --folder; `systems.NAME.run` takes a run as it is"
            raise ConfigError(f"{self.path}: {now} ({differs}); {keep}")
        last = _last_step(self.path)
        return last is not None and _completed_step(self.path, last=last) == last

    def complete(self) -> None:
        """To be called when it has been trained to its end."""
        replace_file(self.path / COMPLETE, json.dumps({"step": _last_step(self.path)}) + "\n")


def members_of(experiment: Experiment, folder: Path) -> Iterator[Member]:
    """Every run of an experiment at one size. Raises ConfigError with every problem of their configurations, and for a run that is not
    there."""
    problems: list[str] = []
    of_systems: dict[
        str, dict[str, None]
    ] = {}  # what is wrong with a configuration that several start from is said once
    for name, system in experiment.systems.items():
        last = [Path(path).resolve().name for path in system.run]
        for number, (path, own) in enumerate(zip(system.run, last), start=1):
            try:
                Run.open(path)
            except PolyglotError as error:
                problems.append(f"systems.{name}.run: {error}")
            own = (
                own if last.count(own) == 1 else f"{own}-{number}"
            )  # what is evaluated has a folder for each
            yield Member(name, f"{slug(name)}-{own}", Path(path), path)
        for seed in (system.seeds or experiment.seeds) if not system.trains_nothing else ():
            for pair in (
                map(LanguagePair.parse, system.separately) if system.separately else (None,)
            ):
                path = (
                    folder
                    / "runs"
                    / "-".join([slug(name), *([str(pair)] if pair else []), f"seed{seed}"])
                )
                words = {"SEED": str(seed), "RUNS": str(path.parent)} | (
                    {"SOURCE": pair.source, "TARGET": pair.target} if pair else {}
                )
                settings = [
                    *(filled(each, words) for each in system.set),
                    f"seed={seed}",
                    f"run={path}",
                ]
                try:
                    config = load_config(system.config, settings)
                except PolyglotError as error:
                    of_systems.setdefault(str(error), {})[name] = None
                    continue
                trained = [each for each in config.pairs if not each.is_copy]
                if pair and trained != [pair]:
                    own = "say in `set` what is of the pair alone, such as schedule.pairs=[SOURCE-TARGET]"
                    problems.append(
                        f"systems.{name}.separately: {pair}: it trains {abbreviate(trained)}; {own}"
                    )
                yield Member(name, path.name, path, seed, config, [system.config, *settings])
    problems += (f"systems.{abbreviate(names)}: {problem}" for problem, names in of_systems.items())
    if problems:
        raise ConfigError(problems, where=experiment.named)


def filled(setting: str, words: Mapping[str, str]) -> str:
    """With what each word stands for in its place: `seedSEED`, but not the SOURCE of RESOURCES, nor in what was put in."""
    return re.sub(
        rf"(?<![A-Z])({'|'.join(words)})(?![A-Z])", lambda found: words[found[0]], setting
    )


def flat(values: Mapping[str, Any], *, above: str = "") -> Iterator[tuple[str, str]]:
    """Every key with its place, `model.encoder.size`, and its value as JSON."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from flat(value, above=f"{above}{key}.")
        else:
            yield f"{above}{key}", json.dumps(value, ensure_ascii=False)


def check_starts(members: Sequence[Member], *, where: str) -> None:
    """Raises ConfigError for runs that start from one that neither is there nor will be trained before them."""
    waiting, own = list(members), {member.path for member in members}
    there = {path for member in members for path in member.starts_from - own if _is_run(path)}
    while ready := [member for member in waiting if member.starts_from <= there]:
        there |= {member.path for member in ready}
        waiting = [member for member in waiting if member not in ready]
    problems = []
    for member in waiting:
        missing = abbreviate(sorted(member.starts_from - there))
        problems.append(
            f"{member.name}: starts from {missing}, which is not there and is trained by no system before it"
        )
    if problems:
        raise ConfigError(problems, where=where)


def _is_run(path: Path) -> bool:
    return (path / "config.yaml").is_file()


def _last_step(path: Path) -> int | None:
    """Of the newest checkpoint of a run; None where there is none."""
    return next(reversed(steps(path / "checkpoints")), None)


def _completed_step(path: Path, *, last: int) -> int | None:
    """Where a run ended, if it did: without that checkpoint, which somebody has removed, it is to be trained on.

    last: its newest step, where it ended if nobody says otherwise
    """
    try:
        said = json.loads((path / COMPLETE).read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError:  # what older runs have there is empty, or was made so by hand
        return last
    return said.get("step", last) if isinstance(said, dict) else last


def check_text(
    members: Sequence[Member], protocol_of: Callable[[str], Protocol], *, named: str
) -> None:
    """A look at the test text of every run, and at the training text of those that are to be trained.

    protocol_of: of a system
    named: the experiment, as it was loaded
    Raises ConfigError for a direction that a run will not have the components for, and DataError with all text that is missing, as far
    as it shows without reading much.
    """
    problems: dict[str, dict[str, None]] = {}
    for member in members:
        looks = [partial(check_test, member, protocol_of(member.system), where=named)]
        for look in [
            *looks,
            *([] if member.is_complete else [partial(check_training_text, member.config)]),
        ]:
            try:
                look()
            except DataError as error:
                for problem in str(error).splitlines():
                    problems.setdefault(problem, {})[member.name] = None
    if problems:
        shown = (
            f"; `polyglot show {named}` says where its text is from"
            if named in presets.names("evaluation/experiments")
            else ""
        )
        raise DataError(
            "\n".join(
                f"{named}: {abbreviate(names, shown=2)}: {problem}{shown}"
                for problem, names in problems.items()
            )
        )


def check_training_text(config: Config) -> None:
    """Raises DataError with all that is missing of it, as far as it shows without reading much."""
    if problems := Corpora(
        config.data.train, folder=Path(config.data.folder), languages=config.languages
    ).check():
        raise DataError("\n".join(problems))


def check_test(member: Member, protocol: Protocol, *, where: str) -> None:
    """Raises ConfigError for a direction that the run will not have the components for, and DataError where there is no test text."""
    config = member.settings
    directions = Directions.of(config.pairs)
    try:
        pairs = protocol.select_pairs(directions, config.languages, config.pairs)
        protocol.check_pivot(directions)
    except ConfigError as error:
        raise ConfigError(f"{where}: {member.name}: protocol.{error}") from None
    if corpora := protocol.test or config.data.test:
        Corpora(corpora, folder=Path(config.data.folder), languages=config.languages).check_any(
            pairs
        )
    else:
        raise ConfigError(
            f"{where}: {member.name}: data.test names no corpus; name one there, or `test` in the protocol"
        )


def last_line(path: Path) -> dict[str, float] | None:
    """What the log of a run last said of its training: step, loss, seconds, time; None without a log."""
    log = path / "log.jsonl"
    if not log.is_file():
        return None
    with log.open(
        "rb"
    ) as file:  # looked at every second by whoever shows progress, and it may be long
        file.seek(max(0, log.stat().st_size - TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    for line in reversed(lines):
        if line.startswith('{"kind": "training"') and line.endswith("}"):
            return json.loads(line)
    return None
