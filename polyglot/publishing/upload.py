"""Upload of a folder to a repository of the hub, as one commit: complete or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import HubError
from polyglot.core.hub_address import HubAddress
from polyglot.core.version import VERSION
from polyglot.runs.hub_session import hub_session

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RUN_FOLDERS = ("checkpoints/", "vocabulary/", "shortlists/", "evaluation/")
"""Folders of a repository whose old files belong to an earlier version of the run."""


def upload(
    folder: Path,
    files: Sequence[Path],
    address: HubAddress,
    *,
    private: bool,
    message: str,
) -> str:
    """Upload files of a folder, and return the URL of the commit.

    The repository and the branch of the address are created if they do not exist. Files of an
    earlier version of the run are removed by the same commit. An interrupted upload leaves the
    repository as it was, and the next one sends only what is missing.
    Raises HubError that says what is wrong.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    api = HfApi(library_name="polyglot", library_version=VERSION)
    with hub_session(address, "written"):
        _prepare_repository(api, address, private=private)
        names = {path.relative_to(folder).as_posix(): path for path in files}
        operations = []
        for name, path in names.items():
            operations.append(CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(path)))
        for name in api.list_repo_files(address.repository, revision=address.revision):
            if name.startswith(RUN_FOLDERS) and name not in names:
                operations.append(CommitOperationDelete(path_in_repo=name, is_folder=False))
        commit = api.create_commit(
            address.repository,
            operations,
            commit_message=message,
            revision=address.revision,
        )
    return str(commit.commit_url)


def _prepare_repository(api: HfApi, address: HubAddress, *, private: bool) -> None:
    """Create the repository and the branch. Raises HubError if a private one is public."""
    repository = address.repository
    api.create_repo(repository, private=private or None, exist_ok=True)
    if private and not api.repo_info(repository).private:
        raise HubError(
            f"{address}: exists and is public, so nothing was uploaded; "
            "make it private on its page, or leave --private out"
        )
    if address.revision is not None:
        api.create_branch(repository, branch=address.revision, exist_ok=True)
