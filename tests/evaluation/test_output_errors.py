"""Output errors: each is counted where it occurs, and the identifier knows our languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot import phrasebook
from polyglot.evaluation.output_errors import (
    OutputErrors,
    has_loop,
    measure_output_errors,
)
from polyglot.text.language_identification import identifier_codes, identify_languages

SOURCES = [
    "Der alte Bauer schläft in der Küche.",
    "Diese Stadt ist klein.",
    "Die Kinder lesen ein Buch.",
    "Es regnet seit gestern.",
]
REFERENCES = [
    "Le vieux paysan dort dans la cuisine.",
    "Cette ville est petite.",
    "Les enfants lisent un livre.",
    "Il pleut depuis hier.",
]


def measure(hypotheses: list[str], **changes: object) -> OutputErrors:
    """Output errors of a translation from German into French."""
    settings = {
        "sources": SOURCES,
        "references": REFERENCES,
        "source": "de",
        "target": "fr",
        "languages": ["en", "de", "fr"],
    }
    return measure_output_errors(hypotheses, **{**settings, **changes})


def test_each_error_is_counted() -> None:
    hypotheses = [
        "Le vieux paysan dort dort dort dans la cuisine.",
        "The town is small and quiet.",
        "die kinder lesen ein Buch.",
        " ",
    ]
    errors = measure(hypotheses)
    assert errors.loops == 0.25
    assert errors.copies == 0.25
    assert errors.empty == 0.25
    assert errors.off_target == pytest.approx(2 / 3), "English and German of three nonempty lines"
    assert errors.languages == {"fr": 1, "en": 1, "de": 1}
    assert errors.off_target_references == 0
    assert errors.loops_references == 0
    assert errors.copies_references == 0
    characters = sum(len(line) for line in hypotheses)
    assert errors.length_ratio == characters / sum(len(line) for line in REFERENCES)


def test_the_references_have_no_errors() -> None:
    errors = measure(REFERENCES)
    assert errors.off_target == 0
    assert errors.copies == 0
    assert errors.empty == 0
    assert errors.loops == 0
    assert errors.length_ratio == 1


def test_an_empty_output_is_an_error_only_if_the_source_is_not_blank() -> None:
    errors = measure(
        ["", " ", "", "Il pleut."],
        sources=["", "  ", "Die Kinder lesen.", "Es regnet."],
        references=["", "", "Les enfants lisent.", "Il pleut."],
    )
    assert errors.empty == 0.25
    assert errors.copies == 0, "a blank line is not a copy of a blank source"


def test_empty_outputs_are_in_no_language() -> None:
    errors = measure([""] * len(SOURCES), references=SOURCES, target="de", languages=["en", "de"])
    assert errors.empty == 1
    assert errors.off_target is None
    assert errors.off_target_references is not None


def test_copies_are_no_error_of_a_monolingual_copy() -> None:
    errors = measure(SOURCES, references=SOURCES, target="de", languages=["en", "de"])
    assert errors.copies == 0


def test_a_language_that_the_identifier_does_not_know_has_no_rate() -> None:
    errors = measure(SOURCES, references=SOURCES, target="qq", languages=["de", "qq"])
    assert errors.off_target is None
    assert errors.off_target_references is None
    assert errors.languages == {}
    assert identifier_codes(["zh_Hans", "qq", "de"]) == {"zh_Hans": "zh", "de": "de"}


@pytest.mark.parametrize(
    "languages",
    [["de", "fr", "en"], ["deu_Latn", "fra_Latn", "eng_Latn"], ["DE", "fr_FR", "eng"]],
)
def test_every_spelling_of_a_code_has_the_same_rates(languages: list[str]) -> None:
    source, target, _ = languages
    outputs = [*REFERENCES[:2], *SOURCES[2:4]]
    errors = measure(outputs, source=source, target=target, languages=languages)
    assert errors.off_target == 0.5
    assert errors.off_target_references == 0
    assert errors.languages == {"fr": 2, "de": 2}


def test_the_identifier_has_codes_for_macrolanguages_and_other_spellings() -> None:
    names = ["lvs_Latn", "nob_Latn", "arb_Arab", "pes", "zsm", "tgl", "yue_Hant", "kmr", "azb_Arab"]
    codes = identifier_codes(names)
    assert list(codes.values()) == ["lv", "no", "ar", "fa", "ms", "tl", "yue", "ku"]
    assert "azb_Arab" not in codes  # Azerbaijani in Arabic script, which the identifier lacks


CHINESE = ["那只狗在房子里睡觉。", "我们明天去城里。"]


def test_variants_of_a_language_count_as_one_language() -> None:
    english = "The dog sleeps in the house and we go to town tomorrow."
    errors = measure(
        [CHINESE[0], english],
        sources=SOURCES[:2],
        references=CHINESE,
        target="zh_Hans",
        languages=["en", "zh_Hans", "zh_Hant"],
    )
    assert errors.off_target == 0.5
    assert errors.off_target_references == 0
    assert errors.languages == {"zh": 1, "en": 1}


def test_variants_of_a_single_language_have_no_rate() -> None:
    errors = measure(
        CHINESE,
        sources=SOURCES[:2],
        references=CHINESE,
        source="zh_Hant",
        target="zh_Hans",
        languages=["zh_Hans", "zh_Hant"],
    )
    assert errors.off_target is None
    assert errors.languages == {}


def test_the_file_format_has_the_languages_as_found() -> None:
    errors = measure(REFERENCES)
    assert errors.to_dict()["found"] == {"fr": 4}
    assert OutputErrors.from_dict(errors.to_dict()) == errors


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a very very small town", False),
        ("a very very very small town", True),
        ("the cat and the cat and the cat and", True),
        ("the cat and the cat and", False),
        ("one two three four one two three four one two three four", True),
        ("", False),
    ],
)
def test_a_loop_is_a_short_phrase_three_times_in_a_row(line: str, expected: bool) -> None:
    assert has_loop(line) == expected


def test_languages_without_spaces_are_compared_by_characters() -> None:
    assert has_loop("我们我们我们走", characters=True)
    assert not has_loop("我们走", characters=True)


@given(
    st.lists(st.sampled_from("abcde"), max_size=30),
    st.lists(st.sampled_from("fgh"), min_size=1, max_size=4),
    st.integers(3, 5),
)
def test_a_repeated_phrase_is_detected_at_every_position(
    prefix: list[str], phrase: list[str], times: int
) -> None:
    assert has_loop(" ".join(prefix + phrase * times + ["z"]))


@given(st.lists(st.integers(), unique=True, max_size=40))
def test_different_words_are_not_a_loop(numbers: list[int]) -> None:
    assert not has_loop(" ".join(map(str, numbers)))


def test_the_identifier_has_few_errors_on_the_phrasebook() -> None:
    """docs/use/evaluate.md says 0.3 % of all; in many sentences half of the words are names."""
    text = phrasebook.splits(seed=1, train=1, valid=1, test=200)["test"]
    wrong = 0
    for language in phrasebook.LANGUAGES:
        lines = [sentence.text(language) for sentence in text]
        identified = identify_languages(lines, phrasebook.LANGUAGES)
        wrong += sum(code != language for code in identified)
    assert wrong / (len(text) * len(phrasebook.LANGUAGES)) < 0.01
