"""The run directory: every path in it, its configuration and vocabularies. It can be moved, and later commands need nothing else."""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from polyglot.config.loading import check_config, load_config
from polyglot.config.schema import Config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, ConfigError, abbreviate
from polyglot.core.yaml import format_value, read_yaml
from polyglot.model.translation_model import ModelConfig, TranslationModel
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.checkpoint import Checkpoint
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import Dictionary, Symbolizer
from polyglot.text.vocabulary import Vocabulary
from polyglot.text.word_list import WordList, load_vocabulary

BUILT_FROM = ("languages", "text", "vocabulary", "model", "sharing")
"""The sections that vocabularies and components are made of, beside the pairs of the schedule."""
SHOWN = 4  # differences named in a message before "…"


class Run:
    """`config.yaml`, `vocabulary/`, `checkpoints/`, `log.jsonl`, `evaluation/`."""

    def __init__(self, path: str | Path, config: Config) -> None:
        self.path, self.config = Path(path), config
        self.checkpoints = self.path / "checkpoints"
        self.log = self.path / "log.jsonl"
        self.evaluation = self.path / "evaluation"

    @classmethod
    def for_config(cls, config: Config) -> Run:
        """The run directory that a configuration names, there or not. Raises ConfigError when it names none."""
        if config.run is None:
            raise ConfigError(
                "run: the configuration names no run directory, such as 'runs/mine'; `load_config` takes one from its file's name"
            )
        return cls(config.run, config)

    @classmethod
    def create(cls, config: Config) -> Run:
        """A new run directory with its configuration. Raises CheckpointError when it exists or cannot be made."""
        run = cls.for_config(config)
        run.check_new()
        with run.remove_on_error():
            try:
                run.path.mkdir(parents=True, exist_ok=True)
                (run.path / "vocabulary").mkdir(exist_ok=True)
            except OSError as error:
                raise CheckpointError(
                    f"{run.path}: the run directory cannot be written: {error.strerror}"
                ) from None
            run.write_config()
        return run

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """An existing run directory. Raises ConfigError when there is none."""
        path = Path(path)
        if not (path / "config.yaml").is_file():
            raise ConfigError(f"{path}: no run directory: {_why_none(path)}")
        return cls(
            path, check_config(read_yaml(path / "config.yaml"), where=str(path / "config.yaml"))
        )

    @classmethod
    def open_with_overrides(cls, path: str | Path, overrides: Sequence[str]) -> Run:
        """An existing run with another configuration, such as more training steps; `write_config` makes it stay.

        Raises ConfigError for what its vocabularies and components were built from, and for its place: they stay as they are.
        """
        before = cls.open(path)
        try:
            run = cls(path, load_config(before.path / "config.yaml", overrides))
        except ConfigError as error:  # the file alone has no problem
            fixed = {
                one.partition("=")[0]: None
                for one in overrides
                if re.split("[.=]", one)[0] in BUILT_FROM and before.vocabularies
            }
            first = [
                f"{place}: cannot change, the run was built from it; leave it out, or choose a new run=… without --resume"
                for place in fixed
            ]
            raise ConfigError(
                [*first, *error.problems], where=f"the command line, for {path}"
            ) from None
        if run.config.run != before.config.run:
            raise ConfigError(
                f"run: {run.config.run!r}; the run stays where it is, in {path}; leave run=… out, or begin a new one without --resume"
            )
        one, other = (each.config.model_dump(include=set(BUILT_FROM)) for each in (before, run))
        changed = [
            f"{place} was {format_value(_value(one, place))}"
            for place in sorted(_different(one, other))
        ]
        if set(run.config.pairs) != set(before.config.pairs):
            changed.append(
                f"the pairs of schedule were {', '.join(sorted(map(str, before.config.pairs)))}"
            )
        if changed and before.vocabularies:
            raise ConfigError(
                f"the command line, for {path}: what a run was built from cannot change: {abbreviate(changed, shown=SHOWN)}; "
                "leave that out, or choose a new run=… without --resume"
            )
        return run

    @contextmanager
    def provisional_config(self, trained: Callable[[], bool]) -> Iterator[None]:
        """Another configuration stays once training goes on with it. The one before comes back where that ends without a step, or by an
        error before there is a new checkpoint (but for one that cannot be written: a full disk is no fault of the configuration);
        unless there is no checkpoint at all: vocabularies are as the new one says.

        trained: whether there was a step.
        """
        before, kept = (self.path / "config.yaml").read_bytes(), checkpoints.steps(self.checkpoints)
        self.write_config()
        try:
            yield
        except BaseException as error:
            failed = isinstance(error, Exception) and not isinstance(error, CheckpointError)
            if kept and (not trained() or (failed and checkpoints.steps(self.checkpoints) == kept)):
                replace_file(self.path / "config.yaml", before)
            raise

    def write_config(self) -> None:
        """Put the configuration into the run directory. Raises CheckpointError when it cannot be written."""
        replace_file(self.path / "config.yaml", self.config.to_yaml())

    def check_new(self) -> None:
        """Raises CheckpointError when the directory holds something already: no run is begun on top of another."""
        if exists := self.occupied_message():
            raise CheckpointError(exists)

    def occupied_message(self) -> str | None:
        """The sentence for a directory that holds something already. Raises CheckpointError where there can be none, at a file."""
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(
                f"{self.path}: is a file, and a run is a folder; choose another name with run=…"
            )
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return None
        if not (self.path / "config.yaml").exists():
            return f"{self.path}: exists, and is no run; choose another with run=…, or remove it"
        return f"{self.path}: exists; continue it with `polyglot train {self.path} --resume`, choose another with run=…, or remove it"

    @contextmanager
    def remove_on_error(self) -> Iterator[None]:
        """A run that never began does not stand in the way of the next attempt: what `create` made goes again."""
        try:
            yield
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Only one process trains a run at a time. Raises CheckpointError while another does."""
        try:
            file = (self.path / ".lock").open("w")
        except OSError as error:
            raise CheckpointError(
                f"{self.path}: the run directory cannot be written: {error.strerror}"
            ) from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckpointError(
                    f"{self.path}: another process is training this run"
                ) from None
            yield

    def vocabulary_file(self, language: str) -> Path:
        """Languages that share a vocabulary have one file."""
        return (
            self.path / "vocabulary" / f"{self.config.sharing.group_name('vocabulary', language)}.model"
        )

    @cached_property
    def vocabularies(self) -> dict[str, Vocabulary | WordList]:
        """The vocabulary of every language that has one."""
        files = {language: self.vocabulary_file(language) for language in self.config.languages}
        return {
            language: load_vocabulary(file) for language, file in files.items() if file.is_file()
        }

    def shortlist_file(self, pair: LanguagePair) -> Path:
        """What `polyglot shortlist` counts for a direction."""
        return self.path / "shortlists" / f"{pair}.safetensors"

    def shortlist_digest(self, pair: LanguagePair) -> str | None:
        """Of that file; None where it is not there."""
        file = self.shortlist_file(pair)
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None

    def choose_checkpoints(self, which: str | int) -> list[Checkpoint]:
        """What `best`, `last`, a step or `average:N` mean. Raises CheckpointError when they are not of this configuration."""
        chosen = checkpoints.choose(self.checkpoints, which)
        for one in chosen:
            self.check_compatible(one)
        return chosen

    @cached_property
    def normalisers(self) -> dict[str, Normaliser]:
        """The text steps of every language."""
        return {
            language: Normaliser(self.config.text.for_language(language), language, symbols=self.symbols)
            for language in self.config.languages
        }

    @property
    def symbols_file(self) -> Path:
        """The dictionary of symbols, where the run has them."""
        return self.path / "vocabulary" / "symbols.json"

    @cached_property
    def symbols(self) -> Symbolizer | None:
        """What puts symbols into text and takes them out; None where the run has none."""
        if self.config.text.symbols is None:
            return None
        return Symbolizer(
            self.config.text.symbols,
            Dictionary.load(self.symbols_file) if self.symbols_file.is_file() else Dictionary(),
        )

    @cached_property
    def built_from(self) -> dict[str, Any]:
        """All that the components are built from, and how text becomes the pieces they know: what a checkpoint must agree with."""
        steps = self.normalisers
        vocabularies = {
            language: one.sha256 + steps[language].fingerprint
            for language, one in sorted(self.vocabularies.items())
        }
        pairs = sorted(map(str, self.config.pairs))
        built_from = {
            "model": self.config.model.model_dump(),
            "pairs": pairs,
            "vocabularies": vocabularies,
        }
        if (
            self.config.sharing != SharingConfig()
        ):  # nobody shares in checkpoints that are older than the setting
            built_from["sharing"] = self.config.sharing.model_dump()
        return built_from

    def check_compatible(self, checkpoint: Checkpoint) -> None:
        """Raises CheckpointError unless a checkpoint was built from what this run is."""
        made_of = checkpoint.manifest.get("configuration")
        for language in made_of.get("vocabularies", ()) if isinstance(made_of, dict) else ():
            if language in self.config.languages and language not in self.vocabularies:
                raise CheckpointError(
                    f"{self.vocabulary_file(language)}: no such file, but {checkpoint.path} was trained with it; "
                    "put it back from a copy of the run: one that is learnt again would not fit"
                )
        if different := self.differences(made_of):
            if isinstance(made_of, str):
                different = [self._difference_that_shows(checkpoint)]
            raise CheckpointError(
                f"{checkpoint.path}: comes from another configuration than {self.path / 'config.yaml'}; "
                f"different: {abbreviate(different, shown=SHOWN)}"
            )

    def differences(self, built_from: Any) -> list[str]:
        """What is not the same in a checkpoint, by what that was built from; nothing when it belongs to this run.

        A setting that is newer than the checkpoint counts as its default, which leaves everything as it was without the setting. A default
        that changes makes no difference: checkpoints and `config.yaml` hold every value that they were made with.
        """
        if isinstance(built_from, str):  # of version 0.1's first checkpoints: a hash of it all
            return [] if built_from == self._hash() else ["model, pairs or vocabularies"]
        if not isinstance(built_from, dict):
            return ["model", "pairs", "vocabularies"]
        try:
            model = ModelConfig.model_validate(built_from.get("model")).model_dump()
        except ValidationError:  # a setting that this version does not know
            model = built_from.get("model")
        return sorted(_different({**built_from, "model": model}, self.built_from))

    def _difference_that_shows(self, checkpoint: Checkpoint) -> str:
        """What its parameters tell of a checkpoint that only has a hash of what it was built from."""
        sizes = {language: len(vocabulary) for language, vocabulary in self.vocabularies.items()}
        if lacking := [language for language in self.config.languages if language not in sizes]:
            return f"the vocabularies, of which there is none of {', '.join(lacking)}"
        with torch.device("meta"):
            model = TranslationModel(
                self.config.model,
                vocabulary_sizes=sizes,
                pairs=self.config.pairs,
                seed=None,
                sharing=self.config.sharing,
            )
        components = model.component_tensors()
        if one_sided := sorted(components.keys() ^ set(checkpoint.components)):
            return f"the pairs, or what shares components: only one of the two has {abbreviate(one_sided, shown=SHOWN)}"
        for name, parameters in components.items():
            there = checkpoint.component(name)
            if one_sided := sorted(parameters.keys() ^ there.keys()):
                return f"the model: only one of the two has {abbreviate(one_sided, shown=SHOWN)} in {name}"
            for key, parameter in parameters.items():
                if (found := there[key].shape) != parameter.shape:
                    words = (
                        found[1:] == parameter.shape[1:] and parameter.shape[0] in sizes.values()
                    )
                    what = "the vocabularies" if words else "the model"
                    return f"{what}: {key} of {name} has shape {tuple(found)}, here {tuple(parameter.shape)}"
        return "nothing that parameters show: the pairs (copies, say), the text of vocabularies, or settings such as dropout"

    def _hash(self) -> str:
        """With the settings of the model as they stand in `config.yaml`, which knows no more of them than its checkpoints."""
        model = read_yaml(self.path / "config.yaml").get("model")
        return hashlib.sha256(
            json.dumps({**self.built_from, "model": model}, sort_keys=True).encode()
        ).hexdigest()


def _different(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """The places where nested values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from _different(one.get(key), other.get(key), f"{place}.{key}".removeprefix("."))
    elif one != other:
        yield place


def _value(nested: Any, place: str) -> Any:
    """What stands at a place; None where there is nothing."""
    for key in place.split("."):
        nested = nested.get(key) if isinstance(nested, dict) else None
    return nested


def _why_none(path: Path) -> str:
    """What stands where a run directory should, and which one may be meant: a configuration's name is often that of its run."""
    why = (
        "it is a file"
        if path.is_file()
        else "it has no config.yaml"
        if path.is_dir()
        else "there is nothing"
    )
    runs = [
        config.parent
        for room in dict.fromkeys((path.parent, Path("runs")))
        for config in sorted(room.glob("*/config.yaml"))
    ]
    near = difflib.get_close_matches(path.stem, [run.name for run in runs], n=1)
    if near:
        return f"{why}. Did you mean {next(run for run in runs if run.name == near[0])}?"
    return f"{why}; a run is the folder that `polyglot train` has made, such as runs/mine"
