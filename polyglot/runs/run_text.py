"""Text of a run: its vocabularies, text steps, symbols and shortlists."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from polyglot.config.schema import Config
from polyglot.runs.vocabulary_files import check_vocabulary_file
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import Dictionary, Symbolizer
from polyglot.text.vocabulary import Vocabulary
from polyglot.text.word_list import WordList, load_vocabulary


class RunText:
    """Base class of `Run`: reads what converts between text and the pieces of its vocabularies."""

    path: Path
    config: Config
    used_languages: Sequence[str]

    def fetch(self, paths: Iterable[Path]) -> None:
        """Make files of the run available."""
        raise NotImplementedError

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
        self.fetch([self.vocabulary_file(language) for language in self.used_languages])
        vocabularies = {}
        for language in self.used_languages:
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
        self.fetch([self.symbols_file])
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
        self.fetch([file])
        if not file.is_file():
            return None
        return hashlib.sha256(file.read_bytes()).hexdigest()
