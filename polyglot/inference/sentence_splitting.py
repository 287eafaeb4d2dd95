"""Paragraphs and over-long sentences in parts that a model can translate, and joined again.

The boundaries of sentences are those of sentencex (the extra `split`): about 300 languages, and
common rules for all others. It needs no network and loses no character.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from polyglot.core.errors import ConfigError, pluralize
from polyglot.core.language_codes import (
    CHINESE_SCRIPTS,
    JAPANESE_SCRIPTS,
    parse_language,
    resolve_language,
)
from polyglot.decoding.base import SearchConfig
from polyglot.inference.types import Translation

OTHER_ENDS = re.compile("(?<=[។៕])\\s*(?=\\S)")
"""Ends of sentences that sentencex does not know: those of Khmer."""

CLAUSE_ENDS = re.compile(r"(?<=[,;:،؛།၊፣፤—–…)])\s+(?=\S)|(?<=[、，；：）」])(?=\S)")
SPACES = re.compile(r"(?<=\S)\s+(?=\S)")
CHARACTERS = re.compile(r"(?<=\S)(?=\S)")
BOUNDARIES = (CLAUSE_ENDS, SPACES, CHARACTERS)
"""Places where an over-long sentence is divided, the best first."""

JOINERS = frozenset("\u200c\u200d\u2060")
"""Characters at which no word is divided."""

logger = logging.getLogger("polyglot")


@dataclass(frozen=True)
class SplitText:
    """Sentences of several lines."""

    sentences: Sequence[str]
    counts: Sequence[int]
    """number of sentences of each line; 0 for a blank line"""

    def join(
        self,
        hypotheses: Iterable[Sequence[Translation]],
        target: str,
    ) -> list[list[Translation]]:
        """Join the best translations of the sentences to one for each line.

        Its scores and log-probabilities are sums over the sentences.
        """
        separator = sentence_separator(target)
        remaining = (best for best, *_ in hypotheses)
        joined = []
        for count in self.counts:
            parts = list(islice(remaining, count))
            texts = [part.text for part in parts if part.text]
            translation = Translation(
                separator.join(texts),
                score=sum(part.score for part in parts),
                log_probability=sum(part.log_probability for part in parts),
                source_tokens=sum(part.source_tokens for part in parts),
                target_tokens=sum(part.target_tokens for part in parts),
                is_cut=any(part.is_cut for part in parts),
            )
            joined.append([translation])
        return joined


class SplittingModel(Protocol):
    """Part of `Translator` that counts the tokens of source text."""

    max_training_length: int | None

    @property
    def sources(self) -> list[str]: ...

    def encode_text(self, sentences: Iterable[str], language: str) -> list[list[int]]: ...


def common_training_length(members: Iterable[SplittingModel]) -> int | None:
    """Length in tokens that no sentence of training exceeded in any model; None if unknown."""
    lengths = []
    for member in members:
        if member.max_training_length is not None:
            lengths.append(member.max_training_length)
    return min(lengths, default=None)


class SentenceSplitter:
    """Splits lines of one language into sentences of at most `max_tokens` tokens."""

    def __init__(
        self,
        language: str,
        *,
        count_tokens: Callable[[str], int],
        max_tokens: int | None,
    ) -> None:
        """count_tokens: number of tokens of a text. max_tokens: None for any length.

        Raises ConfigError if sentencex is not installed.
        """
        try:
            from sentencex import segment
        except ImportError:
            raise ConfigError(
                "split sentences: the library sentencex is not installed; "
                "pip install 'polyglot-nmt[split]'"
            ) from None
        self._segment = segment
        self._code = parse_language(language).language
        self.language = language
        self.count_tokens = count_tokens
        self.max_tokens = max_tokens
        self.divided = 0
        """number of over-long sentences so far; all of them were divided"""

    @classmethod
    def for_models(cls, members: Sequence[SplittingModel], language: str) -> SentenceSplitter:
        """Return the splitter for the members of an ensemble, or for one model."""
        readers = []
        for member in members:
            if resolve_language(language, member.sources) in member.sources:
                readers.append(member)

        def count_tokens(text: str) -> int:
            counts = []
            for member in readers:
                [tokens] = member.encode_text([text], language)
                counts.append(len(tokens))
            return max(counts)

        max_tokens = common_training_length(readers)
        return cls(language, count_tokens=count_tokens, max_tokens=max_tokens)

    def split(self, lines: Iterable[str]) -> SplitText:
        """Split each line; the sentences have no spaces at their ends."""
        sentences: list[str] = []
        counts = []
        for line in lines:
            parts = list(self._parts(line))
            sentences += parts
            counts.append(len(parts))
        return SplitText(sentences, counts)

    def warning(self) -> str:
        """Return a sentence about the over-long sentences so far; empty if there are none."""
        if not self.divided:
            return ""
        sentences = pluralize(self.divided, "sentence")
        verb = "was" if self.divided == 1 else "were"
        return (
            f"{self.language}: {sentences} with more than {self.max_tokens} tokens "
            "(data.filter.max_length, the longest in training) "
            f"{verb} divided at punctuation or spaces"
        )

    def _parts(self, line: str) -> Iterator[str]:
        """Yield the sentences of a line, over-long ones in parts."""
        for segment in self._segment(self._code, line):
            for piece in OTHER_ENDS.split(segment):
                sentence = piece.strip()
                if not sentence:
                    continue
                if self._fits(sentence):
                    yield sentence
                else:
                    self.divided += 1
                    yield from self._divide(sentence)

    def _fits(self, text: str) -> bool:
        if self.max_tokens is None:
            return True
        return self.count_tokens(text) <= self.max_tokens

    def _divide(self, text: str) -> Iterator[str]:
        """Divide text near its middle until each part fits, or is a single character."""
        place = None
        if not self._fits(text):
            place = _middle_boundary(text)
        if place is None:
            yield text
            return
        yield from self._divide(text[:place].rstrip())
        yield from self._divide(text[place:].lstrip())


def translate_split(
    lines: Iterable[str],
    splitter: SentenceSplitter,
    translate: Callable[[Sequence[str]], list[list[Translation]]],
    *,
    target: str,
) -> list[list[Translation]]:
    """Translate the sentences of each line, and join their best translations.

    Logs the number of over-long sentences in one line.
    """
    text = splitter.split(lines)
    joined = text.join(translate(text.sentences), target)
    if splitter.divided:
        logger.warning(splitter.warning())
    return joined


def check_one_best(config: SearchConfig) -> None:
    """Raise ConfigError for n-best lists: the sentences of a line have only one joined text."""
    if config.n_best > 1:
        raise ConfigError(
            f"n_best: found {config.n_best}; split sentences have one translation of each line, "
            "so leave out n_best, or give one sentence per line and do not split"
        )


def check_one_source(languages: Sized) -> None:
    """Raise ConfigError for several source languages, whose sentences may be split differently."""
    if len(languages) > 1:
        raise ConfigError(
            f"split sentences: found {len(languages)} source languages, and their lines may have "
            "different numbers of sentences; give one sentence per line and do not split"
        )


def sentence_separator(language: str) -> str:
    """Return the text between two sentences: nothing in Chinese and Japanese, else a space."""
    script = parse_language(language).script
    if script in CHINESE_SCRIPTS or script in JAPANESE_SCRIPTS:
        return ""
    return " "


def _middle_boundary(text: str) -> int | None:
    """Return the position of the best boundary near the middle; None without a boundary.

    The middle half of the text comes first, since both parts should have a similar length. Short
    text may have boundaries only outside of it.
    """
    quarter = len(text) // 4
    for margin in (quarter, 0):
        for pattern in BOUNDARIES:
            place = _nearest_boundary(text, pattern, margin)
            if place is not None:
                return place
    return None


def _nearest_boundary(text: str, pattern: re.Pattern[str], margin: int) -> int | None:
    """Return the boundary nearest to the middle of a text, at least `margin` from its ends."""
    nearest = None
    smallest_distance = len(text)
    for match in pattern.finditer(text, margin, len(text) - margin):
        place = match.end()
        distance = abs(2 * place - len(text))
        if distance < smallest_distance and _can_divide(text, match.start(), place):
            nearest = place
            smallest_distance = distance
    return nearest


def _can_divide(text: str, end: int, start: int) -> bool:
    """True if text may end at `end` and continue at `start`.

    Combining marks stay with their letter, and both parts have at least one character.
    """
    if end == 0 or start >= len(text):
        return False
    before = text[end - 1]
    after = text[start]
    if before in JOINERS or after in JOINERS:
        return False
    return not unicodedata.category(after).startswith("M")
