"""Settings that a run was built from, which cannot change afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyglot.config.overrides import override_key
from polyglot.config.schema import Config
from polyglot.core.problems import Problem
from polyglot.core.yaml import format_value
from polyglot.runs.compatibility import different_keys, value_at

BUILT_FROM = ("languages", "text", "vocabulary", "model", "sharing")
"""Sections of the configuration that determine vocabularies and components, with the pairs."""


def override_problems(overrides: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each override of a setting that runs are built from."""
    for key in dict.fromkeys(map(override_key, overrides)):
        path = tuple(key.split("."))
        if path[0] in BUILT_FROM:
            yield Problem(
                path,
                "cannot change, the run was built from it; leave it out, "
                "or choose a new run=… without --resume",
            )


def fixed_changes(old: Config, new: Config) -> list[str]:
    """Describe the changes of settings that the run was built from."""
    sections = set(BUILT_FROM)
    before = old.model_dump(include=sections)
    after = new.model_dump(include=sections)
    changes = []
    for key in sorted(different_keys(before, after)):
        value = format_value(value_at(before, key))
        changes.append(f"{key} was {value}")
    if set(new.pairs) != set(old.pairs):
        pairs = ", ".join(sorted(map(str, old.pairs)))
        changes.append(f"the pairs of schedule were {pairs}")
    return changes
