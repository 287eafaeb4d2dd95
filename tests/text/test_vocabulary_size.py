"""Sizes that training refuses are doubtful before it; usual sizes of a text are not."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from polyglot.core.errors import ConfigError
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig
from polyglot.text.vocabulary_size import is_doubtful_size

ENGLISH = ["a dog sleeps", "two cats see a bird", "the child reads a book", "it rains"]
UNSPACED = ["あらゆる人間は自由で平等である", "人は理性と良心を授けられている", "互いに同胞の精神"]


def limits(texts: list[str], **settings: object) -> tuple[int, int]:
    """Smallest and largest size that training accepts."""
    found = []
    for size, pattern in ((5, r"at least (\d+)"), (900_000, r"at most (\d+)")):
        config = VocabularyConfig(size=size, **settings)
        with pytest.raises(ConfigError) as error:
            Vocabulary.train(texts, config, language="xx", seed=1)
        found.append(int(re.search(pattern, str(error.value))[1]))
    return found[0], found[1]


def check_limits(texts: list[str], **settings: object) -> None:
    smallest, largest = limits(texts, **settings)
    for size in (smallest - 1, largest + 1):
        assert is_doubtful_size(texts, VocabularyConfig(size=size, **settings))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("texts", [ENGLISH, UNSPACED], ids=["English", "unspaced"])
def test_refused_sizes_are_doubtful(texts, byte_fallback, kind):
    check_limits(texts, type=kind, byte_fallback=byte_fallback)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("language", ["eng", "deu", "fin", "jpn", "kor", "mya", "tha", "arb"])
def test_refused_sizes_of_real_text_are_doubtful(language, kind, shared_data: Path):
    texts = []
    with gzip.open(shared_data / "udhr" / "udhr.tsv.gz", "rt", encoding="utf-8") as file:
        column = file.readline().rstrip("\n").split("\t").index(language)
        for line in file:
            texts.append(line.rstrip("\n").split("\t")[column])
    check_limits(texts, type=kind)


def test_a_usual_size_of_a_larger_text_is_not_doubtful():
    words = [f"{first}{second}ing" for first in ENGLISH[0] for second in "abcdefghijklm"]
    texts = [" ".join(f"{word}{other}" for other in words) for word in words]
    assert sum(map(len, texts)) > 60 * 400
    for kind in ("unigram", "bpe"):
        assert not is_doubtful_size(texts, VocabularyConfig(type=kind, size=400))


def test_a_long_text_that_repeats_itself_is_doubtful():
    texts = ENGLISH * 20_000
    for kind in ("unigram", "bpe"):
        assert is_doubtful_size(texts, VocabularyConfig(type=kind, size=8000))


@pytest.mark.parametrize("settings", [{"type": "word"}, {"type": "char"}, {"limit": "soft"}])
def test_sizes_without_a_hard_limit_are_not_doubtful(settings):
    assert not is_doubtful_size(ENGLISH, VocabularyConfig(size=9000, **settings))


def test_symbols_take_pieces():
    config = VocabularyConfig(type="bpe", size=280)
    assert is_doubtful_size(ENGLISH, config, unsplit_pieces=[f"▁n{row}" for row in range(40)])
