"""Addresses of runs on the Hugging Face hub: `hub:user/name`, or `hub:user/name@revision`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from polyglot.core.errors import ConfigError

PREFIX = "hub:"
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+/-]{0,199}")
CACHE_FOLDER = "models--"
"""Start of the name of a folder in the cache of `huggingface_hub`: `models--user--name`."""


@dataclass(frozen=True)
class HubAddress:
    """Repository of the hub, and a revision of it."""

    repository: str
    """`user/name`"""
    revision: str | None = None
    """branch, tag or commit; None for the main branch"""

    @classmethod
    def parse(cls, text: str | Path) -> HubAddress:
        """Read an address; the prefix may be left out. Raises ConfigError for other text."""
        content = str(text).removeprefix(PREFIX)
        repository, at, revision = content.partition("@")
        is_revision = bool(REVISION.fullmatch(revision)) and ".." not in revision
        if not _is_repository(repository) or (at and not is_revision):
            raise ConfigError(
                f"{str(text)!r}: no address of the hub; write hub:user/name, "
                "or hub:user/name@revision with a branch, a tag or a commit; "
                "a name has letters, digits, and single . - _ between them"
            )
        return cls(repository, revision or None)

    def __str__(self) -> str:
        if self.revision is None:
            return f"{PREFIX}{self.repository}"
        return f"{PREFIX}{self.repository}@{self.revision}"

    @property
    def name(self) -> str:
        """Name of the repository, without its user."""
        _, _, name = self.repository.partition("/")
        return name

    @property
    def results_folder(self) -> Path:
        """Folder for the results of evaluations and analyses of this run: `hub/user/name`."""
        folder = Path("hub") / self.repository
        if self.revision is None:
            return folder
        revision = self.revision.replace("/", "-")
        return folder.with_name(f"{folder.name}@{revision}")


def is_hub_address(path: str | Path) -> bool:
    """True for a path that names a run on the hub."""
    return str(path).startswith(PREFIX)


def is_run_location(path: str | Path) -> bool:
    """True for a folder, and for an address of the hub."""
    return is_hub_address(path) or Path(path).is_dir()


def refuse_hub(path: str | Path, action: str) -> None:
    """Raise ConfigError if a command that changes a run is called for one on the hub.

    action: what the command does, such as `--accept-changes changes the run`.
    """
    if is_hub_address(path):
        raise ConfigError(
            f"{path}: {action}, and a run on the hub is read-only; make a copy of it: "
            f"`polyglot export {path} --component '*' --to runs/copy`"
        )


def download_advice(path: Path) -> str | None:
    """Advice for a damaged file that was downloaded from the hub; None for another file."""
    for folder in path.parents:
        if folder.name.startswith(CACHE_FOLDER):
            repository = folder.name.removeprefix(CACHE_FOLDER).replace("--", "/")
            return (
                f"remove {folder}, and it is downloaded again; "
                f"if that does not help, {PREFIX}{repository} itself is damaged"
            )
    return None


def _is_repository(name: str) -> bool:
    """Check the rules of the hub for names of repositories."""
    if not REPOSITORY.fullmatch(name) or name.endswith(".git"):
        return False
    if ".." in name or "--" in name:
        return False
    return all(part[-1].isalnum() or part[-1] == "_" for part in name.split("/"))
