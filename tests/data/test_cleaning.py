"""Rules of cleaning: the same as the filters of a configuration, in order, and with a way back."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.data.cleaned_files import (
    CleanedNames,
    CleanedText,
    restore,
    write_cleaned,
)
from polyglot.data.cleaning import (
    RULES,
    CleaningSettings,
    RemovedRows,
    default_unit,
    find_removed_rows,
    read_hashes,
)
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.filters import FilterConfig
from polyglot.data.new_text_files import earlier_files
from polyglot.data.parallel_files import TextFiles
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

Row = tuple[str, str]

OLD_MAN = ("The old man reads a book in the garden.", "Der alte Mann liest ein Buch im Garten.")
SUN = ("Today the sun is shining over the town.", "Heute scheint die Sonne über der Stadt.")
FRENCH = ("Le vieil homme lit un livre dans le jardin.", "Ein Mann liest heute ein Buch im Garten.")
ROWS = {
    "empty": ("The house is red.", " "),
    "too short": ("Sun.", "Die Sonne."),
    "too long": (f"The old man reads {'very ' * 20}slowly.", f"Der alte Mann {'sehr ' * 20}gern."),
    "ratio": (
        "The old man.",
        "Der alte Mann liest im Garten unter dem Baum in der Stadt ein Buch.",
    ),
    "few letters": ("The time is now.", "==> 12 : 30 <=="),
    "test text": ("An apple is 12 years old", "Das ist ein Satz aus dem Buch."),
    "duplicate": (OLD_MAN[0], f" {OLD_MAN[1]}  "),
    "near duplicate": ("today the SUN is shining over the town", SUN[1]),
    "other language": FRENCH,
    "low margin": ("This sentence is not a translation.", "Der Hund läuft schnell in den Wald."),
}
"""A row for each rule."""

FILTERS = FilterConfig(
    min_length=2,
    max_length=20,
    max_ratio=3.0,
    remove_duplicates=True,
    max_other_language=0.5,
)


def write_rows(folder: Path, rows: Sequence[Row], *, stem: str = "c") -> TextFiles:
    files = {}
    for side, language in enumerate(("en", "de")):
        path = folder / f"{stem}.{language}"
        path.write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8", newline="\n")
        files[language] = path
    return TextFiles(files)


def removed_by_rule(text: TextFiles, config: CleaningSettings, **options) -> list[str]:
    """Rule of each row; `kept` for the others."""
    removed = find_removed_rows(text, config, **{"test_hashes": {}, **options})
    names = ["kept", *RULES]
    return [names[code] for code in removed.codes.tolist()]


def score(texts: dict[str, Sequence[str]]) -> numpy.ndarray:
    return numpy.array([0.9 if "not a translation" in line else 1.1 for line in texts["en"]])


def test_every_rule_removes_its_row(tmp_path):
    assert ROWS.keys() == RULES.keys()
    text = write_rows(tmp_path, [OLD_MAN, SUN, *ROWS.values()])
    test_text = write_rows(tmp_path, [("AN APPLE IS 3 YEARS OLD!", "x"), ("x", "Sun.")], stem="t")
    hashes = read_hashes({"en": [test_text.paths[0]], "de": [test_text.paths[1]]})
    config = CleaningSettings(FILTERS, near_duplicates=True, margin=1.0)
    rules = removed_by_rule(text, config, test_hashes=hashes, scorer=score)
    assert rules == ["kept", "kept", *RULES]


OFF = {
    "too short": {"min_length": 1},
    "too long": {"max_length": 99},
    "ratio": {"max_ratio": None},
    "duplicate": {"remove_duplicates": False},
    "other language": {"max_other_language": None},
}


@pytest.mark.parametrize("rule", OFF)
def test_a_rule_can_be_switched_off(rule, tmp_path):
    text = write_rows(tmp_path, [OLD_MAN, ROWS[rule]])
    assert removed_by_rule(text, CleaningSettings(FILTERS)) == ["kept", rule]
    filters = FILTERS.model_copy(update=OFF[rule])
    assert removed_by_rule(text, CleaningSettings(filters)) == ["kept", "kept"]


def test_few_letters_near_duplicates_and_empty_lines_can_be_kept(tmp_path):
    text = write_rows(tmp_path, [SUN, ROWS["few letters"], ROWS["near duplicate"], ROWS["empty"]])
    filters = FilterConfig(min_length=0)
    assert removed_by_rule(text, CleaningSettings(filters, min_letters=0)) == ["kept"] * 4


def test_the_first_of_the_kept_rows_stays(tmp_path):
    """Not the first of all rows: that may be removed by another rule."""
    noisy = (f"{SUN[0]} {'!' * 60}", SUN[1])
    text = write_rows(tmp_path, [noisy, SUN, SUN, noisy])
    config = CleaningSettings(FILTERS, near_duplicates=True)
    assert removed_by_rule(text, config) == ["few letters", "kept", "duplicate", "few letters"]


def test_another_translation_is_no_duplicate(tmp_path):
    text = write_rows(tmp_path, [SUN, (SUN[0], OLD_MAN[1]), (OLD_MAN[0], SUN[1]), OLD_MAN])
    config = CleaningSettings(FILTERS, near_duplicates=True)
    assert removed_by_rule(text, config) == ["kept"] * 4


def test_short_sentences_of_the_test_text_can_be_ignored(tmp_path):
    text = write_rows(tmp_path, [("Yes!", "Ja!"), ("A longer sentence.", "Ein Satz."), SUN])
    test_text = write_rows(tmp_path, [("yes", "ja"), ("a longer sentence", "x")], stem="t")
    files = {"en": [test_text.paths[0]]}
    config = CleaningSettings(FilterConfig())
    hashes = read_hashes(files)
    rules = removed_by_rule(text, config, test_hashes=hashes)
    assert rules == ["test text", "test text", "kept"]
    hashes = read_hashes(files, shortest=5)
    assert removed_by_rule(text, config, test_hashes=hashes) == ["kept", "test text", "kept"]


def test_nothing_left(tmp_path):
    text = write_rows(tmp_path, [ROWS["empty"], ROWS["ratio"]])
    with pytest.raises(
        DataError, match="leave none of 2 rows: 1 empty, 1 ratio; change the options"
    ):
        removed_by_rule(text, CleaningSettings(FILTERS))


def test_units_of_lengths():
    assert default_unit(["en", "fi"]) == "words"
    assert default_unit(["en", "ja"]) == "characters"
    assert default_unit(["th"]) == "characters"


WORDS = st.lists(st.sampled_from(["ab", "cd", "ef"]), max_size=6).map(" ".join)


@pytest.fixture(scope="module")
def vocabularies() -> dict[str, Vocabulary]:
    """Vocabularies of words: a piece is a word, so that both count the same lengths."""
    config = VocabularyConfig(type="word", size=20)
    vocabulary = Vocabulary.train(["ab cd ef"], config, language="en", seed=1)
    return {"en": vocabulary, "de": vocabulary}


@settings(deadline=None, max_examples=15)
@given(
    rows=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12),
    least=st.integers(0, 3),
    most=st.integers(3, 6),
    ratio=st.sampled_from([None, 1.5, 2.0]),
    remove_duplicates=st.booleans(),
)
def test_cleaning_keeps_the_rows_that_the_filters_of_a_configuration_keep(
    vocabularies, rows, least, most, ratio, remove_duplicates
):
    filters = FilterConfig(
        min_length=least,
        max_length=most,
        max_ratio=ratio,
        remove_duplicates=remove_duplicates,
    )
    with tempfile.TemporaryDirectory() as name:
        text = write_rows(Path(name), rows)
        corpus = CORPORA.get("text").Config(path="c.{language}")
        corpora = Corpora([corpus], folder=Path(name), languages=("en", "de"))
        normalisers = {language: Normaliser([], language) for language in vocabularies}
        try:
            rules = removed_by_rule(text, CleaningSettings(filters))
            kept = [row for row, rule in zip(rows, rules, strict=True) if rule == "kept"]
        except DataError:
            kept = []
        try:
            dataset = TaskDataset(
                Task(LanguagePair("en", "de")),
                corpora,
                vocabularies,
                normalisers,
                filters=filters,
                seed=1,
            )
            used = list(zip(*dataset.texts(range(len(dataset))), strict=True))
        except DataError:
            used = []
    assert kept == used


# Files

LINES = st.text(
    st.sampled_from("ab \t\\\u00a0\u2028\x85n'\"|") | st.characters(codec="utf-8"), max_size=8
).map(lambda line: line.replace("\n", "").replace("\r", "").replace("\ufeff", ""))


def clean_files(text: TextFiles, codes: list[int], folder: Path, *, suffix: str = "") -> Path:
    """Write the files of a cleaned text; returns the table of removed rows."""
    names = CleanedNames("c", text.languages, suffix)
    removed = RemovedRows(numpy.array(codes, dtype=numpy.uint8))
    write_cleaned(text, removed, folder, names, report=lambda examples: "report")
    return folder / names.removed


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(LINES, LINES, st.integers(0, 4)), min_size=2, max_size=8), st.booleans())
def test_undo_gives_the_same_text_whatever_it_contains(rows, is_compressed):
    codes = [code for _, _, code in rows]
    codes[0] = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = write_rows(folder, [row[:2] for row in rows])
        suffix = ".gz" if is_compressed else ""
        table = clean_files(text, codes, folder / "cleaned", suffix=suffix)
        cleaned = CleanedText.open(table)
        assert restore(cleaned, folder / "restored") == len(rows)
        restored = TextFiles(
            {language: folder / "restored" / f"c.{language}{suffix}" for language in ("en", "de")}
        )
        [before] = text.blocks()
        [after] = restored.blocks()
    assert after.texts == before.texts


def test_undo_of_single_rules(tmp_path):
    rows = [(f"row {number}", f"Zeile {number}") for number in range(1, 7)]
    text = write_rows(tmp_path, rows)
    # Codes 1 and 4 are the first and the fourth rule: empty and ratio.
    table = clean_files(text, [0, 1, 4, 0, 4, 1], tmp_path / "cleaned")
    assert restore(CleanedText.open(table), tmp_path / "restored", rules=["ratio"]) == 4
    lines = (tmp_path / "restored" / "c.en").read_text().splitlines()
    assert lines == ["row 1", "row 3", "row 4", "row 5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nothing\n", "c.removed.tsv, line 1: found nothing; the columns of removed rows are row"),
        ("row\trule\ten\tde\n1\tratio\ta\n", "line 2: found '1.tratio.ta'; expected a row number"),
        ("row\trule\ten\tde\n1\tbeauty\ta\tb\n", "line 2: found .*, a rule and 2 texts"),
        ("row\trule\ten\tde\n2\tratio\ta\tb\n2\tratio\ta\tb\n", "line 3: .* larger than 2"),
        ("row\trule\ten\tde\n9\tratio\ta\tb\n", "names row 9, but the cleaned text ends at row 3"),
    ],
)
def test_a_table_that_does_not_belong_to_the_text(content, message, tmp_path):
    write_rows(tmp_path, [("a", "b"), ("c", "d")])
    table = tmp_path / "c.removed.tsv"
    table.write_text(content)
    with pytest.raises(DataError, match=message):
        restore(CleanedText.open(table), tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_earlier_files_are_found_with_and_without_compression(tmp_path):
    names = CleanedNames("c", ("en",))
    (tmp_path / "c.removed.tsv.gz").touch()
    with pytest.raises(DataError, match=r"c\.removed\.tsv\.gz: exists; --force replaces"):
        earlier_files([], tmp_path, names.all(), replace=False)
    found = earlier_files([], tmp_path, names.all(), replace=True)
    assert found == [tmp_path / "c.removed.tsv.gz"]


def test_real_text_with_mistakes_that_were_put_in(shared_data, tmp_path):
    folder = shared_data / "multi30k"
    source = TextFiles({"en": folder / "val.en.gz", "de": folder / "val.de.gz"})
    [block] = source.blocks()
    rows = list(zip(*block.texts.values(), strict=True))
    swapped = [(german, english) for english, german in rows[:50]]
    text = write_rows(tmp_path, [*rows, *rows[:20], *swapped, ("", "x")])
    config = CleaningSettings(FilterConfig(remove_duplicates=True, max_other_language=0.5))
    rules = removed_by_rule(text, config)
    assert rules[len(rows) : len(rows) + 20] == ["duplicate"] * 20
    assert rules[len(rows) + 20 : -1].count("other language") >= 49
    assert rules[-1] == "empty"
    assert rules[: len(rows)].count("kept") >= len(rows) - 5
