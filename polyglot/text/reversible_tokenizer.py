"""Moses tokens from which the text can be restored exactly.

The text is split where Moses splits it, but not inside a word: not before or after a combining
mark or a joiner. Most spaces are not written, since `SpacePredictor` knows them. Three kinds of
tokens complete the text:

| token | meaning |
|---|---|
| `￭` | no space here, although one is expected |
| `␣` | a space here, although none is expected |
| `␣A0` | the character with this hexadecimal number |

Characters with a number are all white space but single spaces between words, control characters,
the two signs themselves, and `▁`, which SentencePiece reads as a space.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from polyglot.text.spacing import ESCAPE, NUMBER, SpacePredictor

JOIN = "￭"
SPACE = ESCAPE

_escaped = rf"\s\x00-\x1f\x7f-\x9f{JOIN}{ESCAPE}▁"
ESCAPED = re.compile(f"[{_escaped}]")
PIECE = re.compile(
    rf"(?P<space>(?<=\S) (?=\S))|(?P<escaped>[{_escaped}])|(?P<plain>[^{_escaped}]+)"
)
"""A text is a sequence of these pieces: space between words, escaped character, other characters"""


class ReversibleTokenizer:
    """Tokenizer whose inverse restores every text."""

    def __init__(self, split: Callable[[str], str], language: str) -> None:
        """split: puts spaces between the tokens of a line, and changes nothing else.

        language: code of Moses, for the prediction of spaces.
        """
        self._split = split
        self._predictor = SpacePredictor(language)

    def tokenize(self, line: str) -> str:
        """Return the tokens of a line, with single spaces between them."""
        tokens = []
        joined = []
        boundaries = self._boundaries(line)
        follows_space = True
        for match in PIECE.finditer(line):
            if match["space"]:
                follows_space = True
                continue
            if match["escaped"]:
                new_tokens = [f"{ESCAPE}{ord(match['escaped']):X}"]
            else:
                new_tokens = _cut(line, match.start(), match.end(), boundaries)
            tokens += new_tokens
            joined += [not follows_space] + [True] * (len(new_tokens) - 1)
            follows_space = False
        return self.join(tokens, joined)

    def join(self, tokens: Sequence[str], joined: Sequence[bool]) -> str:
        """Write tokens with marks. joined: whether each token follows the one before directly."""
        marked = []
        predicted = self._predictor.joins(tokens)
        for place, token in enumerate(tokens):
            if place and joined[place] and not predicted[place]:
                marked.append(JOIN)
            if place and predicted[place] and not joined[place]:
                marked.append(SPACE)
            marked.append(token)
        return " ".join(marked)

    def detokenize(self, line: str) -> str:
        """Restore the text of tokens. Tokens of a model may lack marks or have too many."""
        tokens: list[str] = []
        marks: dict[int, str] = {}
        for token in line.split(" "):
            if token in (JOIN, SPACE):
                marks[len(tokens)] = token
            elif token:
                tokens.append(token)

        parts: list[str] = []
        predicted = self._predictor.joins(tokens)
        for place, token in enumerate(tokens):
            is_joined = predicted[place]
            if place in marks:
                is_joined = marks[place] == JOIN
            if place and not is_joined:
                parts.append(" ")
            parts.append(_unescape(token))
        return "".join(parts)

    def _boundaries(self, line: str) -> list[int]:
        """Return the places of the line where Moses inserts a space."""
        cleaned = ESCAPED.sub(" ", line)
        words = self._split(cleaned).split()
        places = [place for place, character in enumerate(cleaned) if character != " "]
        if "".join(words) != "".join(cleaned.split()):
            return []  # Moses changed a character: its own placeholders are in the text

        boundaries = []
        length = 0
        for word in words[:-1]:
            length += len(word)
            if not _is_inside_word(line, places[length]):
                boundaries.append(places[length])
        return boundaries


def _cut(line: str, start: int, end: int, boundaries: Sequence[int]) -> list[str]:
    """Cut a part of a line at the boundaries inside it. boundaries: in ascending order."""
    tokens = []
    first = bisect_right(boundaries, start)
    last = bisect_left(boundaries, end)
    for place in boundaries[first:last]:
        tokens.append(line[start:place])
        start = place
    tokens.append(line[start:end])
    return tokens


def _is_inside_word(line: str, place: int) -> bool:
    """True before a combining mark or a joiner, and between two characters of words.

    Moses splits there where its tables of letters are older than the script.
    """
    before = unicodedata.category(line[place - 1])
    after = unicodedata.category(line[place])
    if after[0] == "M" or after == "Cf":
        return True
    return (before[0] in "LMN" or before == "Cf") and after[0] in "LN"


def _unescape(token: str) -> str:
    """Return the character that a token stands for; other tokens are unchanged."""
    match = NUMBER.fullmatch(token)
    if match is None:
        return token
    number = int(match[1], 16)
    is_character = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if is_character else token
