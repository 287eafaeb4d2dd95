"""Empty figure with a title, in the style of the heat maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyglot.evaluation.views.heat_map import BACKGROUND, DPI, TEXT_COLOUR

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def titled_figure(title: str, *, width: float, height: float) -> Figure:
    """Return an empty figure; width and height in inches."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width, height),
        dpi=DPI,
        facecolor=BACKGROUND,
        layout="constrained",
    )
    figure.suptitle(
        title,
        size=12,
        weight="bold",
        color=TEXT_COLOUR,
        parse_math=False,
    )
    return figure
