"""Configuration of a run that adds a language to another run."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

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
    """Return the configuration of a new run with all languages of a run and a new language.

    The new language trains with its partners (by default all languages) in both directions, and
    copies itself if the other languages do. All components start from the run and are frozen,
    except those that match a pattern of `free`. Raises ConfigError with every problem.
    """
    before = run.config
    _check_arguments(run, language, partners=partners, free=free)
    frozen = [name for name in before.components if not _matches_any(name, free)]
    start = {"run": str(run.path), "checkpoint": checkpoint}
    initialize = {name: dict(start) for name in before.components}
    values = before.model_dump()
    values |= {
        "languages": [*before.languages, language],
        "run": None,
        "schedule": values["schedule"] | _new_tasks(before, language, partners),
        "sharing": _without_new_language(values["sharing"], before.languages),
        "freeze": frozen,
        "initialize": initialize,
        "trained_before": [str(pair) for pair in before.pairs],
    }
    return configure(
        values,
        overrides,
        run=f"{run.path}-{language}",
        where=f"{run.path} with {language}",
    )


def _check_arguments(
    run: Run,
    language: str,
    *,
    partners: Sequence[str],
    free: Sequence[str],
) -> None:
    languages = run.config.languages
    if language in languages:
        raise ConfigError(f"{run.path}: has {language} already")
    for partner in partners:
        if partner not in languages:
            message = unknown_name("language", partner, languages)
            raise ConfigError(f"{run.path}: {message}")

    components = run.config.components
    for pattern in free:
        if not any(fnmatchcase(name, pattern) for name in components):
            message = unknown_name("component", pattern, components)
            raise ConfigError(f"{run.path}: {message}")


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _new_tasks(before: Config, language: str, partners: Sequence[str]) -> dict[str, Any]:
    """Return settings of the schedule that train only the new language."""
    sources = {pair.source for pair in before.pairs}
    targets = {pair.target for pair in before.pairs}
    partners = partners or before.languages
    pairs = [f"{language}-{partner}" for partner in partners if partner in targets]
    pairs += [f"{partner}-{language}" for partner in partners if partner in sources]
    copies = False
    if before.schedule.copies:
        copies = [language]
    return {
        "pairs": pairs,
        "exclude": [],
        "copies": copies,
        "phases": [],
    }


def _without_new_language(
    sharing: dict[str, dict[str, list[str]] | str],
    languages: Sequence[str],
) -> dict[str, dict[str, list[str]] | str]:
    """Replace `all` by the old languages: the new language has its own components."""
    groups_of_parts = {}
    for part, groups in sharing.items():
        if groups == ALL_LANGUAGES:
            groups = {ALL_LANGUAGES: list(languages)}
        groups_of_parts[part] = groups
    return groups_of_parts
