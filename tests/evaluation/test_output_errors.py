"""What is wrong with outputs is counted as it says, and the identifier knows the languages of our text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from polyglot import phrasebook
from polyglot.evaluation.output_errors import (
    has_loop,
    identifier_codes,
    identify_languages,
    measure_output_errors,
)

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


def test_each_fault_is_counted_where_it_is() -> None:
    hypotheses = [
        "Le vieux paysan dort dort dort dans la cuisine.",
        "The town is small and quiet.",
        "die kinder lesen ein Buch.",
        " ",
    ]
    outputs = measure_output_errors(
        hypotheses,
        sources=SOURCES,
        references=REFERENCES,
        source="de",
        target="fr",
        languages=["en", "de", "fr"],
    )
    assert (outputs.loops, outputs.copies, outputs.empty) == (0.25, 0.25, 0.25)
    assert outputs.off_target == pytest.approx(2 / 3), (
        "of three that are not empty, one is English and one German"
    )
    assert (outputs.off_target_references, outputs.loops_references, outputs.copies_references) == (
        0,
        0,
        0,
    )
    assert outputs.languages == {"fr": 1, "en": 1, "de": 1}
    assert outputs.length_ratio == sum(map(len, hypotheses)) / sum(map(len, REFERENCES))


def test_the_references_themselves_have_no_fault() -> None:
    outputs = measure_output_errors(
        REFERENCES,
        sources=SOURCES,
        references=REFERENCES,
        source="de",
        target="fr",
        languages=["en", "de", "fr"],
    )
    assert (
        outputs.off_target,
        outputs.copies,
        outputs.empty,
        outputs.loops,
        outputs.length_ratio,
    ) == (0, 0, 0, 0, 1)


def test_an_empty_output_is_an_error_only_if_the_source_is_not_blank() -> None:
    errors = measure_output_errors(
        ["", " ", "", "Il pleut."],
        sources=["", "  ", "Die Kinder lesen.", "Es regnet."],
        references=["", "", "Les enfants lisent.", "Il pleut."],
        source="de",
        target="fr",
        languages=["de", "fr"],
    )
    assert errors.empty == 0.25
    assert errors.copies == 0, "blank lines are not copies of blank sources"


def test_a_copy_task_may_copy() -> None:
    assert (
        measure_output_errors(
            SOURCES,
            sources=SOURCES,
            references=SOURCES,
            source="de",
            target="de",
            languages=["en", "de"],
        ).copies
        == 0
    )


def test_a_language_that_the_identifier_does_not_know_has_no_rate() -> None:
    outputs = measure_output_errors(
        SOURCES,
        sources=SOURCES,
        references=SOURCES,
        source="de",
        target="qq",
        languages=["de", "qq"],
    )
    assert (
        outputs.off_target is None and outputs.off_target_references is None and outputs.languages == {}
    )
    assert identifier_codes(["zh_Hans", "qq", "de"]) == {"zh_Hans": "zh", "de": "de"}


def test_two_variants_of_a_language_are_one_to_the_identifier() -> None:
    lines = ["那只狗在房子里睡觉。", "我们明天去城里。"]
    english = "The dog sleeps in the house and we go to town tomorrow."
    outputs = measure_output_errors(
        [lines[0], english],
        sources=SOURCES[:2],
        references=lines,
        source="de",
        target="zh_Hans",
        languages=["en", "zh_Hans", "zh_Hant"],
    )
    assert (outputs.off_target, outputs.off_target_references, outputs.languages) == (
        0.5,
        0,
        {"zh": 1, "en": 1},
    )
    alone = measure_output_errors(
        lines,
        sources=SOURCES[:2],
        references=lines,
        source="zh_Hant",
        target="zh_Hans",
        languages=["zh_Hans", "zh_Hant"],
    )
    assert alone.off_target is None and alone.languages == {}, "there is nothing else to tell them from"


@pytest.mark.parametrize(
    ("line", "loop"),
    [
        ("a very very small town", False),
        ("a very very very small town", True),
        ("the cat and the cat and the cat and", True),
        ("the cat and the cat and", False),
        ("one two three four one two three four one two three four", True),
        ("", False),
    ],
)
def test_a_loop_is_a_short_phrase_three_times_in_a_row(line: str, loop: bool) -> None:
    assert has_loop(line) == loop


def test_where_words_are_not_spaced_characters_are_looked_at() -> None:
    assert has_loop("我们我们我们走", characters=True) and not has_loop("我们走", characters=True)


@given(
    some.lists(some.sampled_from("abcde"), max_size=30),
    some.lists(some.sampled_from("fgh"), min_size=1, max_size=4),
    some.integers(3, 5),
)
def test_a_repeated_phrase_is_found_wherever_it_stands(
    before: list[str], phrase: list[str], times: int
) -> None:
    assert has_loop(" ".join(before + phrase * times + ["z"]))


@given(some.lists(some.integers(), unique=True, max_size=40))
def test_words_that_differ_are_no_loop(numbers: list[int]) -> None:
    assert not has_loop(" ".join(map(str, numbers)))


def test_the_identifier_errs_rarely_on_the_phrasebook() -> None:
    """docs/use/evaluate.md says 0.3 % of them all; half of some sentences are proper names."""
    text = phrasebook.splits(seed=1, train=1, valid=1, test=200)["test"]
    wrong = sum(
        found != language
        for language in phrasebook.LANGUAGES
        for found in identify_languages(
            [sentence.text(language) for sentence in text], phrasebook.LANGUAGES
        )
    )
    assert wrong / (len(text) * len(phrasebook.LANGUAGES)) < 0.01
