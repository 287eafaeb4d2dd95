"""Paragraphs in sentences, over-long sentences in parts, and their translations in one line."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import ConfigError
from polyglot.inference.sentence_splitting import (
    SentenceSplitter,
    SplitText,
    sentence_separator,
    translate_split,
)
from polyglot.inference.types import Translation

PARAGRAPHS = {
    "en": ["Dr. Smith left at 5 p.m. on Jan. 5.", "Why?", "Nobody knows!"],
    "deu_Latn": ["Das ist z. B. ein Test vom 3. Oktober.", "Er endet hier."],
    "ja": ["これはテストです。", "元気ですか？", "はい！"],
    "zh_Hant": ["這是一個測試。", "你好嗎？"],
    "ar": ["هذا اختبار.", "هل أنت بخير؟", "نعم!"],
    "ur": ["یہ ایک امتحان ہے۔", "آپ کیسے ہیں؟"],
    "hi": ["यह एक परीक्षण है।", "आप कैसे हैं?"],
    "my": ["ဒါက စမ်းသပ်မှုဖြစ်ပါတယ်။", "ကောင်းပါတယ်။"],
    "am": ["ይህ ሙከራ ነው።", "ደህና ነኝ።"],
    "km": ["នេះជាការសាកល្បង។", "បាទ។"],
    "hy": ["Սա փորձ է։", "Լավ։"],
    "el": ["Πώς είσαι;", "Καλά."],
    "ko": ["이것은 테스트입니다.", "안녕하세요?"],
    "he": ["זה מבחן.", "מה שלומך?"],
    "qaa": ["One sentence.", "Another one!"],
}
THAI = "นี่คือการทดสอบ คุณสบายดีไหม สบายดี"
SAMPLES = [*("".join(sentences) for sentences in PARAGRAPHS.values()), THAI, "नमस्ते 1,234.5; x"]


def splitter(language: str, *, max_tokens: int | None = None) -> SentenceSplitter:
    """Splitter that counts every character except spaces as a token."""
    return SentenceSplitter(
        language,
        count_tokens=lambda text: len(text.replace(" ", "")),
        max_tokens=max_tokens,
    )


def translation(text: str, **values: object) -> Translation:
    return Translation(text, -1.0, -2.0, source_tokens=3, target_tokens=4, **values)


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_sentences_of_many_scripts(language: str) -> None:
    sentences = PARAGRAPHS[language]
    paragraph = sentence_separator(language).join(sentences)
    assert splitter(language).split([paragraph]) == SplitText(sentences, [len(sentences)])


def test_thai_without_end_marks_stays_whole_and_is_divided_at_spaces() -> None:
    assert splitter("th").split([THAI]).sentences == [THAI]
    assert splitter("th", max_tokens=14).split([THAI]).sentences == THAI.split()


def test_blank_lines_have_no_sentences() -> None:
    assert splitter("en").split(["", "A. B.", "  ", "\u3000"]).counts[0] == 0
    assert splitter("en").split(["", "  ", "\u3000"]) == SplitText([], [0, 0, 0])


def test_long_sentences_are_divided_at_clauses_first() -> None:
    english = splitter("en", max_tokens=30)
    sentence = "The price of 1,234 is high, and the old farmer who lives there sleeps"
    assert english.split([sentence]).sentences == [
        "The price of 1,234 is high,",
        "and the old farmer",
        "who lives there sleeps",
    ]
    assert english.divided == 1
    assert "1 sentence with more than 30 tokens" in english.warning()
    assert splitter("zh", max_tokens=7).split(["我们昨天去了，他们没有去"]).sentences == [
        "我们昨天去了，",
        "他们没有去",
    ]


def test_a_short_text_counts_nothing_as_divided() -> None:
    english = splitter("en", max_tokens=30)
    english.split(["Short. Sentences. Here."])
    assert english.divided == 0
    assert english.warning() == ""


@settings(deadline=None, max_examples=60)
@given(
    st.text(st.sampled_from(" ,.;?!。、।aA1\u0301\u200dनम्日"), max_size=60)
    | st.sampled_from(SAMPLES),
    st.sampled_from(["en", "ja", "hi", "th", "xx"]),
    st.integers(1, 20),
)
def test_no_character_is_lost_and_every_part_fits(text: str, language: str, limit: int) -> None:
    parts = splitter(language, max_tokens=limit)
    sentences = parts.split([text]).sentences
    assert "".join("".join(sentences).split()) == "".join(text.split())
    for sentence in sentences:
        assert sentence == sentence.strip() != ""
        # only a character with its combining marks can be longer
        has_fit = parts.count_tokens(sentence) <= limit
        assert has_fit or len(list(filter(str.isalnum, sentence))) <= 3 * limit


@pytest.mark.parametrize(("target", "joined"), [("fr", "A B"), ("ja", "AB"), ("zh_Hans", "AB")])
def test_translations_are_joined_as_the_target_writes_sentences(target: str, joined: str) -> None:
    text = SplitText(["a.", "b.", "c."], [2, 0, 1])
    lists = [[translation("A")], [translation("B", is_cut=True)], [translation("")]]
    first, blank, last = text.join(lists, target)
    assert first == [Translation(joined, -2.0, -4.0, 6, 8, is_cut=True)]
    assert blank == [Translation("", 0, 0)]
    assert last == [translation("")]


def test_one_line_of_the_log_counts_the_divided_sentences(caplog) -> None:
    def translate(sentences):
        return [[translation(sentence.upper())] for sentence in sentences]

    lines = ["one two. three four five six", "", "short. so many words here"]
    result = translate_split(lines, splitter("en", max_tokens=8), translate, target="fr")
    assert [best.text for [best] in result] == [line.upper() for line in lines]
    assert len(caplog.records) == 1
    assert "sentences with more than 8 tokens" in caplog.text


def test_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[split\]'"):
        splitter("en")
