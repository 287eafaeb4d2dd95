"""Text of a new language: the file of `polyglot add-language --data`, and its checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglot.config.loading import check_settings
from polyglot.config.schema import CorpusList
from polyglot.core.errors import ConfigError, abbreviate, collect_errors
from polyglot.core.language_codes import is_same_language
from polyglot.core.problems import Problem
from polyglot.core.registry import ComponentConfig, HomePath
from polyglot.core.yaml import read_yaml
from polyglot.data.corpora import Corpora
from polyglot.data.filters import FilterConfig
from polyglot.tasks.pairs import LanguagePair


class LanguageData(ComponentConfig):
    """Corpora of a new language with the languages of a run."""

    folder: HomePath = "."
    """Folder that relative corpus paths start from; itself relative to the working directory."""
    train: CorpusList = []
    """Training corpora of pairs with the new language."""
    monolingual: CorpusList = []
    """Training corpora of the new language alone, for its vocabulary and its copy."""
    valid: CorpusList = []
    """Corpora of validation."""
    test: CorpusList = []
    """Corpora that `evaluate` translates."""
    filter: FilterConfig | None = None
    """Filters of training sentences; by default those of the run."""

    @classmethod
    def load(cls, path: str | Path) -> LanguageData:
        """Read a file; the keys may stand below `data`, as in a configuration.

        Raises ConfigError with every problem.
        """
        values = read_yaml(Path(path))
        if "data" in values:
            other_keys = [key for key in values if key != "data"]
            if other_keys:
                raise ConfigError(
                    f"{path}: {abbreviate(other_keys)} beside data; the file names only the "
                    "text of the new language, so write other settings as key=value"
                )
            values = values["data"]
        data = check_settings(cls, values, where=str(path))
        if not data.train and not data.monolingual:
            raise ConfigError(
                f"{path}: train: missing; name corpora of pairs with the new language"
            )
        return data

    @property
    def all_train(self) -> list[ComponentConfig]:
        """Training corpora; the monolingual ones are marked as such."""
        corpora = list(self.train)
        for corpus in self.monolingual:
            corpora.append(corpus.model_copy(update={"monolingual": True}))
        return corpora

    def values(self, filters: FilterConfig) -> dict[str, Any]:
        """Section `data` of the new run. filters: those of the old run."""
        return {
            "folder": self.folder,
            "train": [corpus.model_dump() for corpus in self.all_train],
            "valid": [corpus.model_dump() for corpus in self.valid],
            "test": [corpus.model_dump() for corpus in self.test],
            "filter": (self.filter or filters).model_dump(),
        }


class LanguageText:
    """Text of a new language, found on this machine."""

    def __init__(self, data: LanguageData, language: str, old_languages: Sequence[str]) -> None:
        self.language = language
        self.old_languages = old_languages
        self.languages = [*old_languages, language]
        parts = {"train": data.all_train, "valid": data.valid, "test": data.test}
        self._corpora: dict[str, Corpora] = {}
        for part, corpora in parts.items():
            self._corpora[part] = Corpora(
                corpora,
                folder=Path(data.folder),
                languages=self.languages,
            )

    def pairs(self, part: str) -> set[LanguagePair]:
        """Pairs of `train`, `valid` or `test` that have text."""
        return self._corpora[part].pairs()

    @property
    def has_copy(self) -> bool:
        """True if there is training text for the copy of the new language."""
        return LanguagePair(self.language, self.language) in self.pairs("train")

    @cached_property
    def partners(self) -> list[str]:
        """Languages of the run with training text in a pair with the new language."""
        return [partner for partner in self.old_languages if self._has_pair("train", partner)]

    def problems(self, partners: Sequence[str], *, copies: bool) -> list[Problem]:
        """Find the problems of files, codes and pairs, without reading the text.

        partners: languages that the user named. copies: True if the run has copies.
        """
        problems = self._spelling_problems()
        if problems:
            return problems
        hint = self._other_languages_hint()
        if hint and not self.has_copy:
            return [Problem(("train",), f"no text in {self.language}{hint}")]
        problems = self._file_problems()
        if problems:
            return problems
        if not self.has_copy:
            return [Problem(("train",), f"no text in {self.language}")]
        return self._pair_problems(partners, copies=copies)

    def _pair_problems(self, partners: Sequence[str], *, copies: bool) -> list[Problem]:
        """Find the pairs that have no text, although the new language has text."""
        problems = []
        listed = ", ".join(self.partners) or "no language of the run"
        for partner in partners:
            if partner not in self.partners:
                message = f"no text in {self.language} and {partner} together; there is {listed}"
                problems.append(Problem(("train",), message))
        if not self.partners and not copies:
            languages = abbreviate(self.old_languages)
            message = f"no text in {self.language} together with a language of the run: {languages}"
            problems.append(Problem(("train",), f"{message}{self._other_languages_hint()}"))
        for part in ("valid", "test"):
            if self._corpora[part].pairs() and not self._has_language(part):
                problems.append(Problem((part,), f"no text in {self.language}"))
        return problems

    def content_problems(self) -> list[Problem]:
        """Problems of the text itself, such as different numbers of lines on the two sides."""
        problems: list[Problem] = []
        for part, corpora in self._corpora.items():
            for partner in self.old_languages:
                pair = LanguagePair(partner, self.language)
                if pair in corpora.pairs() and not corpora.is_streamed(pair):
                    with collect_errors(problems, part):
                        corpora.parallel(pair)
        return problems

    def _has_pair(self, part: str, partner: str) -> bool:
        pairs = self.pairs(part)
        forward = LanguagePair(self.language, partner)
        backward = LanguagePair(partner, self.language)
        return forward in pairs or backward in pairs

    def _has_language(self, part: str) -> bool:
        return any(self.language in (pair.source, pair.target) for pair in self.pairs(part))

    def _file_problems(self) -> list[Problem]:
        problems = []
        for part, corpora in self._corpora.items():
            for message in dict.fromkeys(corpora.problems()):
                problems.append(Problem((part,), message))
        return problems

    def _spelling_problems(self) -> list[Problem]:
        """Languages that the file spells differently from the run or the command line."""
        problems = []
        for part, corpora in self._corpora.items():
            for other in corpora.other_languages():
                for language in self.languages:
                    if is_same_language(other, language):
                        message = f"{other} is {language} here; write {language} in the file, too"
                        problems.append(Problem((part,), message))
        return problems

    def _other_languages_hint(self) -> str:
        """Return the end of a message: the languages of the file that the run does not have."""
        others = self._corpora["train"].other_languages()
        if not others:
            return ""
        return f"; languages that it names: {abbreviate(others)}"
