"""Errors that the user can correct. Everything else is a bug and keeps its traceback."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from polyglot.core.problems import Problem, as_problems

USER_ERROR = 2
"""Exit code of a program that ends with an error of the user."""


class PolyglotError(Exception):
    """Error that the user can correct. The message says where, what was found, what is right."""


class ConfigError(PolyglotError):
    """All problems of one configuration."""

    def __init__(self, problems: Iterable[Problem | str] | str, *, where: str = "") -> None:
        """Create the message. where: the file or the command line that has the problems."""
        if isinstance(problems, str):
            problems = [problems]
        self.problems = as_problems(problems)
        super().__init__(_listing(self.problems, where))


class DataError(PolyglotError):
    """A corpus, a text file or a vocabulary that cannot be used."""


class CheckpointError(PolyglotError):
    """A run directory or a checkpoint that cannot be written, read or verified."""


class HubError(PolyglotError):
    """A repository of the Hugging Face hub that cannot be read or written."""


class TrainingError(PolyglotError):
    """Training that cannot continue, for example because the loss is not finite."""


@contextmanager
def collect_errors(problems: list[Problem], *path: str | int) -> Iterator[None]:
    """Catch a `PolyglotError` and append its problems, so that all are reported together.

    path: keys that are put before the path of each problem.
    """
    try:
        yield
    except ConfigError as error:
        problems += [problem.below(*path) for problem in error.problems]
    except PolyglotError as error:
        problems.append(Problem(path, str(error)))


LONG_MESSAGES = 10
"""Unknown names whose messages have a suggestion and all known names."""


def pluralize(count: int, noun: str) -> str:
    """Return `1 line`, `2 lines`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}s"


def abbreviate(names: Iterable[object], *, shown: int = 8) -> str:
    """Join the first names with commas; `…` stands for the rest."""
    words = [str(name) for name in names]
    text = ", ".join(words[:shown])
    if len(words) > shown:
        text += ", …"
    return text


def unknown_name(kind: str, name: object, known_names: Iterable[str]) -> str:
    """Return `no encoder named 'lsmt'. Did you mean 'lstm'? Known: gru, lstm`."""
    name = str(name)
    choices = sorted(known_names)
    message = f"no {kind} named {name!r}."

    similar = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
    if similar:
        message += f" Did you mean {similar[0]!r}?"

    listing = ", ".join(choices) or "none"
    return f"{message} Known: {listing}"


def unknown_names(
    kind: str,
    names: Iterable[str],
    known_names: Collection[str],
) -> Iterator[tuple[str, str]]:
    """Yield names with the message of `unknown_name`; with a short one after the first ten.

    Every message compares its name with all known names, so a thousand would take minutes.
    """
    for number, name in enumerate(names):
        if number < LONG_MESSAGES:
            yield name, unknown_name(kind, name, known_names)
        else:
            yield name, f"no {kind} named {name!r}"


def _listing(problems: Sequence[Problem], where: str) -> str:
    """Return one line per problem, indented below a heading if there are several or a place."""
    if len(problems) == 1 and not where:
        return str(problems[0])
    lines = []
    if where:
        count = pluralize(len(problems), "problem")
        lines.append(f"{where}: {count}")
    for problem in problems:
        lines.append(f"  {problem}")
    return "\n".join(lines)
