"""Kinds of scores, names of metrics and number formats of all tables and pages."""

from __future__ import annotations

KINDS = ("supervised", "zero-shot", "pivot", "copy")
"""Kinds of directions, in the order of all tables."""

METRIC_TITLES = {
    "bleu": "BLEU",
    "chrf": "chrF2",
    "chrf++": "chrF2++",
    "ter": "TER",
    "comet": "COMET",
}
"""Names of the translation metrics as sacreBLEU writes them."""

RETRIEVAL_TITLES = {"p@1": "P@1", "mrr": "MRR", "xsim": "xSIM error"}
"""Names of the metrics of translation retrieval."""

LOWER_IS_BETTER = frozenset({"ter", "xsim"})
"""Metrics that count errors. All other metrics are better if they are higher."""

SCORE_LIMITS = {
    "bleu": (0.0, 50.0),
    "chrf": (0.0, 80.0),
    "chrf++": (0.0, 80.0),
    "ter": (100.0, 0.0),
    "comet": (50.0, 90.0),
    "p@1": (0.0, 100.0),
    "mrr": (0.0, 100.0),
    "xsim": (100.0, 0.0),
}
"""Scores with the lightest and with the darkest colour, by metric.

They do not depend on the scores of a run, so that equal colours in two pictures mean equal scores.
Most systems of the literature are within them.
"""

DIFFERENCE_SHARE = 0.2
"""Smallest difference of two scores with the darkest colour, relative to the limits."""

PAPER_MEASURES = ("bleu-paper", "bleu-tokenised", "bleu-lowercased", "bleu")
"""Measures to compare with papers; the first is nearest to the scores of the papers."""

ERROR_TITLES = {
    "off_target": "off-target",
    "copies": "copied source",
    "empty": "empty",
    "loops": "loops",
    "length_ratio": "length ratio",
}
"""Titles of the output errors by their keys in `matrix.json`."""

NO_VALUE = "–"
"""Entry of a table without a value."""


def metric_title(metric: str) -> str:
    """Name of a metric in tables: `BLEU` for `bleu`."""
    if metric in METRIC_TITLES:
        return METRIC_TITLES[metric]
    return RETRIEVAL_TITLES[metric]


def lower_is_better(measure: str) -> bool:
    """True if the metric of a measure such as `ter-lowercased` counts errors."""
    metric, _, _ = measure.partition("-")
    return metric in LOWER_IS_BETTER


def score_limits(measure: str) -> tuple[float, float]:
    """Scores with the lightest and with the darkest colour, for a measure such as `bleu-paper`.

    For a metric without an entry in SCORE_LIMITS they are 0 and 100.
    """
    metric, _, _ = measure.partition("-")
    if metric in SCORE_LIMITS:
        return SCORE_LIMITS[metric]
    if metric in LOWER_IS_BETTER:
        return (100.0, 0.0)
    return (0.0, 100.0)


def colour_share(score: float, limits: tuple[float, float]) -> float:
    """Strength of the colour of a score, from 0 (lightest) to 1 (darkest)."""
    lightest, darkest = limits
    share = (score - lightest) / (darkest - lightest)
    return min(1.0, max(0.0, share))


def format_number(value: float | None, digits: int = 1) -> str:
    """`12,345.6`; – for None."""
    if value is None:
        return NO_VALUE
    return f"{value:,.{digits}f}"


def format_difference(value: float | None, digits: int = 2) -> str:
    """Difference with its sign, `+0.25`; – for None."""
    if value is None:
        return NO_VALUE
    return f"{value:+.{digits}f}"


def format_percent(share: float | None, *, digits: int = 1, expected: float | None = None) -> str:
    """Share from 0 to 1 as `12.5 %`, or as `12.5 (0.4) %` with an expected share; – for None."""
    if share is None:
        return NO_VALUE
    percent = format_number(100 * share, digits)
    if expected is None:
        return f"{percent} %"
    expected_percent = format_number(100 * expected, digits)
    return f"{percent} ({expected_percent}) %"


def format_mean(mean: float, deviation: float | None, digits: int = 2) -> str:
    """`31.40 ± 0.20`; without ± if the deviation (or interval) is None."""
    text = format_number(mean, digits)
    if deviation is not None:
        text += f" ± {format_number(deviation, digits)}"
    return text


def direction_name(source: str, target: str, via: str | None) -> str:
    """Name of a direction in file names: `de-fr`, or `de-en-fr` with English as pivot language."""
    if via:
        return f"{source}-{via}-{target}"
    return f"{source}-{target}"


def is_step(checkpoint: object) -> bool:
    """True if a checkpoint is named by its step, and not `best`, `last` or an average."""
    return str(checkpoint).isdecimal()
