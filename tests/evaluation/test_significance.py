"""Significance of differences: p-values of sacreBLEU, for single runs and means of runs."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy
import pytest
from rich.console import Console
from rich.table import Table
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest

from polyglot.core.errors import DataError
from polyglot.evaluation import sacrebleu_internals
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.evaluation.significance import (
    Comparison,
    compare_direct_and_pivot,
    compare_systems,
)
from polyglot.evaluation.views.terminal import comparison_table
from polyglot.tasks.pairs import LanguagePair
from tests.evaluation.by_hand import matrix
from tests.evaluation.sacrebleu_command import run_sacrebleu

PAIR = LanguagePair("de", "en")
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
GOOD = [
    line if number % 4 else line.replace("bird", "cat") for number, line in enumerate(REFERENCES)
]
NEARLY_BAD = [
    bad.replace("dog", "hound") if number % 5 else reference
    for number, (reference, bad) in enumerate(zip(REFERENCES, BAD))
]
MIXED = [good if number % 2 else bad for number, (bad, good) in enumerate(zip(BAD, GOOD))]


def run_with(
    hypotheses: list[str],
    value: float,
    *,
    metric: str = "bleu",
    references: list[str] = REFERENCES,
    source_text: str = "de.1",
) -> ScoreMatrix:
    """Matrix whose only direction is de-en."""
    cell = Cell(
        PAIR,
        "supervised",
        {metric: Score(value, "signature")},
        sentences=len(hypotheses),
        source_text=source_text,
        reference_text=f"en.{len(references[0])}",
    )
    return dataclasses.replace(
        matrix(),
        cells={PAIR: cell},
        hypotheses={"de-en": hypotheses},
        texts={cell.reference_text: references},
    )


def rendered(table: Table, *, width: int = 200) -> str:
    screen = Console(file=io.StringIO(), width=width)
    screen.print(table)
    return screen.file.getvalue()


@pytest.mark.parametrize(
    ("test", "option", "samples_option"),
    [
        ("bootstrap", "--paired-bs", "--paired-bs-n"),
        ("randomisation", "--paired-ar", "--paired-ar-n"),
    ],
)
def test_p_values_are_those_of_the_sacrebleu_command_line(
    test: str, option: str, samples_option: str, tmp_path: Path
) -> None:
    for name, lines in {"references": REFERENCES, "bad": BAD, "good": GOOD}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    arguments = ["references", "-i", "bad", "good", option, samples_option, "100"]
    _, expected = run_sacrebleu(tmp_path, *arguments)

    systems = {"bad": [run_with(BAD, 1.0)], "good": [run_with(GOOD, 2.0)]}
    scores = compare_systems(systems, test=test, samples=100).rows["de-en"]
    assert scores["good"].p == expected["BLEU"]["p_value"]
    assert scores["bad"].p is None


@pytest.mark.parametrize(("test", "short_name"), [("bootstrap", "bs"), ("randomisation", "ar")])
@pytest.mark.parametrize(
    ("name", "metric"),
    [("chrf", CHRF()), ("chrf++", CHRF(word_order=2)), ("ter", TER(case_sensitive=True))],
    ids=["chrf", "chrf++", "ter"],
)
def test_p_values_of_other_metrics_are_those_of_sacrebleu(
    name: str, metric: Metric, test: str, short_name: str
) -> None:
    """With sacreBLEU's class: its command line cannot write the results of these metrics."""
    _, results = PairedTest(
        [("bad", BAD), ("near", NEARLY_BAD)],
        {name: metric},
        [REFERENCES],
        short_name,
        n_samples=100,
    )()
    _, (_, expected) = results.values()
    systems = {
        "bad": [run_with(BAD, 1.0, metric=name)],
        "near": [run_with(NEARLY_BAD, 2.0, metric=name)],
    }
    comparison = compare_systems(systems, measure=Measure(name), test=test, samples=100)
    assert comparison.rows["de-en"]["near"].p == expected.p_value


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
@pytest.mark.parametrize("metric", ["bleu", "chrf++", "ter"])
def test_the_mean_of_equal_runs_is_tested_like_one_run(test: str, metric: str) -> None:
    def p_value(runs: int) -> float:
        systems = {
            "bad": [run_with(BAD, 1.0, metric=metric)] * runs,
            "near": [run_with(NEARLY_BAD, 2.0, metric=metric)] * runs,
        }
        comparison = compare_systems(systems, measure=Measure(metric), test=test, samples=100)
        return comparison.rows["de-en"]["near"].p

    assert p_value(1) == p_value(3)
    assert 0.02 < p_value(1) < 1


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_equal_means_do_not_differ(test: str) -> None:
    bad = run_with(BAD, 1.0)
    good = run_with(GOOD, 2.0)
    systems = {"first": [bad, good], "second": [good, bad]}
    comparison = compare_systems(systems, test=test, samples=100)
    assert comparison.rows["de-en"]["second"].p == 1.0


def bleu_of_rows(lines: Sequence[str], rows: Sequence[int]) -> float:
    references = [REFERENCES[row] for row in rows]
    return BLEU().corpus_score([lines[row] for row in rows], [references]).score


def test_the_bootstrap_of_several_runs_uses_their_mean_scores() -> None:
    """Expected p-value from resampled sentences, which sacreBLEU scores as whole texts."""
    first_runs = [BAD, NEARLY_BAD, GOOD]
    second_runs = [NEARLY_BAD, MIXED]
    sentences = len(REFERENCES)
    generator = numpy.random.default_rng(12345)
    samples = generator.choice(sentences, size=(100, sentences), replace=True)

    def difference(rows: Sequence[int]) -> float:
        first = mean(bleu_of_rows(run, rows) for run in first_runs)
        second = mean(bleu_of_rows(run, rows) for run in second_runs)
        return abs(second - first)

    differences = numpy.array([difference(rows) for rows in samples.tolist()])
    observed = difference(range(sentences))
    larger = (differences - differences.mean() > observed).sum()

    systems = {
        "first": [run_with(run, value) for run, value in zip(first_runs, (1.0, 2.0, 3.0))],
        "second": [run_with(run, value) for run, value in zip(second_runs, (1.0, 2.0))],
    }
    scores = compare_systems(systems, samples=100).rows["de-en"]
    assert scores["second"].p == pytest.approx((larger + 1) / 101)
    assert 0.02 < scores["second"].p < 0.98
    assert scores["first"].value == 2.0
    assert scores["second"].value == 1.5


def test_without_internals_of_sacrebleu_only_single_runs_are_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = run_with(BAD, 1.0)
    good = run_with(GOOD, 2.0)
    expected = compare_systems({"bad": [bad], "good": [good]}, samples=100)
    monkeypatch.setattr(sacrebleu_internals, "METRIC_FUNCTIONS", ("_of_another_version",))
    comparison = compare_systems({"bad": [bad], "good": [good]}, samples=100)
    assert comparison.rows == expected.rows
    with pytest.raises(DataError, match="cannot test the mean of several runs"):
        compare_systems({"bad": [bad, bad], "good": [good]}, samples=100)


@pytest.mark.parametrize(("runs", "noun"), [(1, "runs"), (2, "systems")])
def test_means_of_several_runs_are_named_systems(runs: int, noun: str) -> None:
    bad = run_with(BAD, 1.0)
    comparison = compare_systems({"bad": [bad], "same": [bad] * runs}, samples=10)
    assert ("means over the seeds" in comparison.note) == (runs > 1)
    assert f"BLEU of 2 {noun}" in rendered(comparison_table(comparison))


def test_a_comparison_names_its_test_set() -> None:
    bad = dataclasses.replace(run_with(BAD, 1.0), test_set="flickr_2016")
    comparison = compare_systems({"first": [bad], "second": [bad]}, samples=10)
    for width in (40, 80):
        assert "flickr_2016" in rendered(comparison_table(comparison), width=width)


def test_randomisation_needs_the_same_number_of_runs() -> None:
    bad = run_with(BAD, 1.0)
    good = run_with(GOOD, 2.0)
    message = "must have the same number of runs: bad has 1, good has 2; the bootstrap"
    with pytest.raises(DataError, match=message):
        compare_systems({"bad": [bad], "good": [good, good]}, test="randomisation", samples=10)


def test_a_direction_is_not_tested_if_one_run_has_other_references() -> None:
    full = run_with(BAD, 1.0)
    other = run_with(GOOD, 2.0, references=[f"{line}!" for line in REFERENCES])
    comparison = compare_systems({"first": [full, other], "second": [full, full]}, samples=10)
    assert comparison.rows["de-en"]["second"].p is None
    assert comparison.note == "no test"


def test_a_direction_is_not_tested_if_the_sources_differ() -> None:
    """The same references can belong to two source texts."""
    first = run_with(BAD, 10.0)
    second = run_with(GOOD, 80.0, source_text="de.2")
    assert second.cells[PAIR].reference_text == first.cells[PAIR].reference_text
    comparison = compare_systems({"first": [first], "second": [second]}, samples=10)
    assert comparison.rows["de-en"]["second"].p is None
    assert comparison.signatures == {}


def with_codes(run: ScoreMatrix, source: str, target: str) -> ScoreMatrix:
    """Matrix of `run_with` with other spellings of its languages."""
    pair = LanguagePair(source, target)
    cell = run.cells[PAIR]
    source_text = cell.source_text.replace("de", source)
    reference_text = cell.reference_text.replace("en", target)
    cell = dataclasses.replace(
        cell, pair=pair, source_text=source_text, reference_text=reference_text
    )
    return dataclasses.replace(
        run,
        cells={pair: cell},
        hypotheses={str(pair): run.hypotheses["de-en"]},
        texts={reference_text: REFERENCES},
    )


def test_runs_match_by_the_normal_form_of_their_languages() -> None:
    bad = run_with(BAD, 1.0)
    good = run_with(GOOD, 2.0)
    expected = compare_systems({"bad": [bad], "good": [good]}, samples=10)
    spelled = with_codes(good, "deu_Latn", "eng")
    assert compare_systems({"bad": [bad], "good": [spelled]}, samples=10) == expected

    renamed = compare_systems({"good": [spelled], "bad": [bad]}, samples=10)
    assert list(renamed.rows) == ["deu_Latn-eng"]
    assert renamed.rows["deu_Latn-eng"]["bad"].p is not None


def test_scores_of_different_tokenizers_are_not_tested(caplog: pytest.LogCaptureFixture) -> None:
    runs = {}
    for name, tokenizer in (("first", "char"), ("second", "ja-mecab")):
        run = run_with(GOOD, 1.0)
        score = Score(1.0, f"nrefs:1|tok:{tokenizer}|version:2")
        cell = dataclasses.replace(run.cells[PAIR], scores={"bleu": score})
        runs[name] = [dataclasses.replace(run, cells={PAIR: cell})]
    comparison = compare_systems(runs, samples=10)
    assert comparison.rows["de-en"]["second"].p is None
    assert caplog.messages == [
        "de-en: scored with different tokenizers (tok:char, tok:ja-mecab), so the scores cannot be "
        "compared; evaluate all runs again with one tokenizer"
    ]


def test_no_common_direction_is_an_error() -> None:
    full = run_with(BAD, 1.0)
    empty = dataclasses.replace(full, cells={})
    with pytest.raises(DataError, match="first, second: no direction has BLEU in all of them"):
        compare_systems({"first": [full], "second": [full, empty]})


# Direct and pivot translation


def run_with_pivot(direct: ScoreMatrix, pivot: ScoreMatrix, **changes: object) -> ScoreMatrix:
    """Matrix `direct` with the direction of `pivot` as its pivot translation."""
    cell = dataclasses.replace(pivot.cells[PAIR], kind="pivot", via="fr", **changes)
    hypotheses = {
        "de-en": direct.hypotheses["de-en"],
        "de-fr-en": pivot.hypotheses["de-en"],
    }
    return dataclasses.replace(direct, pivots={PAIR: cell}, hypotheses=hypotheses)


def compare_ways(*runs: ScoreMatrix, metric: str = "bleu") -> Comparison:
    return compare_direct_and_pivot(runs, measure=Measure(metric))


def test_direct_translation_is_tested_against_pivot_translation() -> None:
    direct = run_with(BAD, 10.0)
    pivot = run_with(GOOD, 80.0)
    both = run_with_pivot(direct, pivot)
    comparison = compare_ways(both)
    expected = compare_systems({"bad": [direct], "good": [pivot]})
    scores = comparison.rows["de-en"]
    assert scores["direct"].value == 10.0
    assert scores["pivot"].value == 80.0
    assert scores["direct"].p == expected.rows["de-en"]["good"].p
    assert comparison.test_description == expected.test_description
    assert "bs:1000" in comparison.test_description
    assert compare_ways(both, both).rows == comparison.rows


def test_a_pair_without_both_scores_is_not_compared() -> None:
    direct = run_with(BAD, 10.0)
    both = run_with_pivot(direct, run_with(GOOD, 80.0))
    unscored_cell = dataclasses.replace(direct.cells[PAIR], scores={})
    unscored = dataclasses.replace(both, cells={PAIR: unscored_cell})
    assert not compare_ways(both, direct).rows, "one of the runs has no pivot translation"
    assert not compare_ways(direct).rows
    assert not compare_ways(unscored).rows
    assert not compare_ways(both, metric="comet").rows


def test_direct_and_pivot_translation_of_different_text_are_not_tested() -> None:
    both = run_with_pivot(run_with(BAD, 10.0), run_with(GOOD, 80.0), reference_text="en.other")
    comparison = compare_ways(both)
    assert comparison.rows["de-en"]["direct"].p is None
    assert not comparison.signatures


def test_comet_has_no_test() -> None:
    direct = run_with(BAD, 10.0, metric="comet")
    pivot = run_with(GOOD, 80.0, metric="comet")
    comparison = compare_ways(run_with_pivot(direct, pivot), metric="comet")
    assert comparison.rows["de-en"]["direct"].p is None


# Views of a comparison


def test_each_signature_is_shown_with_its_target_languages() -> None:
    def run_into(target: str) -> ScoreMatrix:
        pair = LanguagePair("de", target)
        run = run_with(BAD, 1.0)
        cell = dataclasses.replace(run.cells[PAIR], pair=pair)
        return dataclasses.replace(run, cells={pair: cell}, hypotheses={str(pair): BAD})

    both = ScoreMatrix.merge([run_into("en"), run_into("zh")])
    comparison = compare_systems({"first": [both], "same": [both]}, samples=10)
    english, chinese = comparison.signatures
    assert "tok:13a" in english
    assert "tok:zh" in chinese
    assert comparison.signatures == {english: ["en"], chinese: ["zh"]}
    assert f"{english} into en; {chinese} into zh)" in comparison.note
    assert "BLEU|" in english
    assert "|version:" in english


def test_significant_differences_are_marked() -> None:
    systems = {
        "bad": [run_with(BAD, 10.0)],
        "same": [run_with(BAD, 10.0)],
        "good": [run_with(GOOD, 80.0)],
    }
    comparison = compare_systems(systems)
    assert comparison.rows["de-en"]["good"].is_significant
    assert not comparison.rows["de-en"]["same"].is_significant
    text = " ".join(rendered(comparison_table(comparison), width=120).split())
    assert "80.0*" in text
    assert "10.0*" not in text
    assert "* differs from bad with p < 0.05 (paired bootstrap, BLEU|" in text


def test_a_long_name_is_wrapped_and_not_cut() -> None:
    name = "english-centric-with-monolingual-copies-and-a-seed-of-"
    systems = {f"{name}{seed}": [run_with(BAD, 10.0)] for seed in (1, 2)}
    text = rendered(comparison_table(compare_systems(systems)), width=40)
    assert "…" not in text
    lines = text.splitlines()
    end_of_head = next(number for number, line in enumerate(lines) if "──" in line)
    last_column = [line.split()[-1] for line in lines[2:end_of_head]]
    assert "".join(last_column).endswith(f"{name}2")


def test_means_are_by_the_kind_in_each_system() -> None:
    zero_shot = run_with(GOOD, 40.0)
    cell = dataclasses.replace(zero_shot.cells[PAIR], kind="zero-shot")
    zero_shot = dataclasses.replace(zero_shot, cells={PAIR: cell})
    comparison = compare_systems({"first": [run_with(BAD, 10.0)], "second": [zero_shot]})
    assert comparison.means() == {"supervised": {"first": 10.0}, "zero-shot": {"second": 40.0}}
