"""PNG files of what an analysis found: bars, matrices side by side, arcs over words, words on a plane."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger("polyglot")

DOTS, INK, LINE, BLUE = 150, "#1b1f24", "#c9ced6", "#2a6fb0"


class Panel(NamedTuple):
    """A matrix with its names."""

    title: str
    values: numpy.ndarray
    """(rows, columns)"""
    rows: Sequence[str]
    columns: Sequence[str]


def bars_png(shares: Sequence[float], *, title: str, of: str) -> bytes:
    """A bar each, in their order."""
    figure = _figure(max(4.0, 0.22 * len(shares) + 1), 2.8, title)
    axes = figure.subplots()
    axes.bar(range(len(shares)), [100 * share for share in shares], color=BLUE)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(of, size=8, color=INK)
    axes.set_ylabel("share in percent", size=8, color=INK)
    axes.tick_params(labelsize=7)
    return _png(figure)


def panels_png(panels: Sequence[Panel], *, title: str) -> bytes:
    """Matrices side by side in the same shades: from white to blue, and to red where a value is below 0."""
    sizes = [
        max(2.2, 0.27 * len(panel.columns) + 0.07 * max(map(len, panel.rows)) + 0.6)
        for panel in panels
    ]
    figure = _figure(
        sum(sizes), max(2.6, 0.24 * max(len(panel.rows) for panel in panels) + 1.6), title
    )
    top = max(float(numpy.abs(panel.values).max(initial=0)) for panel in panels) or 1.0
    shades = (
        {"cmap": "RdBu", "vmin": -top}
        if any((panel.values < 0).any() for panel in panels)
        else {"cmap": "Blues", "vmin": 0}
    )
    for axes, panel in zip(
        figure.subplots(1, len(panels), squeeze=False, width_ratios=sizes)[0], panels
    ):
        axes.imshow(panel.values, **shades, vmax=top, aspect="auto")
        axes.set_title(panel.title, size=8, color=INK, parse_math=False)
        axes.set_xticks(
            range(len(panel.columns)), panel.columns, size=7, rotation=90, parse_math=False
        )
        axes.set_yticks(range(len(panel.rows)), panel.rows, size=7, parse_math=False)
    return _png(figure)


def arcs_png(
    words: Sequence[str], heads: Sequence[int | None], shares: Sequence[float], *, title: str
) -> bytes:
    """An arc from each word to its likeliest head, the stronger the likelier."""
    from matplotlib.patches import FancyArrowPatch

    places = numpy.cumsum(
        [0.0, *(0.16 * (len(one) + len(other)) / 2 + 0.35 for one, other in zip(words, words[1:]))]
    )
    widest = max(
        (abs(places[head] - places[word]) for word, head in enumerate(heads) if head is not None),
        default=1.0,
    )
    figure = _figure(max(4.0, 0.75 * places[-1] + 1.2), 1.3 + 0.22 * widest, title)
    axes = figure.subplots()
    for word, (head, share) in enumerate(zip(heads, shares)):
        axes.text(
            places[word], 0, words[word], ha="center", va="top", size=9, color=INK, parse_math=False
        )
        if head is not None:
            bend = -0.55 if places[head] < places[word] else 0.55
            style = {
                "arrowstyle": "-|>",
                "mutation_scale": 8,
                "color": BLUE,
                "alpha": 0.25 + 0.75 * share,
                "linewidth": 0.6 + 1.6 * share,
            }
            axes.add_patch(
                FancyArrowPatch(
                    (places[head], 0.05),
                    (places[word], 0.05),
                    connectionstyle=f"arc3,rad={bend}",
                    **style,
                )
            )
    axes.set(xlim=(places[0] - 0.6, places[-1] + 0.6), ylim=(-0.4, 0.25 * widest + 0.3))
    axes.axis("off")
    return _png(figure)


def plane_png(words: Sequence[str], points: numpy.ndarray, *, title: str) -> bytes:
    """Words at their places (N, 2); the first is the one that was asked for."""
    figure = _figure(6.0, 5.0, title)
    axes = figure.subplots()
    axes.scatter(*points.T, s=8, color=LINE)
    for number, (word, point) in enumerate(zip(words, points)):
        axes.annotate(
            word,
            point,
            size=10 if number else 13,
            color=INK if number else BLUE,
            weight="normal" if number else "bold",
            parse_math=False,
        )
    axes.set_xlabel("first axis", size=8, color=INK)
    axes.set_ylabel("second axis", size=8, color=INK)
    axes.tick_params(labelsize=6)
    return _png(figure)


def curves_png(
    lines: Mapping[str, Sequence[tuple[float, float]]], *, title: str, across: str, up: str
) -> bytes:
    """A line each through its points, which lie by orders of magnitude apart from left to right."""
    figure = _figure(5.5, 3.6, title)
    axes = figure.subplots()
    for (name, points), style in zip(lines.items(), ("o-", "s--", "^:")):
        axes.plot(
            *zip(*points),
            style,
            label=name,
            color=BLUE if style == "o-" else INK,
            markersize=4,
            linewidth=1.4,
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across, size=8, color=INK)
    axes.set_ylabel(up, size=8, color=INK)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, frameon=False)
    return _png(figure)


def _figure(width: float, height: float, title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width, height), dpi=DOTS, facecolor="white", layout="constrained"
    )  # without pyplot: no window, no global state
    figure.suptitle(title, size=10, weight="bold", color=INK, parse_math=False)
    return figure


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        figure.savefig(file, format="png", facecolor="white")
    no_letters = [one for one in said if "missing from font" in str(one.message)]
    if no_letters:
        logger.warning(
            "pictures: boxes stand for letters that no font of matplotlib's has; "
            "install one that does, such as Noto Sans CJK, and name it in matplotlibrc as font.family"
        )
    for one in said:
        if one not in no_letters:
            warnings.warn(one.message, stacklevel=2)
    return file.getvalue()
