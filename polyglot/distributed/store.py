"""The key-value store that the processes have in common, asked without waiting forever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from torch.distributed import PrefixStore, TCPStore

PATIENCE = 30.0
"""Seconds without an answer, or a sign of life, after which a process counts as lost."""
SHORT_PATIENCE = 6.0
"""The same when a connection has broken, so that somebody must be; and for an answer of the store by then."""
SLICE = 0.5
"""Seconds that are waited without a look whether this process was stopped meanwhile."""


def store() -> PrefixStore:
    """The key-value store beside the process group, with a connection of its own: another thread's waiting does not hold it up."""
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    connection = TCPStore(
        host, port, is_master=False, wait_for_workers=False, timeout=timedelta(seconds=PATIENCE)
    )
    return PrefixStore(f"polyglot/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", connection)


def first_to_say(store: PrefixStore) -> bool:
    """Whether nobody has said yet that a process is gone; where that cannot be asked, one on each machine says it."""
    try:
        return answer(partial(store.add, "said", 1), SHORT_PATIENCE) == 1
    except RuntimeError:  # the first process is gone, which holds the store
        number, here = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
        return number == 0 or here == int(number == here)


def answer(ask: Callable[[], Any], patience: float) -> Any:
    """What a store or a disk says. Raises RuntimeError where it is gone, also after so many seconds: that of a process that is stopped, or
    of a machine that is off, never answers, and waiting for it has no end. Seconds in which this process was stopped do not count."""
    there, answers = threading.Event(), list[tuple[Any, Exception | None]]()

    def listen() -> None:
        try:
            answers.append((ask(), None))
        except Exception as error:
            answers.append((None, error))
        there.set()

    threading.Thread(target=listen, daemon=True).start()
    if not waited(there, patience):
        raise RuntimeError("no answer")
    ((found, error),) = answers
    if error:
        raise RuntimeError(str(error)) from error
    return found


def waited(event: threading.Event, patience: float) -> bool:
    """Whether something happens within so many seconds, without those in which this process was stopped."""
    return any(event.wait(SLICE) for _ in range(round(patience / SLICE)))
