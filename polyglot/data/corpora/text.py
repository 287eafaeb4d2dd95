"""Plain text: one sentence a line, one file for each language or two for each direction."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator, model_validator

from polyglot.core.errors import DataError, abbreviate, collect_errors, pluralize
from polyglot.core.problems import InvalidSettings, Problem
from polyglot.core.registry import HomePath
from polyglot.data.cache import cached_dataset, file_fingerprint, fingerprint
from polyglot.data.download import fetch_hint
from polyglot.data.text_files import file_problem, line_blocks
from polyglot.tasks.pairs import LanguagePair

from .base import CORPORA, VERSION, Corpus
from .shards import Shard, match_files, text_shard
from .tables import text_table

if TYPE_CHECKING:
    from datasets import Dataset


@CORPORA.register("text")
class TextCorpus(Corpus):
    """Files with one sentence a line, plain or gzipped: one for each language (`path`), or two for each direction (`pairs`)."""

    class Config(Corpus.Config):
        path: HomePath | None = None
        """Multi-parallel files, line n of each the same sentence: `train.{language}.gz`."""

        pairs: dict[str, Annotated[list[HomePath], Field(min_length=2, max_length=2)]] | None = None
        """Source and target file of each direction: `{de-en: [train.de, train.en]}`; serves `en-de` as well unless that is given too."""

        streaming: bool = False
        """The files are read while training, for text that shall not be cached; each may be several, by a `*`: `part-*.{language}.gz`."""

        @model_validator(mode="after")
        def _either(self) -> TextCorpus.Config:
            if (self.path is None) == (self.pairs is None):
                raise ValueError(
                    "give either path, such as 'train.{language}.gz', or pairs, such as {de-en: [train.de, train.en]}"
                )
            if self.path is not None and "{language}" not in self.path:
                raise ValueError(
                    f"the path {self.path!r} names no {{language}}; write 'train.{{language}}.gz'"
                )
            named = (
                [self.path]
                if self.path
                else [path for paths in self.pairs.values() for path in paths]
            )
            if starred := next(
                (path for path in named if "*" in path and not self.streaming), None
            ):
                raise ValueError(
                    f"{starred!r} names several files, which are streamed; write streaming: true, or name each file"
                )
            return self

        @field_validator("pairs")
        @classmethod
        def _are_pairs(cls, pairs: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
            problems: list[Problem] = []
            for pair in pairs or ():
                with collect_errors(problems):
                    LanguagePair.parse(pair)
            if problems:
                raise InvalidSettings(problems)
            return pairs

    def __init__(
        self, config: TextCorpus.Config, *, folder: Path, languages: Sequence[str]
    ) -> None:
        super().__init__(config, folder=folder, languages=languages)
        self._files: dict[LanguagePair, list[tuple[Path, Path]]]
        """Of each pair that is no copy; one, but for what is streamed."""
        self._alone: list[str] = []
        """A sentence for each file that lacks the other of its pair, and each pattern that is no file's."""
        if config.pairs is None:
            paths = {
                language: config.path.replace("{language}", language) for language in languages
            }
            found = {language: match_files(folder, path) for language, path in paths.items()}
            there = {
                language: own
                for language, own in found.items()
                if own and ("*" in paths[language] or os.path.exists(own[()]))
            }
            self._missing = {
                language: folder / path for language, path in paths.items() if language not in there
            }
            several = {
                LanguagePair(one, other): (there[one], there[other])
                for one in there
                for other in there
                if one != other
            }
            self._files = {pair: self._matched(*both) for pair, both in several.items()}
            self._own = {language: list(own.values()) for language, own in there.items()}
        else:
            given = {
                LanguagePair.parse(pair): [match_files(folder, path) for path in paths]
                for pair, paths in config.pairs.items()
            }
            named = (path for paths in config.pairs.values() for path in paths)
            self._alone += [
                f"{folder / path}: no such file" for path in named if not match_files(folder, path)
            ]
            turned = {
                LanguagePair(pair.target, pair.source): files[::-1] for pair, files in given.items()
            }
            # first those that were given, and what was given is not turned around
            every = {
                pair: self._matched(*files)
                for pair, files in (given | turned | given).items()
                if {pair.source, pair.target} <= set(languages)
            }
            self._files = {pair: files for pair, files in every.items() if not pair.is_copy}
            own: dict[str, dict[Path, None]] = {}
            for pair, files in every.items():
                for source, target in files:
                    own.setdefault(pair.source, {})[source] = None
                    own.setdefault(pair.target, {})[target] = None
            self._own = {language: list(paths) for language, paths in own.items()}
            self._missing = {}

    def _matched(
        self, sources: Mapping[tuple[str, ...], Path], targets: Mapping[tuple[str, ...], Path]
    ) -> list[tuple[Path, Path]]:
        """The files of both sides for which the same stands in the place of each `*`."""
        for there, other in ((sources, targets), (targets, sources)):
            self._alone += [
                f"{path}: no file on the other side of the pair has the same in the place of *"
                for stars, path in there.items()
                if stars not in other and other
            ]
        return [(path, targets[stars]) for stars, path in sources.items() if stars in targets]

    def ignored_languages(self) -> list[str]:
        named = dict.fromkeys(
            language for pair in self.config.pairs or () for language in pair.split("-")
        )
        return [language for language in named if language not in self.languages]

    @property
    def name(self) -> str:
        return (
            str(self.folder / self.config.path)
            if self.config.path
            else f"the text files of {abbreviate(self.config.pairs)}"
        )

    def problems(self) -> list[str]:
        if not self._own:
            looked = f"{self.name}: nothing for any of {abbreviate(self.languages)}; looked in {self.folder.resolve()}"
            return self._alone or [f"{looked}{fetch_hint(self.folder)}"]
        files = dict.fromkeys(path for paths in self._own.values() for path in paths)
        return [
            *dict.fromkeys(self._alone),
            *(problem for path in files if (problem := file_problem(path))),
        ]

    def missing_languages(self) -> dict[str, str]:
        if not self._own:
            return {}  # a problem that is said once, not for every language
        found = f"; there are files for {abbreviate(self._own)}"
        missing = {
            language: f"{path}: no such file{found}" for language, path in self._missing.items()
        }
        unnamed = {
            language: f"{self.name}: none of them is {language}"
            for language in self.languages
            if language not in self._own
        }
        return unnamed | missing

    def pairs(self) -> set[LanguagePair]:
        return set(self._files) | {LanguagePair(language, language) for language in self._own}

    def location(self, pair: LanguagePair) -> str:
        if self.is_streamed:
            return self.name
        return " + ".join(
            map(str, self._own[pair.source] if pair.is_copy else self._files[pair][0])
        )

    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        if pair.is_copy:
            own = _joined([_file_text(path) for path in self._own[pair.source]])
            return own, own
        [(source, target)] = self._files[pair]
        texts = _file_text(source), _file_text(target)
        if len(texts[0]) != len(texts[1]):
            raise DataError(
                f"{source} has {pluralize(len(texts[0]), 'line')}, but {target} has {len(texts[1])}; line n of both must be one sentence pair"
            )
        return texts

    def shards(self, pair: LanguagePair) -> list[Shard]:
        if not self.is_streamed:
            return super().shards(pair)
        files = (
            [(path, path) for path in self._own[pair.source]] if pair.is_copy else self._files[pair]
        )
        return [text_shard(*both, folder=self.folder) for both in files]


def _file_text(path: Path) -> Dataset:
    if problem := file_problem(path):
        raise DataError(problem)
    return cached_dataset(
        fingerprint("text", VERSION, file_fingerprint(path)),
        lambda: (text_table({"text": lines}) for lines in line_blocks(path)),
    )


def _joined(parts: list[Dataset]) -> Dataset:
    if len(parts) == 1:
        return parts[0]
    from datasets import concatenate_datasets

    return concatenate_datasets(parts)
