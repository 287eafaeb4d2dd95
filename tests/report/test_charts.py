"""Curves: round ticks that enclose all points, and a limited number of points."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from polyglot.report.charts import (
    ALL_POINTS,
    POINTS,
    Chart,
    draw_chart,
    mean_curve,
    thin_out,
    ticks,
)
from polyglot.report.sections.curves import MAX_CURVES, charts, mean_by_target

NUMBERS = st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-3 or value == 0)


@given(NUMBERS, NUMBERS)
def test_ticks_enclose_the_range_in_equal_steps(first: float, second: float) -> None:
    low, high = sorted((first, second))
    positions = ticks(low, high)
    assert positions[0] <= low + 1e-6
    assert positions[-1] >= high - 1e-6
    assert 1 <= len(positions) <= 8
    steps = {round(after - before, 9) for before, after in zip(positions, positions[1:])}
    tolerance = 1e-6 * max(1.0, abs(low), abs(high))
    assert max(steps, default=0) - min(steps, default=0) <= tolerance


@given(st.lists(st.tuples(st.integers(), st.floats(allow_nan=False)), max_size=2000))
def test_thinned_curves_keep_both_ends(points: list[tuple[float, float]]) -> None:
    thinned = thin_out(points)
    assert len(thinned) <= POINTS + 1
    assert thinned[:1] == points[:1]
    assert thinned[-1:] == points[-1:]


def test_a_curve_goes_from_corner_to_corner() -> None:
    curves = {"en-de": [(0, 0.0), (100, 10.0)], "x": [(0, math.nan)]}
    html = draw_chart(Chart("loss", "Loss <of> a task", "nats", curves))
    assert 'd="M48.0 266.0L508.0 10.0"' in html, "from the lower left to the upper right corner"
    assert "Loss &lt;of&gt; a task" in html
    assert "<of>" not in html
    assert '<th scope="row">100</th><td>10</td>' in html
    assert 'data-curve="x"' not in html


def test_the_axis_of_a_constant_curve_starts_at_zero() -> None:
    html = draw_chart(Chart("rate", "Rate", "rate", {"rate": [(0, 0.5), (100, 0.5)]}))
    assert 'd="M48.0 10.0L508.0 10.0"' in html
    assert ">0<" in html
    assert ">0.5<" in html


def test_thousands_on_an_axis_are_short() -> None:
    html = draw_chart(Chart("loss", "Loss", "nats", {"en-de": [(0, 0.0), (2000, 10.0)]}))
    assert ">500<" in html
    assert ">1k<" in html
    assert ">1.5k<" in html


def test_no_finite_numbers_give_no_chart() -> None:
    assert draw_chart(Chart("loss", "Loss", "nats", {"en-de": [(1, math.inf)]})) == ""


def test_many_curves_have_a_mean_and_fewer_points_each() -> None:
    curves = {}
    for number in range(100):
        curves[f"l{number}-en"] = [(float(step), float(number)) for step in range(400)]
    html = str(draw_chart(Chart("loss", "Loss", "nats", curves)))
    assert html.count('<g class="curve') == 101
    assert 'class="curve mean"' in html
    assert "100 curves, and their mean" in html
    assert html.count("L") < 1.3 * ALL_POINTS

    few = str(draw_chart(Chart("loss", "Loss", "nats", {"en-de": curves["l1-en"]})))
    assert "mean" not in few


def test_more_than_eight_curves_have_a_mean_and_a_folded_legend() -> None:
    for count, has_mean in ((1, False), (8, False), (9, True)):
        curves = {f"l{number}-en": [(0.0, 1.0), (9.0, 2.0)] for number in range(count)}
        html = str(draw_chart(Chart("loss", "Loss", "nats", curves)))
        assert ("mean of all curves" in html) == has_mean
        assert ('<details class="legend-box">' in html) == has_mean
        assert html.count("</details>") == 1 + has_mean  # the other one is the table
        assert ('class="chart many"' in html) == has_mean


def test_the_mean_is_that_of_the_curves_with_a_value() -> None:
    assert mean_curve([[(1, 2.0), (2, 4.0)], [(2, 6.0)]]) == [(1, 2.0), (2, 5.0)]
    curves = {"en-de": [(1, 2.0)], "fr-de": [(1, 4.0)], "en-fr": [(1, 7.0)]}
    assert mean_by_target(curves) == {"into de": [(1, 3.0)], "into fr": [(1, 7.0)]}


def test_more_tasks_than_curves_are_averaged_by_target_language() -> None:
    losses = {}
    for number in range(MAX_CURVES):
        losses[f"l{number}-en"] = 1.0
        losses[f"en-l{number}"] = 2.0
    record = {"kind": "validation", "step": 1, "losses": losses, "bleu": {"l0-en": 3.0}}
    loss, bleu = [chart for chart in charts([record]) if chart.name in ("heldout", "bleu")]
    assert len(loss.curves) == MAX_CURVES + 1
    assert loss.curves["into en"] == [(1.0, 1.0)]
    assert list(bleu.curves) == ["l0-en"]
