"""Command `push`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import Checkpoint, RunPath
from polyglot.core.errors import ConfigError, pluralize
from polyglot.core.tables import FoldedTable

if TYPE_CHECKING:
    from polyglot.core.hub_address import HubAddress
    from polyglot.publishing.run_folder import Publication

KILOBYTE = 1000

Repository = Annotated[
    str,
    typer.Argument(metavar="USER/NAME", help="The repository; it is created if there is none."),
]
Private = Annotated[
    bool, typer.Option("--private", help="Create a repository that only you can see.")
]
Branch = Annotated[
    Optional[str],
    typer.Option(
        "--revision",
        metavar="BRANCH",
        help="A branch of the repository; it is created if there is none. Default: main.",
    ),
]
Message = Annotated[
    Optional[str], typer.Option(metavar="TEXT", help="Message of the commit on the hub.")
]
Licence = Annotated[
    Optional[str],
    typer.Option(
        "--licence",
        metavar="LICENCE",
        help="Licence of the model, as the hub calls it: cc-by-4.0, apache-2.0, mit, other.",
    ),
]
WithText = Annotated[
    bool,
    typer.Option(
        "--with-text",
        help="Also publish the test text and the translations of evaluations, so that others can "
        "compare with them. The licence of the test text must allow it.",
    ),
]
OnlyFolder = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Write the folder, list its files and sizes, and upload nothing."
    ),
]
FolderPath = Annotated[
    Optional[Path],
    typer.Option(metavar="DIR", help="Folder of the dry run. Default: RUN-hub."),
]


@command(
    "polyglot push runs/phrasebook user/phrasebook",
    "polyglot push runs/phrasebook user/phrasebook --private --licence cc-by-4.0",
    "polyglot push runs/phrasebook user/phrasebook --checkpoint average:3 --revision averaged",
    "polyglot push runs/phrasebook user/phrasebook --dry-run",
)
def push(
    run: RunPath,
    repository: Repository,
    private: Private = False,
    revision: Branch = None,
    message: Message = None,
    checkpoint: Checkpoint = "best",
    licence: Licence = None,
    with_text: WithText = False,
    dry_run: OnlyFolder = False,
    to: FolderPath = None,
) -> None:
    """Publish a run on the Hugging Face hub, with a model card.

    Parameters, vocabularies, configuration and scores are uploaded, in one commit. The optimizer
    state and the log stay here.
    """
    from polyglot.publishing.push import push as push_run
    from polyglot.publishing.push import push_address
    from polyglot.publishing.run_folder import Publication

    address = push_address(repository, revision)
    if dry_run:
        _write_folder(run, to, address, Publication(checkpoint, licence, with_text))
        return
    if to is not None:
        raise ConfigError("--to: only a dry run writes a folder that stays; add --dry-run")
    url = push_run(
        run,
        address.repository,
        revision=address.revision,
        private=private,
        message=message,
        checkpoint=checkpoint,
        licence=licence,
        with_text=with_text,
    )
    logger.info(f"uploaded: {url}; next: polyglot translate {address} --from … --to …")


def _write_folder(
    run: Path,
    to: Path | None,
    address: HubAddress,
    publication: Publication,
) -> None:
    """Write the folder of a dry run, and print its files with their sizes."""
    from polyglot.publishing.run_folder import write_run_folder
    from polyglot.runs.run import Run

    opened = Run.open(run)
    folder = to or opened.derived_path("hub")
    files = write_run_folder(opened, folder, address, publication)
    table = FoldedTable("file", "kB", title=f"{folder} for {address}")
    total = 0
    for path in files:
        size = path.stat().st_size
        total += size
        table.add_row(str(path.relative_to(folder)), f"{size / KILOBYTE:,.1f}")
    screen.print(table)
    count = pluralize(len(files), "file")
    logger.info(f"{count}, {total / KILOBYTE:,.1f} kB; nothing was uploaded")
