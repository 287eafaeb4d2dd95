"""Steps before the vocabulary: applied in order, undone in reverse."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.text.preprocessing import STEPS, Normaliser

SENTENCES = {
    "de": [
        "Hallo, sagte er (leise).",
        "Das kostet 3,50 Euro, oder?",
        'Er rief: "Komm!"',
        "Ein rot-weißes Boot.",
    ],
    "en": ["It's John's dog, isn't it?", "A well-known man (about 40) waits.", 'He said: "Run!"'],
    "fr": ["L'homme court aujourd'hui.", "C'est l'été, n'est-ce pas ?"],
    "cs": ["Pes běží, ale kočka spí."],
}


def normaliser(*steps, language="de"):
    return Normaliser(
        [
            STEPS.configure(**step) if isinstance(step, dict) else STEPS.configure(step)
            for step in steps
        ],
        language,
    )


@pytest.mark.parametrize("language", SENTENCES)
def test_tokenization_is_undone(language):
    tokenize = normaliser("tokenize", language=language)
    applied = [tokenize.apply(sentence) for sentence in SENTENCES[language]]
    assert applied != SENTENCES[language]
    assert [tokenize.undo(line) for line in applied] == SENTENCES[language]


def test_tokenization_leaves_hyphens_and_signs_alone():
    assert normaliser("tokenize").apply("Rot-Weiß & 'x' <3") == "Rot-Weiß & ' x ' < 3"


WORDS = st.sampled_from(
    "der Hund It's isn't l'eau aujourd'hui n'est-ce rot-weiß 3 1,000 3.5 z.B. Mr. Dr. "
    "No. St. etc. USA U.S. x_y ´ « » \u00a0 ' '' \" ... - -- & ½ é ß 犬 ́ s".split(" ")
)
ENDS = st.sampled_from(
    ["", "", "", ".", ",", ";", ":", "!", "?", "...", ".'", "'", '"', ")", ", ", "\t"]
)
LINES = st.lists(st.tuples(WORDS, ENDS).map("".join), min_size=1, max_size=8).map(" ".join)


MOSES_LANGUAGES = ["en", "de", "fr", "fi", "cs"]
THREE_LINES = st.lists(LINES, min_size=3, max_size=3)


@pytest.mark.parametrize("language", MOSES_LANGUAGES)
@settings(max_examples=60, deadline=None)
@given(lines=THREE_LINES)
def test_what_is_known_of_words_is_what_moses_makes_of_the_line(language, lines):
    """The short cuts of both steps give the very line that the scripts give."""
    check_against_moses(language, lines)


@pytest.mark.slow
@pytest.mark.parametrize("language", MOSES_LANGUAGES)
@settings(max_examples=1000, deadline=None)
@given(lines=THREE_LINES)
def test_what_is_known_of_words_is_what_moses_makes_of_many_lines(language, lines):
    check_against_moses(language, lines)


def check_against_moses(language, lines):
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    tokenize, punctuation = (
        STEPS.build(STEPS.configure(name), language=language) for name in ("moses", "punctuation")
    )
    whole, script = MosesTokenizer(language), MosesPunctNormalizer(language)
    for line in lines:
        assert tokenize.apply(line) == whole.tokenize(
            line, aggressive_dash_splits=False, return_str=True, escape=False
        )
        assert punctuation.apply(line) == script.normalize(line)


def test_no_more_words_are_kept_than_was_said(monkeypatch):
    monkeypatch.setattr("polyglot.text.moses.CACHED_WORDS", 3)
    tokenize = STEPS.build(STEPS.configure("moses"), language="en")
    assert [tokenize.apply(f"a{number} dog, it's.") for number in range(9)] == [
        f"a{number} dog , it 's ." for number in range(9)
    ]
    assert len(tokenize._tokenizer._cache) <= 3


class Brackets:
    """A step whose place among the others can be seen."""

    def __init__(self, pair):
        self.opening, self.closing = pair

    def apply(self, line):
        return self.opening + line + self.closing

    def undo(self, line):
        assert line[0] + line[-1] == self.opening + self.closing
        return line[1:-1]


def test_steps_come_in_order_and_are_undone_in_reverse():
    brackets = normaliser()
    brackets._steps = [Brackets("()"), Brackets("[]")]
    assert brackets.apply("x") == "[(x)]"
    assert brackets.undo("[(x)]") == "x"
    both = normaliser("lowercase", "tokenize")
    assert both.apply("HALLO, Du!") == "hallo , du !"
    assert both.undo("hallo , du !") == "hallo, du!"


def test_punctuation_is_what_moses_makes_of_it():
    assert normaliser("punctuation").apply("„Ja“ – sagte er…") == '"Ja" - sagte er...'


@settings(max_examples=100, deadline=None)
@given(line=st.text(), form=st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_unicode_gives_the_form_it_names(line, form):
    step = normaliser({"name": "unicode", "form": form})
    assert unicodedata.is_normalized(form, step.apply(line))
    assert step.apply(step.apply(line)) == step.apply(line)


@settings(max_examples=50, deadline=None)
@given(line=st.text())
def test_no_steps_change_nothing(line):
    assert normaliser().apply(line) == normaliser().undo(line) == line


@pytest.mark.parametrize("name", STEPS.names())
def test_every_step_keeps_an_empty_line_empty_and_ends_no_line(name):
    step = normaliser(name)
    assert step.apply("") == step.undo("") == ""
    assert "\n" not in step.apply("Ein Satz. Noch einer…") + step.undo("Ein Satz . Noch einer")


def test_fingerprint_tells_settings_order_and_language_apart():
    several = [
        normaliser("unicode"),
        normaliser({"name": "unicode", "form": "NFKC"}),
        normaliser("unicode", "lowercase"),
        normaliser("lowercase", "unicode"),
        normaliser("unicode", language="fr"),
        normaliser(),
    ]
    assert len({one.fingerprint for one in several}) == len(several)
    assert normaliser().fingerprint == ""
    assert normaliser("unicode").fingerprint == normaliser("unicode").fingerprint


def test_moses_is_not_loaded_before_it_is_needed():
    program = (
        "import sys, polyglot.text.preprocessing as n; "
        "n.Normaliser([n.STEPS.configure('tokenize')], 'de');"
    )
    program += "print('sacremoses' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )
