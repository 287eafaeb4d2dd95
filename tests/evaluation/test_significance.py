"""Differences between runs are tested as the `sacrebleu` command line tests them."""

from __future__ import annotations

import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

import numpy
import pytest
from rich.console import Console
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest

from polyglot.core.errors import ConfigError, DataError
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.evaluation.significance import (
    Comparison,
    compare_direct_and_pivot,
    compare_systems,
    distinct_names,
)
from polyglot.evaluation.views.terminal import comparison_table
from polyglot.tasks.pairs import LanguagePair
from tests.evaluation.by_hand import matrix

REFERENCES = [
    f"the {animal} sees a {colour} bird in the {place}"
    for animal in ("dog", "cat", "horse")
    for colour in ("red", "blue")
    for place in ("garden", "town")
]
BAD = [
    line.replace("red", "a red").replace("garden", "big house").replace("sees a", "saw some")
    for line in REFERENCES
]
SOME = [
    line if number % 4 else line.replace("bird", "cat") for number, line in enumerate(REFERENCES)
]
NEAR = [
    other.replace("dog", "hound") if number % 5 else one
    for number, (one, other) in enumerate(zip(REFERENCES, BAD))
]
MIXED = [other if number % 2 else one for number, (one, other) in enumerate(zip(BAD, SOME))]


def with_outputs(
    hypotheses: list[str], value: float, *, references: list[str] = REFERENCES
) -> ScoreMatrix:
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
    return dataclasses.replace(
        matrix(),
        cells={pair: cell},
        hypotheses={"de-en": hypotheses},
        texts={cell.reference_text: references},
    )


def _measured(run: ScoreMatrix, metric: str) -> ScoreMatrix:
    """The same with its score under another name."""
    cells = {
        pair: dataclasses.replace(cell, scores={metric: cell.scores["bleu"]})
        for pair, cell in run.cells.items()
    }
    return dataclasses.replace(run, cells=cells)


def _bleu(lines: list[str], rows: list[int]) -> float:
    return (
        BLEU().corpus_score([lines[row] for row in rows], [[REFERENCES[row] for row in rows]]).score
    )


@pytest.mark.parametrize(
    ("test", "option", "samples"),
    [
        ("bootstrap", "--paired-bs", "--paired-bs-n"),
        ("randomisation", "--paired-ar", "--paired-ar-n"),
    ],
)
def test_equal_to_the_sacrebleu_command_line(
    test: str, option: str, samples: str, tmp_path: Path
) -> None:
    for name, lines in {"references": REFERENCES, "bad": BAD, "some": SOME}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        "references",
        "-i",
        "bad",
        "some",
        "-w",
        "14",
        "-f",
        "json",
        option,
        samples,
        "100",
    ]
    _, theirs = json.loads(
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    )
    found = compare_systems(
        {"bad": [with_outputs(BAD, 1.0)], "some": [with_outputs(SOME, 2.0)]}, test=test, samples=100
    )
    assert (
        found.rows["de-en"]["some"].p == theirs["BLEU"]["p_value"]
        and found.rows["de-en"]["bad"].p is None
    )


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
@pytest.mark.parametrize("metric", ["bleu", "chrf++", "ter"])
def test_the_mean_of_runs_that_are_alike_is_tested_as_one_of_them(test: str, metric: str) -> None:
    def p(number: int) -> float:
        systems = {
            "bad": [with_outputs(BAD, 1.0)] * number,
            "near": [with_outputs(NEAR, 2.0)] * number,
        }
        scored = {name: [_measured(run, metric) for run in runs] for name, runs in systems.items()}
        return (
            compare_systems(scored, measure=Measure(metric), test=test, samples=100).rows["de-en"]["near"].p
        )

    assert p(1) == p(3) and 0.02 < p(1) < 1


@pytest.mark.parametrize(("test", "short"), [("bootstrap", "bs"), ("randomisation", "ar")])
@pytest.mark.parametrize(
    ("metric", "theirs"),
    [("chrf", CHRF()), ("chrf++", CHRF(word_order=2)), ("ter", TER(case_sensitive=True))],
    ids=["chrf", "chrf++", "ter"],
)
def test_other_metrics_are_tested_as_sacrebleu_tests_them(
    metric: str, theirs: Metric, test: str, short: str
) -> None:
    """By its class, as its command line cannot write what it finds for them."""
    _, expected = PairedTest(
        [("bad", BAD), ("near", NEAR)], {metric: theirs}, [REFERENCES], short, n_samples=100
    )()
    systems = {
        "bad": [_measured(with_outputs(BAD, 1.0), metric)],
        "near": [_measured(with_outputs(NEAR, 2.0), metric)],
    }
    _, (_, result) = expected.values()
    assert (
        compare_systems(systems, measure=Measure(metric), test=test, samples=100).rows["de-en"]["near"].p
        == result.p_value
    )


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_means_that_are_equal_do_not_differ(test: str) -> None:
    bad, some = with_outputs(BAD, 1.0), with_outputs(SOME, 2.0)
    found = compare_systems({"one": [bad, some], "other": [some, bad]}, test=test, samples=100)
    assert found.rows["de-en"]["other"].p == 1.0


def test_the_bootstrap_of_several_runs_is_that_of_their_mean_scores() -> None:
    """Computed once more from resampled lines, which sacreBLEU then scores as whole texts."""
    first, second = [BAD, NEAR, SOME], [NEAR, MIXED]
    samples = numpy.random.default_rng(12345).choice(
        len(REFERENCES), size=(100, len(REFERENCES)), replace=True
    )

    def difference(rows: list[int]) -> float:
        means = [mean(_bleu(run, rows) for run in runs) for runs in (first, second)]
        return abs(means[1] - means[0])

    found = numpy.array([difference(rows) for rows in samples.tolist()])
    beyond = (found - found.mean() > difference(list(range(len(REFERENCES))))).sum()
    matrices = [
        [with_outputs(run, float(number)) for number, run in enumerate(runs, 1)]
        for runs in (first, second)
    ]
    compared = compare_systems(dict(zip(("first", "second"), matrices)), samples=100).rows["de-en"]
    assert (
        compared["second"].p == pytest.approx((beyond + 1) / 101)
        and 0.02 < compared["second"].p < 0.98
    )
    assert compared["first"].value == 2.0 and compared["second"].value == 1.5


def test_what_is_of_several_runs_is_said_to_be_means_of_systems() -> None:
    one = with_outputs(BAD, 1.0)
    for runs, said in (([one], "of 2 runs"), ([one, one], "of 2 systems")):
        found = compare_systems({"bad": [one], "same": runs}, samples=10)
        assert ("means over the seeds" in found.note) == (len(runs) > 1)
        screen = Console(file=io.StringIO(), width=200)
        screen.print(comparison_table(found))
        assert f"BLEU {said}" in screen.file.getvalue()


def test_randomisation_is_of_as_many_runs() -> None:
    one, other = with_outputs(BAD, 1.0), with_outputs(SOME, 2.0)
    with pytest.raises(
        DataError, match="must have the same number of runs: bad has 1, some has 2; the bootstrap"
    ):
        compare_systems({"bad": [one], "some": [other, other]}, test="randomisation", samples=10)


def test_a_direction_that_one_run_lacks_or_has_of_other_text_is_not_compared() -> None:
    full, other = (
        with_outputs(BAD, 1.0),
        with_outputs(SOME, 2.0, references=[f"{line}!" for line in REFERENCES]),
    )
    assert (
        compare_systems({"one": [full, other], "two": [full, full]}, samples=10).rows["de-en"]["two"].p
        is None
    )
    with pytest.raises(DataError, match="one, two: no direction has BLEU in all of them"):
        compare_systems({"one": [full], "two": [full, dataclasses.replace(full, cells={})]})


def test_one_hop_is_tested_against_two() -> None:
    pair = LanguagePair("de", "en")
    one, two = with_outputs(BAD, 10.0), with_outputs(SOME, 80.0)
    hops = dataclasses.replace(two.cells[pair], kind="pivot", via="fr")
    both = dataclasses.replace(
        one, pivots={pair: hops}, hypotheses={"de-en": BAD, "de-fr-en": SOME}
    )

    def compared(*runs: ScoreMatrix, metric: str = "bleu") -> Comparison:
        return compare_direct_and_pivot(runs, measure=Measure(metric))

    found, expected = compared(both), compare_systems({"bad": [one], "some": [two]})
    ways = found.rows["de-en"]
    assert (ways["direct"].value, ways["pivot"].value, ways["direct"].p) == (
        10.0,
        80.0,
        expected.rows["de-en"]["some"].p,
    )
    assert found.test_description == expected.test_description and "bs:1000" in found.test_description
    assert compared(both, both).rows == found.rows
    assert not compared(both, one).rows, "one of the runs has no second hop"
    unscored = dataclasses.replace(
        both, cells={pair: dataclasses.replace(one.cells[pair], scores={})}
    )
    assert (
        not compared(unscored).rows
        and not compared(one).rows
        and not compared(both, metric="comet").rows
    )
    elsewhere = compared(
        dataclasses.replace(
            both, pivots={pair: dataclasses.replace(hops, reference_text="en.other")}
        )
    )
    assert elsewhere.rows["de-en"]["direct"].p is None and not elsewhere.signatures
    scored = [_measured(run, "comet") for run in (both, two)]
    comet = dataclasses.replace(
        scored[0], pivots={pair: dataclasses.replace(scored[1].cells[pair], kind="pivot", via="fr")}
    )
    assert compared(comet, metric="comet").rows["de-en"]["direct"].p is None, "COMET has no test"


def test_each_tokenizer_of_a_test_is_named_with_its_targets() -> None:
    def into(target: str) -> ScoreMatrix:
        pair = LanguagePair("de", target)
        one = with_outputs(BAD, 1.0)
        return dataclasses.replace(
            one,
            cells={pair: dataclasses.replace(*one.cells.values(), pair=pair)},
            hypotheses={str(pair): BAD},
        )

    both = ScoreMatrix.merge([into("en"), into("zh")])
    tested = compare_systems({"one": [both], "same": [both]}, samples=10)
    assert [
        (sorted(targets), "tok:zh" in signature) for signature, targets in tested.signatures.items()
    ] == [(["en"], False), (["zh"], True)]
    assert (
        "|version:" in tested.note
        and " into en; BLEU|" in tested.note
        and tested.note.endswith(" into zh)")
    )


def test_what_is_significant_is_marked() -> None:
    found = compare_systems(
        {
            "bad": [with_outputs(BAD, 10.0)],
            "same": [with_outputs(BAD, 10.0)],
            "some": [with_outputs(SOME, 80.0)],
        }
    )
    row = found.rows["de-en"]
    assert row["some"].is_significant and not row["same"].is_significant
    screen = Console(file=io.StringIO(), width=120)
    screen.print(comparison_table(found))
    text = " ".join(screen.file.getvalue().split())
    assert (
        "80.0*" in text
        and "10.0*" not in text
        and "* differs from bad with p < 0.05 (paired bootstrap, BLEU|" in text
    )


def test_a_run_is_called_by_as_much_of_its_path_as_tells_it_apart(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [
        Path("/long/way/first/run"),
        Path("/long/way/second/run"),
        Path("/long/way/other"),
        Path("."),
    ]
    assert distinct_names(paths) == ["first/run", "second/run", "other", tmp_path.name]
    assert distinct_names([Path("/run"), Path("/a/run")]) == ["/run", "a/run"]
    with pytest.raises(ConfigError, match="/a/b/../run: named twice; name each run once"):
        distinct_names([Path("/a/run"), Path("/a/b/../run")])


def test_a_long_name_is_wrapped_and_not_cut() -> None:
    names = [
        "english-centric-with-monolingual-copies-and-a-seed-of-1",
        "english-centric-with-monolingual-copies-and-a-seed-of-2",
    ]
    screen = Console(file=io.StringIO(), width=40)
    screen.print(comparison_table(compare_systems({name: [with_outputs(BAD, 10.0)] for name in names})))
    text = screen.file.getvalue()
    heads = [
        line.split()
        for line in text.splitlines()[
            2 : text.splitlines().index(next(line for line in text.splitlines() if "──" in line))
        ]
    ]
    assert "…" not in text and "".join(line[-1] for line in heads).endswith(names[1])


def test_other_text_is_not_tested() -> None:
    found = compare_systems(
        {
            "one": [with_outputs(BAD, 10.0)],
            "other": [
                with_outputs(SOME, 80.0, references=[line.upper() + "!" for line in REFERENCES])
            ],
        }
    )
    assert found.rows["de-en"]["other"].p is None and found.note == "no test"


def test_directions_with_other_sources_are_not_tested() -> None:
    """The same references can belong to two source texts."""
    first = with_outputs(BAD, 10.0)
    second = with_outputs(SOME, 80.0)
    pair = LanguagePair("de", "en")
    other_sources = dataclasses.replace(second.cells[pair], source_text="de.2")
    second = dataclasses.replace(second, cells={pair: other_sources})
    assert second.cells[pair].reference_text == first.cells[pair].reference_text
    comparison = compare_systems({"first": [first], "second": [second]}, samples=10)
    assert comparison.rows["de-en"]["second"].p is None
    assert comparison.signatures == {}


def test_means_are_of_the_kind_that_each_run_has() -> None:
    many = with_outputs(SOME, 40.0)
    cells = {pair: dataclasses.replace(cell, kind="zero-shot") for pair, cell in many.cells.items()}
    found = compare_systems(
        {"one": [with_outputs(BAD, 10.0)], "other": [dataclasses.replace(many, cells=cells)]}
    )
    assert found.means() == {"supervised": {"one": 10.0}, "zero-shot": {"other": 40.0}}


def test_runs_without_a_direction_in_common_are_an_error() -> None:
    other = dataclasses.replace(with_outputs(SOME, 1.0), cells={})
    with pytest.raises(DataError, match="no direction has BLEU in all of them"):
        compare_systems({"one": [with_outputs(BAD, 10.0)], "other": [other]})
