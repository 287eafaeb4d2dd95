"""Results of an experiment and their page, from score matrices with invented scores."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.references import Reference
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.experiments import Experiment
from polyglot.experiments.figure import figure_bars, figure_png
from polyglot.experiments.result_file import results_dict
from polyglot.experiments.result_tables import directions_table
from polyglot.experiments.results import Results
from polyglot.experiments.results_page import save
from polyglot.experiments.settings import Goal
from polyglot.experiments.system_result import Spread, SystemResult, TrainedRun
from polyglot.tasks.pairs import LanguagePair
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts
from tests.evaluation.by_hand import matrix

BLEU = Measure("bleu")
DE_FR = LanguagePair("de", "fr")
FR_DE = LanguagePair("fr", "de")

Scores = Mapping[str, tuple[str, float]]
"""Kind and score of each direction."""


def invented_matrix(scores: Scores) -> ScoreMatrix:
    cells = {}
    for name, (kind, value) in scores.items():
        pair = LanguagePair.parse(name)
        cells[pair] = Cell(
            pair,
            kind,
            {"bleu": Score(value, "s")},
            sentences=1,
        )
    hypotheses = {name: ["a"] for name in scores}
    return dataclasses.replace(
        matrix(),
        cells=cells,
        hypotheses=hypotheses,
        texts={"": ["a"]},
    )


def system(name: str, *seeds: Scores, **fields: Any) -> SystemResult:
    """A system with a matrix for each seed."""
    matrices = [invented_matrix(scores) for scores in seeds]
    runs = [TrainedRun(name, "polyglot train mine") for _ in seeds]
    return SystemResult(
        name,
        matrices,
        None,
        runs,
        {},
        **fields,
    )


def results_of(
    systems: Sequence[SystemResult], *, figure: str = "systems", **fields: Any
) -> Results:
    return Results(
        "Title",
        "",
        figure,
        systems,
        **fields,
    )


def saved_page(results: Results, folder: Path) -> str:
    save(results, folder)
    return (folder / "result.md").read_text(encoding="utf-8")


@pytest.fixture
def compared() -> Results:
    """Systems with different baselines, one without a common direction, and paper differences."""
    scores = {"first": 10.0, "control": 11.0, "mine": 13.0, "other": 9.0, "lone": 8.0}
    baselines = {"control": "first", "mine": "control", "other": "first"}
    differences = {"mine": {"de-fr": (0.4, "first")}, "other": {"de-fr": (-0.4, "first")}}
    systems = []
    for name, score in scores.items():
        systems.append(
            system(
                name,
                {"de-fr": ("supervised", score)},
                baseline=baselines.get(name),
                paper_differences=differences.get(name, {}),
            )
        )
    systems.append(system("separate", {"fr-de": ("supervised", 1.0)}, baseline="first"))
    return results_of(systems)


def test_systems_are_compared_with_their_baselines(compared: Results) -> None:
    names = [list(comparison.names) for comparison in compared.comparisons]
    assert names == [["first", "control", "other"], ["control", "mine"]]
    assert "control, other from first; mine from control" in compared.significance_note


def test_a_p_value_needs_a_baseline_and_a_common_direction(compared: Results) -> None:
    first, _, mine, _, lone, separate = compared.systems
    comparison = compared.baseline_comparisons["mine"]
    assert compared.p_value("de-fr", mine) == comparison.rows["de-fr"]["mine"].p
    assert compared.p_value("de-fr", mine) is not None
    assert compared.p_value("de-fr", first) is None
    assert compared.p_value("de-fr", lone) is None
    assert compared.p_value("de-fr", separate) is None
    assert compared.p_value("fr-de", separate) is None


def test_differences_of_the_paper_are_compared_if_they_have_our_baseline(
    compared: Results, tmp_path: Path
) -> None:
    claims = {}
    for claim in compared.claims:
        claims[claim.system] = (claim.baseline, claim.paper, claim.ours, claim.has_same_sign)
    assert claims == {
        "control": ("first", None, 1.0, None),
        "mine": ("control", 0.4, 2.0, None),
        "other": ("first", -0.4, -1.0, True),
    }
    page = saved_page(compared, tmp_path)
    assert "| mine, de-fr | control | +0.40 (from first) | +2.00" in page
    assert "| control, de-fr | first | – | +1.00" in page
    claim = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["claims"][1]
    assert list(claim) == ["system", "beside", "direction", "paper", "paper_beside", "ours", "p"]
    assert (claim["beside"], claim["paper_beside"]) == ("control", "first")


def test_a_difference_of_the_paper_is_from_the_nearest_baseline_in_the_paper() -> None:
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
    baselines = [experiment.baseline_of(name) for name in experiment.systems]
    assert baselines == [None, "first", "control", "mine"]
    differences = {name: experiment.paper_differences(name) for name in experiment.systems}
    assert differences == {
        "first": {},
        "control": {},
        "mine": {"de-en": (1.5, "first")},
        "more": {"de-en": (-0.5, "mine"), "en-de": (1.0, "first")},
    }


@pytest.fixture
def left_out() -> Results:
    systems = [
        system("without de-fr", {"de-fr": ("zero-shot", 10.0), "fr-de": ("supervised", 30.0)}),
        system("without fr-de", {"de-fr": ("supervised", 20.0), "fr-de": ("zero-shot", 12.0)}),
        system("all", {"de-fr": ("supervised", 22.0), "fr-de": ("supervised", 32.0)}),
    ]
    return results_of(systems, figure="left_out")


def test_left_out_directions_are_compared_with_the_systems_that_trained_them(
    left_out: Results,
) -> None:
    assert list(left_out.left_out_directions()) == [
        (DE_FR, 10.0, Spread(21.0, pytest.approx(2**0.5), 2)),
        (FR_DE, 12.0, Spread(31.0, pytest.approx(2**0.5), 2)),
    ]


def test_the_figure_of_left_out_directions_has_two_series(left_out: Results) -> None:
    groups, (zero_shot, trained) = figure_bars(left_out)
    assert groups == ["de-fr", "fr-de"]
    assert [score.mean for score in zero_shot.scores] == [10.0, 12.0]
    assert [score.format() for score in trained.scores] == ["21.00 ± 1.41", "31.00 ± 1.41"]
    assert figure_png(left_out).startswith(b"\x89PNG")


def test_the_page_has_left_out_directions(left_out: Results, tmp_path: Path) -> None:
    untrained = system("without cs-en", {"cs-en": ("zero-shot", 5.0)})
    results = dataclasses.replace(left_out, systems=[*left_out.systems, untrained])
    page = saved_page(results, tmp_path)
    assert "## Directions left out of training" in page
    assert "| direction | left out | trained | difference |" in page
    assert "| de-fr | 10.00† | 21.00 ± 1.41 | -11.00 |" in page
    assert "| cs-en | 5.00† | – |  |" in page
    numbers = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["left_out"]
    assert numbers["fr-de"]["zero-shot"] == 12.0
    assert numbers["cs-en"]["supervised"] is None


GOALS = [
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
"""Scores and aim of each goal of `mine`, its value, and whether it is reached."""

GOALS_WITHOUT_SCORES = [
    Goal(system="no pivot", scores="zero-shot", at_least=0.0),
    Goal(system="mine", scores="supervised", behind_pivot=1.0),
    Goal(system="left out", scores="en-de", at_least=1.0),
]


@pytest.fixture
def with_goals() -> Results:
    """System `mine` with two seeds, a pivot and a paper, and goals."""
    table = Reference.load("attention_bridge_english_centric_with_copies")
    scores = {"en-de": 30.0, "de-en": 20.0, "de-fr": 4.0, "fr-de": 12.5}
    paper = table.model_copy(update={"scores": scores})
    matrices = []
    for en_de, pivot_score in ((29.0, 13.0), (33.0, 14.0)):
        direct = invented_matrix(
            {
                "en-de": ("supervised", en_de),
                "de-en": ("supervised", 20.998),
                "de-fr": ("zero-shot", 10.0),
                "fr-de": ("zero-shot", 12.0),
            }
        )
        pivot = Cell(
            DE_FR,
            "pivot",
            {"bleu": Score(pivot_score, "s")},
            via="en",
            sentences=1,
        )
        hypotheses = {**direct.hypotheses, "de-en-fr": ["a"]}
        matrices.append(dataclasses.replace(direct, pivots={DE_FR: pivot}, hypotheses=hypotheses))
    runs = [TrainedRun("mine", "polyglot train mine")] * 2
    mine = SystemResult("mine", matrices, paper, runs, {})
    other = system("no pivot", {"en-de": ("supervised", 9.0)})
    goals = [Goal(system="mine", scores=scores, **aim) for scores, aim, _, _ in GOALS]
    return results_of([mine, other], goals=[*goals, *GOALS_WITHOUT_SCORES])


def test_goals_are_judged_by_the_means_over_the_seeds(with_goals: Results) -> None:
    judged = [(result.value, result.reached) for result in with_goals.goal_results]
    expected = [(value, reached) for _, _, value, reached in GOALS]
    assert judged == expected + [("–", None)] * len(GOALS_WITHOUT_SCORES)


def test_each_direction_has_its_scores_and_those_of_the_paper(with_goals: Results) -> None:
    """A direction that a table or a system lacks has no score there."""
    mine, other = with_goals.systems
    scores = {"en-de": 30.0, "fr-de": 12.5}
    paper = mine.reference.model_copy(update={"scores": scores})
    mine = dataclasses.replace(mine, reference=paper)
    lines = directions_table(results_of([mine, other])).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["direction", "mine", "the paper", "no pivot"]
    assert cells[2:] == [
        ["en-de", "31.00 ± 2.83", "30.00", "9.00"],
        ["de-en", "21.00 ± 0.00", "", "–"],
        ["de-fr", "10.00 ± 0.00†", "", "–"],
        ["fr-de", "12.00 ± 0.00†", "12.50", "–"],
        ["de-en-fr", "13.50 ± 0.71‡", "", "–"],
    ]


def test_the_page_has_goals_papers_and_pivot_translation(
    with_goals: Results, tmp_path: Path
) -> None:
    page = saved_page(with_goals, tmp_path)
    for line in (
        "| goal | result | reached |",
        "| mine, zero-shot: at most 3 behind pivot translation | -3.50 | no |",
        "| left out, en-de: at least 1 | – | – |",
        "|  | ours | the paper's | difference | common directions |",
        "| mine, supervised | 26.00 | 25.00 | +1.00 | 2 |",
        "| mine, zero-shot | 11.00 | 8.25 | +2.75 | 2 |",
        "| mine | 26.00 ± 1.41 (2 directions) |",
        "| no pivot | 9.00 (1 direction) |",
        "| de-fr | 10.00 ± 0.00† | 13.50 ± 0.71‡ | -3.50 |",
    ):
        assert line in page, line
    numbers = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert numbers["goals"][0] == {
        "goal": "mine, supervised: at least 26",
        "found": "26.00",
        "reached": True,
    }


@pytest.mark.parametrize(
    ("score", "value", "reached"), [(38.9249, "0 of 1", False), (38.9251, "1 of 1", True)]
)
def test_goals_are_judged_by_the_rounded_score(
    score: float,
    value: str,
    reached: bool,
) -> None:
    table = Reference.load("attention_bridge_many_to_many")
    paper = table.model_copy(update={"scores": {"en-de": 38.92}})
    mine = dataclasses.replace(system("mine", {"en-de": ("supervised", score)}), reference=paper)
    goal = Goal(system="mine", scores="en-de", each_above_paper=True)
    (result,) = results_of([mine], goals=[goal]).goal_results
    assert (result.value, result.reached) == (value, reached)


def test_the_file_has_all_machines_and_signatures() -> None:
    first = dataclasses.replace(
        invented_matrix({"de-fr": ("zero-shot", 10.0)}), machine="A, 2 cores"
    )
    second = dataclasses.replace(
        invented_matrix({"de-fr": ("zero-shot", 12.0)}), machine="B, 8 cores"
    )
    cell = dataclasses.replace(second.cells[DE_FR], scores={"bleu": Score(12.0, "other")})
    second = dataclasses.replace(second, cells={DE_FR: cell})
    mine = SystemResult("mine", [first, second], None, [TrainedRun("mine", "train")], {})
    values = results_dict(results_of([mine]))["systems"]["mine"]
    assert values["machine"] == "A, 2 cores; B, 8 cores"
    assert values["versions"] == dict(first.versions)
    assert values["signatures"]["bleu"] == {"s": ["fr"], "other": ["fr"]}
    assert ScoreMatrix.merge([first, second]).machine == values["machine"]


def test_the_page_explains_the_test_of_pivot_translation(tmp_path: Path) -> None:
    direct = invented_matrix({"de-fr": ("zero-shot", 10.0)})
    pivot = dataclasses.replace(direct.cells[DE_FR], kind="pivot", via="en")
    hypotheses = {"de-fr": ["a"], "de-en-fr": ["b"]}
    with_pivot = dataclasses.replace(direct, pivots={DE_FR: pivot}, hypotheses=hypotheses)
    mine = SystemResult("mine", [with_pivot], None, [TrainedRun("mine", "train")], {})
    results = results_of([mine])
    texts = visible_texts(saved_page(results, tmp_path))
    assert results.significance_note == ""
    assert results.pivot_note.startswith(
        "* direct and pivot translation differ with p < 0.05 (paired bootstrap, BLEU|"
    )
    assert any(text.startswith(results.pivot_note) for text in texts)
    assert "Direct and pivot translation" in texts
    assert results_dict(results)["test_of_hops"] == results.pivot_note


def test_the_deviation_of_a_mean_is_over_the_means_of_the_seeds() -> None:
    mine = system(
        "mine",
        {"de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 20.0)},
        {"de-fr": ("zero-shot", 12.0), "fr-de": ("zero-shot", 30.0)},
    )
    assert mine.spread("de-fr", BLEU).format() == "11.00 ± 1.41"
    means = mine.means_by_kind(BLEU)
    assert means == {"zero-shot": Spread(18.0, pytest.approx(18**0.5), 2)}
    assert means["zero-shot"].values == (15.0, 21.0)


def test_every_seed_is_part_of_the_tests() -> None:
    scores = {"bleu": Score(1.0, "s")}
    direct = Cell(
        DE_FR,
        "zero-shot",
        scores,
        sentences=1,
    )
    pivot = Cell(
        DE_FR,
        "pivot",
        scores,
        sentences=1,
        via="en",
    )
    base = dataclasses.replace(
        matrix(), cells={DE_FR: direct}, pivots={DE_FR: pivot}, texts={"": ["a b c d e"]}
    )

    def seeds(*outputs: str) -> list[ScoreMatrix]:
        matrices = []
        for output in outputs:
            hypotheses = {"de-fr": [output], "de-en-fr": ["a b c d e"]}
            matrices.append(dataclasses.replace(base, hypotheses=hypotheses))
        return matrices

    first = dataclasses.replace(system("first", {}), matrices=seeds("a b c d e", "a b c d e"))
    mine = system("mine", {}, baseline="first")
    mine = dataclasses.replace(mine, matrices=seeds("a b c d e", "a b c d"))
    results = results_of([first, mine])
    assert results.p_value("de-fr", mine) < 1, "the first seeds are equal, the second ones differ"
    p_values = {}
    for name, comparison in results.pivot_comparisons.items():
        p_values[name] = comparison.rows["de-fr"]["direct"].p
    assert p_values["first"] == 1.0
    assert p_values["mine"] < 1


@pytest.mark.parametrize(("seeds", "has_note"), [(1, False), (2, True)])
def test_the_page_explains_the_test_of_several_seeds(
    seeds: int, has_note: bool, tmp_path: Path
) -> None:
    scores = {"de-fr": ("zero-shot", 10.0)}
    first = system("first", *[scores] * seeds)
    page = saved_page(results_of([first, system("mine", scores, baseline="first")]), tmp_path)
    assert "differs from first with p < 0.05" in page
    assert ("the test compares means over the seeds" in page) == has_note
    assert ("- A score over several seeds is mean ± standard deviation." in page) == has_note
    assert ("for the references. First seed of each system." in page) == has_note


def test_parameters_are_those_of_all_models_of_one_seed() -> None:
    run = TrainedRun("mine", "polyglot train mine", parameters=7)
    mine = system("mine", {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    assert dataclasses.replace(mine, runs=[run] * 2).parameters == 7
    assert dataclasses.replace(mine, runs=[run] * 4).parameters == 14, "two models for each seed"


def test_the_page_has_the_reason_of_a_missing_score(tmp_path: Path) -> None:
    first = invented_matrix({"de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 20.0)})
    second = invented_matrix({"de-fr": ("zero-shot", 12.0)})
    missing = Cell(FR_DE, "zero-shot", reason="no text")
    second = dataclasses.replace(second, cells={**second.cells, FR_DE: missing})
    mine = SystemResult("mine", [first, second], None, [TrainedRun("mine", "train")], {})
    page = saved_page(results_of([mine]), tmp_path)
    assert "## Without a score" in page
    assert "- fr-de: no text" in page


def test_the_figure_has_bars_of_zero_shot_pairs() -> None:
    first = system("first", {"de-fr": ("zero-shot", 10.0), "en-de": ("supervised", 30.0)})
    second = system("second", {"de-fr": ("supervised", 20.0), "en-de": ("supervised", 31.0)})
    groups, bars = figure_bars(results_of([first, second]))
    assert groups == ["de-fr"]
    assert [(series.name, series.scores[0].mean) for series in bars] == [
        ("first", 10.0),
        ("second", 20.0),
    ]


def test_the_figure_has_bars_of_all_pairs_without_zero_shot_pairs() -> None:
    mine = system("mine", {"de-fr": ("supervised", 20.0), "en-de": ("supervised", 31.0)})
    groups, (series,) = figure_bars(results_of([mine]))
    assert groups == ["de-fr", "en-de"]
    assert [score.mean for score in series.scores] == [20.0, 31.0]


def test_the_introduction_of_the_page(tmp_path: Path) -> None:
    mine = system("mine", {"de-fr": ("zero-shot", 10.0)})
    results = Results(
        "Title", "Why?", "systems", [mine], expected="More.", size="cpu", about="a minute."
    )
    assert saved_page(results, tmp_path).split("\n\n")[:5] == [
        "# Title",
        "**Question.** Why?",
        "**Expected.** More.",
        "Size `cpu`: a minute.",
        "Scores are BLEU unless stated otherwise. † zero-shot: never trained · "
        "( ) monolingual copy · – no score · ‡ pivot translation, through another language.",
    ]


def test_names_of_systems_and_runs_stay_text_on_the_page(tmp_path: Path) -> None:
    odd = system(MARKDOWN_TEXT, {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    plain = system("plain", {"de-fr": ("zero-shot", 9.0)}, baseline=MARKDOWN_TEXT)
    checkpoint = {"run": MARKDOWN_TEXT, "checkpoint": "best"}
    odd = dataclasses.replace(
        odd,
        runs=[dataclasses.replace(run, checkpoint=checkpoint) for run in odd.runs],
        reference=Reference.load("attention_bridge_english_centric_with_copies"),
        settings={"a|b": '"`c`"'},
    )
    page = saved_page(Results(MARKDOWN_TEXT, MARKDOWN_TEXT, "systems", [odd, plain]), tmp_path)
    shown = visible_texts(page)
    assert shown[0] == MARKDOWN_TEXT
    assert shown[1].endswith(MARKDOWN_TEXT), "the question"
    for text in (f"{MARKDOWN_TEXT}, the paper", f"{MARKDOWN_TEXT}, zero-shot", '"`c`"'):
        assert text in shown
    for beginning in (
        f"* differs from {MARKDOWN_TEXT} with p < 0.05 (paired bootstrap, BLEU|",
        f"{MARKDOWN_TEXT} is compared with ",
        f"{MARKDOWN_TEXT}: best checkpoint",
    ):
        assert any(text.startswith(beginning) for text in shown), beginning
    whole_texts = [text for text in shown if text == MARKDOWN_TEXT]
    assert len(whole_texts) == 5, "title, means, directions, differing settings, commands"
    assert not {"html_inline", "html_block", "em_open", "link_open"} & token_types(page)


def test_the_figure_of_systems_has_hatched_bars_of_pivot_translation(with_goals: Results) -> None:
    """Of the zero-shot pairs; a bar is absent where a system has no score."""
    for tried in with_goals.systems:
        for seed, scored in enumerate(tried.matrices):
            protocol = scored.protocol.model_copy(update={"pivot": "en"})
            tried.matrices[seed] = dataclasses.replace(scored, protocol=protocol)
    groups, series = figure_bars(with_goals)
    assert groups == ["de-fr", "fr-de"]
    bars = {}
    for bar in series:
        means = [score and score.mean for score in bar.scores]
        bars[bar.name] = (bar.colour, bar.hatched, means)
    assert bars == {
        "mine": (0, False, [10.0, 12.0]),
        "mine, through en": (0, True, [13.5, None]),
    }
    assert figure_png(with_goals).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        (("supervised", "supervised"), ["de-fr", "fr-de"]),
        (("zero-shot", "supervised"), ["de-fr"]),
        (("supervised", "zero-shot"), ["fr-de"]),
    ],
)
def test_the_figure_shows_zero_shot_pairs_or_all(kinds, shown) -> None:
    systems = []
    for number, name in enumerate(("first", "second")):
        scores = {"de-fr": (kinds[0], 4.0 + number), "fr-de": (kinds[1], 6.0 + number)}
        systems.append(system(name, {**scores, "de-de": ("copy", 90.0)}))
    groups, series = figure_bars(results_of(systems))
    assert groups == shown
    assert [(bar.name, bar.colour, bar.hatched) for bar in series] == [
        ("first", 0, False),
        ("second", 1, False),
    ]


def test_a_system_without_some_directions_has_bars_of_the_others() -> None:
    """A system without any of the directions has none."""
    scores = {"de-fr": ("zero-shot", 4.0), "fr-de": ("zero-shot", 6.0)}
    partial = system("partial", {"fr-de": scores["fr-de"]})
    untrained = system("untrained", {"en-de": ("supervised", 9.0)})
    _, series = figure_bars(results_of([system("all", scores), partial, untrained]))
    means = {bar.name: [score and score.mean for score in bar.scores] for bar in series}
    assert means == {"all": [4.0, 6.0], "partial": [None, 6.0]}
