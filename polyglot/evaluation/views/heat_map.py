"""Score matrix as a heat map: shades of blue, zero-shot cells framed, copies hatched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from polyglot.core.figure_fonts import figure_bytes
from polyglot.core.score_tables import colour_share, format_number, score_limits
from polyglot.evaluation.grid import (
    Grid,
    direct_grid,
    matrix_title,
    reference_grid,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BACKGROUND = "#ffffff"
TEXT_COLOUR = "#22262b"
COPY_COLOUR = "#e4e6e9"
LINE_COLOUR = "#c9cdd3"
ZERO_SHOT_COLOUR = "#d1495b"
LABEL_COLOUR = "#5c6370"

# inches around a panel
TOP_MARGIN = 1.3
BOTTOM_MARGIN = 0.9
LEFT_MARGIN = 0.85
RIGHT_MARGIN = 0.35
PANEL_TITLE_HEIGHT = 0.3

# inches
SMALLEST_CELL = 0.42  # large enough for a number
SMALLEST_PANEL = 4.0

DPI = 160
POINTS_PER_INCH = 72
LETTER_WIDTH = 0.66  # mean width of a letter, relative to the font size


@dataclass(frozen=True, slots=True)
class Layout:
    """Size of a figure with square panels side by side, in inches."""

    panels: int
    languages: int
    """of the largest panel"""

    @property
    def side(self) -> float:
        """Side of a panel."""
        return max(SMALLEST_CELL * self.languages, SMALLEST_PANEL)

    @property
    def head(self) -> float:
        """Space above the panels; they have titles if there are several."""
        return TOP_MARGIN + (PANEL_TITLE_HEIGHT if self.panels > 1 else 0.0)

    @property
    def width(self) -> float:
        return self.panels * (LEFT_MARGIN + self.side + RIGHT_MARGIN)

    @property
    def height(self) -> float:
        return self.head + self.side + BOTTOM_MARGIN

    @property
    def font_size(self) -> float:
        """Size of the numbers in points."""
        return min(14.0, 14 * self.side / self.languages)

    def left(self, number: int) -> float:
        """Left edge of a panel."""
        return number * (LEFT_MARGIN + self.side + RIGHT_MARGIN) + LEFT_MARGIN


def heat_map_png(matrix: ScoreMatrix, measure: Measure | str) -> bytes:
    """Heat map of one measure as a PNG file; the paper's table is a second panel, same shades."""
    from matplotlib.figure import Figure

    grids = [direct_grid(matrix, measure)]
    paper = reference_grid(matrix, measure)
    if paper is not None:
        grids.append(paper)
    languages = max(len(grid.languages) for grid in grids)
    layout = Layout(len(grids), languages)

    # Figure in place of pyplot: no window and no global state.
    figure = Figure(figsize=(layout.width, layout.height), dpi=DPI, facecolor=BACKGROUND)
    _write_title(figure, layout, matrix, measure)
    limits = score_limits(str(measure))
    for number, grid in enumerate(grids):
        position = (
            layout.left(number) / layout.width,
            BOTTOM_MARGIN / layout.height,
            layout.side / layout.width,
            layout.side / layout.height,
        )
        axes = figure.add_axes(position)
        _draw_panel(axes, grid, limits=limits, font_size=layout.font_size)
        if layout.panels > 1:
            title = grid.title if number else "this run"
            _write_panel_title(figure, layout, title, left=layout.left(number))
    _draw_legend(figure, layout, limits)

    return figure_bytes(figure, background=BACKGROUND)


def _write_title(
    figure: Figure,
    layout: Layout,
    matrix: ScoreMatrix,
    measure: Measure | str,
) -> None:
    """Write measure, run and signatures above the panels."""
    measure = Measure.parse(str(measure))
    title = f"{measure.title} · {matrix_title(matrix)}"
    _write_line(figure, layout, title, top=0.33, size=14, weight="bold")
    signatures = signature_lines(matrix, measure)
    for number, line in enumerate(signatures[:2]):
        top = 0.58 + 0.15 * number
        _write_line(figure, layout, line, top=top, size=8)


def _write_line(
    figure: Figure,
    layout: Layout,
    text: str,
    *,
    top: float,
    size: float,
    **style: str,
) -> None:
    figure.text(
        RIGHT_MARGIN / layout.width,
        1 - top / layout.height,
        text,
        size=_fitting_size(text, inches=layout.width - 2 * RIGHT_MARGIN, size=size),
        color=TEXT_COLOUR,
        va="center",
        parse_math=False,
        **style,
    )


def _write_panel_title(figure: Figure, layout: Layout, title: str, *, left: float) -> None:
    figure.text(
        left / layout.width,
        1 - (layout.head - 0.6) / layout.height,
        title,
        size=_fitting_size(title, inches=layout.side, size=10.5),
        weight="bold",
        color=TEXT_COLOUR,
        parse_math=False,
    )


def _fitting_size(text: str, *, inches: float, size: float) -> float:
    """Font size in points, reduced so that the line fits."""
    relative_width = LETTER_WIDTH * max(1, cell_len(text))
    largest = inches * POINTS_PER_INCH / relative_width
    return min(size, largest)


def _draw_panel(axes: Axes, grid: Grid, *, limits: tuple[float, float], font_size: float) -> None:
    """Draw one grid; each cell is a square with side 1."""
    for pair in grid.kinds:
        _draw_cell(axes, grid, pair, limits=limits, font_size=font_size)
    count = len(grid.languages)
    axes.set(xlim=(0, count), ylim=(count, 0), aspect="equal")
    centres = [position + 0.5 for position in range(count)]
    size = min(12.0, font_size)
    axes.set_xticks(centres, grid.languages, size=size, color=TEXT_COLOUR)
    axes.set_yticks(centres, grid.languages, size=size, color=TEXT_COLOUR)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3)
    axes.spines[:].set_visible(False)
    _write_axis_labels(axes)
    _write_means(axes, grid)


def _draw_cell(
    axes: Axes,
    grid: Grid,
    pair: LanguagePair,
    *,
    limits: tuple[float, float],
    font_size: float,
) -> None:
    """Draw one cell with its score."""
    from matplotlib.patches import Rectangle

    kind = grid.kinds[pair]
    value = grid.values.get(pair)
    column = grid.languages.index(pair.target)
    row = grid.languages.index(pair.source)
    face = _face_colour(grid, pair, limits=limits)

    if kind == "copy":
        edge = {"hatch": "////", "edgecolor": LINE_COLOUR}
    else:
        edge = {"edgecolor": LINE_COLOUR if value is None else face}
    corner = (column + 0.02, row + 0.02)
    cell = Rectangle(corner, width=0.96, height=0.96, facecolor=face, linewidth=0.6, **edge)
    axes.add_patch(cell)

    if kind == "zero-shot":
        frame = Rectangle(
            (column + 0.06, row + 0.06),
            0.88,
            0.88,
            fill=False,
            edgecolor=ZERO_SHOT_COLOUR,
            linewidth=font_size / 7,
            linestyle=":" if value is None else "-",
        )
        axes.add_patch(frame)

    box = None
    if kind == "copy":  # a background, so that the number is readable on the hatching
        box = {"facecolor": COPY_COLOUR, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
    axes.text(
        column + 0.5,
        row + 0.5,
        format_number(value),
        ha="center",
        va="center",
        color=_readable_colour(face),
        size=font_size,
        bbox=box,
    )


def _face_colour(grid: Grid, pair: LanguagePair, *, limits: tuple[float, float]) -> str:
    """Colour of a cell: the better the score, the darker."""
    from matplotlib.colors import to_hex

    if grid.kinds[pair] == "copy":
        return COPY_COLOUR
    value = grid.values.get(pair)
    if value is None:
        return BACKGROUND
    return to_hex(_shade(colour_share(value, limits)))


def _write_axis_labels(axes: Axes) -> None:
    style = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "size": 8.5,
        "color": LABEL_COLOUR,
        "annotation_clip": False,
    }
    axes.annotate("into", (0, 1), (0, 22), ha="left", va="bottom", **style)
    axes.annotate("from", (0, 1), (-42, 0), ha="left", va="top", **style)


def _write_means(axes: Axes, grid: Grid) -> None:
    """Write the mean of each kind below a panel."""
    means = []
    for kind, value, _ in grid.means():
        means.append(f"{kind} {format_number(value)}")
    text = "no scores"
    if means:
        listed = " · ".join(means)
        text = f"means: {listed}"
    axes.annotate(
        text,
        (0, 0),
        (0, -9),
        xycoords="axes fraction",
        textcoords="offset points",
        size=9.5,
        color=TEXT_COLOUR,
        va="top",
    )


def _shade(share: float) -> tuple[float, ...]:
    """Blue for a share from 0 to 1, neither white nor nearly black."""
    from matplotlib import colormaps

    return colormaps["Blues"](0.06 + 0.84 * share)


def _readable_colour(background: str) -> str:
    """Black or white: the colour with the higher contrast (WCAG 2.2, relative luminance)."""
    return max(("#000000", "#ffffff"), key=lambda colour: contrast(colour, background))


def contrast(first: str, second: str) -> float:
    """Contrast of two colours written `#rrggbb`, from 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """Relative luminance of a colour written `#rrggbb` (WCAG 2.2)."""
    red = _linear_part(colour[1:3])
    green = _linear_part(colour[3:5])
    blue = _linear_part(colour[5:7])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear_part(hexadecimal: str) -> float:
    part = int(hexadecimal, 16) / 255
    if part <= 0.04045:
        return part / 12.92
    return ((part + 0.055) / 1.055) ** 2.4


def _draw_legend(figure: Figure, layout: Layout, limits: tuple[float, float]) -> None:
    """Draw the meaning of the marks along the lower edge."""
    from matplotlib.patches import Patch

    lightest, darkest = limits
    shades = f"trained: darker is better, from {lightest:g} to {darkest:g}"
    marks = [
        Patch(facecolor=_shade(0.6), label=shades),
        Patch(facecolor=_shade(0.2), edgecolor=ZERO_SHOT_COLOUR, linewidth=1.8, label="zero-shot"),
        Patch(facecolor=COPY_COLOUR, edgecolor=LINE_COLOUR, hatch="////", label="monolingual copy"),
    ]
    figure.legend(
        handles=marks,
        loc="center left",
        bbox_to_anchor=((RIGHT_MARGIN - 0.1) / layout.width, 0.28 / layout.height),
        ncols=3,
        frameon=False,
        fontsize=8.5,
        labelcolor=TEXT_COLOUR,
        handlelength=1.4,
        handleheight=1.2,
        columnspacing=1.4,
    )
