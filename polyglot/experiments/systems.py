"""Who writes the translations of an experiment: every run by itself, and those that a system has write together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polyglot.core.errors import ConfigError, abbreviate
from polyglot.experiments.config import Experiment, slug
from polyglot.experiments.runs import Member, flat
from polyglot.runs.run import Run


@dataclass(frozen=True)
class Writers:
    """Who writes the translations of a matrix, or of a part of one."""

    system: str
    name: str
    """of its folders"""
    seed: int | str
    """which of the system's matrices it belongs to; an ensemble has one, by the name of its folder"""
    members: Sequence[Member]
    """a run, or those of an ensemble"""
    together: bool = False
    """whether it is an ensemble"""

    @property
    def command(self) -> str:
        """What trained it, or which runs it is."""
        if self.together:
            return f"together: {' '.join(member.name for member in self.members)}"
        (one,) = self.members
        return (
            shlex.join(["polyglot", "train", *one.arguments])
            if one.arguments
            else f"taken as it is: {one.path.name}"
        )

    @property
    def settings(self) -> dict[str, str]:
        """The configuration, key by key, but for place and seed; every value where the runs of an ensemble differ."""
        every = [
            dict(flat(member.settings.model_dump(mode="json", exclude={"run", "seed"})))
            for member in self.members
        ]
        keys = dict.fromkeys(key for one in every for key in one)
        return {key: ", ".join(dict.fromkeys(one.get(key, "–") for one in every)) for key in keys}


def writers_of(experiment: Experiment, members: Sequence[Member]) -> list[Writers]:
    """Every run by itself, and after them the ensembles."""
    found = [Writers(member.system, member.name, member.seed, [member]) for member in members]
    for name, system in experiment.systems.items():
        if system.ensemble:
            own, folder = (
                [member for member in members if member.system in system.ensemble],
                f"{slug(name)}-ensemble",
            )
            found.append(Writers(name, folder, folder, own, together=True))
    return found


def check_writers(writers: Sequence[Writers], *, where: str) -> None:
    """Raises ConfigError for two of one name, and for runs that cannot be an ensemble, as far as it shows: the vocabularies of those that
    are yet to be trained are known only afterwards."""
    names, problems = [each.name for each in writers], []
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        problems.append(
            f"systems: two would be evaluated in the folder {abbreviate(twice)}; give one of them another name"
        )
    for each in writers:
        if each.together:
            problems += (
                f"systems.{each.system}.ensemble: {problem}" for problem in _why_not(each.members)
            )
    if problems:
        raise ConfigError(problems, where=where)


def _why_not(members: Sequence[Member]) -> Iterator[str]:
    """What keeps runs from writing together."""
    first, *others = members
    if not others:
        yield f"has one run alone, {first.name}; name another seed or system, or leave the ensemble out"
    # Copies make no difference: they are cells of their own kind, trained or not.
    trained = {
        member.name: {pair for pair in member.settings.pairs if not pair.is_copy}
        for member in members
    }
    for other in others:
        if differs := sorted(map(str, trained[other.name] ^ trained[first.name])):
            yield f"{first.name} and {other.name} are trained on different pairs ({abbreviate(differs)}); name runs that have the same ones"
            return
    for language in first.settings.languages:
        begun = [_vocabulary(member, language) for member in members if member.is_begun]
        to_come = [
            _what_makes_it(member, language)
            for member in members
            if not member.is_begun and not member.starts_from
        ]
        if any(one != known[0] for known in (list(filter(None, begun)), to_come) for one in known):
            yield (
                f"its runs have different vocabularies of {language}, and cannot write it together; give them the same settings and text, or have "
                "them start from one run with `initialize`. Where text has more lines than `vocabulary.sentences`, the seed draws them: 0 takes all"
            )


def _vocabulary(member: Member, language: str) -> Any:
    """What a run writes the language in; None as long as it has none."""
    run = Run.open(member.path)
    return (
        (run.vocabularies[language].sha256, run.normalisers[language].fingerprint)
        if language in run.vocabularies
        else None
    )


def _what_makes_it(member: Member, language: str) -> Any:
    """The settings that a vocabulary comes from."""
    config = member.settings
    shared = config.sharing.members("vocabulary", language, config.languages)
    return (
        config.vocabulary.for_language(language),
        config.text.for_language(language),
        shared,
        config.data.folder,
        config.data.train,
    )
