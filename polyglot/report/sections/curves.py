"""How training went, task by task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polyglot.report.charts import Chart, draw
from polyglot.report.files import Files
from polyglot.report.section import Section, render


def curves(files: Files) -> Section | None:
    figures = [drawn for chart in charts(files.log) if (drawn := draw(chart))]
    return (
        Section("curves", "Training", render("curves.html", figures=figures)) if figures else None
    )


def charts(log: list[dict[str, Any]]) -> Iterator[Chart]:
    """Losses by task, scores, and what else the log has of every update."""
    training = [line for line in log if line.get("kind") == "training"]
    validation = [line for line in log if line.get("kind") == "validation"]
    tasks = sorted({name for line in training for name in line["tasks"]})
    order = sorted(
        {*tasks, *(name for line in validation for name in (*line["losses"], *line["bleu"]))}
    )
    losses = {
        name: [
            (line["step"], line["tasks"][name]["translation"])
            for line in training
            if name in line["tasks"]
        ]
        for name in tasks
    }
    yield Chart("loss", "Training loss of each task", "per target token", _numbers(losses), order)
    held_out = sorted({name for line in validation for name in line["losses"]})
    losses = {
        name: [
            (line["step"], line["losses"][name]) for line in validation if name in line["losses"]
        ]
        for name in held_out
    }
    yield Chart(
        "heldout", "Validation loss of each task", "per target token", _numbers(losses), order
    )
    scored = sorted({name for line in validation for name in line["bleu"]})
    scores = {
        name: [(line["step"], line["bleu"][name]) for line in validation if name in line["bleu"]]
        for name in scored
    }
    yield Chart("bleu", "Validation BLEU, greedy", "BLEU", _numbers(scores), order)
    penalty = {
        name: [
            (line["step"], line["tasks"][name]["bridge"])
            for line in training
            if "bridge" in line["tasks"].get(name, {})
        ]
        for name in tasks
    }
    yield Chart(
        "penalty", "Penalty of the bridge, by task", "‖A·Aᵀ − I‖²", _numbers(penalty), order
    )
    for name, title, unit in (
        ("learning_rate", "Learning rate", "learning rate"),
        ("gradient_norm", "Norm of the gradients", "global norm, before clipping"),
        ("tokens_per_second", "Speed", "target tokens per second"),
    ):
        yield Chart(
            name.replace("_", ""),
            title,
            unit,
            _numbers({title.lower(): [(line["step"], line.get(name)) for line in training]}),
        )


def _numbers(curves: dict[str, list[tuple[int, Any]]]) -> dict[str, list[tuple[float, float]]]:
    """Without what the log has as null, since it was no finite number."""
    return {
        name: [(float(step), float(value)) for step, value in points if value is not None]
        for name, points in curves.items()
    }
