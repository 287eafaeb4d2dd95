"""Run directory: paths, configuration and vocabularies.

A run directory can be moved, and all commands after training need nothing else.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglot.config.loading import check_config, load_config
from polyglot.config.schema import Config
from polyglot.config.stored import complete_stored_config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, ConfigError, abbreviate
from polyglot.core.file_locks import folder_lock
from polyglot.core.hub_address import is_hub_address
from polyglot.core.yaml import read_yaml
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs import config_changes
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.compatibility import (
    SHOWN,
    different_settings,
    settings_hash,
    visible_difference,
    without_vocabularies,
)
from polyglot.runs.fixed_settings import fixed_changes, override_problems
from polyglot.runs.hub_files import HubFiles
from polyglot.runs.run_folder import is_leftover, missing_reason, remove
from polyglot.runs.run_text import RunText
from polyglot.runs.stored_settings import settings_values
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig


class Run(RunText):
    """Run directory.

    Its files are `config.yaml`, `settings.json`, `started_in.json`, `vocabulary/`, `checkpoints/`,
    `log.jsonl` and `evaluation/`. `RunText` reads its vocabularies.
    """

    def __init__(self, path: str | Path, config: Config, *, hub: HubFiles | None = None) -> None:
        """hub: files of a run on the hub, which `path` is a copy of; None for a local run."""
        self.path = Path(path)
        self.config = config
        self.hub = hub
        self.used_languages: Sequence[str] = config.languages
        """languages whose vocabularies are read"""
        self.results = self.path if hub is None else hub.address.results_folder
        """folder for the results of evaluations and analyses"""
        self.config_file = self.path / "config.yaml"
        self.checkpoints = self.path / "checkpoints"
        self.log = self.path / "log.jsonl"
        self.evaluation = self.results / "evaluation"
        self.start_file = self.path / "started_in.json"
        self._is_new_folder = False

    def __repr__(self) -> str:
        languages = abbreviate(self.config.languages, shown=12)
        counts = f"{len(self.config.languages)} languages, {len(self.config.tasks)} tasks"
        lines = [f"<Run {self.address}", f" {counts}: {languages}"]
        steps = checkpoints.steps(self.checkpoints)
        if steps:
            listed = abbreviate(steps, shown=6)
            lines.append(f" checkpoints of the steps {listed}")
        else:
            lines.append(" no checkpoints")
        return "\n".join(lines) + ">"

    # Open and create

    @classmethod
    def for_config(cls, config: Config) -> Run:
        """Return the run directory of a configuration, which need not exist.

        Raises ConfigError if the configuration does not name one.
        """
        if config.run is None:
            raise ConfigError(
                "run: the configuration names no run directory, such as 'runs/mine'; "
                "`load_config` takes one from its file's name"
            )
        return cls(config.run, config)

    @classmethod
    def create(cls, config: Config, *, path: Path | None = None) -> Run:
        """Create a run directory with its configuration.

        path: of the directory, if it is not the one that the configuration names.
        Raises CheckpointError if it exists, cannot be created, or is just being created by another
        process.
        """
        run = cls.for_config(config) if path is None else cls(path, config)
        run.check_new()
        try:
            run._is_new_folder = not run.path.exists()
            run.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise run._write_error(error) from None

        with run.lock():
            # Another process may have created the run before this one had the lock.
            run.check_new()
            with run.remove_on_error():
                try:
                    run.vocabulary_folder.mkdir(exist_ok=True)
                except OSError as error:
                    raise run._write_error(error) from None
                run.write_config()
                run._write_start_folder()
        return run

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        sections: Sequence[str] | None = None,
        accept_changes: bool = False,
    ) -> Run:
        """Open an existing run directory.

        sections: sections of the configuration that the caller uses; by default all.
        accept_changes: use the values of `config.yaml` even if they were changed.
        path: a folder, or the address of a run on the hub, whose small files are downloaded.
        Raises ConfigError if there is no run, or if `config.yaml` was changed in one of these
        sections since the program wrote it; CheckpointError if `settings.json` is damaged;
        HubError if a run on the hub cannot be downloaded.
        """
        hub = HubFiles.open(path) if is_hub_address(path) else None
        folder = Path(path) if hub is None else hub.folder
        config_file = folder / "config.yaml"
        if not config_file.is_file():
            reason = "the repository has no config.yaml" if hub else missing_reason(folder)
            raise ConfigError(f"{path}: no run directory: {reason}")
        values = complete_stored_config(read_yaml(config_file))
        run = cls(folder, check_config(values, where=str(config_file)), hub=hub)
        if not accept_changes:
            config_changes.check_unchanged(folder, run.config, sections=sections)
        return run

    @property
    def name(self) -> str:
        """Name in tables and descriptions of scores."""
        return self.path.name if self.hub is None else self.hub.address.name

    @property
    def address(self) -> str:
        """Path by which another run can name this one; on the hub, with the commit."""
        return str(self.path if self.hub is None else self.hub.pinned_address)

    def derived_path(self, suffix: str) -> Path:
        """Return the default path of a run that is made from this one: `runs/mine-suffix`."""
        if self.hub is None:
            return Path(f"{self.path}-{suffix}")
        return Path("runs") / f"{self.name}-{suffix}"

    def for_pairs(self, pairs: Iterable[LanguagePair]) -> Run:
        """Return a run on the hub with only the vocabularies of these directions.

        A local run stays whole, because a file that is missing there was lost.
        """
        if self.hub is None:
            return self
        languages = set()
        for pair in pairs:
            languages.update((pair.source, pair.target))
        limited = Run(self.path, self.config, hub=self.hub)
        limited.used_languages = [name for name in self.config.languages if name in languages]
        return limited

    def fetch(self, paths: Iterable[Path]) -> None:
        """Make files below the run directory available: those of a run on the hub are downloaded.

        Raises HubError if that fails.
        """
        if self.hub is not None:
            self.hub.fetch(paths)

    @classmethod
    def open_with_overrides(
        cls,
        path: str | Path,
        overrides: Sequence[str],
        *,
        accept_changes: bool = False,
    ) -> Run:
        """Open a run with changed settings, such as more steps; `write_config` stores them.

        accept_changes: see `open`. A change that an override confirms is always accepted.
        Raises ConfigError for changes of the directory, and of settings that vocabularies and
        components were built from.
        """
        if is_hub_address(path):
            raise ConfigError(
                f"{path}: a run on the hub has no training state, so it cannot be resumed; "
                f"start a new run from its components: initialize={{'*': '{path}'}}"
            )
        before = cls.open(path, accept_changes=True)
        try:
            run = cls(path, load_config(before.config_file, overrides))
        except ConfigError as error:  # caused by the overrides: the file alone is valid
            problems = list(error.problems)
            if before.vocabularies:
                problems = [*override_problems(overrides), *problems]
            raise ConfigError(problems, where=f"the command line, for {path}") from None
        if run.config.run != before.config.run:
            raise ConfigError(
                f"run: {run.config.run!r}; the run stays where it is, in {path}; "
                "leave run=… out, or begin a new one without --resume"
            )
        changes = fixed_changes(before.config, run.config)
        if changes and before.vocabularies:
            raise ConfigError(
                f"the command line, for {path}: settings that a run was built from cannot change: "
                f"{abbreviate(changes, shown=SHOWN)}; "
                "leave them out, or choose a new run=… without --resume"
            )
        if not accept_changes:
            config_changes.check_confirmed(run.path, before.config, overrides, run.config)
        return run

    def check_new(self) -> None:
        """Raise CheckpointError if the directory is not empty."""
        message = self.occupied_message()
        if message:
            raise CheckpointError(message)

    def occupied_message(self) -> str | None:
        """Return an error message if the directory is not empty, else None.

        Raises CheckpointError if there is a file of this name.
        """
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(
                f"{self.path}: is a file, and a run is a folder; choose another name with run=…"
            )
        if not self.path.is_dir():
            return None
        if all(map(is_leftover, self.path.iterdir())):
            return None
        if not self.config_file.exists():
            return f"{self.path}: exists, but is not a run; choose another with run=…, or remove it"
        return (
            f"{self.path}: exists; continue it with `polyglot train {self.path} --resume`, "
            "choose another with run=…, or remove it"
        )

    @contextmanager
    def remove_on_error(self) -> Iterator[None]:
        """Context manager that removes a new run on an error, and so frees its name.

        Only for a run that this process has created, while it holds the lock. A folder that existed
        before stays, and is empty again.
        """
        try:
            yield
        except BaseException:
            if self._is_new_folder:
                shutil.rmtree(self.path, ignore_errors=True)
            else:
                for path in self.path.iterdir():
                    remove(path)
            raise

    def lock(self) -> AbstractContextManager[None]:
        """Context manager for creation and training: one process at a time.

        Raises CheckpointError if another process creates or trains the run.
        """
        return folder_lock(self.path, work="training this run")

    def _write_error(self, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"{self.path}: the run directory cannot be written: {error.strerror}"
        )

    def write_config(self) -> None:
        """Write `config.yaml` and `settings.json`. Raises CheckpointError if that fails."""
        config_changes.write_config(self.path, self.config)

    def _write_start_folder(self) -> None:
        """Store the absolute path of the folder that relative paths of this run start from."""
        content = json.dumps({"folder": str(Path.cwd())})
        replace_file(self.start_file, f"{content}\n")

    @contextmanager
    def provisional_config(self, has_trained: Callable[[], bool]) -> Iterator[None]:
        """Context manager that stores this configuration, and restores the old one on failure.

        Training that ends before its first update, or fails before its next checkpoint, restores
        the old one. A checkpoint that cannot be written is no failure here: the configuration is
        not the cause of a full disk. A run without checkpoints keeps the new one: its vocabularies
        were built with it.

        has_trained: returns True after the first update.
        """
        before = config_changes.ConfigBackup.read(self.path)
        steps = checkpoints.steps(self.checkpoints)
        self.write_config()
        try:
            yield
        except BaseException as error:
            failed = isinstance(error, Exception) and not isinstance(error, CheckpointError)
            no_new_checkpoint = checkpoints.steps(self.checkpoints) == steps
            if steps and (not has_trained() or (failed and no_new_checkpoint)):
                before.restore(self.config)
            raise

    # Checkpoints

    def choose_checkpoints(self, which: str | int) -> list[Checkpoint]:
        """Return the checkpoints for `best`, `last`, a step or `average:N`.

        Raises CheckpointError if one is missing or does not belong to this run.
        """
        chosen = checkpoints.choose(self.checkpoints, which, fetch=self.fetch)
        for checkpoint in chosen:
            self.check_compatible(checkpoint)
        return chosen

    @cached_property
    def built_from(self) -> dict[str, Any]:
        """Settings that determine the components and the pieces of text; stored in checkpoints."""
        vocabularies = {}
        for language, vocabulary in sorted(self.vocabularies.items()):
            steps = self.normalisers[language]
            vocabularies[language] = vocabulary.sha256 + steps.fingerprint
        settings = {
            "model": self.config.model.model_dump(),
            "pairs": sorted(map(str, self.config.pairs)),
            "vocabularies": vocabularies,
        }
        # Checkpoints that are older than this setting do not have it, and share nothing.
        if self.config.sharing != SharingConfig():
            settings["sharing"] = self.config.sharing.model_dump()
        return settings

    @property
    def settings(self) -> dict[str, Any]:
        """All settings; stored in checkpoints."""
        return settings_values(self.config)

    def check_compatible(self, checkpoint: Checkpoint) -> None:
        """Raise CheckpointError if the checkpoint was built from other settings than this run."""
        unused = set(self.config.languages).difference(self.used_languages)
        stored = without_vocabularies(checkpoint.manifest.get("configuration"), unused)
        if isinstance(stored, dict):
            self._check_vocabulary_files(stored.get("vocabularies", ()), checkpoint)
        differences = self.differences(stored)
        if not differences:
            return
        if isinstance(stored, str):
            sizes = {
                language: len(vocabulary) for language, vocabulary in self.vocabularies.items()
            }
            differences = [visible_difference(checkpoint, self.config, sizes)]
        raise CheckpointError(
            f"{checkpoint.path}: comes from another configuration than {self.config_file}; "
            f"different: {abbreviate(differences, shown=SHOWN)}"
        )

    def _check_vocabulary_files(self, languages: Sequence[str], checkpoint: Checkpoint) -> None:
        for language in languages:
            if language in self.config.languages and language not in self.vocabularies:
                raise CheckpointError(
                    f"{self.vocabulary_file(language)}: no such file, "
                    f"but {checkpoint.path} was trained with it; "
                    "put it back from a copy of the run: a newly learnt vocabulary would not fit"
                )

    def differences(self, stored: Any) -> list[str]:
        """Return the settings that differ from those stored in a checkpoint; empty if none.

        Checkpoints of the first versions store a hash of all settings.
        """
        if not isinstance(stored, str):
            return different_settings(stored, self.built_from)
        if stored == settings_hash(self.built_from, self.config_file):
            return []
        return ["model, pairs or vocabularies"]
