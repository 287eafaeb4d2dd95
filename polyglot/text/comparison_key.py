"""Comparison keys: equal for sentences that differ only in case, punctuation, spaces and digits.

Two sentences with equal keys are *nearly equal*. Training text must not contain sentences that are
nearly equal to test sentences, and the parts of a divided text must not share any.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy
import xxhash
from numpy.typing import NDArray

NO_SENTENCE = numpy.uint64(0)
"""Hash of an empty line, which is equal to no sentence."""

Hashes = NDArray[numpy.uint64]
"""Hash of each sentence, (N,)."""

_DIGITS = re.compile("0+")


class _CharacterTable(dict[int, str | None]):
    """Table for `str.translate`, filled as characters occur: digits become 0, signs are removed.

    Combining marks stay: they are the vowels of many scripts.
    """

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Nd":
            key = "0"
        elif category[0] in "PSZC":  # punctuation, symbols, spaces, control characters
            key = None
        else:
            key = character
        self[code] = key
        return key


_CHARACTERS = _CharacterTable()


def comparison_key(line: str) -> str:
    """Reduce a sentence to its letters; every number becomes 0. Empty for an empty line.

    A line without letters, such as `12:30` or `…`, is its own key, without spaces at its ends.
    """
    folded = unicodedata.normalize("NFKC", line).casefold()
    key = _DIGITS.sub("0", folded.translate(_CHARACTERS))
    if key.strip("0"):
        return key
    return line.strip()


def hash_keys(keys: Iterable[str]) -> Hashes:
    """Hash keys with 64 bits; `NO_SENTENCE` for an empty key.

    Among 10 million keys, the probability of any two different ones with one hash is 3 in a
    million.
    """
    hashes = []
    for key in keys:
        value = 0
        if key:
            value = xxhash.xxh3_64_intdigest(key.encode(errors="surrogatepass"))
        hashes.append(value)
    return numpy.array(hashes, dtype=numpy.uint64)


def sentence_hashes(lines: Iterable[str], *, shortest: int = 0) -> Hashes:
    """Hash the comparison keys of lines.

    shortest: a sentence with fewer characters in its key counts as no sentence.
    """
    keys = []
    for line in lines:
        key = comparison_key(line)
        keys.append(key if len(key) >= shortest else "")
    return hash_keys(keys)
