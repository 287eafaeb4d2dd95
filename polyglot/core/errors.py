"""What goes wrong on the user's side, said in sentences; everything else is a bug and keeps its traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class PolyglotError(Exception):
    """Something the user can mend: the message names the place, what was found and what would be right."""


class ConfigError(PolyglotError):
    """Every problem of one configuration at once."""

    def __init__(self, problems: Iterable[str] | str, *, where: str = "") -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        lines = (
            self.problems
            if len(self.problems) == 1 and not where
            else [f"  {problem}" for problem in self.problems]
        )
        super().__init__(
            "\n".join(
                [f"{where}: {pluralize(len(self.problems), 'problem')}", *lines] if where else lines
            )
        )


class DataError(PolyglotError):
    """A corpus, a text file or a vocabulary that cannot be used as it is."""


class CheckpointError(PolyglotError):
    """A run directory or a checkpoint that cannot be written, read or trusted."""


class TrainingError(PolyglotError):
    """Training that cannot go on, such as a loss that is no longer a number."""


def pluralize(count: int, one: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


@contextmanager
def collect_errors(problems: list[str], place: str = "") -> Iterator[None]:
    """What the user can mend inside comes to the problems, each with the place before it: they are told together when all are known."""
    try:
        yield
    except PolyglotError as error:
        problems += [
            place + problem
            for problem in (error.problems if isinstance(error, ConfigError) else [str(error)])
        ]


def abbreviate(names: Iterable[object], *, shown: int = 8) -> str:
    """The first of some names, and whether there are more."""
    names = [str(name) for name in names]
    return ", ".join(names[:shown]) + (", …" if len(names) > shown else "")


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence for a name nobody knows: `no encoder named 'lsmt'. Did you mean 'lstm'? Known: gru, lstm`."""
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"no {kind} named {str(name)!r}.{hint} Known: {', '.join(known) or 'none'}"
