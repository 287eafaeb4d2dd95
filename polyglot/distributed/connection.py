"""Connect the processes of a launcher to one process group."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
import torch.distributed
from torch.distributed import Store

from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError
from polyglot.distributed.launch import LAUNCHER_HINT, launcher_world_size
from polyglot.distributed.store import file_store, wait_for_event
from polyglot.distributed.variables import accelerate_state, uses_cpu

if TYPE_CHECKING:
    from accelerate import PartialState

COLLECTIVE_TIMEOUT = timedelta(hours=2)
"""Timeout for processes that are all alive, also while they are stopped; a lost process is noticed
much sooner."""
WAIT_MESSAGE_DELAY = 20.0
"""Seconds that a process waits for the others at the start before it logs that it waits."""
CONNECT_TIMEOUT = 600.0
"""Seconds after which a process gives up to wait for the others at the start."""
GLOO_INTERFACE = "GLOO_SOCKET_IFNAME"


def connect() -> PartialState:
    """Return accelerate's state with the process group; on the CPU without an accelerator.

    Raises ConfigError for more processes than devices, or a launcher that accelerate ignores.
    """
    if torch.accelerator.is_available():
        devices = torch.accelerator.device_count()
    else:
        devices = 0
    use_cpu = not devices or uses_cpu() or torch.accelerator.current_accelerator().type == "mps"
    local_world_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if not use_cpu and local_world_size > devices:
        raise ConfigError(
            f"{local_world_size} processes on this machine, which has {devices} devices; "
            "start one process for each device"
        )
    world_size = launcher_world_size()
    if local_world_size == world_size:
        _listen_on_this_machine_only()
    store = file_store("torch")
    if store is None:
        _resolve_host(os.environ["MASTER_ADDR"])
    else:
        _create_process_group(store, world_size, use_cpu=use_cpu)
    state = accelerate_state(cpu=use_cpu, timeout=COLLECTIVE_TIMEOUT)
    if state.num_processes != world_size:
        raise ConfigError(
            f"a launcher has started {world_size} processes, and accelerate counts "
            f"{state.num_processes}; {LAUNCHER_HINT}"
        )
    return state


def _listen_on_this_machine_only() -> None:
    """Let gloo use the loopback interface, unless the user has chosen another one."""
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    if loopback:
        os.environ.setdefault(GLOO_INTERFACE, loopback[0])


def _create_process_group(store: Store, world_size: int, *, use_cpu: bool) -> None:
    """Create the default process group, which accelerate then uses."""
    device = "cpu" if use_cpu else torch.accelerator.current_accelerator().type
    torch.distributed.init_process_group(
        torch.distributed.get_default_backend_for_device(device),
        store=store,
        rank=int(os.environ["RANK"]),
        world_size=world_size,
        timeout=COLLECTIVE_TIMEOUT,
    )


def _resolve_host(name: str) -> None:
    """Wait until the name of a machine can be resolved. Raises OSError for an unknown name."""
    deadline = time.monotonic() + WAIT_MESSAGE_DELAY
    while True:
        try:
            socket.getaddrinfo(name, None)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@contextmanager
def connection_timeout() -> Iterator[None]:
    """Limit the time in which the processes connect, before there are heartbeats.

    A thread logs a long wait, once on each machine, and ends the process after the timeout:
    nothing can wake the main thread.

    Raises ConfigError if the processes cannot connect.
    """
    connected = threading.Event()
    threading.Thread(target=_limit_waiting, args=[connected], daemon=True).start()
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(_failure_message(reason)) from None
    finally:
        connected.set()


def _limit_waiting(connected: threading.Event) -> None:
    if wait_for_event(connected, WAIT_MESSAGE_DELAY):
        return
    _print_once(f"process {os.environ['RANK']} waits for the others at {_address()}")
    if wait_for_event(connected, CONNECT_TIMEOUT - WAIT_MESSAGE_DELAY):
        return
    message = _failure_message(f"not all came within {CONNECT_TIMEOUT:.0f} s")
    _print_once(f"error: {message}")
    os._exit(2)


def _address() -> str:
    if "MASTER_ADDR" not in os.environ:
        return "this machine"
    return f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"


def _failure_message(reason: str) -> str:
    return (
        f"the processes cannot connect at {_address()}: {reason}; "
        "were all of them started, with the same address?"
    )


def _print_once(line: str) -> None:
    """Print a line on standard error, only in the first process of a machine."""
    if os.environ["LOCAL_RANK"] == "0":
        stderr_console.print(line, markup=False, highlight=False, soft_wrap=True)
