"""Curves as SVG: drawn here, so that they need no library in the page, print well and follow its colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from polyglot.report.section import render

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 300, 48, 12, 10, 34  # of the drawing and its margins
POINTS = 240  # of a curve at most: more than the eye can tell apart in this width
ROWS = 12  # of the table behind a picture
COLOURS = 8  # in style.css; further curves are dashed

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Some curves over the same steps."""

    name: str
    """letters only: ids begin with it"""
    title: str
    unit: str
    """what is on the vertical axis"""
    curves: Mapping[str, Points]
    order: Sequence[str] = ()
    """of the colours, so that a curve has the same one in every chart; by default that of the curves"""


def draw(chart: Chart) -> Markup:
    """A figure: the picture, a switch for each curve, and a table of the numbers."""
    curves = {
        name: thinned([(x, y) for x, y in points if math.isfinite(y)])
        for name, points in chart.curves.items()
    }
    curves = {name: points for name, points in curves.items() if points}
    everything = [point for points in curves.values() for point in points]
    if not everything:
        return Markup("")
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*everything))
    if low == high:  # a line that never moves is seen best from zero
        low, high = min(low, 0.0), max(high, 0.0) or 1.0
    verticals = ticks(low, high)
    low, high = min(low, verticals[0]), max(high, verticals[-1])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - left) / (right - left or 1)
        up = (y - low) / (high - low or 1)
        return round(LEFT + across * (WIDTH - LEFT - RIGHT), 1), round(
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1
        )

    order = list(chart.order) or list(curves)
    lines = [
        {
            "name": name,
            "colour": order.index(name) % COLOURS,
            "dashed": order.index(name) // COLOURS,
            "path": "M" + "L".join(f"{x} {y}" for x, y in (place(*point) for point in points)),
            "end": place(*points[-1]),
            "single": len(points) == 1,
        }
        for name, points in curves.items()
    ]
    steps = sorted({x for points in curves.values() for x, _ in points})
    shown = [
        steps[round(place * (len(steps) - 1) / max(1, min(ROWS, len(steps)) - 1))]
        for place in range(min(ROWS, len(steps)))
    ]
    values = {name: dict(points) for name, points in curves.items()}
    return render(
        "chart.html",
        chart=chart,
        width=WIDTH,
        height=HEIGHT,
        bottom=HEIGHT - BOTTOM,
        left=LEFT,
        right=WIDTH - RIGHT,
        across=[
            (place(value, low)[0], _short(value))
            for value in ticks(left, right)
            if left <= value <= right
        ],
        up=[(place(left, value)[1], _short(value)) for value in verticals],
        lines=lines,
        rows=[
            (
                f"{step:,.0f}",
                [
                    None if (value := values[name].get(step)) is None else f"{value:,.3g}"
                    for name in curves
                ],
            )
            for step in shown
        ],
    )


def thinned(points: Points) -> list[tuple[float, float]]:
    """At most `POINTS` of them, the last one always."""
    every = math.ceil(len(points) / POINTS)
    return [*points[: -1 : every or 1], points[-1]] if points else []


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round numbers from below the lowest to above the highest: steps of 1, 2 or 5 times a power of ten."""
    span = (high - low) or abs(high) or 1.0
    power = 10 ** math.floor(math.log10(span / about))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= about)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _short(value: float) -> str:
    """`1.5k`, `0.002`."""
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"
