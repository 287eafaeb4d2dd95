"""The matrix: a table that is its own picture, with a switch between evaluations, measures, routes and kinds."""

from __future__ import annotations

from typing import Any

from polyglot.report.files import Files, Scored, checkpoint_of
from polyglot.report.section import Section, render

LOWER_IS_BETTER = ("ter",)
SHARES = {"off_target": "off-target", "copies": "copied source", "empty": "empty", "loops": "loops"}


def matrix(files: Files) -> Section | None:
    if not files.scored:
        return None
    evaluations = [evaluation(one) for one in files.scored]
    return Section(
        "matrix",
        "Every direction",
        render("matrix.html", evaluations=evaluations),
        {"evaluations": evaluations},
    )


def evaluation(scored: Scored) -> dict[str, Any]:
    """What the page shows of one evaluation, as JSON."""
    values = scored.values
    cells = [
        {
            "name": "-".join(
                filter(
                    None,
                    (cell["pair"].partition("-")[0], cell["via"], cell["pair"].partition("-")[2]),
                )
            ),
            "source": cell["pair"].partition("-")[0],
            "target": cell["pair"].partition("-")[2],
            "via": cell["via"],
            "kind": cell["kind"],
            "reason": cell["reason"],
            "sentences": cell["sentences"],
            "scores": {
                measure: [score["value"], score["interval"]]
                for measure, score in cell["scores"].items()
            },
            "outputs": _outputs(cell["outputs"]),
        }
        for cell in scored.cells
    ]
    reference = values["reference"]
    near = [
        measure
        for measure in ("bleu-paper", "bleu-tokenised", "bleu-lowercased", "bleu")
        if measure in scored.measures
    ]
    return {
        "name": scored.name,
        "title": checkpoint_of(values),
        "languages": values["languages"],
        "measures": scored.measures,
        "lower": [
            measure for measure in scored.measures if measure.partition("-")[0] in LOWER_IS_BETTER
        ],
        "signatures": {measure: scored.signatures(measure) for measure in scored.measures},
        "pivot": values["protocol"]["pivot"],
        "cells": cells,
        "paper": {
            "title": reference["title"],
            "condition": reference["condition"],
            "scores": reference["scores"],
            "measure": near[0],
        }
        if reference and near
        else None,
        "test": values["test"],
    }


def _outputs(outputs: dict[str, Any] | None) -> list[list[str]] | None:
    """Name, share and the references' share, as shown."""
    if outputs is None:
        return None
    rows = [
        [title, _percent(outputs[name]), _percent(outputs.get(f"{name}_references"))]
        for name, title in SHARES.items()
    ]
    return [*rows, ["length ratio", f"{outputs['length_ratio']:.2f}", ""]]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
