"""Section with the curves of training: losses, scores and speed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from polyglot.report.charts import Chart, draw_chart, mean_curve
from polyglot.report.files import RunFiles
from polyglot.report.section import Section, render

Record = Mapping[str, Any]
"""One line of the training log."""

Curves = dict[str, list[tuple[float, float]]]
"""Steps and values by the name of the curve."""

MAX_CURVES = 200  # of a chart; more tasks are shown by their target language

COMMON_CURVES = (
    ("learning_rate", "Learning rate", "learning rate"),
    ("gradient_norm", "Gradient norm", "global norm, before clipping"),
    ("tokens_per_second", "Speed", "target tokens per second"),
)
"""Key in the log, title and unit of values that do not belong to a task."""


def curves(files: RunFiles) -> Section | None:
    figures = []
    for chart in charts(files.log):
        figure = draw_chart(chart)
        if figure:
            figures.append(figure)
    if not figures:
        return None
    return Section("curves", "Training", render("curves.html", figures=figures))


def charts(log: Iterable[Record]) -> Iterator[Chart]:
    """Yield losses and scores of each task, then values of whole updates."""
    log = list(log)
    training = [record for record in log if record.get("kind") == "training"]
    validation = [record for record in log if record.get("kind") == "validation"]
    yield from _task_charts(training, validation)
    for key, title, unit in COMMON_CURVES:
        name = key.replace("_", "")
        curve = _common_curve(training, key, title.lower())
        yield Chart(name, title, unit, curve)


def _task_charts(training: Sequence[Record], validation: Sequence[Record]) -> Iterator[Chart]:
    """Yield the charts with a curve for each task or pair."""
    order = _colour_order(training, validation)
    yield _task_chart(
        "loss",
        "Training loss of each task",
        unit="per target token",
        curves=_task_curves(training, "translation"),
        order=order,
    )
    yield _task_chart(
        "heldout",
        "Validation loss of each task",
        unit="per target token",
        curves=_validation_curves(validation, "losses"),
        order=order,
    )
    yield _task_chart(
        "bleu",
        "Validation BLEU, greedy search",
        unit="BLEU",
        curves=_validation_curves(validation, "bleu"),
        order=order,
    )
    yield _task_chart(
        "penalty",
        "Penalty of the bridge, by task",
        unit="‖A·Aᵀ − I‖²",
        curves=_task_curves(training, "bridge"),
        order=order,
    )


def _task_chart(
    name: str,
    title: str,
    *,
    unit: str,
    curves: Curves,
    order: Sequence[str],
) -> Chart:
    """Chart with a curve for each task; more than MAX_CURVES are averaged by target language."""
    if len(curves) <= MAX_CURVES:
        return Chart(name, title, unit, curves, order)
    return Chart(name, f"{title}, mean by target language", unit, mean_by_target(curves))


def mean_by_target(curves: Curves) -> Curves:
    """Mean of the curves of all pairs into each language, named `into de`."""
    groups: dict[str, list[list[tuple[float, float]]]] = {}
    for pair, points in curves.items():
        _, _, target = pair.partition("-")
        groups.setdefault(f"into {target}", []).append(points)
    return {name: mean_curve(group) for name, group in sorted(groups.items())}


def _common_curve(training: Sequence[Record], key: str, name: str) -> Curves:
    """One curve with the values of a key of the log."""
    curves: Curves = {}
    for record in training:
        _add_point(curves, name, record["step"], record.get(key))
    return curves


def _colour_order(training: Sequence[Record], validation: Sequence[Record]) -> list[str]:
    """All tasks and validated pairs, so that a name has the same colour in every chart."""
    names: set[str] = set()
    for record in training:
        names.update(record["tasks"])
    for record in validation:
        names.update(record["losses"])
        names.update(record["bleu"])
    return sorted(names)


def _task_curves(training: Sequence[Record], loss: str) -> Curves:
    """Training loss of each task; loss: `translation` or `bridge`."""
    curves: Curves = {}
    for record in training:
        for task, losses in record["tasks"].items():
            if loss in losses:
                _add_point(curves, task, record["step"], losses[loss])
    return dict(sorted(curves.items()))


def _validation_curves(validation: Sequence[Record], key: str) -> Curves:
    """Validation results of each pair; key: `losses` or `bleu`."""
    curves: Curves = {}
    for record in validation:
        for pair, value in record[key].items():
            _add_point(curves, pair, record["step"], value)
    return dict(sorted(curves.items()))


def _add_point(curves: Curves, name: str, step: int, value: float | None) -> None:
    """Add a point; the log has null for a value that was not finite."""
    if value is not None:
        point = (float(step), float(value))
        curves.setdefault(name, []).append(point)
