"""Figure of an experiment: bars of all systems, or of directions left out of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyglot.core.figure_fonts import figure_bytes
from polyglot.evaluation.score_matrix import cell_name
from polyglot.evaluation.views.heat_map import BACKGROUND, DPI, LINE_COLOUR, TEXT_COLOUR
from polyglot.experiments.results import Results
from polyglot.experiments.system_result import Spread, SystemResult
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP_WIDTH = 0.84  # of the distance between two groups, so that the groups are separate
BAR_WIDTH = 0.94  # of the place of a bar, so that bars with similar colours are separate
HEIGHT = 4.2  # inches
MARGINS = 1.6  # inches
WIDTH_PER_BAR = 0.3  # inches; enough for a number with four characters
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#6a51a3",
    "#5c6370",
)
"""Colours of Okabe and Ito, and two more."""


@dataclass(frozen=True, slots=True)
class Series:
    """Bars with the same look, one in each group."""

    name: str
    colour: int
    """index of COLOURS"""
    hatched: bool
    scores: Sequence[Spread | None]
    """score of each group; None without a bar"""


def figure_png(results: Results) -> bytes:
    """Draw the figure; return the bytes of a PNG file."""
    groups, bars = figure_bars(results)
    return _draw(
        groups,
        bars,
        title=results.title,
        unit=results.measure.title,
    )


def figure_bars(results: Results) -> tuple[list[str], list[Series]]:
    """Return the names of the groups, and the series with a bar in each group."""
    if results.figure == "left_out":
        return _left_out_bars(results)
    return _system_bars(results)


def _system_bars(results: Results) -> tuple[list[str], list[Series]]:
    """Bars of every system, for direct translation and, hatched, for pivot translation."""
    pairs = _shown_pairs(results)
    series = []
    for number, system in enumerate(results.systems):
        direct = _scores(results, system, [str(pair) for pair in pairs])
        if any(direct):
            series.append(Series(system.name, number, False, direct))
        pivot = system.matrices[0].protocol.pivot
        if pivot:
            through_pivot = _scores(results, system, [cell_name(pair, pivot) for pair in pairs])
            if any(through_pivot):
                name = f"{system.name}, through {pivot}"
                series.append(Series(name, number, True, through_pivot))
    return [str(pair) for pair in pairs], series


def _shown_pairs(results: Results) -> list[LanguagePair]:
    """Pairs that are zero-shot in some system; all pairs if there are none."""
    pairs = []
    zero_shot = []
    for name, cell in results.directions.items():
        if cell.via is not None or cell.pair.is_copy:
            continue
        pairs.append(cell.pair)
        kinds = set()
        for system in results.systems:
            if name in system.directions:
                kinds.add(system.directions[name].kind)
        if "zero-shot" in kinds:
            zero_shot.append(cell.pair)
    return zero_shot or pairs


def _scores(
    results: Results,
    system: SystemResult,
    directions: Sequence[str],
) -> list[Spread | None]:
    """Score of each direction; None without a score."""
    scores: list[Spread | None] = []
    for direction in directions:
        has_score = direction in system.directions
        scores.append(system.spread(direction, results.measure) if has_score else None)
    return scores


def _left_out_bars(results: Results) -> tuple[list[str], list[Series]]:
    """Zero-shot scores of directions left out of training, and scores with training."""
    groups = []
    zero_shot = []
    trained = []
    for direction in results.left_out_directions():
        groups.append(str(direction.pair))
        zero_shot.append(Spread.of([direction.zero_shot]))
        trained.append(direction.trained)
    return groups, [
        Series("left out: zero-shot", 1, False, zero_shot),
        Series("mean of the systems trained on it", 0, False, trained),
    ]


def _draw(
    groups: Sequence[str],
    bars: Sequence[Series],
    *,
    title: str,
    unit: str,
) -> bytes:
    """Draw the bars, group by group."""
    from matplotlib.figure import Figure

    width = max(6.0, MARGINS + WIDTH_PER_BAR * len(groups) * (len(bars) + 1))
    figure = Figure(
        figsize=(width, HEIGHT),
        dpi=DPI,
        facecolor=BACKGROUND,
        layout="constrained",
    )
    axes = figure.add_subplot()
    bar_width = GROUP_WIDTH / max(1, len(bars))
    for number, series in enumerate(bars):
        offset = bar_width * (number + 0.5) - GROUP_WIDTH / 2
        _draw_series(
            axes,
            series,
            offset=offset,
            width=bar_width * BAR_WIDTH,
        )
    _set_axes(
        axes,
        groups,
        title=title,
        unit=unit,
    )
    if bars:
        figure.legend(
            loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=TEXT_COLOUR
        )
    return figure_bytes(figure, background=BACKGROUND)


def _draw_series(
    axes: Axes,
    series: Series,
    *,
    offset: float,
    width: float,
) -> None:
    """Draw each bar with its score above it and, over several runs, its deviation.

    offset: position of the bar within its group.
    """
    positions = []
    heights = []
    for group, score in enumerate(series.scores):
        positions.append(group + offset)
        heights.append(score.mean if score else 0.0)
    axes.bar(
        positions,
        heights,
        width,
        label=series.name,
        color=COLOURS[series.colour % len(COLOURS)],
        hatch="///" if series.hatched else "",
        edgecolor=BACKGROUND,
        linewidth=0,
    )
    for position, score in zip(positions, series.scores):
        if score is None:
            continue
        if score.deviation is not None:
            axes.errorbar(
                position, score.mean, score.deviation, color=TEXT_COLOUR, capsize=2.5, linewidth=1
            )
        axes.annotate(
            f"{score.mean:.1f}",
            (position, score.mean + (score.deviation or 0)),
            (0, 2),
            textcoords="offset points",
            ha="center",
            size=7,
            color=TEXT_COLOUR,
        )


def _set_axes(
    axes: Axes,
    groups: Sequence[str],
    *,
    title: str,
    unit: str,
) -> None:
    axes.set_xticks(range(len(groups)), groups, color=TEXT_COLOUR)
    axes.set_ylabel(unit, color=TEXT_COLOUR)
    axes.set_title(
        title,
        loc="left",
        color=TEXT_COLOUR,
        parse_math=False,
    )
    axes.grid(axis="y", color=LINE_COLOUR, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
