"""What came of an experiment, and its page, from matrices made by hand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.references import Reference
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.experiments import Experiment
from polyglot.experiments.config import Goal
from polyglot.experiments.figure import bars_of, figure_png
from polyglot.experiments.results import Results, Spread, SystemResult, TrainedRun
from polyglot.experiments.results_page import save
from polyglot.tasks.pairs import LanguagePair
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts
from tests.evaluation.by_hand import matrix


def system(name: str, *runs: dict[str, tuple[str, float]], **given: Any) -> SystemResult:
    """A system with a matrix for each run, of the directions' kinds and scores."""

    def matrix_of(scores: dict[str, tuple[str, float]]) -> ScoreMatrix:
        cells = {
            LanguagePair.parse(pair): Cell(
                LanguagePair.parse(pair), kind, {"bleu": Score(value, "s")}, sentences=1
            )
            for pair, (kind, value) in scores.items()
        }
        visible_texts = {"": ["a"]}
        return dataclasses.replace(
            matrix(), cells=cells, hypotheses={pair: ["a"] for pair in scores}, texts=visible_texts
        )

    return SystemResult(
        name,
        [matrix_of(run) for run in runs],
        None,
        [TrainedRun(name, "polyglot train mine") for _ in runs],
        {},
        **given,
    )


def test_each_system_is_compared_with_the_one_that_it_stands_beside(tmp_path: Path) -> None:
    scores = {"first": 10.0, "control": 11.0, "mine": 13.0, "other": 9.0, "lone": 8.0}
    beside = {"control": "first", "mine": "control", "other": "first"}
    elsewhere = {"mine": {"de-fr": (0.4, "first")}, "other": {"de-fr": (-0.4, "first")}}
    systems = [
        system(
            name,
            {"de-fr": ("supervised", score)},
            beside=beside.get(name),
            elsewhere=elsewhere.get(name, {}),
        )
        for name, score in scores.items()
    ]
    less = system("less", {"fr-de": ("supervised", 1.0)}, beside="first")
    results = Results("Beside", "", "systems", [*systems, less])
    assert [list(each.names) for each in results.comparisons] == [
        ["first", "control", "other"],
        ["control", "mine"],
    ]
    assert results.p("de-fr", less) is None is results.p("fr-de", less)
    found = {
        claim.system: (claim.beside, claim.paper, claim.ours, claim.holds)
        for claim in results.claims
    }
    assert found == {
        "control": ("first", None, 1.0, None),
        "mine": ("control", 0.4, 2.0, None),
        "other": ("first", -0.4, -1.0, True),
    }
    assert (
        results.p("de-fr", systems[2]) == results.tests["mine"].rows["de-fr"]["mine"].p is not None
    )
    save(results, tmp_path)
    assert "| mine, de-fr | control | +0.40 (from first) | +2.00" in (
        tmp_path / "result.md"
    ).read_text(encoding="utf-8")
    assert results.p("de-fr", systems[0]) is None is results.p("de-fr", systems[4])
    assert "control, other from first; mine from control" in results.note


def test_a_papers_difference_is_from_the_nearest_system_that_it_has() -> None:
    experiment = Experiment.model_validate(
        {
            "title": "Differences",
            "config": "phrasebook",
            "systems": {
                "first": {"paper": {"de-en": 20.0, "en-de": 15.0}},
                "control": {},
                "mine": {"beside": "control", "paper": {"de-en": 21.5}},
                "more": {"beside": "mine", "paper": {"de-en": 21.0, "en-de": 16.0}},
            },
        }
    )
    assert [experiment.base_of(name) for name in experiment.systems] == [
        None,
        "first",
        "control",
        "mine",
    ]
    assert [experiment.papers_differences(name) for name in experiment.systems] == [
        {},
        {},
        {"de-en": (1.5, "first")},
        {"de-en": (-0.5, "mine"), "en-de": (1.0, "first")},
    ]


def test_what_is_left_out_stands_beside_mean_and_deviation_of_those_that_saw_it(
    tmp_path: Path,
) -> None:
    one = system("without de-fr", {"de-fr": ("zero-shot", 10.0), "fr-de": ("supervised", 30.0)})
    other = system("without fr-de", {"de-fr": ("supervised", 20.0), "fr-de": ("zero-shot", 12.0)})
    third = system("all", {"de-fr": ("supervised", 22.0), "fr-de": ("supervised", 32.0)})
    results = Results("Left out", "", "left_out", [one, other, third])
    assert list(results.left_out()) == [
        (LanguagePair("de", "fr"), 10.0, Spread(21.0, pytest.approx(2**0.5), 2)),
        (LanguagePair("fr", "de"), 12.0, Spread(31.0, pytest.approx(2**0.5), 2)),
    ]
    groups, (unseen, seen) = bars_of(results)
    assert groups == ["de-fr", "fr-de"] and [height.mean for height in unseen.heights] == [
        10.0,
        12.0,
    ]
    assert [height.shown() for height in seen.heights] == ["21.00 ± 1.41", "31.00 ± 1.41"]
    assert figure_png(results).startswith(b"\x89PNG")
    alone = system("without cs-en", {"cs-en": ("zero-shot", 5.0)})
    save(dataclasses.replace(results, systems=[*results.systems, alone]), tmp_path)
    page = (tmp_path / "result.md").read_text(encoding="utf-8")
    assert (
        "| de-fr | 10.00† | 21.00 ± 1.41 | -11.00 |" in page and "| cs-en | 5.00† | – |  |" in page
    )
    left_out = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["left_out"]
    assert left_out["fr-de"]["zero-shot"] == 12.0 and left_out["cs-en"]["supervised"] is None


def test_goals_are_judged_by_the_means_of_the_seeds_and_not_where_there_are_no_scores(
    tmp_path: Path,
) -> None:
    table = Reference.load("attention_bridge_english_centric_with_copies")
    paper = table.model_copy(
        update={"scores": {"en-de": 30.0, "de-en": 20.0, "de-fr": 4.0, "fr-de": 12.5}}
    )
    runs = [
        {
            "en-de": ("supervised", first),
            "de-en": ("supervised", 20.998),
            "de-fr": ("zero-shot", 10.0),
            "fr-de": ("zero-shot", 12.0),
        }
        for first in (29.0, 33.0)
    ]
    one, bare = (
        dataclasses.replace(system("mine", *runs), reference=paper),
        system("bare", {"en-de": ("supervised", 9.0)}),
    )
    through = LanguagePair("de", "fr")
    two_hops = [
        {through: Cell(through, "pivot", {"bleu": Score(score, "s")}, via="en", sentences=1)}
        for score in (13.0, 14.0)
    ]
    said = {**one.matrices[0].hypotheses, "de-en-fr": ["a"]}
    both = [
        dataclasses.replace(run, pivots=own, hypotheses=said)
        for run, own in zip(one.matrices, two_hops)
    ]
    one = dataclasses.replace(one, matrices=both)
    goals = [
        ("supervised", {"at_least": 26.0}, "26.00", True),
        ("zero-shot", {"at_least": 11.1}, "11.00", False),
        ("supervised", {"above_paper": 1.0}, "+1.00", True),
        ("supervised", {"above_paper": 1.01}, "+1.00", False),
        ("supervised", {"each_above_paper": True}, "2 of 2", True),
        ("zero-shot", {"each_above_paper": True}, "1 of 2", False),
        ("de-en", {"at_least": 21.0}, "21.00", True),
        ("zero-shot", {"behind_pivot": 4.0}, "-3.50", True),
        ("zero-shot", {"behind_pivot": 3.0}, "-3.50", False),
        ("en-de", {"at_least": 31.5}, "31.00", False),
    ]
    named = [Goal(system="mine", scores=scores, **aim) for scores, aim, _, _ in goals]
    nothing = [
        Goal(system="bare", scores="zero-shot", at_least=0.0),
        Goal(system="mine", scores="supervised", behind_pivot=1.0),
        Goal(system="left out", scores="en-de", at_least=1.0),
    ]
    results = Results("Goals", "", "systems", [one, bare], goals=[*named, *nothing])
    judged = [(outcome.found, outcome.reached) for outcome in results.outcomes]
    assert judged == [(found, reached) for _, _, found, reached in goals] + [("–", None)] * 3
    save(results, tmp_path)
    page, numbers = (
        (tmp_path / name).read_text(encoding="utf-8") for name in ("result.md", "result.json")
    )
    assert "| mine, zero-shot: at most 3 behind two hops | -3.50 | no |" in page
    assert "| left out, en-de: at least 1 | – | – |" in page
    assert (
        "| mine, supervised | 26.00 | 25.00 | +1.00 | 2 |" in page
        and "| mine, zero-shot | 11.00 | 8.25 | +2.75 | 2 |" in page
    )
    assert (
        "| mine | 26.00 ± 1.41 (2 directions) |" in page and "| bare | 9.00 (1 direction) |" in page
    )
    assert "| de-fr | 10.00 ± 0.00† | 13.50 ± 0.71‡ | -3.50 |" in page
    assert json.loads(numbers)["goals"][0] == {
        "goal": "mine, supervised: at least 26",
        "found": "26.00",
        "reached": True,
    }


def test_a_score_that_is_shown_as_the_papers_is_not_above_it() -> None:
    table = Reference.load("attention_bridge_many_to_many")
    found = []
    for score in (38.9249, 38.9251):
        mine = system("mine", {"en-de": ("supervised", score)})
        mine = dataclasses.replace(
            mine, reference=table.model_copy(update={"scores": {"en-de": 38.92}})
        )
        found += Results(
            "Near",
            "",
            "systems",
            [mine],
            goals=[Goal(system="mine", scores="en-de", each_above_paper=True)],
        ).outcomes
    assert [(one.found, one.reached) for one in found] == [("0 of 1", False), ("1 of 1", True)]


def test_every_machine_and_signature_is_named() -> None:
    mine = system("mine", {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    first, second = (
        dataclasses.replace(one, machine=machine)
        for one, machine in zip(mine.matrices, ("A, 2 cores", "B, 8 cores"))
    )
    [cell] = second.cells.values()
    other = dataclasses.replace(
        second, cells={cell.pair: dataclasses.replace(cell, scores={"bleu": Score(12.0, "other")})}
    )
    said = Results(
        "Made", "", "systems", [dataclasses.replace(mine, matrices=[first, other])]
    ).to_dict()["systems"]["mine"]
    assert said["machine"] == "A, 2 cores; B, 8 cores" and said["versions"] == dict(first.versions)
    assert said["signatures"]["bleu"] == {"s": ["fr"], "other": ["fr"]}
    assert ScoreMatrix.merge([first, other]).machine == said["machine"]


def test_one_system_says_how_its_two_hops_were_tested(tmp_path: Path) -> None:
    one = system("one", {"de-fr": ("zero-shot", 10.0)})
    pair, matrices = LanguagePair("de", "fr"), []
    for each in one.matrices:
        hops = dataclasses.replace(each.cells[pair], kind="pivot", via="en")
        matrices.append(
            dataclasses.replace(
                each, pivots={pair: hops}, hypotheses={"de-fr": ["a"], "de-en-fr": ["b"]}
            )
        )
    results = Results("Hops", "", "systems", [dataclasses.replace(one, matrices=matrices)])
    save(results, tmp_path)
    assert results.note == "" and results.hops_note.startswith(
        "* one hop differs from two with p < 0.05 (paired bootstrap, BLEU|"
    )
    assert any(
        text.startswith(results.hops_note)
        for text in visible_texts((tmp_path / "result.md").read_text(encoding="utf-8"))
    )
    assert results.to_dict()["test_of_hops"] == results.hops_note


def test_the_spread_of_seeds_is_that_of_their_means() -> None:
    two = system(
        "two",
        {"de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 20.0)},
        {"de-fr": ("zero-shot", 12.0), "fr-de": ("zero-shot", 30.0)},
    )
    assert two.spread("de-fr", Measure("bleu")).shown() == "11.00 ± 1.41"
    assert two.kinds(Measure("bleu")) == {"zero-shot": Spread(18.0, pytest.approx(18**0.5), 2)}
    assert two.kinds(Measure("bleu"))["zero-shot"].values == (15.0, 21.0)


def test_every_seed_counts_in_what_is_tested() -> None:
    pair = LanguagePair("de", "fr")

    def seeds(*lines: str) -> list[ScoreMatrix]:
        scores = {"bleu": Score(1.0, "s")}
        direct, hops = (
            Cell(pair, kind, scores, sentences=1, via=via)
            for kind, via in (("zero-shot", None), ("pivot", "en"))
        )
        one = dataclasses.replace(
            matrix(), cells={pair: direct}, pivots={pair: hops}, texts={"": ["a b c d e"]}
        )
        return [
            dataclasses.replace(one, hypotheses={"de-fr": [line], "de-en-fr": ["a b c d e"]})
            for line in lines
        ]

    first = dataclasses.replace(system("first", {}), matrices=seeds("a b c d e", "a b c d e"))
    mine = dataclasses.replace(
        system("mine", {}, beside="first"), matrices=seeds("a b c d e", "a b c d")
    )
    results = Results("Tested", "", "systems", [first, mine])
    assert results.p("de-fr", mine) < 1, "the first seeds are alike, the second ones differ"
    one_hop = {name: found.rows["de-fr"]["direct"].p for name, found in results.hops.items()}
    assert one_hop["first"] == 1.0 and one_hop["mine"] < 1


def test_the_page_says_that_it_is_means_over_seeds_that_are_tested(tmp_path: Path) -> None:
    scores = {"de-fr": ("zero-shot", 10.0)}
    for runs, said in ((1, False), (2, True)):
        systems = [system("first", *[scores] * runs), system("mine", scores, beside="first")]
        save(Results("Tested", "", "systems", systems), tmp_path)
        page = (tmp_path / "result.md").read_text(encoding="utf-8")
        assert (
            "differs from first with p < 0.05" in page
            and ("means over the seeds" in page) == said
        )


def test_parameters_are_those_of_one_seed_and_of_every_part_of_it() -> None:
    run = TrainedRun("mine", "polyglot train mine", parameters=7)
    two = system("two", {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    assert dataclasses.replace(two, runs=[run, run]).parameters == 7
    assert dataclasses.replace(two, runs=[run] * 4).parameters == 14, "two models for each seed"


def test_a_direction_that_one_seed_lacks_is_said_to_have_no_score(tmp_path: Path) -> None:
    two = system(
        "two",
        {"de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 20.0)},
        {"de-fr": ("zero-shot", 12.0)},
    )
    pair = LanguagePair("fr", "de")
    missing = dataclasses.replace(
        two.matrices[1],
        cells={**two.matrices[1].cells, pair: Cell(pair, "zero-shot", reason="no text")},
    )
    save(
        Results(
            "Missing",
            "",
            "systems",
            [dataclasses.replace(two, matrices=[two.matrices[0], missing])],
        ),
        tmp_path,
    )
    page = (tmp_path / "result.md").read_text(encoding="utf-8")
    assert (
        "## Without a score" in page
        and "no text" in page
        and "In brackets the same of the references; of the first seed of each." in page
    )


def test_bars_are_of_zero_shot_pairs_where_there_are_some_one_series_for_each_system() -> None:
    one = system("one", {"de-fr": ("zero-shot", 10.0), "en-de": ("supervised", 30.0)})
    other = system("other", {"de-fr": ("supervised", 20.0), "en-de": ("supervised", 31.0)})
    groups, bars = bars_of(Results("Bars", "", "systems", [one, other]))
    assert groups == ["de-fr"] and [(each.name, each.heights[0].mean) for each in bars] == [
        ("one", 10.0),
        ("other", 20.0),
    ]
    groups, bars = bars_of(Results("Bars", "", "systems", [other]))
    assert groups == ["de-fr", "en-de"] and [height.mean for height in bars[0].heights] == [
        20.0,
        31.0,
    ]


def test_names_of_systems_and_runs_stay_text_on_the_page(tmp_path: Path) -> None:
    odd = system(MARKDOWN_TEXT, {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    plain = system("plain", {"de-fr": ("zero-shot", 9.0)}, beside=MARKDOWN_TEXT)
    runs = [
        dataclasses.replace(each, checkpoint={"run": MARKDOWN_TEXT, "checkpoint": "best"})
        for each in odd.runs
    ]
    reference = Reference.load("attention_bridge_english_centric_with_copies")
    odd = dataclasses.replace(odd, runs=runs, reference=reference, settings={"a|b": '"`c`"'})
    save(Results(MARKDOWN_TEXT, MARKDOWN_TEXT, "systems", [odd, plain]), tmp_path)
    page = (tmp_path / "result.md").read_text(encoding="utf-8")
    shown = visible_texts(page)
    assert shown[:2] == [MARKDOWN_TEXT, MARKDOWN_TEXT]
    assert shown.count(MARKDOWN_TEXT) == 6, "title, question, means, directions, differences, how it was made"
    assert f"{MARKDOWN_TEXT}, the paper" in shown and f"{MARKDOWN_TEXT}, zero-shot" in shown and '"`c`"' in shown
    assert any(
        one.startswith(f"* differs from {MARKDOWN_TEXT} with p < 0.05 (paired bootstrap, BLEU|")
        for one in shown
    )
    assert any(one.startswith(f"{MARKDOWN_TEXT} stands beside ") for one in shown) and any(
        one.startswith(f"{MARKDOWN_TEXT}: best checkpoint") for one in shown
    )
    assert "A number over several seeds is mean ± standard deviation." in shown
    assert not {"html_inline", "html_block", "em_open", "link_open"} & token_types(page)
