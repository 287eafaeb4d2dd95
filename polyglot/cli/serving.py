"""Command `serve`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import (
    AcceptChanges,
    Checkpoint,
    Device,
    Engine,
    Precision,
    RunPath,
)
from polyglot.core.errors import ConfigError

LIBRARIES = ("starlette", "uvicorn", "python_multipart", "sentencex")

Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Address to open. The default is for programs on this machine; 0.0.0.0 is for all "
        "machines that can reach it.",
    ),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 for any that is free.")
]
AllowedOrigins = Annotated[
    Optional[list[str]],
    typer.Option(
        "--allow-origin",
        metavar="URL",
        help="Let scripts of this web page use the server, such as https://example.org; "
        "* for all. Repeat it for several.",
    ),
]
Characters = Annotated[
    int,
    typer.Option("--max-characters", min=1, metavar="N", help="Largest text of one request."),
]
Requests = Annotated[
    int,
    typer.Option(
        "--max-requests", min=1, metavar="N", help="Requests that are answered at a time."
    ),
]
Timeout = Annotated[
    float,
    typer.Option(min=1, max=3600, metavar="SECONDS", help="Longest time of one request."),
]


@command(
    "polyglot serve runs/phrasebook",
    "polyglot serve runs/phrasebook --port 8080 --precision auto",
    "polyglot serve hub:user/phrasebook --host 0.0.0.0 --max-characters 2000",
)
def serve(
    run: RunPath,
    host: Host = "127.0.0.1",
    port: Port = 5000,
    checkpoint: Checkpoint = "best",
    device: Device = None,
    precision: Precision = "float32",
    engine: Engine = "polyglot",
    max_characters: Characters = 10_000,
    max_requests: Requests = 256,
    timeout: Timeout = 60,
    allowed_origins: AllowedOrigins = None,
    accept_changes: AcceptChanges = False,
) -> None:
    """Translate for other programs, with the requests of LibreTranslate, and on a web page.

    Ctrl-C ends the server after the requests that have begun.
    """
    check_libraries()
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run
    from polyglot.runs.stored_settings import TRANSLATION
    from polyglot.serving.limits import Limits
    from polyglot.serving.server import address_of, is_public, open_socket, run_server
    from polyglot.serving.service import TranslationService

    opened_run = Run.open(run, sections=TRANSLATION, accept_changes=accept_changes)
    with open_socket(host, port) as opened:
        translator = Translator.load(
            opened_run,
            checkpoint=checkpoint,
            device=device,
            precision=precision,
            engine=engine,
        )
        limits = Limits(characters=max_characters, requests=max_requests, seconds=timeout)
        service = TranslationService(opened_run, translator, limits)

        def announce() -> None:
            screen.print(f"{opened_run.name}: {address_of(opened)}", soft_wrap=True)
            logger.info("Ctrl-C ends the server")
            if is_public(opened):
                logger.warning(
                    "other machines can use this server, and there is no password; "
                    "on the internet, put a proxy with TLS in front of it"
                )

        run_server(service, opened, allowed_origins=allowed_origins or (), announce=announce)
    logger.info("the server has ended")


def check_libraries() -> None:
    """Raise ConfigError if a library of the extra `serve` is not installed."""
    from importlib.util import find_spec

    for name in LIBRARIES:
        if find_spec(name) is None:
            raise ConfigError(
                f"serve: the library {name} is not installed; pip install 'polyglot-nmt[serve]'"
            )
