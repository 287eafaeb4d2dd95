"""`polyglot clean`: kept and removed rows, the report, the way back, and sentences for mistakes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from polyglot.cli import cleaning as clean_command
from polyglot.config.loading import load_config
from polyglot.core.yaml import dump_yaml, parse_value
from polyglot.data import cleaning
from tests.builders.command_line import Program

ROWS = [
    ("The old man reads a book in the garden.", "Der alte Mann liest ein Buch im Garten."),
    ("Today the sun is shining over the town.", "Heute scheint die Sonne über der Stadt."),
    ("", "Leer"),
    ("Today the sun is shining over the town.", "Heute scheint die Sonne über der Stadt."),
    ("A | b_c \\ <d> in the old house.", "Ein | b_c \\ <d> in dem alten Haus."),
    ("== 12:30 ==", "== 12:30 =="),
]
KEPT = [0, 1, 4]


def write(path: str, lines: list[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def polyglot(tmp_path, monkeypatch, capsys) -> Program:
    monkeypatch.chdir(tmp_path)
    write("c.en", [row[0] for row in ROWS])
    write("c.de", [row[1] for row in ROWS])
    write("c.tsv", ["english\tgerman", *("\t".join(row) for row in ROWS)])
    return Program(monkeypatch, capsys)


CLEAN = ("clean", "c.en", "c.de", "--output", "out")


def lines_of(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]


def content(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def test_kept_rows_removed_rows_table_report_and_yaml(polyglot):
    result = polyglot(*CLEAN)
    assert result.status == 0, result.errors
    assert lines_of("out/c.en") == [ROWS[row][0] for row in KEPT]
    assert lines_of("out/c.de") == [ROWS[row][1] for row in KEPT]
    assert lines_of("out/c.removed.tsv") == [
        "row\trule\ten\tde",
        "3\tempty\t\tLeer",
        "4\tduplicate\t" + "\t".join(ROWS[3]),
        "6\tfew letters\t" + "\t".join(ROWS[5]),
    ]
    rows = [line.split() for line in result.output.splitlines()]
    assert ["duplicate", "1", "16.67"] in rows and ["kept", "3", "50.00"] in rows
    assert list(content("out")) == ["c.de", "c.en", "c.removed.tsv", "c.report.md"]

    report = Path("out/c.report.md").read_text(encoding="utf-8")
    assert "3 of 6 rows are kept; 3 are removed." in report
    assert "| duplicate | 1 | 16.67% | equal to an earlier row in all languages |" in report
    assert "| 6 | == 12:30 == | == 12:30 == |" in report

    shown = parse_value(result.output[result.output.index("languages:") :])
    write("mine.yaml", [dump_yaml({**shown, "training": {"steps": 1}})])
    assert load_config("mine.yaml").data.folder == "out"


def test_undo_and_single_rules(polyglot):
    polyglot(*CLEAN, "--gzip")
    undo = ("clean", "out/c.removed.tsv.gz", "--undo", "--output", "back")
    assert polyglot(*undo).errors.endswith("6 rows written to back: c.en.gz, c.de.gz\n")
    for language in ("en", "de"):
        restored = gzip.decompress(Path(f"back/c.{language}.gz").read_bytes())
        assert restored == Path(f"c.{language}").read_bytes()
    assert "exists; --force replaces" in polyglot.refuses(*undo)
    result = polyglot(*undo, "--force", "--rule", "duplicate", "--rule", "few letters")
    assert "5 rows written" in result.errors


def test_the_same_command_gives_the_same_bytes_and_never_overwrites(polyglot):
    polyglot(*CLEAN, "--gzip")
    before = content("out")
    assert "out/c.en.gz: exists; --force replaces" in polyglot.refuses(*CLEAN)
    assert content("out") == before
    assert polyglot(*CLEAN, "--gzip", "--force").status == 0
    assert content("out") == before
    assert polyglot(*CLEAN, "--force").status == 0
    assert list(content("out")) == ["c.de", "c.en", "c.removed.tsv", "c.report.md"]


def test_a_table_is_cleaned_like_files(polyglot):
    polyglot(*CLEAN)
    arguments = ("clean", "c.tsv", "--header", "--columns", "en=english,de=2", "--output", "table")
    assert polyglot(*arguments).status == 0
    for name, text in content("out").items():
        if not name.endswith(".md"):
            assert content("table")[name] == text


def test_options_change_the_rules(polyglot):
    polyglot(*CLEAN, "--keep-duplicates", "--min-letters", "0", "--max-other-language", "1")
    assert len(lines_of("out/c.en")) == 5
    polyglot(*CLEAN, "--force", "--unit", "characters", "--max-length", "35")
    assert lines_of("out/c.en") == [ROWS[4][0]]
    assert [line.split("\t")[1] for line in lines_of("out/c.removed.tsv")[1:]] == [
        "too long", "too long", "empty", "too long", "few letters",
    ]  # fmt: skip


def test_overlap_with_test_text(polyglot):
    write("test.en", ["the OLD man reads a book, in the garden"])
    write("val.de", ["Ein | b_c \\ <d> in dem alten Haus."])
    result = polyglot(*CLEAN, "--test", "test.{language}", "--test", "val.de")
    rows = [line.split() for line in result.output.splitlines()]
    assert ["test", "text", "2", "33.33"] in rows
    assert lines_of("out/c.en") == [ROWS[1][0]]


def test_margins_of_a_run(folder, monkeypatch, capsys):
    polyglot = Program(monkeypatch, capsys)
    arguments = ("clean", "train.en", "train.de", "--output", "out", "--run", "runs/mine",
                 "--max-other-language", "1")  # fmt: skip
    assert polyglot(*arguments, "--margin", "-9").status == 0
    assert lines_of("out/train.en") == lines_of("train.en")
    errors = polyglot.refuses(*arguments, "--force", "--margin", "9")
    assert "the rules leave none of 5 rows: 5 low margin" in errors
    assert lines_of("out/train.en") == lines_of("train.en")
    three = (
        "clean",
        "train.en",
        "train.de",
        "train.fr",
        *arguments[3:],
        "--force",
        "--margin",
        "1",
    )
    assert "--margin: scores two languages, and the text has 3" in polyglot.refuses(*three)
    other = ("clean", "train.en", "train.de", "--languages", "en,fi", *arguments[3:], "--force",
             "--margin", "1")  # fmt: skip
    assert "fi" in polyglot.refuses(*other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c.en", "no.de"), "no.de: no such file"),
        (("c.en", "c.de", "--unit", "word"), "--unit: no unit named 'word'. Did you mean 'words'?"),
        (("c.en", "c.de", "--margin", "1"), "--run and --margin: one needs the other"),
        (("c.en", "c.de", "--rule", "ratio"), "--rule: puts rows back; add --undo"),
        (("c.en", "c.de", "--test", "test.fr"), (
            "--test test.fr: the ending of its name is none "
            "of"
        )),
        (("c.en", "c.de", "--test", "no.{language}"), (
            "--test no.{language}: no such file for any "
            "of"
        )),
        (("c.en", "c.de", "--test", "no.en"), "no.en: no such file"),
        (("c.en", "c.de", "--undo"), "--undo: name one file, the removed.tsv of an earlier call"),
        (("c.en", "--undo"), "c.en: not the removed rows of `polyglot clean`"),
        (("c.removed.tsv", "--undo", "--rule", "ratoi"), (
            "--rule: no rule named 'ratoi'. "
            "Did you mean"
        )),
        (("c.removed.tsv", "--undo"), "c.removed.tsv: no such file"),
        (("c.en", "c.de", "--max-ratio", "5000"), "max_ratio: found 5000"),
        (("c.en", "c.de", "--max-length", str(10**30)), "max_length: found"),
        (("c.en", "c.de", "--ignore-shorter", str(10**30), "--min-length", "90"), "leave none of 6"),
        (("c.en", "c.de", "--run", "x", "--margin", "nan"), "--margin: found nan; expected a number"),
        (("c.en", "c.de", "--min-length", "90"), "the rules leave none of 6 rows"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(arguments, message, polyglot):
    before = content(".")
    errors = polyglot.refuses("clean", "--output", "out", *arguments)
    assert message in " ".join(errors.split())
    assert content(".") == before


def test_the_text_itself_is_never_replaced(polyglot):
    before = content(".")
    errors = polyglot.refuses("clean", "c.en", "c.de", "--output", ".", "--force")
    assert "c.en: would be replaced; name another folder with --output" in errors
    assert content(".") == before


def test_choices_in_the_help_are_those_of_the_package():
    assert clean_command.UNITS == (cleaning.WORDS, cleaning.CHARACTERS)
