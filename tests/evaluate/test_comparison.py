"""Differences between runs are tested as the `sacrebleu` command line tests them."""

from __future__ import annotations

import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from by_hand import matrix
from rich.console import Console

from polyglot.errors import DataError
from polyglot.evaluate.comparison import compare, compare_hops, distinct_names
from polyglot.evaluate.conditions import Measure
from polyglot.evaluate.matrix import Cell, Matrix
from polyglot.evaluate.scores import Score
from polyglot.task import LanguagePair

REFERENCES = [
    f"the {animal} sees a {colour} bird in the {place}"
    for animal in ("dog", "cat", "horse")
    for colour in ("red", "blue")
    for place in ("garden", "town")
]
BAD = [line.replace("red", "a red").replace("garden", "big house").replace("sees a", "saw some") for line in REFERENCES]
SOME = [line if number % 4 else line.replace("bird", "cat") for number, line in enumerate(REFERENCES)]


def with_outputs(hypotheses: list[str], value: float, *, references: list[str] = REFERENCES) -> Matrix:
    """A matrix whose only direction is de-en."""
    pair = LanguagePair("de", "en")
    cell = Cell(
        pair,
        "supervised",
        {"bleu": Score(value, "s")},
        sentences=len(hypotheses),
        source_text="de.1",
        reference_text=f"en.{len(references[0])}",
    )
    return dataclasses.replace(matrix(), cells={pair: cell}, hypotheses={"de-en": hypotheses}, texts={cell.reference_text: references})


@pytest.mark.parametrize(
    ("test", "option", "samples"), [("bootstrap", "--paired-bs", "--paired-bs-n"), ("randomisation", "--paired-ar", "--paired-ar-n")]
)
def test_equal_to_the_sacrebleu_command_line(test: str, option: str, samples: str, tmp_path: Path) -> None:
    for name, lines in {"references": REFERENCES, "bad": BAD, "some": SOME}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", "bad", "some", "-w", "14", "-f", "json", option, samples, "100"]
    _, theirs = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    found = compare({"bad": with_outputs(BAD, 1.0), "some": with_outputs(SOME, 2.0)}, test=test, samples=100)
    assert found.rows["de-en"]["some"].p == theirs["BLEU"]["p_value"] and found.rows["de-en"]["bad"].p is None


def test_one_hop_is_tested_against_two() -> None:
    pair = LanguagePair("de", "en")
    one, two = with_outputs(BAD, 10.0), with_outputs(SOME, 80.0)
    hops = dataclasses.replace(two.cells[pair], kind="pivot", via="fr")
    both = dataclasses.replace(one, pivots={pair: hops}, hypotheses={"de-en": BAD, "de-fr-en": SOME})
    assert compare_hops(both, measure=Measure("bleu")) == {pair: compare({"bad": one, "some": two}).rows["de-en"]["some"].p}
    assert compare_hops(both, measure=Measure("comet")) == {} == compare_hops(one, measure=Measure("bleu"))


def test_what_is_significant_is_marked() -> None:
    found = compare({"bad": with_outputs(BAD, 10.0), "same": with_outputs(BAD, 10.0), "some": with_outputs(SOME, 80.0)})
    row = found.rows["de-en"]
    assert row["some"].is_significant and not row["same"].is_significant
    screen = Console(file=io.StringIO(), width=120)
    screen.print(found.table())
    text = " ".join(screen.file.getvalue().split())
    assert "80.0*" in text and "10.0*" not in text and "* differs from bad with p < 0.05 (paired bootstrap, BLEU|" in text


def test_a_run_is_called_by_as_much_of_its_path_as_tells_it_apart(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [Path("/long/way/first/run"), Path("/long/way/second/run"), Path("/long/way/other"), Path(".")]
    assert distinct_names(paths) == ["first/run", "second/run", "other", tmp_path.name]
    assert distinct_names([Path("/run"), Path("/a/run"), Path("/a/b/../run")]) == ["/run", "a/run", "a/run"]


def test_a_long_name_is_wrapped_and_not_cut() -> None:
    names = ["english-centric-with-monolingual-copies-and-a-seed-of-1", "english-centric-with-monolingual-copies-and-a-seed-of-2"]
    screen = Console(file=io.StringIO(), width=40)
    screen.print(compare({name: with_outputs(BAD, 10.0) for name in names}).table())
    text = screen.file.getvalue()
    heads = [
        line.split() for line in text.splitlines()[2 : text.splitlines().index(next(line for line in text.splitlines() if "──" in line))]
    ]
    assert "…" not in text and "".join(line[-1] for line in heads).endswith(names[1])


def test_other_text_is_not_tested() -> None:
    found = compare(
        {"one": with_outputs(BAD, 10.0), "other": with_outputs(SOME, 80.0, references=[line.upper() + "!" for line in REFERENCES])}
    )
    assert found.rows["de-en"]["other"].p is None and found.note == "no test"


def test_means_are_of_the_kind_that_each_run_has() -> None:
    many = with_outputs(SOME, 40.0)
    cells = {pair: dataclasses.replace(cell, kind="zero-shot") for pair, cell in many.cells.items()}
    found = compare({"one": with_outputs(BAD, 10.0), "other": dataclasses.replace(many, cells=cells)})
    assert found.means() == {"supervised": {"one": 10.0}, "zero-shot": {"other": 40.0}}


def test_runs_without_a_direction_in_common_are_an_error() -> None:
    other = dataclasses.replace(with_outputs(SOME, 1.0), cells={})
    with pytest.raises(DataError, match="no direction has BLEU in all of them"):
        compare({"one": with_outputs(BAD, 10.0), "other": other})
