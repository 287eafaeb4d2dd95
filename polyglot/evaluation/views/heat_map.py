"""The matrix as a picture: scores as shades of blue, zero-shot cells framed, copies hatched, the paper's table beside."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from polyglot.evaluation.grid import (
    Grid,
    direct_grid,
    matrix_title,
    reference_grid,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import ScoreMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BACKGROUND, TEXT_COLOUR, GREY, LINE_COLOUR, ZERO_SHOT = (
    "#ffffff",
    "#22262b",
    "#e4e6e9",
    "#c9cdd3",
    "#d1495b",
)
HEAD, FOOT, LEFT, RIGHT = 1.3, 0.9, 0.85, 0.35  # inches around a panel
DPI = 160  # per inch


def heat_map_png(matrix: ScoreMatrix, measure: Measure | str) -> bytes:
    """The picture of one measure, the bytes of a PNG file; the paper's table is a second panel in the same shades."""
    from matplotlib.figure import Figure

    grids = [
        grid
        for grid in (direct_grid(matrix, measure), reference_grid(matrix, measure))
        if grid is not None
    ]
    top = (
        max(
            (
                value
                for grid in grids
                for pair, value in grid.values.items()
                if grid.kinds[pair] != "copy"
            ),
            default=0.0,
        )
        or 1.0
    )
    count = max(len(grid.languages) for grid in grids)
    cell = min(1.2, max(0.42, 4 / count))  # inches: large enough for a number
    side = max(cell * count, 4.0)
    head = HEAD + (0.3 if len(grids) > 1 else 0.0)  # panels have titles where there are two
    width, height = len(grids) * (LEFT + side + RIGHT), head + side + FOOT
    figure = Figure(
        figsize=(width, height), dpi=DPI, facecolor=BACKGROUND
    )  # without pyplot: no window, no global state

    def write(text: str, *, down: float, size: float, **style: str) -> None:
        size = _fitting(text, inches=width - 2 * RIGHT, size=size)
        figure.text(
            RIGHT / width,
            1 - down / height,
            text,
            size=size,
            color=TEXT_COLOUR,
            va="center",
            parse_math=False,
            **style,
        )

    write(
        f"{Measure.parse(str(measure)).title} · {matrix_title(matrix)}",
        down=0.33,
        size=14,
        weight="bold",
    )
    for number, line in enumerate(signature_lines(matrix, measure)[:2]):
        write(line, down=0.58 + 0.15 * number, size=8)
    for number, grid in enumerate(grids):
        left = number * (LEFT + side + RIGHT) + LEFT
        axes = figure.add_axes((left / width, FOOT / height, side / width, side / height))
        title = "" if len(grids) == 1 else grid.title if number else "this run"
        _panel(axes, grid, top=top, points=min(14.0, 14 * side / count))
        size = _fitting(title, inches=side, size=10.5)
        figure.text(
            left / width,
            1 - (head - 0.6) / height,
            title,
            size=size,
            weight="bold",
            color=TEXT_COLOUR,
            parse_math=False,
        )
    _legend(figure, width=width, height=height)
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=BACKGROUND)
    return file.getvalue()


def _fitting(text: str, *, inches: float, size: float) -> float:
    """The size in points at which a line fits; a letter is about 0.66 of its size wide."""
    return min(size, inches * 72 / (0.66 * max(1, len(text))))


def _panel(axes: Axes, grid: Grid, *, top: float, points: float) -> None:
    """One table; each cell is a square of side 1."""
    from matplotlib.colors import to_hex
    from matplotlib.patches import Rectangle

    count = len(grid.languages)
    for pair, kind in grid.kinds.items():
        column, row = grid.languages.index(pair.target), grid.languages.index(pair.source)
        value = grid.values.get(pair)
        good = (
            None
            if value is None
            else 1 - min(1.0, value / top)
            if grid.lower_is_better
            else value / top
        )
        face = GREY if kind == "copy" else BACKGROUND if good is None else to_hex(_shade(good))
        given = (
            {"hatch": "////", "edgecolor": LINE_COLOUR}
            if kind == "copy"
            else {"edgecolor": LINE_COLOUR if value is None else face}
        )
        axes.add_patch(
            Rectangle(
                (column + 0.02, row + 0.02), 0.96, 0.96, facecolor=face, linewidth=0.6, **given
            )
        )
        if kind == "zero-shot":
            frame = {
                "fill": False,
                "edgecolor": ZERO_SHOT,
                "linewidth": points / 7,
                "linestyle": "-" if value is not None else ":",
            }
            axes.add_patch(Rectangle((column + 0.06, row + 0.06), 0.88, 0.88, **frame))
        plate = (
            {"facecolor": GREY, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
            if kind == "copy"
            else None
        )
        shown = "–" if value is None else f"{value:.1f}"
        axes.text(
            column + 0.5,
            row + 0.5,
            shown,
            ha="center",
            va="center",
            color=_readable_on(face),
            size=points,
            bbox=plate,
        )
    axes.set(xlim=(0, count), ylim=(count, 0), aspect="equal")
    places, size = [place + 0.5 for place in range(count)], min(12.0, points)
    axes.set_xticks(places, grid.languages, size=size, color=TEXT_COLOUR)
    axes.set_yticks(places, grid.languages, size=size, color=TEXT_COLOUR)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3)
    axes.spines[:].set_visible(False)
    quiet = {
        "textcoords": "offset points",
        "size": 8.5,
        "color": "#5c6370",
        "annotation_clip": False,
    }
    axes.annotate(
        "into", (0, 1), (0, 22), xycoords="axes fraction", ha="left", va="bottom", **quiet
    )
    axes.annotate("from", (0, 1), (-42, 0), xycoords="axes fraction", ha="left", va="top", **quiet)
    means = " · ".join(f"{kind} {value:.1f}" for kind, value, _ in grid.means())
    below = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "size": 9.5,
        "color": TEXT_COLOUR,
        "va": "top",
    }
    axes.annotate(f"means: {means}" if means else "no scores", (0, 0), (0, -9), **below)


def _shade(share: float) -> tuple[float, ...]:
    """0 to 1 as blues, neither white nor nearly black."""
    from matplotlib import colormaps

    return colormaps["Blues"](0.06 + 0.84 * share)


def _readable_on(face: str) -> str:
    """Black or white, whichever has the higher contrast (WCAG 2.2, relative luminance)."""
    return max(("#000000", BACKGROUND), key=lambda ink: contrast(ink, face))


def contrast(one: str, other: str) -> float:
    """Of two colours written `#rrggbb`, from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _legend(figure: Figure, *, width: float, height: float) -> None:
    """What the marks mean, along the lower edge."""
    from matplotlib.patches import Patch

    marks = [
        Patch(facecolor=_shade(0.6), label="trained: darker is better"),
        Patch(facecolor=_shade(0.2), edgecolor=ZERO_SHOT, linewidth=1.8, label="zero-shot"),
        Patch(facecolor=GREY, edgecolor=LINE_COLOUR, hatch="////", label="copy into itself"),
    ]
    figure.legend(
        handles=marks,
        loc="center left",
        bbox_to_anchor=((RIGHT - 0.1) / width, 0.28 / height),
        ncols=3,
        frameon=False,
        fontsize=8.5,
        labelcolor=TEXT_COLOUR,
        handlelength=1.4,
        handleheight=1.2,
        columnspacing=1.4,
    )
