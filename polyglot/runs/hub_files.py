"""Files of a run on the Hugging Face hub, downloaded when they are needed.

They lie in the cache of `huggingface_hub`, which all programs share, and are never changed there.
Every download names the wanted files, so that other files of the repository stay where they are.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyglot.core.hub_address import HubAddress
from polyglot.core.version import VERSION
from polyglot.runs.hub_session import hub_session

SMALL_FILES = (
    "config.yaml",
    "settings.json",
    "vocabulary/checksums.json",
    "checkpoints/best.json",
    "checkpoints/step-*/manifest.json",
)
"""Patterns of the files that every command reads."""

RUN_FILES = (
    *SMALL_FILES,
    "vocabulary/*.model",
    "vocabulary/symbols.json",
    "shortlists/*.safetensors",
    "checkpoints/step-*/*.json",
    "checkpoints/step-*/*.safetensors",
)
"""Patterns of all files of a run, without its results."""

RESULTS = "evaluation"
"""Folder of the results that are published."""
RESULT_ENDINGS = (".json", ".csv", ".md", ".png", ".txt")


@dataclass(frozen=True)
class HubFiles:
    """Files of one commit of a repository."""

    address: HubAddress
    """as the user wrote it"""
    folder: Path
    """folder of the commit in the cache; its name is the commit"""

    @classmethod
    def open(cls, path: str | Path) -> HubFiles:
        """Find the newest commit of an address, and download the small files.

        Without a connection, a commit that was downloaded earlier is used.
        Raises ConfigError for a wrong address, and HubError if there is no such repository.
        """
        address = HubAddress.parse(path)
        folder = _download(address, address.revision, SMALL_FILES)
        return cls(address, folder)

    @property
    def pinned_address(self) -> HubAddress:
        """Address with the commit, whose files never change."""
        return HubAddress(self.address.repository, self.folder.name)

    def fetch(self, paths: Iterable[Path]) -> None:
        """Download these files, if the repository has them; paths are below the folder.

        Raises HubError if it fails.
        """
        patterns = []
        for path in paths:
            if not path.exists():
                name = path.relative_to(self.folder).as_posix()
                patterns.append(glob.escape(name))
        if patterns:
            self._download(patterns)

    def fetch_all(self) -> None:
        """Download all files of the run and its results."""
        self._download([*RUN_FILES, *_result_patterns(RESULTS)])

    def fetch_results(self, name: str = RESULTS) -> None:
        """Download a folder of results, such as `evaluation/default`; by default all results."""
        self._download(_result_patterns(name))

    def _download(self, patterns: Sequence[str]) -> None:
        """Download more files of the same commit, if there are any."""
        # The first file is here already; if nothing matched, the library would print a warning.
        _download(self.address, self.folder.name, ["config.yaml", *patterns])


def _result_patterns(folder: str) -> list[str]:
    return [f"{folder}/*{ending}" for ending in RESULT_ENDINGS]


def _download(address: HubAddress, revision: str | None, patterns: Sequence[str]) -> Path:
    """Download the files that match a pattern; return the folder of the commit."""
    from huggingface_hub import snapshot_download

    with hub_session(address, "downloaded"):
        folder = snapshot_download(
            address.repository,
            revision=revision,
            allow_patterns=list(patterns),
            library_name="polyglot",
            library_version=VERSION,
        )
    return Path(folder)
