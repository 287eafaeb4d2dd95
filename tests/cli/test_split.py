"""`polyglot split`: files in, files out, YAML that uses them, and sentences for mistakes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.core.yaml import dump_yaml, parse_value
from tests.builders.command_line import Program

COUNT = 60
ARGUMENTS = ("--output", "data", "--validation", "10", "--test", "10")
PAIR = ("split", "c.en", "c.fi", *ARGUMENTS)


@pytest.fixture
def polyglot(tmp_path, monkeypatch, capsys) -> Program:
    english = [f"sentence {chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(COUNT)]
    finnish = [line.replace("sentence", "lause") for line in english]
    write(tmp_path / "c.en", english)
    write(tmp_path / "c.fi", finnish)
    table = ["talk\tenglish\tfinnish"]
    for number in range(COUNT):
        table.append(f"talk {number // 5}\t{english[number]}\t{finnish[number]}")
    write(tmp_path / "c.tsv", table)
    write(tmp_path / "talks", [row.split("\t")[0] for row in table[1:]])
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def content(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def test_files_table_and_yaml(polyglot):
    result = polyglot(*PAIR)
    assert result.status == 0, result.errors
    rows = [line.split() for line in result.output.splitlines()]
    assert ["train", "40", "40"] in rows and ["val", "10", "10"] in rows
    written = content("data")
    assert list(written) == ["test.en", "test.fi", "train.en", "train.fi", "val.en", "val.fi"]
    assert sum(text.count(b"\n") for text in written.values()) == 2 * COUNT

    shown = parse_value(result.output[result.output.index("languages:") :])
    Path("mine.yaml").write_text(dump_yaml({**shown, "training": {"steps": 1}}))
    config = load_config("mine.yaml")
    assert config.languages == ["en", "fi"] and config.data.folder == "data"
    assert len(config.data.train) == len(config.data.valid) == len(config.data.test) == 1


def test_the_same_command_gives_the_same_bytes_and_never_overwrites(polyglot):
    polyglot(*PAIR, "--gzip")
    first = content("data")
    assert all(name.endswith(".gz") for name in first)
    refused = polyglot.refuses(*PAIR, "--gzip", "--seed", "2")
    assert "data/train.en.gz: exists; --force replaces the files of an earlier split" in refused
    assert content("data") == first

    assert polyglot(*PAIR, "--gzip", "--force").status == 0
    assert content("data") == first
    assert polyglot(*PAIR, "--gzip", "--force", "--seed", "2").status == 0
    assert content("data") != first

    # The uncompressed files of another call replace the compressed ones.
    assert polyglot(*PAIR, "--force").status == 0
    plain = content("data")
    assert {f"{name}.gz": text for name, text in plain.items()} == {
        name: gzip.decompress(text) for name, text in first.items()
    }


def test_every_form_of_the_same_text_gives_the_same_files(polyglot):
    polyglot(*PAIR)
    expected = content("data")
    for name in ("c.en", "c.fi"):
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    forms = [
        ("c.fi.gz", "c.en.gz"),
        ("c.tsv", "--header", "--columns", "en=english,fi=3"),
        ("c.en", "c.fi", "talks", "--languages", "en,fi,se"),
    ]
    for number, form in enumerate(forms[:2]):
        result = polyglot("split", *form, "--output", f"form{number}", *ARGUMENTS[2:])
        assert result.status == 0, result.errors
        assert content(f"form{number}") == expected
    result = polyglot(
        "split", *forms[2], "--output", "three", "--ignore-shorter", "9", *ARGUMENTS[2:]
    )
    assert "languages: [en, fi, se]" in result.output
    assert len(content("three")) == 9
    lines = Path("three/test.se").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10 and set(lines) <= set(Path("talks").read_text().splitlines())


@pytest.mark.parametrize(
    "form",
    [
        ("c.en", "c.fi", "--documents", "talks"),
        ("c.tsv", "--header", "--columns", "en=2,fi=3", "--documents", "talk"),
    ],
    ids=lambda form: form[0],
)
def test_documents_stay_together(form, polyglot):
    polyglot("split", *form, *ARGUMENTS)
    rows = Path("c.tsv").read_text(encoding="utf-8").splitlines()[1:]
    talks = {row.split("\t")[1]: row.split("\t")[0] for row in rows}
    parts = {}
    for part in ("train", "val", "test"):
        for line in Path(f"data/{part}.en").read_text(encoding="utf-8").splitlines():
            assert parts.setdefault(talks[line], part) == part
    assert len(parts) == COUNT / 5


def test_blank_lines_between_documents(polyglot):
    for name in ("c.en", "c.fi"):
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        text = []
        for start in range(0, COUNT, 5):
            text += [*lines[start : start + 5], ""]
        write(Path(name), text)
    result = polyglot(*PAIR, "--documents", "blank-lines")
    assert result.status == 0, result.errors
    assert content("data")["test.en"].count(b"\n") == 10
    assert sum(text.count(b"\n") for text in content("data").values()) == 2 * COUNT
    assert b"\n\n" not in content("data")["train.en"]


def test_fewer_rows_than_wanted_are_reported(polyglot):
    result = polyglot("split", "c.en", "c.fi", "--documents", "talks", "--output", "data",
                      "--validation", "0", "--test", "8")  # fmt: skip
    assert "test has 5 of 8 rows: no other group fits" in result.errors
    assert "60 rows have a sentence or document in common" in result.errors
    assert "valid:" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c.en", "no.fi"), "no.fi: no such file"),
        (("c.en", "talks"), "talks: the ending of its name is no language"),
        (("c.tsv",), "c.tsv: a table; name the column of each language"),
        (("c.en", "c.fi", "--languages", "en"), "--languages: 1 name for 2 files"),
        (("c.en", "c.fi", "--languages", "en,en"), "two files or columns have the language en"),
        (("c.en", "c.fi", "--languages", "en,f-i"), "'f-i' is no language code"),
        (("c.en", "c.fi", "--header"), "--header: for a table"),
        (("c.tsv", "--columns", "en"), "--columns: found 'en'; write language and column"),
        (
            ("c.tsv", "--columns", "en=1,fi=9"),
            "c.tsv, line 1: no column '9'; it has columns 1 to 3",
        ),
        (
            ("c.tsv", "--header", "--columns", "en=english,fi=suomi"),
            "no column 'suomi'; it has talk",
        ),
        (("c.tsv", "c.en", "--columns", "en=1,fi=2"), "--columns: for one table, and 2 files"),
        (
            ("c.tsv", "--columns", "en=1,fi=2", "--languages", "en"),
            "--languages: for a file of each",
        ),
        (
            ("c.tsv", "--columns", "en=1,fi=2", "--documents", "blank-lines"),
            "--documents blank-lines: for a file of each language",
        ),
        (("c.en", "c.fi", "--documents", "no"), "no: no such file"),
        (("c.en", "short.fi"), "short.fi has 1 line, but c.en has 60; line n of all files"),
        (("c.en", "c.fi", "--validation", "30", "--test", "30"), "which leaves none for training"),
        (
            ("c.en", "c.fi", "--validation", "0", "--test", "0"),
            "both are 0; nothing is to be divided",
        ),
        (("c.en", "c.fi", "--test", str(10**30)), "which leaves none for training"),
        (
            ("c.en", "c.fi", "--ignore-shorter", str(10**30), "--validation", "60"),
            "which leaves none for training",
        ),
        (("c.en", "latin.fi"), "latin.fi, line 2: not UTF-8"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(arguments, message, polyglot):
    write(Path("short.fi"), ["yksi"])
    Path("latin.fi").write_bytes(b"ok\n\xe4\n" + b"ok\n" * (COUNT - 2))
    before = content(".")
    errors = polyglot.refuses(
        "split", "--validation", "10", "--test", "10", "--output", "data", *arguments
    )
    assert message in " ".join(errors.split())
    assert content(".") == before


def test_the_largest_numbers(polyglot):
    result = polyglot(*PAIR, "--seed", 10**30, "--ignore-shorter", 10**30)
    assert result.status == 0, result.errors
    assert len(content("data")) == 6


def test_the_text_itself_is_never_replaced(polyglot):
    Path("c.en").rename("train.en")
    Path("c.fi").rename("train.fi")
    before = content(".")
    errors = polyglot.refuses(
        "split", "train.en", "train.fi", "--output", ".", "--force", *ARGUMENTS[2:]
    )
    assert "train.en: would be replaced; name another folder with --output" in errors
    assert content(".") == before
