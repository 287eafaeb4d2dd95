"""Configuration of a run that adds a language to another run."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from polyglot.config.loading import configure
from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.runs.run import Run
from polyglot.tasks.sharing import ALL_LANGUAGES


def config_with_language(
    run: Run,
    language: str,
    overrides: Sequence[str] = (),
    *,
    partners: Sequence[str] = (),
    free: Sequence[str] = (),
    checkpoint: str | int = "best",
) -> Config:
    """The configuration of a new run that has all of a run and one language more.

    The language trains with its partners (all others unless named) in both directions, and copies itself where the others did. All
    that is there starts from the run and stays as it is, but for components that fit a pattern of `free`.
    Raises ConfigError with every problem.
    """
    before = run.config
    if language in before.languages:
        raise ConfigError(f"{run.path}: has {language} already")
    for one in partners:
        if one not in before.languages:
            raise ConfigError(f"{run.path}: {unknown_name('language', one, before.languages)}")
    for pattern in free:
        if not any(fnmatchcase(name, pattern) for name in before.components):
            raise ConfigError(
                f"{run.path}: {unknown_name('component', pattern, before.components)}"
            )
    sources, targets = (
        {getattr(pair, side) for pair in before.pairs} for side in ("source", "target")
    )
    others = partners or before.languages
    pairs = [f"{language}-{one}" for one in others if one in targets] + [
        f"{one}-{language}" for one in others if one in sources
    ]
    copies = [language] if before.schedule.copies else False
    values = before.model_dump()
    values |= {
        "languages": [*before.languages, language],
        "run": None,
        "schedule": {
            **values["schedule"],
            "pairs": pairs,
            "exclude": [],
            "copies": copies,
            "phases": [],
        },
        "sharing": {
            part: _without_newcomers(groups, before.languages)
            for part, groups in values["sharing"].items()
        },
        "freeze": [
            name
            for name in before.components
            if not any(fnmatchcase(name, pattern) for pattern in free)
        ],
        "initialize": {
            name: {"run": str(run.path), "checkpoint": checkpoint} for name in before.components
        },
        "trained_before": [str(pair) for pair in before.pairs],
    }
    return configure(
        values, overrides, run=f"{run.path}-{language}", where=f"{run.path} with {language}"
    )


def _without_newcomers(
    groups: dict[str, list[str]] | str, languages: Sequence[str]
) -> dict[str, list[str]]:
    """What everybody shared is shared by those who were there: a new language has words of its own."""
    return {ALL_LANGUAGES: list(languages)} if groups == ALL_LANGUAGES else groups
