"""Problems of a configuration: the path of a key, and a message for the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

KeyPath = tuple[str | int, ...]
"""Keys and positions in lists, from the top of a file: `("data", "train", 0, "path")`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a configuration, printed as `key.path: message`."""

    path: KeyPath
    """The key that the problem is reported for; empty if it has no single key."""
    message: str
    """What was found, and what would be right."""
    related: tuple[KeyPath, ...] = ()
    """Other keys that the problem depends on; it is not reported if one of them is invalid."""
    languages: tuple[str, ...] = ()
    """Languages whose name may be the cause: unknown ones, or one without text."""

    @property
    def key(self) -> str:
        """The path as the user writes it in an override: `data.train.0.path`."""
        return ".".join(map(str, self.path))

    def below(self, *parents: str | int) -> Problem:
        """Return the problem with `parents` before its path."""
        return replace(self, path=(*parents, *self.path))

    def depends_on(self, path: KeyPath) -> bool:
        """Return True if the key or a related key is at or below `path`.

        Positions in lists are ignored.
        """
        parent = _keys(path)
        depth = len(parent)
        for dependency in (self.path, *self.related):
            keys = _keys(dependency)
            if keys[:depth] == parent:
                return True
        return False

    def __str__(self) -> str:
        if not self.path:
            return self.message
        return f"{self.key}: {self.message}"


class InvalidSettings(ValueError):
    """Several problems that a pydantic validator reports at once; paths start at its settings."""

    def __init__(self, problems: Iterable[Problem | str]) -> None:
        self.problems = as_problems(problems)
        super().__init__("\n".join(map(str, self.problems)))


def as_problems(problems: Iterable[Problem | str]) -> list[Problem]:
    """Return a list of problems; a text becomes a problem without a path."""
    result = []
    for problem in problems:
        if isinstance(problem, str):
            problem = Problem((), problem)
        result.append(problem)
    return result


def _keys(path: KeyPath) -> list[str]:
    """Return the path without positions in lists."""
    return [key for key in path if isinstance(key, str)]
