"""Copy of the configuration, which shows that `config.yaml` was changed or damaged.

`settings.json` holds the values that the program wrote, and their checksum. Comments and layout of
`config.yaml` do not count: its values are compared after they were read and completed with the
defaults.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from polyglot.config.schema import Config
from polyglot.config.stored import complete_stored_config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.core.stored_json import read_stored, with_checksum
from polyglot.core.yaml import format_value
from polyglot.runs.compatibility import different_keys, value_at

SETTINGS_FILE = "settings.json"

LARGEST_FILE = 16 * 2**20

NOT_COMPARED = ("run",)
"""A run may be moved and renamed."""

TRANSLATION = ("languages", "text", "model", "sharing", "search")
"""Sections of the configuration that change the translations of a trained run. The pairs, and what
components were built from, are compared with the checkpoint as well."""

EVALUATION = (*TRANSLATION, "data", "schedule", "trained_before")
"""Sections that change the scores of a trained run."""


class StoredSettings(BaseModel):
    """Schema of `settings.json`."""

    settings: dict[str, Any]
    previous: dict[str, Any] | None = None
    """values until `config.yaml` is replaced: both are right if the process is killed before"""


STORED_SETTINGS = TypeAdapter(StoredSettings)


@dataclass(frozen=True)
class Change:
    """Setting with another value than the program wrote."""

    key: str
    old: Any
    new: Any

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.key} was {format_value(self.old)} and is {format_value(self.new)}"


def settings_values(config: Config) -> dict[str, Any]:
    """Values of a configuration as JSON stores them."""
    return json.loads(json.dumps(config.model_dump(mode="json")))


def write_settings(
    folder: Path,
    settings: Mapping[str, Any],
    *,
    previous: Mapping[str, Any] | None = None,
) -> None:
    """Write `settings.json`. Raises CheckpointError if it cannot be written."""
    values = {"settings": settings, "previous": previous}
    content = json.dumps(with_checksum(values), indent=1)
    replace_file(folder / SETTINGS_FILE, f"{content}\n")


def read_settings(folder: Path) -> StoredSettings | None:
    """Read `settings.json`; None for older runs. Raises CheckpointError if it is damaged."""
    path = folder / SETTINGS_FILE
    try:
        stored = read_stored(path, STORED_SETTINGS, largest=LARGEST_FILE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(
            f"{path}: cannot be used: {reason}; {accept_hint(folder)} writes it again, "
            "with the values of config.yaml"
        ) from None
    return stored


def changed_settings(stored: Mapping[str, Any], config: Config) -> list[Change]:
    """Settings of a configuration that differ from stored ones, sorted by key."""
    present = settings_values(config)
    if stored == present:
        return []
    old = _completed(stored)
    changes = []
    for key in sorted(different_keys(old, present)):
        if key.partition(".")[0] not in NOT_COMPARED:
            changes.append(Change(key, value_at(old, key), value_at(present, key)))
    return changes


def unaccepted_changes(stored: StoredSettings, config: Config) -> list[Change]:
    """Changes since the program wrote the configuration, also if it was killed meanwhile."""
    changes = changed_settings(stored.settings, config)
    if changes and stored.previous is not None and not changed_settings(stored.previous, config):
        return []
    return changes


def in_sections(changes: Sequence[Change], sections: Sequence[str] | None) -> list[Change]:
    """Changes in these sections; None stands for all."""
    if sections is None:
        return list(changes)
    return [change for change in changes if change.section in sections]


def accept_hint(folder: Path) -> str:
    """Command that accepts the values of `config.yaml`."""
    return f"`polyglot check {folder} --accept-changes`"


def _completed(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored values with the defaults of keys that are newer."""
    values = complete_stored_config(copy.deepcopy(dict(stored)))
    try:
        return settings_values(Config.model_validate(values))
    except ValidationError:  # of another version; the differences are shown as they are
        return values
