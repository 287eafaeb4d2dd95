"""Symbols there and back: nothing is lost, in any script, whatever the text looks like already."""

from __future__ import annotations

import gzip
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import CheckpointError
from polyglot.text.symbols import (
    Dictionary,
    Statistics,
    Symbolizer,
    SymbolsConfig,
    count_without_rule,
    desymbolize,
)
from polyglot.text.symbols.numbers import numbers

BARE = Symbolizer(SymbolsConfig())
SINGLE = Symbolizer(SymbolsConfig(name_words=1))
LANGUAGES = st.sampled_from(["en", "de", "fr", "cs", "zh_Hans"])
LOOKALIKES = [
    "⟨number1⟩",
    "⟨name2⟩",
    "⟨",
    "⟩",
    "^^",
    "^",
    " ",
    "  ",
    "1.234,5",
    "12,158",
    "137Kg",
    "NATO",
    "World of Warcraft",
    "ab",
    "Ж",
    "١٢٣",
    "é",
]
TEXT = st.one_of(
    st.text(),
    st.lists(st.sampled_from(LOOKALIKES), max_size=12).map("".join),
    st.lists(st.sampled_from(LOOKALIKES), max_size=12).map(" ".join),
)


@settings(max_examples=400, deadline=None)
@given(line=TEXT, language=LANGUAGES)
def test_any_line_comes_back(line, language):
    for symbolizer in (BARE, SINGLE):
        found = symbolizer.line(line, language)
        assert desymbolize(found.text, found.rules) == line
        assert count_without_rule(found.text, found.rules) == 0


@settings(max_examples=400, deadline=None)
@given(one=TEXT, other=TEXT, source=LANGUAGES, target=LANGUAGES)
def test_any_pair_comes_back(one, other, source, target):
    for symbolizer in (BARE, SINGLE):
        sides = symbolizer.pair(one, other, source, target)
        assert [desymbolize(*side) for side in sides] == [one, other]
        if source != target:
            assert sides[0].rules.keys() == sides[1].rules.keys()


def multi30k_pairs(folder, part, language):
    """Lines of one part in English and another language."""
    texts = []
    for text_language in ("en", language):
        path = folder / f"{part}.{text_language}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts.append(file.read().split("\n"))
    return list(zip(*texts, strict=True))


@pytest.mark.parametrize("interval", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("language", ["de", "fr", "cs"])
def test_lines_of_multi30k_come_back(shared_data, language, interval):
    """Every tenth line, and every line in the slow tests."""
    folder = shared_data / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}")
    validation = multi30k_pairs(folder, "val", language)
    lines = [(english, other, "en", language) for english, other in validation]
    symbolizer = Symbolizer.learn(SymbolsConfig(), iter(lines))

    parts = ["val", "train", "test_2016_flickr"]
    if language != "cs":
        parts.append("test_2017_flickr")
    for part in parts:
        with_symbols = 0
        for english, other in multi30k_pairs(folder, part, language)[::interval]:
            sides = BARE.pair(english, other, "en", language)
            assert [desymbolize(*side) for side in sides] == [english, other]
            for line, line_language in ((english, "en"), (other, language)):
                alone = symbolizer.line(line, line_language)
                assert desymbolize(*alone) == line
                with_symbols += bool(alone.rules)
        assert with_symbols


def test_the_table_of_the_paper():
    """Choi et al., table 2, in text that is tokenised as theirs."""
    english = (
        "The World of Warcraft and Warcraft III American regional finals were held at the "
        "House of Blues "
        "on June 2nd and 3rd in San Diego , California ."
    )
    french = (
        "Les finales régionales de Warcraft III et de World of Warcraft pour l' Amérique du "
        "Nord se sont déroulées "
        "au House of Blues , les 2 et 3 juin derniers à San Diego ."
    )
    one, other = BARE.pair(english, french, "en", "fr")
    assert one.text == (
        "The ⟨name1⟩ and ⟨name2⟩ American regional finals were held at the ⟨name3⟩ "
        "on June ⟨number1⟩ ^^nd and ⟨number2⟩ ^^rd in ⟨name4⟩ , California ."
    )
    assert other.text == (
        "Les finales régionales de ⟨name2⟩ et de ⟨name1⟩ pour l' Amérique du Nord "
        "se sont déroulées au ⟨name3⟩ , les ⟨number1⟩ et ⟨number2⟩ juin derniers à ⟨name4⟩ ."
    )


@pytest.mark.parametrize(
    ("source", "line", "target", "written"),
    [
        ("en", "12,158", "de", "12.158"),
        ("en", "12,158.75", "fr", "12\u202f158,75"),
        ("de", "1.234.567", "en", "1,234,567"),
        ("de", "3,5", "en", "3.5"),
        ("fr", "12 158", "en", "12,158"),
        ("cs", "12\u00a0158,5", "de", "12.158,5"),
        ("de", "3.5", "en", "3.5"),  # as others have it: three digits would follow a mark of groups
        ("en", "2004", "de", "2004"),
        ("en", "١٢٬", "de", "١٢"),
    ],
)
def test_numbers_are_written_in_the_habit_of_the_target(source, line, target, written):
    rules = BARE.line(line, source, target).rules
    assert rules == {"⟨number1⟩": written}


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("12.03.2004", ["12", "03", "2004"]),
        ("1,2,3", ["1", "2", "3"]),
        ("v1.2.345", ["1", "2", "345"]),
        ("10:30", ["10", "30"]),
    ],
)
def test_what_is_no_single_number_is_runs_of_digits(line, runs):
    for language in ("en", "de", "fr"):
        assert [line[one.start : one.end] for one in numbers(line, language)] == runs


def test_numbers_match_whatever_their_marks():
    one, other = BARE.pair("12,158 AIDS and 137Kg", "137 Kg und 12.158 AIDS", "en", "de")
    assert one.text == "⟨number1⟩ ⟨acronym1⟩ and ⟨number2⟩ ^^Kg"
    assert other.text == "⟨number2⟩ Kg und ⟨number1⟩ ⟨acronym1⟩"
    assert other.rules["⟨number1⟩"] == "12.158"
    one, _ = BARE.pair("Two and 2", "Zwei und 3", "en", "de")
    assert one.rules == {}


GROUPED = Symbolizer(SymbolsConfig(grouping="any"))
GROUPINGS = ["10 000", "10.000", "10,000", "10000", "10\u00a0000"]


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "fr"), ("fr", "en")])
def test_grouped_numbers_match_whatever_stands_between_the_groups(languages):
    for left in GROUPINGS:
        for right in GROUPINGS:
            one, other = GROUPED.pair(f"about {left} cats", f"{right} Katzen", *languages)
            assert one.text == "about ⟨number1⟩ cats", (left, right)
            assert other.rules == {"⟨number1⟩": right}


def test_digits_between_spaces_are_several_numbers_if_the_other_side_has_several():
    one, other = GROUPED.pair("rooms 12 345 and 10 000", "Zimmer 345 und 12, 10.000", "en", "de")
    assert one.text == "rooms ⟨number1⟩ ⟨number2⟩ and ⟨number3⟩"
    assert other.rules == {"⟨number1⟩": "12", "⟨number2⟩": "345", "⟨number3⟩": "10.000"}


def test_digits_between_spaces_without_their_translation():
    assert GROUPED.line("10 000 cats", "en", "de").rules == {"⟨number1⟩": "10.000"}
    assert list(GROUPED.line("rooms 12 345", "en", "de").rules.values()) == ["12", "345"]
    assert list(GROUPED.line("in 2010 300 cats", "en", "de").rules.values()) == ["2010", "300"]


def test_runs_without_the_setting_keep_their_fingerprint():
    """Their texts are cached, and their checkpoints name the texts by it."""
    stored = '{"numbers":true,"names":true,"acronyms":true,"name_words":2,"most":9}'
    content = f"{stored}\n{Dictionary().sha256}"
    expected = hashlib.sha256(content.encode()).hexdigest()
    assert Symbolizer(SymbolsConfig()).fingerprint == expected
    assert GROUPED.fingerprint != expected


def test_a_single_acronym_left_on_each_side_matches():
    one, other = BARE.pair("NATO and IMF", "FMI et NATO", "en", "fr")
    assert (one.text, other.text) == ("⟨acronym1⟩ and ⟨acronym2⟩", "⟨acronym2⟩ et ⟨acronym1⟩")
    assert (one.rules["⟨acronym2⟩"], other.rules["⟨acronym2⟩"]) == ("IMF", "FMI")
    one, _ = BARE.pair("EU and IMF meet", "FMI et UE", "en", "fr")
    assert one.rules == {}, "two are left, and nobody knows which is which"
    assert BARE.pair("STOP NOW", "HALT JETZT", "en", "de")[0].rules == {}, (
        "capitals throughout say nothing"
    )


def test_names_need_both_sides_and_more_than_a_capital_at_the_start():
    assert BARE.pair("Der Hund", "The Dog", "de", "en")[0].rules == {}
    one, _ = BARE.pair(
        "Präsident Barack Obama spricht", "President Barack Obama speaks", "de", "en"
    )
    assert one.text == "Präsident ⟨name1⟩ spricht"
    assert BARE.pair("Tom schläft", "Tom sleeps", "de", "en")[0].rules == {}
    assert SINGLE.pair("Tom schläft", "Tom sleeps", "de", "en")[0].rules == {}, (
        "a capital at the start is no evidence"
    )
    assert SINGLE.pair("Hier schläft Tom", "Here Tom sleeps", "de", "en")[0].rules == {
        "⟨name1⟩": "Tom"
    }
    assert SINGLE.pair("Der Arm", "Arm of it", "de", "en")[0].rules == {}, (
        "a German noun's capital is no evidence either"
    )


def test_at_test_the_dictionary_of_training_knows_names_and_acronyms():
    pairs = [
        ("Hier schläft Tom", "Here Tom sleeps", "de", "en"),
        ("Der FMI", "The IMF", "fr", "en"),
        ("Angela Merkel lacht", "Angela Merkel laughs", "de", "en"),
    ]
    learnt = Symbolizer.learn(SymbolsConfig(name_words=1), pairs)
    assert learnt.line("Tom lacht", "de", "en") == ("⟨name1⟩ lacht", {"⟨name1⟩": "Tom"})
    assert learnt.line("Le FMI dort", "fr", "en").rules == {"⟨acronym1⟩": "IMF"}
    assert learnt.line("The IMF sleeps", "en", "fr").rules == {"⟨acronym1⟩": "FMI"}
    assert learnt.line("Heute Angela Merkel", "de").text == "Heute ⟨name1⟩"
    assert BARE.line("Heute Angela Merkel", "de").text == "Heute Angela Merkel", (
        "two capitals are no evidence in German"
    )
    assert BARE.line("Today Angela Merkel laughs", "en").text == "Today ⟨name1⟩ laughs"


def test_a_dictionary_is_the_same_from_its_file(tmp_path):
    learnt = Symbolizer.learn(
        SymbolsConfig(), [("Le FMI et San Diego", "The IMF and San Diego", "fr", "en")]
    ).dictionary
    (tmp_path / "symbols.json").write_text(learnt.to_json(), encoding="utf-8")
    assert Dictionary.load(tmp_path / "symbols.json") == learnt
    (tmp_path / "symbols.json").write_text("[]")
    with pytest.raises(CheckpointError, match="not a dictionary of symbols"):
        Dictionary.load(tmp_path / "symbols.json")


def test_a_symbol_without_a_rule_has_a_defined_output():
    rules = {"⟨number1⟩": "5", "⟨name1⟩": "San Diego"}
    assert desymbolize("⟨number2⟩ in ⟨name1⟩", rules) == "5 in San Diego", (
        "the one of its type that is not used yet"
    )
    assert desymbolize("⟨number1⟩ und ⟨number2⟩ ⟨acronym1⟩!", rules) == "5 und  !"
    assert count_without_rule("⟨number1⟩ und ⟨number2⟩ ⟨acronym1⟩ ⟨⟨⟩number7⟩", rules) == 2


@given(
    st.lists(
        st.sampled_from(
            ["⟨", "⟩", "number", "name", "1", "2", " ", "^", "^^", "⟨number1⟩", "⟨acronym2⟩", "ja"]
        )
    ).map("".join)
)
def test_whatever_a_model_writes_no_symbol_is_left_of_it(line):
    """All but an escaped bracket, which is one of the text."""
    for rules in ({}, {"⟨number1⟩": "5"}):
        back = desymbolize(line, rules)
        assert "⟨⟨⟩" in line or "⟨" not in back
        assert not line.startswith("⟨ja") or count_without_rule(line, rules)


def test_what_is_half_a_symbol_becomes_nothing_and_counts():
    rules = {"⟨number1⟩": "5"}
    assert (
        desymbolize("⟨number ^^2⟩ und ⟨number1 oder ⟨number⟩ und ⟨number1⟩", rules)
        == " und  oder  und 5"
    )
    assert count_without_rule("⟨number ^^2⟩ und ⟨number1 oder ⟨number⟩ und ⟨number1⟩", rules) == 3


def test_there_are_never_more_symbols_than_asked_for():
    found = Symbolizer(SymbolsConfig(most=2)).line("1 2 3 4", "en")
    assert found.text == "⟨number1⟩ ⟨number2⟩ 3 4"


def test_what_is_switched_off_stays():
    line = "Today Angela Merkel of NATO is 5"
    for kind, expected in {"numbers": "is 5", "names": "Angela Merkel", "acronyms": "NATO"}.items():
        assert expected in Symbolizer(SymbolsConfig(**{kind: False})).line(line, "en").text
        assert expected not in BARE.line(line, "en").text


def test_statistics_are_those_of_the_papers_table():
    counted = Statistics()
    for line in ("a a a b", "b c", ""):
        counted.add(line)
    assert (counted.unique, counted.total, counted.coverage(1), counted.coverage(2)) == (
        3,
        6,
        0.5,
        5 / 6,
    )
    assert Statistics().coverage() == 1.0


@pytest.mark.parametrize("codes", [("de", "en"), ("deu_Latn", "eng_Latn"), ("DE", "EN_GB")])
def test_every_spelling_of_a_code_has_the_same_symbols(codes):
    german, english = codes
    line, rules = BARE.line("Das Haus kostet 1.234,5 Euro", german, english)
    assert line == "Das Haus kostet ⟨number1⟩ Euro"
    assert rules == {"⟨number1⟩": "1,234.5"}
