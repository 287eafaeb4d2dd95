"""Corpora of plain text: one sentence per line, a file per language or two files per direction."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator, model_validator

from polyglot.core.errors import DataError, abbreviate, collect_errors, pluralize
from polyglot.core.language_codes import resolve_language
from polyglot.core.problems import InvalidSettings, Problem
from polyglot.core.registry import HomePath
from polyglot.data.cache import cached_dataset, file_fingerprint, fingerprint
from polyglot.data.download import fetch_hint
from polyglot.data.text_files import file_problem, line_blocks
from polyglot.tasks.pairs import LanguagePair

from .arrow_tables import text_table
from .base import CORPORA, VERSION, Corpus
from .shards import Shard, match_files, text_shard

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

MatchedFiles = Mapping[tuple[str, ...], Path]
"""Files of a pattern by the texts that its stars stand for."""

Line = Annotated[int, Field(ge=1, le=10**12)]
"""Number of a line, counted from 1."""

FilePair = tuple[Path, Path]
"""Source and target file."""


@CORPORA.register("text")
class TextCorpus(Corpus):
    """Files with one sentence per line, plain or compressed.

    There is one file for each language (`path`), or two for each direction (`pairs`).
    """

    class Config(Corpus.Config):
        """Names of the files."""

        path: HomePath | None = None
        """Multi-parallel files, line n of each the same sentence: `train.{language}.gz`."""

        pairs: dict[str, Annotated[list[HomePath], Field(min_length=2, max_length=2)]] | None = None
        """Source and target file of each direction: `{de-en: [train.de, train.en]}`; serves
        `en-de` as well, unless that is listed too."""

        streaming: bool = False
        """Read the files during training instead of caching them. A name may then stand for several
        files, by a `*`: `part-*.{language}.gz`."""

        lines: Annotated[list[Line], Field(min_length=2, max_length=2)] | None = None
        """First and last line that are used, counted from 1: `[1, 9000]`, to divide one text into
        training, validation and test text; null for all. Not for streamed files."""

        @model_validator(mode="after")
        def _check_names(self) -> TextCorpus.Config:
            if (self.path is None) == (self.pairs is None):
                raise ValueError(
                    "give either path, such as 'train.{language}.gz', "
                    "or pairs, such as {de-en: [train.de, train.en]}"
                )
            if self.path is not None and "{language}" not in self.path:
                raise ValueError(
                    f"the path {self.path!r} names no {{language}}; write 'train.{{language}}.gz'"
                )
            for name in self.file_names():
                if "*" in name and not self.streaming:
                    raise ValueError(
                        f"{name!r} names several files, which are streamed; "
                        "write streaming: true, or name each file"
                    )
            if self.lines and self.lines[0] > self.lines[1]:
                raise ValueError(f"lines {self.lines}: the first line is after the last one")
            if self.lines and self.streaming:
                raise ValueError("streamed files are read completely; leave out lines or streaming")
            return self

        @field_validator("pairs")
        @classmethod
        def _check_pairs(cls, pairs: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
            problems: list[Problem] = []
            for pair in pairs or ():
                with collect_errors(problems):
                    LanguagePair.parse(pair)
            if problems:
                raise InvalidSettings(problems)
            return pairs

        def text_settings(self, *, exclude: AbstractSet[str] = frozenset()) -> str:
            if self.lines:
                return super().text_settings(exclude=exclude)
            # Runs of older versions have no `lines` in their keys.
            return super().text_settings(exclude={*exclude, "lines"})

        def file_names(self) -> list[str]:
            """All names of files and patterns in the settings."""
            if self.path is not None:
                return [self.path]
            names = []
            for pair_names in self.pairs.values():
                names += pair_names
            return names

    def __init__(
        self,
        config: TextCorpus.Config,
        *,
        folder: Path,
        languages: Sequence[str],
    ) -> None:
        super().__init__(config, folder=folder, languages=languages)
        self._pair_files: dict[LanguagePair, list[FilePair]] = {}
        """Files of each pair that is not a copy; several only if they are streamed."""
        self._language_files: dict[str, list[Path]] = {}
        """Files of each language with text."""
        self._missing_files: dict[str, Path] = {}
        """File of each language whose file does not exist."""
        self._unmatched: list[str] = []
        """Messages for patterns without a file, and for files without a file on the other side."""
        self._text_of = cache(self._lines_of_file)
        """Returns the text of a file: many pairs have the same one."""
        if config.pairs is None:
            self._find_multi_parallel_files()
        else:
            self._find_files_of_pairs()

    def _find_multi_parallel_files(self) -> None:
        files: dict[str, MatchedFiles] = {}
        for language in self.languages:
            name = self.config.path.replace("{language}", language)
            matched = match_files(self.folder, name)
            if "*" not in name and not os.path.exists(matched[()]):
                matched = {}
            if matched:
                files[language] = matched
            else:
                self._missing_files[language] = self.folder / name

        if not self.config.monolingual:
            for source, target in permutations(files, 2):
                pair = LanguagePair(source, target)
                self._pair_files[pair] = self._match_sides(files[source], files[target])
        for language, matched in files.items():
            self._language_files[language] = list(matched.values())

    def _find_files_of_pairs(self) -> None:
        listed: dict[LanguagePair, list[MatchedFiles]] = {}
        for name, file_names in self.config.pairs.items():
            listed[LanguagePair.parse(name)] = [
                match_files(self.folder, file_name) for file_name in file_names
            ]
        for name in self.config.file_names():
            if not match_files(self.folder, name):
                self._unmatched.append(f"{self.folder / name}: no such file")

        # Listed pairs come first; a reversed pair does not replace a listed one.
        sides = dict(listed)
        for pair, (source_files, target_files) in listed.items():
            reverse = LanguagePair(pair.target, pair.source)
            sides.setdefault(reverse, [target_files, source_files])

        language_files: dict[str, dict[Path, None]] = {}  # in order, each file once
        for pair, (source_files, target_files) in sides.items():
            if not {pair.source, pair.target} <= set(self.languages):
                continue
            file_pairs = self._match_sides(source_files, target_files)
            if not pair.is_copy:
                self._pair_files[pair] = file_pairs
            for source_file, target_file in file_pairs:
                language_files.setdefault(pair.source, {})[source_file] = None
                language_files.setdefault(pair.target, {})[target_file] = None
        for language, files in language_files.items():
            self._language_files[language] = list(files)

    def _match_sides(self, sources: MatchedFiles, targets: MatchedFiles) -> list[FilePair]:
        """Pairs of files for which the stars stand for the same text."""
        for files, other_files in ((sources, targets), (targets, sources)):
            for stars, path in files.items():
                if other_files and stars not in other_files:
                    self._unmatched.append(
                        f"{path}: no file on the other side of the pair has the same text "
                        "in the place of *"
                    )
        return [(path, targets[stars]) for stars, path in sources.items() if stars in targets]

    def ignored_languages(self) -> list[str]:
        named: dict[str, None] = {}  # in order, each language once
        for pair in self.config.pairs or ():
            named |= dict.fromkeys(pair.split("-"))
        return [language for language in named if language not in self.languages]

    @property
    def name(self) -> str:
        if self.config.path:
            return str(self.folder / self.config.path)
        return f"the text files of {abbreviate(self.config.pairs)}"

    @property
    def has_no_file(self) -> bool:
        return not self._language_files

    def problems(self) -> list[str]:
        if self.has_no_file:
            return self._unmatched or [self._nothing_found()]

        paths: dict[Path, None] = {}  # in order, each file once
        for files in self._language_files.values():
            paths |= dict.fromkeys(files)
        problems = list(dict.fromkeys(self._unmatched))
        for path in paths:
            problem = file_problem(path)
            if problem:
                problems.append(problem)
        return problems

    def _nothing_found(self) -> str:
        """Message of a corpus without a file for any language."""
        message = f"{self.name}: nothing for any of {abbreviate(self.languages)}; "
        for language in self.ignored_languages():
            name = resolve_language(language, self.languages)
            if name in self.languages:
                return message + f"{language} is {name} here; write {name}"
        return message + f"looked in {os.path.realpath(self.folder)}{fetch_hint(self.folder)}"

    def missing_languages(self) -> dict[str, str]:
        if not self._language_files:
            return {}  # a single problem, not one for each language

        messages = {}
        for language in self.languages:
            if language not in self._language_files:
                messages[language] = f"{self.name}: none of them is {language}"
        for language, path in self._missing_files.items():
            languages = abbreviate(self._language_files)
            messages[language] = f"{path}: no such file; there are files for {languages}"
        return messages

    def missing_files(self) -> dict[str, Path]:
        if not self._language_files:
            return {}
        return self._missing_files

    def pairs(self) -> set[LanguagePair]:
        copies = {LanguagePair(language, language) for language in self._language_files}
        return set(self._pair_files) | copies

    def location(self, pair: LanguagePair) -> str:
        if self.is_streamed:
            return self.name
        if pair.is_copy:
            files = self._language_files[pair.source]
        else:
            files = self._pair_files[pair][0]
        return " + ".join(map(str, files))

    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        if pair.is_copy:
            parts = [self._text_of(path) for path in self._language_files[pair.source]]
            text = _concatenate(parts)
            return text, text

        [(source_file, target_file)] = self._pair_files[pair]
        source = self._text_of(source_file)
        target = self._text_of(target_file)
        if len(source) != len(target):
            raise DataError(
                f"{source_file} has {pluralize(len(source), 'line')}, "
                f"but {target_file} has {len(target)}; line n of both must be one sentence pair"
            )
        return source, target

    @property
    def first_line(self) -> int:
        return self.config.lines[0] if self.config.lines else 1

    def _lines_of_file(self, path: Path) -> Dataset:
        """Lines of a file that are used. Raises DataError if the file ends before them."""
        text = _file_text(path)
        if self.config.lines is None:
            return text
        first, last = self.config.lines
        if last > len(text):
            raise DataError(
                f"{path} has {pluralize(len(text), 'line')}, but lines names line {last}; "
                "name an earlier last line"
            )
        return text.select(range(first - 1, last))

    def shards(self, pair: LanguagePair) -> list[Shard]:
        if not self.is_streamed:
            return super().shards(pair)
        if pair.is_copy:
            files = [(path, path) for path in self._language_files[pair.source]]
        else:
            files = self._pair_files[pair]
        return [text_shard(source, target, folder=self.folder) for source, target in files]


def _file_text(path: Path) -> Dataset:
    """Text of a file from the cache. Raises DataError if it cannot be used."""
    problem = file_problem(path)
    if problem:
        raise DataError(problem)

    def tables() -> Iterator[pyarrow.Table]:
        for lines in line_blocks(path):
            yield text_table({"text": lines})

    name = fingerprint("text", VERSION, file_fingerprint(path))
    return cached_dataset(name, tables)


def _concatenate(parts: list[Dataset]) -> Dataset:
    if len(parts) == 1:
        return parts[0]
    from datasets import concatenate_datasets

    return concatenate_datasets(parts)
