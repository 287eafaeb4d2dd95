"""Curves as SVG, drawn without a library, so that they print well and follow the page's colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from polyglot.core.score_tables import format_number
from polyglot.report.section import render

# Size and margins of the drawing
WIDTH = 520
HEIGHT = 300
LEFT = 48
RIGHT = 12
TOP = 10
BOTTOM = 34

POINTS = 240  # of a curve at most: more cannot be distinguished in this width
MIN_POINTS = 24  # smallest limit of the points of a curve
ALL_POINTS = 12_000  # of a chart, approximately
MANY_CURVES = 8  # with more curves, a chart also has their mean and a folded legend
TABLE_ROWS = 12  # of the table of a chart
COLOURS = 8  # in style.css; further curves are dashed

Point = tuple[float, float]
Points = Sequence[Point]


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over the same steps."""

    name: str
    """start of ids in the page, letters only"""
    title: str
    unit: str
    """title of the vertical axis"""
    curves: Mapping[str, Points]
    order: Sequence[str] = ()
    """order of the colours, so that a name has the same colour in all charts; default: curves"""


@dataclass(frozen=True, slots=True)
class Axis:
    """Linear map from values to positions in the drawing."""

    low: float
    high: float
    start: float
    """position of the lowest value"""
    end: float
    """position of the highest value"""

    def position(self, value: float) -> float:
        span = self.high - self.low or 1
        share = (value - self.low) / span
        position = self.start + share * (self.end - self.start)
        return round(position, 1)

    def mark(self, tick: float) -> tuple[float, str]:
        """Position and text of a tick."""
        return self.position(tick), _format_tick(tick)


def draw_chart(chart: Chart) -> Markup:
    """HTML figure: the chart, a switch for each curve, and a table of the numbers.

    Empty if no curve has a finite number.
    """
    curves = _finite_curves(chart.curves)
    if not curves:
        return Markup("")
    mean: list[Point] = []
    if len(curves) > MANY_CURVES:
        mean = mean_curve(curves.values())
    limit = max(MIN_POINTS, min(POINTS, ALL_POINTS // len(curves)))
    for name, points in curves.items():
        curves[name] = thin_out(points, limit)

    steps = _distinct_steps(curves.values())
    first = steps[0]
    last = steps[-1]
    across = Axis(first, last, start=LEFT, end=WIDTH - RIGHT)
    across_ticks = [tick for tick in ticks(first, last) if first <= tick <= last]
    up, up_ticks = _vertical_axis(curves.values())
    return render(
        "chart.html",
        chart=chart,
        width=WIDTH,
        height=HEIGHT,
        bottom=HEIGHT - BOTTOM,
        left=LEFT,
        right=WIDTH - RIGHT,
        across=[across.mark(tick) for tick in across_ticks],
        up=[up.mark(tick) for tick in up_ticks],
        lines=_lines(curves, chart.order, across, up),
        mean=_path(thin_out(mean), across, up),
        many=len(curves) > MANY_CURVES,
        rows=_table_rows(curves, steps),
    )


def _finite_curves(curves: Mapping[str, Points]) -> dict[str, Points]:
    """Curves without values that are not finite; empty curves are left out."""
    finite_curves: dict[str, Points] = {}
    for name, points in curves.items():
        finite = [(x, y) for x, y in points if math.isfinite(y)]
        if finite:
            finite_curves[name] = finite
    return finite_curves


def mean_curve(curves: Iterable[Points]) -> list[Point]:
    """Mean of the curves that have a value, at each step."""
    values: dict[float, list[float]] = {}
    for points in curves:
        for x, y in points:
            values.setdefault(x, []).append(y)
    return [(x, sum(ys) / len(ys)) for x, ys in sorted(values.items())]


def _distinct_steps(curves: Iterable[Points]) -> list[float]:
    """Steps of all curves in ascending order."""
    steps: set[float] = set()
    for points in curves:
        steps.update(x for x, _ in points)
    return sorted(steps)


def _vertical_axis(curves: Iterable[Points]) -> tuple[Axis, list[float]]:
    """Vertical axis with its ticks; it ends at a tick or beyond."""
    values: list[float] = []
    for points in curves:
        values += [y for _, y in points]
    low = min(values)
    high = max(values)
    if low == high:  # a constant curve is drawn with zero as the other end of the axis
        low = min(low, 0.0)
        high = max(high, 0.0) or 1.0

    tick_values = ticks(low, high)
    low = min(low, tick_values[0])
    high = max(high, tick_values[-1])
    axis = Axis(low, high, start=HEIGHT - BOTTOM, end=TOP)
    return axis, tick_values


def _lines(
    curves: Mapping[str, Points],
    order: Sequence[str],
    across: Axis,
    up: Axis,
) -> list[dict[str, Any]]:
    """Name, colour and SVG path of each curve."""
    numbers = {name: number for number, name in enumerate(order or curves)}
    lines = []
    for name, points in curves.items():
        end_x, end_y = points[-1]
        number = numbers[name]
        line = {
            "name": name,
            "colour": number % COLOURS,
            "dashed": number // COLOURS % 2,
            "path": _path(points, across, up),
            "end": (across.position(end_x), up.position(end_y)),
            "single": len(points) == 1,
        }
        lines.append(line)
    return lines


def _path(points: Points, across: Axis, up: Axis) -> str:
    """SVG path of a curve; empty without points."""
    if not points:
        return ""
    corners = "L".join(f"{across.position(x)} {up.position(y)}" for x, y in points)
    return f"M{corners}"


def _table_rows(
    curves: Mapping[str, Points],
    steps: Sequence[float],
) -> list[tuple[str, list[str | None]]]:
    """Step and value of each curve, for at most TABLE_ROWS steps; None without a value."""
    values_of_curves = [dict(points) for points in curves.values()]
    count = min(TABLE_ROWS, len(steps))
    last_row = max(1, count - 1)
    last_step = len(steps) - 1
    rows = []
    for number in range(count):
        step = steps[round(number * last_step / last_row)]
        row = [_format_value(values.get(step)) for values in values_of_curves]
        rows.append((format_number(step, 0), row))
    return rows


def _format_value(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:,.3g}"


def thin_out(points: Points, limit: int = POINTS) -> list[Point]:
    """Keep at most `limit` points and the last one."""
    if not points:
        return []
    every_nth = math.ceil(len(points) / limit)
    return [*points[:-1:every_nth], points[-1]]


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round numbers from at most `low` to at least `high`, in steps of 1, 2 or 5 times 10^n."""
    span = (high - low) or abs(high) or 1.0
    step = _tick_step(span, about)
    first = math.floor(low / step)
    last = math.ceil(high / step)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _tick_step(span: float, about: int) -> float:
    """Smallest step that divides a span into at most `about` parts."""
    exponent = math.floor(math.log10(span / about))
    power = 10**exponent
    for factor in (1, 2, 5):
        step = power * factor
        if span / step <= about:
            return step
    return power * 10


def _format_tick(value: float) -> str:
    """`1.5k`, `0.002`."""
    if abs(value) >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:g}"
