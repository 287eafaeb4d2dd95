"""Opens the address and runs the server until a signal ends it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from types import FrameType

import uvicorn

from polyglot.core.errors import ConfigError
from polyglot.core.signals import active_signals, signal_handler
from polyglot.serving.application import create_application
from polyglot.serving.service import TranslationService

BACKLOG = 2048
"""Connections that the system keeps until they are accepted."""
KEEP_ALIVE_SECONDS = 15
"""Time that a connection without a request stays open."""

logger = logging.getLogger("polyglot")


def open_socket(host: str, port: int) -> socket.socket:
    """Open an address, so that a mistake shows before the model is loaded. port: 0 for any.

    Raises ConfigError if the address is not of this machine or in use.
    """
    try:
        [address, *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family = address[0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, UnicodeError, OverflowError) as error:
        message = getattr(error, "strerror", None) or str(error)
        reason, _, _ = message.partition(" (while attempting")
        raise ConfigError(
            f"{host}, port {port}: cannot be opened: {reason}; choose another --port, or 0 for "
            "any that is free, and a --host of this machine"
        ) from None


def address_of(opened: socket.socket) -> str:
    """Return the address for a browser, such as `http://127.0.0.1:5000`."""
    host, port = opened.getsockname()[:2]
    if opened.family == socket.AF_INET6:
        host = f"[{host}]"
    return f"http://{host}:{port}"


def is_public(opened: socket.socket) -> bool:
    """True if other machines can reach the address."""
    host = opened.getsockname()[0]
    return not ip_address(host.partition("%")[0]).is_loopback


def run_server(
    service: TranslationService,
    opened: socket.socket,
    *,
    allowed_origins: Sequence[str] = (),
    announce: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until Ctrl-C, SIGTERM or SIGHUP; requests that have begun are completed.

    announce: called before the first request. Raises ConfigError and CheckpointError for a run
    that cannot translate.
    """
    service.start()
    application = create_application(service, allowed_origins=allowed_origins)
    config = uvicorn.Config(
        application,
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(service.limits.seconds),
    )
    server = uvicorn.Server(config)

    def stop(number: int, frame: FrameType | None) -> None:
        """Also called for signals that uvicorn has handled, when it ends."""
        server.should_exit = True

    with signal_handler(active_signals(), stop):
        announce()
        server.run(sockets=[opened])
    service.stop()
