"""Metrics, test sets and output of one evaluation, in place of those of its protocol."""

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
from polyglot.core.language_codes import resolve_language
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

IGNORED_NAME_PARTS = ("gz", "bz2", "xz", "zst", "txt")
"""Endings of text files that are not part of the name of a test set."""


# Metrics


def choose_metrics(names: Sequence[str]) -> list[str]:
    """Return the names of metrics in protocols; an item may list several: `BLEU,chrF2`.

    Raises ConfigError for unknown names.
    """
    metric_by_spelling = {}
    for metric, title in METRIC_TITLES.items():
        metric_by_spelling[metric] = metric
        metric_by_spelling[title.lower()] = metric

    metrics: dict[str, None] = {}  # in order, each once
    for name in ",".join(names).split(","):
        spelling = name.strip().lower()
        if spelling not in metric_by_spelling:
            raise ConfigError(f"--metrics: {unknown_name('metric', name, METRIC_TITLES)}")
        metric = metric_by_spelling[spelling]
        metrics[metric] = None
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
    """Test text of one evaluation, which gives one matrix."""

    __test__ = False  # not a test of pytest

    name: str
    """empty for the only text of a protocol"""
    folder: str
    """suffix for the name of the protocol's folder; `/name` is a folder inside it"""
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
    """Return the test set that one value of `--test` names."""
    if text in protocol.test_sets:
        return TestSet(text, f"/{text}", protocol)
    if text in RUN_SETS:
        corpora = getattr(run.config.data, text)
        if not corpora:
            raise ConfigError(f"--test {text}: data.{text} of {run.path} names no corpus")
        return _new_test_set(protocol, text, corpora)
    if "=" in text:
        return _file_pair(protocol, text, run.config.languages)
    if "{language}" in text:
        path = os.path.abspath(text)
        corpora = _text_corpora({"path": path}, text)
        name = _stem(text, "{language}")
        return _new_test_set(protocol, name, corpora)

    forms = "text is written de-en=news.de,news.en, or news.{language}"
    if Path(text).exists():
        raise ConfigError(f"--test: {text} is a file, but its languages are unknown; {forms}")
    known_names = [*protocol.test_sets, *RUN_SETS]
    raise ConfigError(f"--test: {unknown_name('test set', text, known_names)}; {forms}")


def _file_pair(protocol: Protocol, text: str, languages: Sequence[str]) -> TestSet:
    """Test set of two files; only their direction is translated.

    languages: of the run; the text may spell them in another way.
    """
    pair_name, _, listed_files = text.partition("=")
    files = [file.strip() for file in listed_files.split(",")]
    if len(files) != 2 or not all(files):
        raise ConfigError(
            f"--test: found {text!r}; write a pair with its source file and its target file, such "
            "as de-en=news.de,news.en"
        )
    try:
        pair = LanguagePair.parse(pair_name)
        name = _stem(files[0], pair.source)
        source = resolve_language(pair.source, languages)
        target = resolve_language(pair.target, languages)
    except ConfigError as error:
        raise ConfigError(f"--test: {error}") from None
    pair = LanguagePair(source, target)
    paths = list(map(os.path.abspath, files))
    corpora = _text_corpora({"pairs": {str(pair): paths}}, text)
    only_pair = protocol.model_copy(update={"pairs": [str(pair)], "copies": False})
    return _new_test_set(only_pair, name, corpora)


def _text_corpora(settings: dict[str, object], text: str) -> list[ComponentConfig]:
    """Check the settings of a text corpus that an option describes.

    text: value of the option. Raises ConfigError for problems.
    """
    corpus = {"type": "text", **settings}
    data = check_settings(DataConfig, {"train": [corpus]}, where=f"--test {text}")
    return data.train


def _stem(file: str, language: str) -> str:
    """Name of a test set: `news` for `text/news.de.gz`."""
    name_parts = Path(file).name.split(".")
    kept_parts = []
    for part in name_parts:
        if part != language and part not in IGNORED_NAME_PARTS:
            kept_parts.append(part)
    return ".".join(kept_parts) or "files"


def _new_test_set(protocol: Protocol, name: str, corpora: Sequence[ComponentConfig]) -> TestSet:
    """Return a test set that the protocol does not have."""
    changes = {
        "test": [],
        "test_sets": {name: list(corpora)},
        "reference": None,  # the table of a paper belongs to the test set of the protocol
    }
    changed_protocol = protocol.model_copy(update=changes)
    return TestSet(name, f"+{name}", changed_protocol)


# Place of the results


@dataclass(frozen=True)
class Output:
    """Place of the results of one evaluation, as `--output` names it."""

    path: Path | None
    """a folder, or a file with one matrix; None for the folder of the run"""
    run_count: int
    """number of evaluated runs; an ensemble counts as one"""

    def check(self, test_sets: Sequence[TestSet]) -> None:
        """Raise ConfigError for a path that cannot hold the results of these test sets."""
        if self.path is None:
            return
        suffix = self.path.suffix.lower()
        is_meant_as_file = self.path.is_file() or suffix in FILE_SUFFIXES
        if not is_meant_as_file:
            return
        if suffix not in MATRIX_SUFFIXES:
            endings = ", ".join(MATRIX_SUFFIXES)
            raise ConfigError(f"--output: {self.path}: a file ends in one of {endings}")
        matrix_count = self.run_count * len(test_sets)
        if matrix_count > 1:
            raise ConfigError(
                f"--output: {self.path}: a file holds one matrix, and there are {matrix_count}; "
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
        """Copy the matrix in a folder to the file of `--output`, if it is a file."""
        if not self.is_file:
            return
        suffix = self.path.suffix.lower()
        matrix_file = (folder / MATRIX_FILE).with_suffix(suffix)
        replace_file(self.path, matrix_file.read_bytes())
        logger.info(f"the matrix is also in {self.path}")


def _check_result_folder(folder: Path) -> None:
    """Raise ConfigError for a folder with files that are not results."""
    if not folder.is_dir():
        return
    names = []
    for path in folder.iterdir():
        if not path.name.startswith("."):
            names.append(path.name)
    names.sort()
    has_results = MATRIX_FILE in names or "cells" in names
    if names and not has_results:
        raise ConfigError(
            f"--output: {folder}: has other files ({abbreviate(names, shown=3)}); name a new or "
            "empty folder, or one with earlier results"
        )


def result_folders(run: Run) -> Iterator[Path]:
    """Iterate over the folders with results of a run, whose translations can be used again."""
    for cells in sorted(run.evaluation.glob("**/cells")):
        yield cells.parent
