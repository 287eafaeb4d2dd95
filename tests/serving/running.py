"""A server in a thread of the tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from polyglot.serving.application import create_application
from polyglot.serving.server import address_of, open_socket
from polyglot.serving.service import TranslationService

TIMEOUT = 60  # seconds


@contextmanager
def running_server(service: TranslationService) -> Iterator[str]:
    """Run a service on a free port; the value is its address."""
    service.start()
    config = uvicorn.Config(create_application(service), log_config=None, ws="none")
    server = uvicorn.Server(config)
    with open_socket("127.0.0.1", 0) as opened:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
        thread.start()
        yield address_of(opened)
        server.should_exit = True
        thread.join(TIMEOUT)
    service.stop()
