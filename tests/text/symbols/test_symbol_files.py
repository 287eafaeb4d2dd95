"""`polyglot symbolize` and `desymbolize`: files there and back."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.builders.command_line import Program, write_text

TEXT = {
    "en": ["12,158 cats of Tom Miller", "", "a ⟨number1⟩ and ^^ marks", "the IMF"],
    "de": ["12.158 Katzen von Tom Miller", "", "eine ⟨number1⟩ und ^^", "der FMI"],
}


@pytest.fixture
def polyglot(tmp_path, monkeypatch, capsys) -> Program:
    write_text(tmp_path, TEXT)
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


PAIR = ("symbolize", "train.en", "train.de", "--from", "en", "--to", "de", "--output", "out")


def test_a_pair_of_files_there_and_back(polyglot, tmp_path):
    result = polyglot(*PAIR)
    assert result.status == 0 and "unique words" in result.output
    assert (tmp_path / "out" / "train.en").read_text(encoding="utf-8").splitlines()[
        0
    ] == "⟨number1⟩ cats of ⟨name1⟩"
    for language, lines in TEXT.items():
        back = polyglot(
            "desymbolize",
            f"out/train.{language}",
            "--language",
            language,
            "--rules",
            "out/rules.jsonl",
        )
        assert back.output.split("\n")[:-1] == lines


def test_at_test_rules_come_from_the_source_and_the_dictionary(polyglot, tmp_path):
    polyglot(*PAIR)
    with gzip.open("test.en.gz", "wt", encoding="utf-8") as file:
        file.write("the IMF of Tom Miller has 1,234.5 cats\n")
    found = polyglot(
        "symbolize",
        "test.en.gz",
        "--from",
        "en",
        "--to",
        "de",
        "--dictionary",
        "out/dictionary.json",
        "--output",
        "test",
    )
    assert "written to test: test.en, rules.jsonl" in found.errors
    [line] = (tmp_path / "test" / "test.en").read_text(encoding="utf-8").splitlines()
    assert line == "the ⟨acronym1⟩ of ⟨name1⟩ has ⟨number1⟩ cats"
    translated = "⟨name1⟩ vom ⟨acronym1⟩ hat ⟨number1⟩ Katzen und ⟨number2⟩ Hunde\n"
    back = polyglot(
        "desymbolize", "--language", "de", "--rules", "test/rules.jsonl", stdin=translated
    )
    assert back.output == "Tom Miller vom FMI hat 1.234,5 Katzen und  Hunde\n"
    assert "1 symbol had no rule" in back.errors


def test_mistakes_are_sentences(polyglot, tmp_path):
    assert "both are en" in polyglot.refuses(
        "symbolize", "train.en", "--from", "en", "--to", "en", "--output", "out"
    )
    (tmp_path / "short.de").write_text("eins\n")
    assert "short.de ends before line 2" in polyglot.refuses(
        "symbolize", "train.en", "short.de", "--from", "en", "--to", "de", "--output", "out"
    )
    compressed = tmp_path / "train.en.gz"
    compressed.write_bytes(gzip.compress((tmp_path / "train.en").read_bytes()))
    same = ("symbolize", "train.en", "train.en.gz", "--from", "en", "--to", "de", "--output", "out")
    assert "would both be written to out/train.en" in polyglot.refuses(*same)
    assert "holds the text itself" in polyglot.refuses(
        "symbolize", "train.en.gz", "--from", "en", "--to", "de", "--output", "."
    )
    assert "holds the text itself" in polyglot.refuses(
        "symbolize", "train.en", "--from", "en", "--to", "de", "--output", "."
    )
    polyglot(*PAIR)
    wanted = ("desymbolize", "out/train.en", "--language", "fr", "--rules", "out/rules.jsonl")
    assert "no rules for fr; there are rules for en, de" in polyglot.refuses(*wanted)
    (tmp_path / "rules.jsonl").write_text(json.dumps({"en": {}}) + "\n")
    assert (
        "rules.jsonl ends before line 2"
        in Program.__call__(
            polyglot, "desymbolize", "out/train.en", "--language", "en", "--rules", "rules.jsonl"
        ).errors
    )
    (tmp_path / "d.json").write_text("{}")
    assert "not a dictionary of symbols" in polyglot.refuses(*PAIR, "--dictionary", "d.json")
