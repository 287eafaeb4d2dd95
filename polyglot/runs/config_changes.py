"""Changes of `config.yaml` since the program wrote it: found, refused, or accepted."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polyglot.config.loading import configure
from polyglot.config.schema import Config
from polyglot.config.stored import complete_stored_config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, ConfigError, abbreviate
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.steps import step_folder, steps
from polyglot.runs.stored_settings import (
    SETTINGS_FILE,
    Change,
    StoredSettings,
    accept_hint,
    changed_settings,
    in_sections,
    read_settings,
    settings_values,
    unaccepted_changes,
    write_settings,
)

logger = logging.getLogger("polyglot")

CONFIG_FILE = "config.yaml"
SHOWN = 6
"""Changes that a message lists before `…`."""

_noticed: set[str] = set()
"""Notices that this process has logged, each once."""


def stored_settings(folder: Path) -> StoredSettings | None:
    """Settings that the program wrote, from `settings.json` or the newest checkpoint.

    None for a run of an older version. Raises CheckpointError if `settings.json` is damaged.
    """
    stored = read_settings(folder)
    if stored is not None:
        return stored
    for step in reversed(steps(folder / "checkpoints")):
        try:
            checkpoint = Checkpoint.open(step_folder(folder / "checkpoints", step))
        except CheckpointError:  # reported when it is used
            continue
        settings = checkpoint.manifest.get("settings")
        if settings is not None:
            return StoredSettings(settings=settings)
    return None


def check_unchanged(folder: Path, config: Config, *, sections: Sequence[str] | None = None) -> None:
    """Raise ConfigError if `config.yaml` was changed in one of these sections (None: in any).

    config: as read from `config.yaml`. Changes in other sections are logged.
    """
    changes = _changes(folder, config)
    used = in_sections(changes, sections)
    if used:
        raise ConfigError(_refusal(folder, used))
    if changes:
        _log_once(f"{_describe(folder, changes)}; this command does not use them")


def check_confirmed(
    folder: Path,
    config: Config,
    overrides: Sequence[str],
    result: Config,
) -> None:
    """Raise ConfigError if `config.yaml` has changes that the overrides do not confirm.

    config: as read from `config.yaml`. result: the same with the overrides.
    """
    changes = _changes(folder, config)
    if not changes:
        return
    stored = stored_settings(folder)
    values = complete_stored_config(copy.deepcopy(stored.settings))
    try:
        expected = configure(values, overrides, run=str(folder), where=str(folder), is_stored=True)
        changes = changed_settings(settings_values(expected), result)
    except ConfigError:  # the overrides do not fit the old values
        pass
    if changes:
        raise ConfigError(f"{_refusal(folder, changes)}, or name each as key=value")


def changes_since(checkpoint: Checkpoint, config: Config) -> list[Change]:
    """Settings that differ from those that wrote a checkpoint; empty if it does not say."""
    settings = checkpoint.manifest.get("settings")
    if settings is None:
        return []
    return changed_settings(settings, config)


def log_changes_since(checkpoint: Checkpoint, config: Config) -> None:
    """Log the settings that differ from those that wrote a checkpoint."""
    changes = changes_since(checkpoint, config)
    if changes:
        listed = abbreviate(changes, shown=SHOWN)
        logger.info(f"{checkpoint.path}: settings that changed since: {listed}")


def write_config(folder: Path, config: Config) -> None:
    """Write `config.yaml` and `settings.json`; after a kill at any moment the two fit together.

    Raises CheckpointError if one cannot be written.
    """
    settings = settings_values(config)
    before = _readable_settings(folder)
    previous = before.settings if before else None
    write_settings(folder, settings, previous=previous)
    replace_file(folder / CONFIG_FILE, config.to_yaml())
    if previous is not None:
        write_settings(folder, settings)


def accept_changes(folder: Path, config: Config) -> list[Change]:
    """Store the values of `config.yaml` as right. Returns the changes that were accepted."""
    before = _readable_settings(folder)
    write_settings(folder, settings_values(config))
    if before is None:
        return []
    return unaccepted_changes(before, config)


@dataclass(frozen=True)
class ConfigBackup:
    """Content of the files of a configuration before a change."""

    folder: Path
    config: bytes
    settings: StoredSettings | None

    @classmethod
    def read(cls, folder: Path) -> ConfigBackup:
        config = (folder / CONFIG_FILE).read_bytes()
        return cls(folder, config, _readable_settings(folder))

    def restore(self, changed: Config) -> None:
        """Write the old content again, in place of a changed configuration.

        Raises CheckpointError if a file cannot be written.
        """
        if self.settings is None:
            (self.folder / SETTINGS_FILE).unlink(missing_ok=True)
            replace_file(self.folder / CONFIG_FILE, self.config)
            return
        settings = self.settings.settings
        write_settings(self.folder, settings, previous=settings_values(changed))
        replace_file(self.folder / CONFIG_FILE, self.config)
        write_settings(self.folder, settings, previous=self.settings.previous)


def _changes(folder: Path, config: Config) -> list[Change]:
    """Changes of `config.yaml`; a run without stored settings is logged."""
    stored = stored_settings(folder)
    if stored is not None:
        return unaccepted_changes(stored, config)
    _log_once(
        f"{folder}: an older version wrote this run without {SETTINGS_FILE}, so a change of "
        f"{CONFIG_FILE} cannot be noticed; {accept_hint(folder)} adds it"
    )
    return []


def _readable_settings(folder: Path) -> StoredSettings | None:
    """Settings in `settings.json`; None if it is missing, or damaged and written again."""
    try:
        return read_settings(folder)
    except CheckpointError:
        return None


def _refusal(folder: Path, changes: Sequence[Change]) -> str:
    return (
        f"{_describe(folder, changes)}; put the old values back, or accept the new ones with "
        f"{accept_hint(folder)}"
    )


def _describe(folder: Path, changes: Sequence[Change]) -> str:
    listed = abbreviate(changes, shown=SHOWN)
    return f"{folder / CONFIG_FILE}: was changed since the program wrote it: {listed}"


def _log_once(message: str) -> None:
    if message not in _noticed:
        _noticed.add(message)
        logger.warning(message)
