"""Figures of the analyses as PNG files: bars, matrices, arcs, words on a plane, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
from rich.cells import cell_len

from polyglot.core.figure_fonts import figure_bytes, is_right_to_left

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
TEXT_COLOUR = "#1b1f24"
POINT_COLOUR = "#c9ced6"
BLUE = "#2a6fb0"
CURVE_STYLES = ("o-", "s--", "^:")  # the first is blue


class Panel(NamedTuple):
    """Matrix with the names of its rows and columns."""

    title: str
    values: numpy.ndarray
    """(rows, columns)"""
    rows: Sequence[str]
    columns: Sequence[str]


def bars_png(
    shares: Sequence[float],
    *,
    title: str,
    x_label: str,
) -> bytes:
    """Bar chart with one bar for each share, from 0 to 1, in their order."""
    figure = _figure(max(4.0, 0.22 * len(shares) + 1), 2.8, title)
    axes = figure.subplots()
    axes.bar(range(len(shares)), [100 * share for share in shares], color=BLUE)
    axes.xaxis.get_major_locator().set_params(integer=True)
    _label_axes(axes, x_label, "share in percent")
    axes.tick_params(labelsize=7)
    return figure_png(figure)


def panels_png(panels: Sequence[Panel], *, title: str) -> bytes:
    """Matrices side by side with common colours: white is 0, blue positive, red negative."""
    widths = [_panel_width(panel) for panel in panels]
    most_rows = max(len(panel.rows) for panel in panels)
    height = max(2.6, 0.24 * most_rows + 1.6)
    figure = _figure(sum(widths), height, title)

    largest = 0.0
    has_negative = False
    for panel in panels:
        largest = max(largest, float(numpy.abs(panel.values).max(initial=0)))
        has_negative |= bool((panel.values < 0).any())
    largest = largest or 1.0
    colours = {"cmap": "Blues", "vmin": 0}
    if has_negative:
        colours = {"cmap": "RdBu", "vmin": -largest}

    grid = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)
    for axes, panel in zip(grid[0], panels):
        axes.imshow(panel.values, **colours, vmax=largest, aspect="auto")
        axes.set_title(panel.title, size=8, color=TEXT_COLOUR, parse_math=False)
        axes.set_xticks(
            range(len(panel.columns)),
            panel.columns,
            size=7,
            rotation=90,
            parse_math=False,
        )
        axes.set_yticks(range(len(panel.rows)), panel.rows, size=7, parse_math=False)
    return figure_png(figure)


def _panel_width(panel: Panel) -> float:
    """Width in inches, with room for the longest name of a row."""
    longest_name = max(map(cell_len, panel.rows))
    return max(2.2, 0.27 * len(panel.columns) + 0.07 * longest_name + 0.6)


def arcs_png(
    words: Sequence[str],
    heads: Sequence[int | None],
    shares: Sequence[float],
    *,
    title: str,
) -> bytes:
    """Sentence with an arc from each head to its word; a larger share is a stronger arc.

    heads: index of the head of each word; None for a word without an arc.
    """
    places = _word_places(words)
    if is_right_to_left(words):
        places = places[-1] - places
    distances = []
    for word, head in enumerate(heads):
        if head is not None:
            distances.append(abs(places[head] - places[word]))
    widest = max(distances, default=1.0)

    figure = _figure(max(4.0, 0.75 * places.max() + 1.2), 1.3 + 0.22 * widest, title)
    axes = figure.subplots()
    for word, (head, share) in enumerate(zip(heads, shares)):
        axes.text(
            places[word],
            0,
            words[word],
            ha="center",
            va="top",
            size=9,
            color=TEXT_COLOUR,
            parse_math=False,
        )
        if head is not None:
            _draw_arc(axes, start=places[head], end=places[word], share=share)
    axes.set(xlim=(places.min() - 0.6, places.max() + 0.6), ylim=(-0.4, 0.25 * widest + 0.3))
    axes.axis("off")
    return figure_png(figure)


def _word_places(words: Sequence[str]) -> numpy.ndarray:
    """Centre of each word on a line, in inches."""
    distances = [0.0]
    for word, following in zip(words, words[1:]):
        letters = (cell_len(word) + cell_len(following)) / 2
        distances.append(0.16 * letters + 0.35)
    return numpy.cumsum(distances)


def _draw_arc(
    axes: Axes,
    *,
    start: float,
    end: float,
    share: float,
) -> None:
    from matplotlib.patches import FancyArrowPatch

    bend = -0.55 if start < end else 0.55
    arc = FancyArrowPatch(
        (start, 0.05),
        (end, 0.05),
        connectionstyle=f"arc3,rad={bend}",
        arrowstyle="-|>",
        mutation_scale=8,
        color=BLUE,
        alpha=0.25 + 0.75 * share,
        linewidth=0.6 + 1.6 * share,
    )
    axes.add_patch(arc)


def plane_png(
    words: Sequence[str],
    points: numpy.ndarray,
    *,
    title: str,
) -> bytes:
    """Words at their points (N, 2). The first word is emphasized."""
    figure = _figure(6.0, 5.0, title)
    axes = figure.subplots()
    axes.scatter(*points.T, s=8, color=POINT_COLOUR)
    for number, (word, point) in enumerate(zip(words, points)):
        style = {"size": 10, "color": TEXT_COLOUR, "weight": "normal"}
        if number == 0:
            style = {"size": 13, "color": BLUE, "weight": "bold"}
        axes.annotate(word, point, **style, parse_math=False)
    _label_axes(axes, "first axis", "second axis")
    axes.tick_params(labelsize=6)
    return figure_png(figure)


def curves_png(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
) -> bytes:
    """Curves through points (x, y), with a logarithmic x axis. curves: at most three, by name."""
    figure = _figure(5.5, 3.6, title)
    axes = figure.subplots()
    for (name, points), style in zip(curves.items(), CURVE_STYLES):
        colour = BLUE if style == CURVE_STYLES[0] else TEXT_COLOUR
        axes.plot(
            *zip(*points),
            style,
            label=name,
            color=colour,
            markersize=4,
            linewidth=1.4,
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    _label_axes(axes, x_label, y_label)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, frameon=False)
    return figure_png(figure)


def _label_axes(
    axes: Axes,
    x_label: str,
    y_label: str,
) -> None:
    axes.set_xlabel(x_label, size=8, color=TEXT_COLOUR)
    axes.set_ylabel(y_label, size=8, color=TEXT_COLOUR)


def _figure(
    width: float,
    height: float,
    title: str,
) -> Figure:
    """Empty figure. Made without pyplot: no window, no global state."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width, height),
        dpi=DPI,
        facecolor="white",
        layout="constrained",
    )
    figure.suptitle(
        title,
        size=10,
        weight="bold",
        color=TEXT_COLOUR,
        parse_math=False,
    )
    return figure


def figure_png(figure: Figure) -> bytes:
    """Return a figure as a PNG file."""
    return figure_bytes(figure, background="white")
