"""The picture of an experiment: bars of its systems, or of pairs that were left out beside those that saw them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from polyglot.evaluation.score_matrix import cell_name
from polyglot.evaluation.views.heat_map import DPI, TEXT_COLOUR, LINE_COLOUR, BACKGROUND
from polyglot.experiments.results import Results, Spread, SystemResult

GROUP = 0.84  # of the distance between two groups, so that one sees where the next begins
BAR = 0.94  # of its place, so that two bars of like colours are two
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#6a51a3",
    "#5c6370",
)  # Okabe and Ito, and two more


@dataclass(frozen=True, slots=True)
class Series:
    """Bars of one look."""

    name: str
    colour: int
    hatched: bool
    heights: Sequence[Spread | None]
    """of each group, if there is one"""


def figure_png(results: Results) -> bytes:
    """The bytes of a PNG file."""
    groups, bars = bars_of(results)
    return _drawn(groups, bars, title=results.title, unit=results.measure.title)


def bars_of(results: Results) -> tuple[list[str], list[Series]]:
    """What is drawn: the names of the groups, and the series that have a bar in each."""
    return _left_out(results) if results.figure == "left_out" else _systems(results)


def _systems(results: Results) -> tuple[list[str], list[Series]]:
    """Of each pair that is zero-shot in some system (or of all): every system, direct and hatched through the pivot."""
    cells = [
        cell for cell in results.directions.values() if cell.via is None and not cell.pair.is_copy
    ]
    unseen = [
        cell.pair
        for cell in cells
        if any(_kind(system, str(cell.pair)) == "zero-shot" for system in results.systems)
    ]
    pairs = unseen or [cell.pair for cell in cells]
    series = []
    for number, system in enumerate(results.systems):
        pivot = system.matrices[0].protocol.pivot
        for via in ("", pivot) if pivot else ("",):
            names = [cell_name(pair, via) for pair in pairs]
            spreads = [
                system.spread(name, results.measure) if name in system.directions else None
                for name in names
            ]
            if any(spreads):
                series.append(
                    Series(
                        f"{system.name}, through {via}" if via else system.name,
                        number,
                        bool(via),
                        spreads,
                    )
                )
    return list(map(str, pairs)), series


def _kind(system: SystemResult, direction: str) -> str | None:
    cell = system.directions.get(direction)
    return cell.kind if cell else None


def _left_out(results: Results) -> tuple[list[str], list[Series]]:
    """Of each pair that some system lacks: the zero-shot score, and the spread of those that were trained on it."""
    rows = list(results.left_out())
    unseen = Series("left out: zero-shot", 1, False, [Spread.of([value]) for _, value, _ in rows])
    return [str(pair) for pair, *_ in rows], [
        unseen,
        Series("mean of the systems trained on it", 0, False, [seen for *_, seen in rows]),
    ]


def _drawn(groups: list[str], bars: Sequence[Series], *, title: str, unit: str) -> bytes:
    """Bars group by group, each with its number above it and, over several runs, its deviation."""
    from matplotlib.figure import Figure

    inches = max(
        6.0, 1.6 + 0.3 * len(groups) * (len(bars) + 1)
    )  # 0.3 hold a number of four characters, 1.6 the margins
    figure = Figure(figsize=(inches, 4.2), dpi=DPI, facecolor=BACKGROUND, layout="constrained")
    axes = figure.add_subplot()
    width = GROUP / max(1, len(bars))
    for number, series in enumerate(bars):
        look = {
            "color": COLOURS[series.colour % len(COLOURS)],
            "hatch": "///" if series.hatched else "",
            "edgecolor": BACKGROUND,
            "linewidth": 0,
        }
        places = [group - GROUP / 2 + width * (number + 0.5) for group in range(len(groups))]
        axes.bar(
            places,
            [one.mean if one else 0.0 for one in series.heights],
            width * BAR,
            label=series.name,
            **look,
        )
        for place, one in zip(places, series.heights):
            if one and one.deviation is not None:
                axes.errorbar(place, one.mean, one.deviation, color=TEXT_COLOUR, capsize=2.5, linewidth=1)
            if one:
                above = (place, one.mean + (one.deviation or 0))
                axes.annotate(
                    f"{one.mean:.1f}",
                    above,
                    (0, 2),
                    textcoords="offset points",
                    ha="center",
                    size=7,
                    color=TEXT_COLOUR,
                )
    axes.set_xticks(range(len(groups)), groups, color=TEXT_COLOUR)
    axes.set_ylabel(unit, color=TEXT_COLOUR)
    axes.set_title(title, loc="left", color=TEXT_COLOUR, parse_math=False)
    axes.grid(axis="y", color=LINE_COLOUR, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    if bars:
        figure.legend(
            loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=TEXT_COLOUR
        )
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=BACKGROUND)
    return file.getvalue()
