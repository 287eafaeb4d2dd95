"""The picture of an experiment: bars of its systems, or of pairs that were left out beside those that saw them."""

from __future__ import annotations

import io

from polyglot.evaluate.experiments.results import Results
from polyglot.evaluate.heat_map import DOTS, INK, LINE, PAPER

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a51a3", "#5c6370")  # Okabe and Ito, and two more
HATCHES = ("", "///", "...", "xx")
Bars = dict[str, list[tuple[float | None, float | None]]]
"""By series: of each group the height and the deviation, if there are any."""


def figure_png(results: Results) -> bytes:
    """The bytes of a PNG file."""
    groups, bars = _left_out(results) if results.figure == "left_out" else _systems(results)
    return _drawn(groups, bars, title=results.title, unit=results.measure.title)


def _systems(results: Results) -> tuple[list[str], Bars]:
    """Of each pair that is zero-shot in some system (or of all): every system, direct and through the pivot."""
    cells = [cell for cell in results.directions.values() if cell.via is None and not cell.pair.is_copy]
    unseen = [cell.pair for cell in cells if any(_kind(system, str(cell.pair)) == "zero-shot" for system in results.systems)]
    pairs = unseen or [cell.pair for cell in cells]
    bars: Bars = {}
    for system in results.systems:
        pivot = system.matrices[0].protocol.pivot
        routes = {"": [str(pair) for pair in pairs]} | ({f", through {pivot}": [f"{pair.source}-{pivot}-{pair.target}" for pair in pairs]} if pivot else {})
        for route, names in routes.items():
            spreads = [system.spread(name, results.measure) if name in system.directions else None for name in names]
            if any(spreads):
                bars[system.name + route] = [(one.mean, one.deviation) if one else (None, None) for one in spreads]
    return list(map(str, pairs)), bars


def _kind(system, direction: str) -> str | None:
    cell = system.directions.get(direction)
    return cell.kind if cell else None


def _left_out(results: Results) -> tuple[list[str], Bars]:
    rows = list(results.left_out())
    bars: Bars = {"left out: zero-shot": [(value, None) for _, value, _ in rows]}
    seen = [(spread.mean, spread.deviation) if spread else (None, None) for _, _, spread in rows]
    return [str(pair) for pair, *_ in rows], bars | {"mean of the systems trained on it": seen}


def _drawn(groups: list[str], bars: Bars, *, title: str, unit: str) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.0, 1.6 + 0.3 * len(groups) * (len(bars) + 1)), 4.2), dpi=DOTS, facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    width = 0.84 / max(1, len(bars))
    for number, (name, heights) in enumerate(bars.items()):
        places = [group - 0.42 + width * (number + 0.5) for group in range(len(groups))]
        values = [0.0 if value is None else value for value, _ in heights]
        style = {"color": COLOURS[number % len(COLOURS)], "hatch": HATCHES[number % len(HATCHES)], "edgecolor": PAPER, "linewidth": 0}
        axes.bar(places, values, width * 0.94, label=name, **style)
        for place, (value, deviation) in zip(places, heights):
            if deviation is not None:
                axes.errorbar(place, value, deviation, color=INK, capsize=2.5, linewidth=1)
            if value is not None:
                axes.annotate(f"{value:.1f}", (place, value + (deviation or 0)), (0, 2), textcoords="offset points", ha="center", size=7, color=INK)
    axes.set_xticks(range(len(groups)), groups, color=INK)
    axes.set_ylabel(unit, color=INK)
    axes.set_title(title, loc="left", color=INK, parse_math=False)
    axes.grid(axis="y", color=LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    if bars:
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=PAPER)
    return file.getvalue()
