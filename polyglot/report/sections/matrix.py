"""Section with the score matrix: a coloured table, with switches for measure and view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyglot.core.score_tables import (
    ERROR_TITLES,
    PAPER_MEASURES,
    format_number,
    format_percent,
    lower_is_better,
)
from polyglot.report.files import (
    RunFiles,
    StoredEvaluation,
    cell_languages,
    cell_name,
    describe_checkpoint,
)
from polyglot.report.section import Section, render


def matrix(files: RunFiles) -> Section | None:
    if not files.evaluations:
        return None
    evaluations = [_evaluation(evaluation) for evaluation in files.evaluations]
    body = render("matrix.html", evaluations=evaluations)
    return Section("matrix", "Every direction", body, {"evaluations": evaluations})


def _evaluation(evaluation: StoredEvaluation) -> dict[str, Any]:
    """Values of one evaluation, as JSON for the page."""
    values = evaluation.values
    measures = evaluation.measures
    signatures = {}
    for measure in measures:
        signatures[measure] = evaluation.signatures(measure)
    return {
        "name": evaluation.name,
        "title": describe_checkpoint(values),
        "languages": values["languages"],
        "measures": measures,
        "lower": [measure for measure in measures if lower_is_better(measure)],
        "signatures": signatures,
        "pivot": values["protocol"]["pivot"],
        "cells": [_cell(cell) for cell in evaluation.cells],
        "paper": _paper(evaluation),
        "test": values["test"],
    }


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    source, target = cell_languages(cell)
    scores = {}
    for measure, score in cell["scores"].items():
        scores[measure] = [score["value"], score["interval"]]
    return {
        "name": cell_name(cell),
        "source": source,
        "target": target,
        "via": cell["via"],
        "kind": cell["kind"],
        "reason": cell["reason"],
        "sentences": cell["sentences"],
        "scores": scores,
        "outputs": _output_errors(cell["outputs"]),
    }


def _paper(evaluation: StoredEvaluation) -> dict[str, Any] | None:
    """Table of the paper, and the measure that is compared with it; None without one of them."""
    reference = evaluation.values["reference"]
    measures = [measure for measure in PAPER_MEASURES if measure in evaluation.measures]
    if not reference or not measures:
        return None
    return {
        "title": reference["title"],
        "condition": reference["condition"],
        "scores": reference["scores"],
        "measure": measures[0],
    }


def _output_errors(errors: Mapping[str, Any] | None) -> list[list[str]] | None:
    """Title, value and value of the references of each output error."""
    if errors is None:
        return None
    rows = []
    for name, title in ERROR_TITLES.items():
        if name == "length_ratio":
            rows.append([title, format_number(errors[name], 2), ""])
        else:
            value = _percent(errors[name])
            expected = _percent(errors.get(f"{name}_references"))
            rows.append([title, value, expected])
    return rows


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return format_percent(share)
