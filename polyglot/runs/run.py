"""Run directory: paths, configuration and vocabularies.

A run directory can be moved, and all commands after training need nothing else.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglot.config.loading import check_config, load_config
from polyglot.config.overrides import override_key
from polyglot.config.schema import Config
from polyglot.config.stored import complete_stored_config
from polyglot.core.atomic_files import TEMPORARY_SUFFIX, replace_file
from polyglot.core.errors import CheckpointError, ConfigError, abbreviate
from polyglot.core.file_locks import LOCK_FILE, folder_lock
from polyglot.core.problems import Problem
from polyglot.core.yaml import format_value, read_yaml
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs import config_changes
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.compatibility import (
    SHOWN,
    different_keys,
    different_settings,
    value_at,
    visible_difference,
)
from polyglot.runs.stored_settings import SETTINGS_FILE, settings_values
from polyglot.runs.vocabulary_files import check_vocabulary_file
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import Dictionary, Symbolizer
from polyglot.text.vocabulary import Vocabulary
from polyglot.text.word_list import WordList, load_vocabulary

BUILT_FROM = ("languages", "text", "vocabulary", "model", "sharing")
"""Sections of the configuration that determine vocabularies and components, with the pairs."""


class Run:
    """Run directory.

    Its files are `config.yaml`, `settings.json`, `started_in.json`, `vocabulary/`, `checkpoints/`,
    `log.jsonl` and `evaluation/`.
    """

    def __init__(self, path: str | Path, config: Config) -> None:
        self.path = Path(path)
        self.config = config
        self.config_file = self.path / "config.yaml"
        self.checkpoints = self.path / "checkpoints"
        self.log = self.path / "log.jsonl"
        self.evaluation = self.path / "evaluation"
        self.start_file = self.path / "started_in.json"
        self._is_new_folder = False

    def __repr__(self) -> str:
        languages = abbreviate(self.config.languages, shown=12)
        counts = f"{len(self.config.languages)} languages, {len(self.config.tasks)} tasks"
        lines = [f"<Run {self.path}", f" {counts}: {languages}"]
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
    def create(cls, config: Config) -> Run:
        """Create a run directory with its configuration.

        Raises CheckpointError if it exists, cannot be created, or is just being created by another
        process.
        """
        run = cls.for_config(config)
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
        Raises ConfigError if there is no run, or if `config.yaml` was changed in one of these
        sections since the program wrote it; CheckpointError if `settings.json` is damaged.
        """
        path = Path(path)
        config_file = path / "config.yaml"
        if not config_file.is_file():
            raise ConfigError(f"{path}: no run directory: {_missing_reason(path)}")
        values = complete_stored_config(read_yaml(config_file))
        run = cls(path, check_config(values, where=str(config_file)))
        if not accept_changes:
            config_changes.check_unchanged(path, run.config, sections=sections)
        return run

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
        before = cls.open(path, accept_changes=True)
        try:
            run = cls(path, load_config(before.config_file, overrides))
        except ConfigError as error:  # caused by the overrides: the file alone is valid
            problems = before._fixed_overrides(overrides) + error.problems
            raise ConfigError(problems, where=f"the command line, for {path}") from None
        if run.config.run != before.config.run:
            raise ConfigError(
                f"run: {run.config.run!r}; the run stays where it is, in {path}; "
                "leave run=… out, or begin a new one without --resume"
            )
        changes = before._fixed_changes(run.config)
        if changes and before.vocabularies:
            raise ConfigError(
                f"the command line, for {path}: settings that a run was built from cannot change: "
                f"{abbreviate(changes, shown=SHOWN)}; "
                "leave them out, or choose a new run=… without --resume"
            )
        if not accept_changes:
            config_changes.check_confirmed(run.path, before.config, overrides, run.config)
        return run

    def _fixed_overrides(self, overrides: Sequence[str]) -> list[Problem]:
        """Return a problem for each override of a setting that the run was built from."""
        if not self.vocabularies:
            return []
        keys = dict.fromkeys(map(override_key, overrides))
        problems = []
        for key in keys:
            path = tuple(key.split("."))
            if path[0] in BUILT_FROM:
                problem = Problem(
                    path,
                    "cannot change, the run was built from it; leave it out, "
                    "or choose a new run=… without --resume",
                )
                problems.append(problem)
        return problems

    def _fixed_changes(self, config: Config) -> list[str]:
        """Describe the changes of settings that the run was built from."""
        keys = set(BUILT_FROM)
        before = self.config.model_dump(include=keys)
        after = config.model_dump(include=keys)
        changes = []
        for key in sorted(different_keys(before, after)):
            value = format_value(value_at(before, key))
            changes.append(f"{key} was {value}")
        if set(config.pairs) != set(self.config.pairs):
            pairs = ", ".join(sorted(map(str, self.config.pairs)))
            changes.append(f"the pairs of schedule were {pairs}")
        return changes

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
        if all(map(_is_leftover, self.path.iterdir())):
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
                    _remove(path)
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

    # Text

    @property
    def vocabulary_folder(self) -> Path:
        return self.path / "vocabulary"

    def vocabulary_file(self, language: str) -> Path:
        """Return the file of a language's vocabulary; one file for languages that share it."""
        name = self.config.sharing.group_name("vocabulary", language)
        return self.vocabulary_folder / f"{name}.model"

    @cached_property
    def vocabularies(self) -> dict[str, Vocabulary | WordList]:
        """Vocabularies of the languages that have one."""
        vocabularies = {}
        for language in self.config.languages:
            file = self.vocabulary_file(language)
            if file.is_file():
                check_vocabulary_file(file)
                vocabularies[language] = load_vocabulary(file)
        return vocabularies

    @cached_property
    def normalisers(self) -> dict[str, Normaliser]:
        """Text preprocessing of every language."""
        normalisers = {}
        for language in self.config.languages:
            steps = self.config.text.for_language(language)
            normalisers[language] = Normaliser(steps, language, symbols=self.symbols)
        return normalisers

    @property
    def symbols_file(self) -> Path:
        """Dictionary of symbols, if the run uses symbols."""
        return self.vocabulary_folder / "symbols.json"

    @cached_property
    def symbols(self) -> Symbolizer | None:
        """Converter between text and symbols; None if the run does not use symbols."""
        if self.config.text.symbols is None:
            return None
        dictionary = Dictionary()
        if self.symbols_file.is_file():
            check_vocabulary_file(self.symbols_file)
            dictionary = Dictionary.load(self.symbols_file)
        return Symbolizer(self.config.text.symbols, dictionary)

    def shortlist_file(self, pair: LanguagePair) -> Path:
        """Return the file that `polyglot shortlist` writes for a direction."""
        return self.path / "shortlists" / f"{pair}.safetensors"

    def shortlist_digest(self, pair: LanguagePair) -> str | None:
        """Return the SHA-256 of the shortlist's file, or None if it does not exist."""
        file = self.shortlist_file(pair)
        if not file.is_file():
            return None
        return hashlib.sha256(file.read_bytes()).hexdigest()

    # Checkpoints

    def choose_checkpoints(self, which: str | int) -> list[Checkpoint]:
        """Return the checkpoints for `best`, `last`, a step or `average:N`.

        Raises CheckpointError if one is missing or does not belong to this run.
        """
        chosen = checkpoints.choose(self.checkpoints, which)
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
        stored = checkpoint.manifest.get("configuration")
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
        if stored == self._settings_hash():
            return []
        return ["model, pairs or vocabularies"]

    def _settings_hash(self) -> str:
        """Return the hash as the first versions did, with the model settings of `config.yaml`."""
        settings = dict(self.built_from)
        settings["model"] = read_yaml(self.config_file).get("model")
        content = json.dumps(settings, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def _is_leftover(path: Path) -> bool:
    """True for the files of a process that was killed while it created the run."""
    if path.name == "vocabulary":
        return path.is_dir() and not any(path.iterdir())
    if path.name in (LOCK_FILE, SETTINGS_FILE):
        return True
    return path.name.endswith(TEMPORARY_SUFFIX)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _missing_reason(path: Path) -> str:
    """Describe what is at the place of a run directory, and suggest an existing run."""
    if os.path.lexists(path / "config.yaml"):
        return "its config.yaml is not a regular file; put it back from a copy of the run"
    if path.is_file():
        reason = "it is a file"
    elif path.is_dir():
        reason = "it has no config.yaml"
    else:
        reason = "there is nothing"
    runs: dict[str, Path] = {}
    for folder in (path.parent, Path("runs")):
        for config_file in sorted(folder.glob("*/config.yaml")):
            runs.setdefault(config_file.parent.name, config_file.parent)
    # The stem, because the name of a configuration file is often also the name of its run.
    near = difflib.get_close_matches(path.stem, list(runs), n=1)
    if near:
        return f"{reason}. Did you mean {runs[near[0]]}?"
    return f"{reason}; a run is the folder that `polyglot train` has made, such as runs/mine"
