"""Choices of one evaluation in place of the protocol's: metrics, test sets, place of the results."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyglot.config.loading import check_settings
from polyglot.config.schema import DataConfig
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import ConfigError, abbreviate, unknown_name
from polyglot.core.registry import ComponentConfig
from polyglot.core.score_tables import METRIC_TITLES
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.results_cache import MATRIX_FILE
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair

logger = logging.getLogger("polyglot")

RUN_SETS = ("test", "valid")
"""Names of the run's own held-out text, `data.test` and `data.valid`."""

MATRIX_SUFFIXES = (".json", ".csv", ".md")
"""Endings of a file with one matrix."""

FILE_SUFFIXES = (*MATRIX_SUFFIXES, ".txt", ".tsv", ".html", ".png", ".yaml", ".yml")
"""Endings of names that are meant as files, not as folders."""


# Metrics


def choose_metrics(names: Sequence[str]) -> list[str]:
    """Return metrics by their names in protocols; `BLEU,chrF2` names two of them.

    Raises ConfigError for unknown names.
    """
    known = {name: name for name in METRIC_TITLES}
    for name, title in METRIC_TITLES.items():
        known[title.lower()] = name
    metrics: dict[str, None] = {}  # in order, each once
    for part in ",".join(names).split(","):
        name = part.strip().lower()
        if name not in known:
            raise ConfigError(f"--metrics: {unknown_name('metric', part, METRIC_TITLES)}")
        metrics[known[name]] = None
    return list(metrics)


def with_metrics(protocol: Protocol, metrics: Sequence[str], comet: str | None) -> Protocol:
    """Protocol with other metrics. comet: file of a COMET model, None for that of the protocol.

    Raises ConfigError if COMET has no model.
    """
    changes: dict[str, object] = {}
    if metrics:
        changes["metrics"] = list(metrics)
    if comet:
        changes["comet"] = comet
    changed = protocol.model_copy(update=changes)
    if "comet" in changed.metrics and changed.comet is None:
        raise ConfigError(
            "--metrics: comet needs the file of a model; add --comet FILE, or `comet: FILE` in a "
            "protocol"
        )
    return changed


# Test sets


@dataclass(frozen=True)
class TestSet:
    """Text of one evaluation: a matrix is made of it."""

    __test__ = False  # not a test of pytest

    name: str
    """empty for the only text of a protocol"""
    folder: str
    """added to the name of the protocol's folder; below it if it begins with /"""
    protocol: Protocol

    @classmethod
    def all_of(cls, protocol: Protocol) -> list[TestSet]:
        """Return the test sets of a protocol."""
        test_sets = []
        for name in protocol.corpora:
            folder = f"/{name}" if name else ""
            test_sets.append(cls(name, folder, protocol))
        return test_sets


def choose_test_sets(protocol: Protocol, texts: Sequence[str], run: Run) -> list[TestSet]:
    """Return the test sets that a command line names; all of the protocol if it names none.

    texts: `test`, `valid`, a test set of the protocol, a file pattern `news.{language}`, or a pair
    with two files, `de-en=news.de,news.en`. Raises ConfigError for any other text.
    """
    if not texts:
        return TestSet.all_of(protocol)
    test_sets: dict[str, TestSet] = {}
    for text in texts:
        test_set = _test_set(protocol, text, run)
        if test_set.name in test_sets:
            raise ConfigError(
                f"--test: two test sets are called {test_set.name}; evaluate them one after the "
                "other, with --output"
            )
        test_sets[test_set.name] = test_set
    return list(test_sets.values())


def _test_set(protocol: Protocol, text: str, run: Run) -> TestSet:
    if text in protocol.test_sets:
        return TestSet(text, f"/{text}", protocol)
    if text in RUN_SETS:
        corpora = getattr(run.config.data, text)
        if not corpora:
            raise ConfigError(f"--test {text}: data.{text} of {run.path} names no corpus")
        return _new_test_set(protocol, text, corpora)
    if "=" in text:
        return _file_pair(protocol, text)
    if "{language}" in text:
        corpora = _text_corpora(
            {"path": os.path.abspath(text)},
            text,
        )
        return _new_test_set(
            protocol,
            _stem(text, "{language}"),
            corpora,
        )

    forms = "text is written de-en=news.de,news.en, or news.{language}"
    if Path(text).exists():
        raise ConfigError(f"--test: {text} is a file, but its languages are unknown; {forms}")
    known = [*protocol.test_sets, *RUN_SETS]
    raise ConfigError(f"--test: {unknown_name('test set', text, known)}; {forms}")


def _file_pair(protocol: Protocol, text: str) -> TestSet:
    """Test set of two files; only their direction is translated."""
    name, _, listed = text.partition("=")
    files = [file.strip() for file in listed.split(",")]
    if len(files) != 2 or not all(files):
        raise ConfigError(
            f"--test: found {text!r}; write a pair with its source file and its target file, such "
            "as de-en=news.de,news.en"
        )
    try:
        pair = LanguagePair.parse(name)
    except ConfigError as error:
        raise ConfigError(f"--test: {error}") from None
    corpora = _text_corpora(
        {"pairs": {name: [os.path.abspath(file) for file in files]}},
        text,
    )
    only_pair = protocol.model_copy(update={"pairs": [name], "copies": False})
    return _new_test_set(
        only_pair,
        _stem(files[0], pair.source),
        corpora,
    )


def _text_corpora(settings: dict[str, object], text: str) -> list[ComponentConfig]:
    values = {"train": [{"type": "text", **settings}]}
    return check_settings(
        DataConfig,
        values,
        where=f"--test {text}",
    ).train


def _stem(file: str, language: str) -> str:
    """Name of a test set: `news` for `text/news.de.gz`."""
    parts = Path(file).name.split(".")
    kept = [part for part in parts if part not in (language, "gz", "bz2", "xz", "zst", "txt")]
    return ".".join(kept) or "files"


def _new_test_set(
    protocol: Protocol,
    name: str,
    corpora: Sequence[ComponentConfig],
) -> TestSet:
    # A paper's table is of its own test set.
    changes = {"test": [], "test_sets": {name: list(corpora)}, "reference": None}
    return TestSet(
        name,
        f"+{name}",
        protocol.model_copy(update=changes),
    )


# Place of the results


@dataclass(frozen=True)
class Output:
    """Place of the results of one evaluation, as `--output` names it."""

    path: Path | None
    """a folder, or a file with one matrix; None for the folder of the run"""
    run_count: int
    """number of runs with a matrix of their own"""

    def check(self, test_sets: Sequence[TestSet]) -> None:
        """Raise ConfigError for a path that cannot hold the results of these test sets."""
        if self.path is None:
            return
        matrices = self.run_count * len(test_sets)
        suffix = self.path.suffix.lower()
        if self.path.is_file() or suffix in FILE_SUFFIXES:
            if suffix not in MATRIX_SUFFIXES:
                endings = ", ".join(MATRIX_SUFFIXES)
                raise ConfigError(f"--output: {self.path}: a file ends in one of {endings}")
            if matrices > 1:
                raise ConfigError(
                    f"--output: {self.path}: a file holds one matrix, and there are {matrices}; "
                    "name a folder"
                )
            if not self.path.parent.is_dir():
                raise ConfigError(f"--output: {self.path.parent}: no such folder")

    @property
    def is_file(self) -> bool:
        return self.path is not None and self.path.suffix.lower() in MATRIX_SUFFIXES

    def folder(
        self,
        run: Run,
        test_set: TestSet,
        *,
        run_name: str,
        protocol_folder: str,
        is_only_set: bool,
    ) -> Path:
        """Folder of one matrix. run_name: name of the run among all that are evaluated.

        Raises ConfigError for a folder with other files, which the results would replace.
        """
        if self.path is None or self.is_file:
            return run.evaluation / f"{protocol_folder}{test_set.folder}"
        folder = self.path
        if self.run_count > 1:
            folder = folder / run_name
        if not is_only_set:
            folder = folder / test_set.name
        _check_result_folder(folder)
        return folder

    def copy_matrix(self, folder: Path) -> None:
        """Write the file that `--output` names, if it names one, from the folder of a matrix."""
        if self.is_file:
            content = (folder / MATRIX_FILE).with_suffix(self.path.suffix.lower()).read_bytes()
            replace_file(self.path, content)
            logger.info(f"the matrix is also in {self.path}")


def _check_result_folder(folder: Path) -> None:
    if not folder.is_dir():
        return
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    is_result = MATRIX_FILE in names or "cells" in names
    if names and not is_result:
        raise ConfigError(
            f"--output: {folder}: has other files ({abbreviate(names, shown=3)}); name a new or "
            "empty folder, or one with earlier results"
        )


def result_folders(run: Run) -> Iterator[Path]:
    """Iterate over the folders with results of a run, whose translations can be used again."""
    for cells in sorted(run.evaluation.glob("**/cells")):
        yield cells.parent
