"""Spaces between tokens, predicted from punctuation, quotation marks and scripts.

A detokenizer needs the prediction; `reversible_tokenizer` marks only the places where it is wrong.
So a rule may be incomplete: it then costs a mark, and no text is lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

ESCAPE = "␣"
"""First character of a token that stands for another character."""

NUMBER = re.compile(rf"{ESCAPE}([0-9A-F]{{1,6}})")
"""Token that stands for the character with a hexadecimal number."""

UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u2e80-\u312f\u3190-\u4dbf"
    "\u4e00-\u9fff\ua000-\ua4cf\ua980-\ua9ff\uaa60-\uaadf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
    "\uff65-\uff9f\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces between words."""

WIDE_PUNCTUATION = re.compile("[\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")

CLOSING = frozenset(",.?!:;%…،؛؟۔।॥‰°՞՝։።፣፤、。")
"""Punctuation without a space before it, besides closing brackets."""
OPENING = frozenset("¿¡")
FRENCH_SPACED = frozenset("?!:;%")
"""Punctuation that French writes with a space before it."""
JOINING = frozenset("/@_‐‑·፡")
"""Signs without spaces on either side."""
DASHES = frozenset("–—-:")
"""Signs without spaces between digits."""
CASE_ENDING_LANGUAGES = frozenset({"fi", "sv"})
"""Languages that write endings of abbreviations after a colon: `EU:n`."""
CHINESE_OR_JAPANESE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
HANGUL = re.compile("[\uac00-\ud7a3]")
"""Korean particles follow a bracket or quotation mark without a space."""
ENTITIES = frozenset({"amp", "quot", "apos", "lt", "gt", "nbsp"})
"""Names of XML entities, which Moses splits: `& amp ;`."""

ANGLE_PARTNERS = str.maketrans("«»‹›", "»«›‹")
QUOTES = frozenset('"“”„‟«»‹›‚')
APOSTROPHES = frozenset("'’`´ʼ‘")
QUOTING_APOSTROPHES = frozenset({"cs", "de", "en", "sv", "da", "no", "nl", "fi", "hu", "es"})
"""Languages that use `'` as a quotation mark as often as inside a word."""
ELISION_LANGUAGES = frozenset({"fr", "it", "ga"})
"""Languages whose apostrophe Moses leaves at the end of a token: `l' eau`."""
SHORT_WORD = 2
"""Most letters of a word before or after an apostrophe that joins: `d'eau`, `Domino's`, `we'll`."""


class SpacePredictor:
    """Predicts the spaces between the tokens of a language."""

    def __init__(self, language: str) -> None:
        """language: code of Moses."""
        self._language = language
        self._is_french = language == "fr"
        self._closing = CLOSING - FRENCH_SPACED if self._is_french else CLOSING

    def joins(self, tokens: Sequence[str]) -> list[bool]:
        """Return for each token whether it follows the token before it without a space."""
        joined = [False] * (len(tokens) + 1)
        open_quotes: list[str] = []
        for place, token in enumerate(tokens):
            before = tokens[place - 1] if place else ""
            after = tokens[place + 1] if place + 1 < len(tokens) else ""
            joins_before, joins_after = self._sides(token, before, after, open_quotes)
            joins_after |= joins_before and _continues(token, before, after)
            joined[place] |= joins_before or _is_unspaced(before, token)
            joined[place + 1] |= joins_after
        joined[0] = False
        return joined[: len(tokens)]

    def join(self, tokens: Sequence[str]) -> str:
        """Write tokens with the predicted spaces."""
        parts = []
        for place, joined in enumerate(self.joins(tokens)):
            if place and not joined:
                parts.append(" ")
            parts.append(tokens[place])
        return "".join(parts)

    def _sides(
        self,
        token: str,
        before: str,
        after: str,
        open_quotes: list[str],
    ) -> tuple[bool, bool]:
        """Return whether a token has no space before it, and none after it."""
        first = token[0]
        if first.isalnum():
            ends_in_elision = token[-1] in APOSTROPHES and self._language in ELISION_LANGUAGES
            is_entity = before == "&" and token in ENTITIES and after == ";"
            joins_next_word = ends_in_elision and after[:1].isalpha()
            return is_entity, is_entity or joins_next_word
        if NUMBER.fullmatch(token):
            return True, True
        if first in QUOTES and len(token) == 1:
            return self._quote_sides(token, open_quotes)
        if first in APOSTROPHES:
            return self._apostrophe_sides(token, before, after, open_quotes)
        if all(map(_is_wide, token)) or token in JOINING:
            return True, True
        if token in DASHES and before[-1:].isdigit() and after[:1].isdigit():
            return True, True
        if token == ":" and self._language in CASE_ENDING_LANGUAGES and before.isupper():
            return True, after.islower()
        if token == "—" and before == "—":
            return True, False
        if token == "#":
            return False, after[:1].isalnum()
        if first == "-" and len(token) > 1:
            return before in QUOTES or _is_closing_bracket(before), False
        return self._punctuation_sides(token, before)

    def _punctuation_sides(self, token: str, before: str) -> tuple[bool, bool]:
        """Closing punctuation has no space before it, opening punctuation none after it."""
        is_closing = True
        is_opening = True
        for character in token:
            category = unicodedata.category(character)
            is_closing &= character in self._closing or category in ("Pe", "Pf")
            is_opening &= character in OPENING or category in ("Ps", "Pi", "Sc")
        if is_opening and unicodedata.category(token[0]) == "Sc" and before[-1:].isdigit():
            return False, False
        return is_closing, is_opening

    def _quote_sides(self, quote: str, open_quotes: list[str]) -> tuple[bool, bool]:
        """An opening quotation mark has no space after it, a closing one none before it."""
        if _opens(quote, open_quotes):
            open_quotes.append(quote)
            return False, not (self._is_french and quote == "«")
        if open_quotes:
            open_quotes.pop()
        return not (self._is_french and quote == "»"), False

    def _apostrophe_sides(
        self,
        token: str,
        before: str,
        after: str,
        open_quotes: list[str],
    ) -> tuple[bool, bool]:
        """An apostrophe is part of a word or a quotation mark."""
        if len(token) > 1:
            return self._language == "en" and token[1].isalpha(), False

        is_inside = before[-1:].isalnum() and after[:1].isalnum()
        if is_inside and self._is_inside_word(token, before, after, open_quotes):
            return True, True
        if not _opens(token, open_quotes):
            open_quotes.remove(token)
            return True, False
        if self._language == "en" and before[-1:] == "s":
            return True, False  # genitive of a plural: the girls' book
        open_quotes.append(token)
        return False, True

    def _is_inside_word(
        self,
        token: str,
        before: str,
        after: str,
        open_quotes: Sequence[str],
    ) -> bool:
        """True for an apostrophe between two parts of one word."""
        if token != "'" or self._language not in QUOTING_APOSTROPHES:
            return True
        return token not in open_quotes and min(len(before), len(after)) <= SHORT_WORD


def _continues(token: str, before: str, after: str) -> bool:
    """True if the text continues without a space after closing punctuation."""
    if not before or not after or token[0].isalnum():
        return False
    if HANGUL.match(after[0]) and token not in CLOSING:
        return True
    matches_before = CHINESE_OR_JAPANESE.match(before[-1])
    matches_after = CHINESE_OR_JAPANESE.match(after[0])
    return bool(matches_before and matches_after)


def _opens(quote: str, open_quotes: Sequence[str]) -> bool:
    """True if a quotation mark opens a quotation. open_quotes: quotations that are not closed."""
    if quote in "„‟‚‘":
        return True
    if quote == "“":
        return "„" not in open_quotes
    if quote == "”":
        return not open_quotes
    if quote in "«»‹›":
        partner = quote.translate(ANGLE_PARTNERS)
        return partner not in open_quotes
    return quote not in open_quotes


def _is_unspaced(left: str, right: str) -> bool:
    """True between a word and a sign of scripts without spaces.

    Moses does not split between two letters: there is a space between two words.
    """
    if not left:
        return False
    last = left[-1]
    first = right[0]
    if _is_in_word(last) and _is_in_word(first):
        return False
    return bool(UNSPACED.match(last) and UNSPACED.match(first))


@cache
def _is_in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


@cache
def _is_wide(character: str) -> bool:
    return bool(WIDE_PUNCTUATION.match(character))


def _is_closing_bracket(token: str) -> bool:
    return bool(token) and unicodedata.category(token[-1]) == "Pe"
