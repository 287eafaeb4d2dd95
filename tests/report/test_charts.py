"""Curves: axes of round numbers that hold every point, and not more points than can be seen."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as some

from polyglot.report.charts import POINTS, Chart, draw_chart, thin_out, ticks

NUMBERS = some.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-3 or value == 0)


@given(NUMBERS, NUMBERS)
def test_ticks_hold_what_is_between(one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = ticks(low, high)
    assert found[0] <= low + 1e-6 and found[-1] >= high - 1e-6 and 1 <= len(found) <= 8
    steps = {round(after - before, 9) for before, after in zip(found, found[1:])}
    assert max(steps, default=0) - min(steps, default=0) <= 1e-6 * max(1.0, abs(low), abs(high))


@given(some.lists(some.tuples(some.integers(), some.floats(allow_nan=False)), max_size=2000))
def test_thinned_curves_keep_their_ends(points: list[tuple[float, float]]) -> None:
    found = thin_out(points)
    assert len(found) <= POINTS + 1 and found[:1] == points[:1] and found[-1:] == points[-1:]


def test_a_curve_is_drawn_where_its_numbers_are() -> None:
    html = draw_chart(
        Chart(
            "loss",
            "Loss <of> a task",
            "nats",
            {"en-de": [(0, 0.0), (100, 10.0)], "x": [(0, math.nan)]},
        )
    )
    assert 'd="M48.0 266.0L508.0 10.0"' in html  # from the lower left corner to the upper right one
    assert "Loss &lt;of&gt; a task" in html and "<of>" not in html
    assert '<th scope="row">100</th><td>10</td>' in html and 'data-curve="x"' not in html


def test_a_constant_curve_stands_above_zero() -> None:
    html = draw_chart(Chart("rate", "Rate", "rate", {"rate": [(0, 0.5), (100, 0.5)]}))
    assert 'd="M48.0 10.0L508.0 10.0"' in html and ">0<" in html and ">0.5<" in html


def test_no_numbers_are_no_picture() -> None:
    assert draw_chart(Chart("loss", "Loss", "nats", {"en-de": [(1, math.inf)]})) == ""
