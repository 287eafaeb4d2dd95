"""Training what an experiment lacks: one run after the other, or several beside each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from polyglot.core.errors import ConfigError
from polyglot.experiments.runs import Member

Train = Callable[[Member, Sequence[str]], None]
"""Calls `polyglot train` with these arguments for this run; returns when it is complete and raises otherwise."""


def train_all(members: Sequence[Member], train: Train, *, parallel: int = 1) -> None:
    """Every run that is not complete, in their order but those that start from others after these, and at most so many at once.

    When one fails, or all are interrupted, no other is begun, and those that run are waited for. Raises the first failure, and
    ConfigError for runs that wait for each other.
    """
    waiting = [member for member in members if not member.is_complete]
    if parallel == 1:
        while waiting:
            member = _ready(waiting, ())[0]
            _train(member, train)
            waiting.remove(member)
        return
    running: dict[Future[None], Member] = {}
    failed: BaseException | None = None
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        while running or (waiting and not failed):
            room = 0 if failed else parallel - len(running)
            for member in _ready(waiting, {each.path for each in running.values()})[:room]:
                waiting.remove(member)
                running[pool.submit(_train, member, train)] = member
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                running.pop(future)
                failed = failed or future.exception()
    if failed:
        raise failed


def _ready(waiting: Sequence[Member], running: Collection[Path]) -> list[Member]:
    """Those that start from nothing that is still to be trained."""
    missing = {member.path for member in waiting}.union(running)
    found = [member for member in waiting if not member.starts_from & missing]
    if waiting and not found and not running:
        raise ConfigError(
            f"{', '.join(member.name for member in waiting)}: each starts from a run that is not trained before it"
        )
    return found


def _train(member: Member, train: Train) -> None:
    train(member, [str(member.path), "--resume"] if member.is_begun else member.arguments)
    member.complete()
