"""Tokenizers: each language is scored with one that separates its words."""

from __future__ import annotations

import gzip
from pathlib import Path
from urllib.error import URLError

import pytest
from sacrebleu.metrics import BLEU

from polyglot.evaluation import tokenizers
from polyglot.evaluation.tokenizers import (
    FALLBACK,
    TOKENIZERS,
    Tokenizer,
    default_tokenizer,
    find_tokenizer,
    separates_words,
)

LONGEST_WORD = 20
"""Mean characters of a token; inflected words of agglutinative languages have up to 16."""


@pytest.mark.parametrize(
    ("tokenizer", "languages"),
    [
        ("13a", "de eng_Latn vie hi_IN nan_Latn ja_Latn jv acu l1 ar"),
        ("zh", "zh zho_Hant ZH_HANS yue lzh wuu nan cjy zh_TW"),
        ("ja-mecab", "ja jpn jpn_Jpan JA ja_JP"),
        ("ko-mecab", "ko kor kor_Hang"),
        ("char", "th tha_Thai lo km my mya_Mymr bo dzo shn ryu jv_Java iii"),
        ("intl", "am amh_Ethi tir"),
    ],
)
def test_tokenizer_follows_the_script(tokenizer: str, languages: str) -> None:
    assert {default_tokenizer(language) for language in languages.split()} == {tokenizer}
    assert tokenizer in TOKENIZERS


def test_tokenizer_separates_the_words_of_every_language(shared_data: Path) -> None:
    """On the text of the Universal Declaration of Human Rights."""
    text = shared_data / "udhr" / "udhr.tsv.gz"
    if not text.exists():
        pytest.skip(f"{text} is absent")
    with gzip.open(text, "rt", encoding="utf-8") as rows:
        columns = zip(*(row.rstrip("\n").split("\t") for row in rows))
    next(columns)

    too_long = {}
    for language, *lines in columns:
        tokenizer = default_tokenizer(language)
        if tokenizer.endswith("mecab"):
            continue  # an optional package
        tokenize = BLEU(tokenize=tokenizer).tokenizer
        tokens = " ".join(map(tokenize, lines)).split()
        mean = sum(map(len, tokens)) / len(tokens)
        if mean > LONGEST_WORD:
            too_long[language] = mean
    assert not too_long


@pytest.mark.parametrize(
    ("tokenizer", "target", "expected"),
    [
        ("13a", "de", True),
        ("13a", "ko", True),
        ("13a", "th", False),
        ("none", "zh", False),
        ("zh", "ja", False),
        ("ja-mecab", "ja", True),
        ("flores200", "th", True),
        ("char", "ja", True),
    ],
)
def test_tokenizers_for_spaces_do_not_separate_words_without(
    tokenizer: str, target: str, expected: bool
) -> None:
    assert separates_words(tokenizer, target) == expected


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("no MeCab"), "not installed; pip install 'polyglot-nmt[ja]'"),
        (AssertionError(), "not installed; pip install 'polyglot-nmt[ja]'"),
        (
            URLError(OSError(-2, "Name or service not known")),
            "sacreBLEU downloads its model at the first use, and that failed: "
            "[Errno -2] Name or service not known",
        ),
        (SystemExit(1), "not installed; pip install 'polyglot-nmt[ja]'"),
    ],
)
def test_tokenizer_that_cannot_be_used_has_a_fallback(
    error: BaseException, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(tokenize: str) -> None:
        raise error

    find_tokenizer.cache_clear()
    monkeypatch.setattr(tokenizers, "BLEU", fail)
    assert find_tokenizer("ja-mecab") == Tokenizer(FALLBACK, wanted="ja-mecab", reason=reason)
    find_tokenizer.cache_clear()


def test_fallback_needs_no_package() -> None:
    assert find_tokenizer(FALLBACK) == Tokenizer(FALLBACK)
