"""Publish a run: write its files to a folder beside it, and upload them."""

from __future__ import annotations

import shutil
from pathlib import Path

from polyglot.core.atomic_files import temporary_path
from polyglot.core.hub_address import HubAddress
from polyglot.publishing.run_folder import Publication, write_run_folder
from polyglot.publishing.upload import upload
from polyglot.runs.run import Run

MESSAGE = "Upload a run of Polyglot"


def push(
    run: Run | str | Path,
    repository: str,
    *,
    revision: str | None = None,
    private: bool = False,
    message: str | None = None,
    checkpoint: str = "best",
    licence: str | None = None,
    with_text: bool = False,
) -> str:
    """Publish a run on the hub, and return the URL of the commit.

    repository: `user/name`; it is created if it does not exist. revision: a branch, created if it
    does not exist; None for the main branch. checkpoint: `best`, `last`, a step, or `average:N`.
    licence: of the model, an identifier of the hub such as `cc-by-4.0`. with_text: publish the test
    text and the translations of evaluations too.
    Raises ConfigError and CheckpointError if the run cannot be used, HubError if the upload fails.
    """
    address = push_address(repository, revision)
    if not isinstance(run, Run):
        run = Run.open(run)
    publication = Publication(checkpoint, licence, with_text)

    folder = temporary_path(run.path.parent)
    try:
        files = write_run_folder(run, folder, address, publication)
        return upload(folder, files, address, private=private, message=message or MESSAGE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def push_address(repository: str, revision: str | None) -> HubAddress:
    """Return the address of a repository and a branch. Raises ConfigError for a wrong name."""
    address = HubAddress.parse(repository)
    if revision is None:
        return address
    return HubAddress.parse(f"{address.repository}@{revision}")
