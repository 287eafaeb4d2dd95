"""Section with the score matrix: a coloured table, with switches for measure and view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyglot.core.score_tables import (
    DIFFERENCE_SHARE,
    ERROR_TITLES,
    KINDS,
    NO_VALUE,
    PAPER_MEASURES,
    format_number,
    lower_is_better,
    score_limits,
)
from polyglot.report.files import (
    RunFiles,
    StoredEvaluation,
    cell_languages,
    describe_checkpoint,
)
from polyglot.report.section import Section, render

SCORE_DIGITS = 3  # decimal places of scores in the page; the page shows two
SHARE_DIGITS = 5  # decimal places of the rates of output errors

Cells = Sequence[Mapping[str, Any]]
"""Cells of matrix.json."""


def matrix(files: RunFiles) -> Section | None:
    if not files.evaluations:
        return None
    evaluations = []
    tables = []
    for evaluation in files.evaluations:
        evaluations.append(_evaluation(evaluation))
        tables += _static_tables(evaluation)
    names = [evaluation.name for evaluation in files.evaluations]
    body = render(
        "matrix.html",
        names=names,
        selected=files.main_evaluation.name,
        tables=tables,
    )
    data = {
        "evaluations": evaluations,
        "selected": files.main_evaluation.name,
        "kinds": KINDS,
        "error_titles": ERROR_TITLES,
        "difference_share": DIFFERENCE_SHARE,
    }
    return Section("matrix", "Every direction", body, data)


def _evaluation(evaluation: StoredEvaluation) -> dict[str, Any]:
    """Values of one evaluation, as JSON for the page."""
    values = evaluation.values
    measures = evaluation.measures
    signatures = {}
    limits = {}
    for measure in measures:
        signatures[measure] = evaluation.signatures(measure)
        limits[measure] = score_limits(measure)
    return {
        "name": evaluation.name,
        "title": describe_checkpoint(values),
        "languages": values["languages"],
        "measures": measures,
        "lower": [measure for measure in measures if lower_is_better(measure)],
        "limits": limits,
        "signatures": signatures,
        "pivot": values["protocol"]["pivot"],
        "cells": _columns(evaluation.cells, values["languages"]),
        "scores": _scores(evaluation.cells, measures),
        "errors": _errors(evaluation.cells),
        "paper": _paper(evaluation),
        "test": values["test"],
    }


def _columns(cells: Cells, languages: Sequence[str]) -> dict[str, Any]:
    """Properties of the cells, one list for each: names are not repeated 10,000 times.

    source, target: positions among the languages. via: 1 for a pivot translation. kind: position in
    KINDS. reason: position among the reasons, or null.
    """
    positions = {language: position for position, language in enumerate(languages)}
    reasons: dict[str, int] = {}
    columns: dict[str, list[Any]] = {
        "source": [],
        "target": [],
        "via": [],
        "kind": [],
        "reason": [],
        "sentences": [],
    }
    for cell in cells:
        source, target = cell_languages(cell)
        reason = None
        if cell["reason"]:
            reason = reasons.setdefault(cell["reason"], len(reasons))
        columns["source"].append(positions[source])
        columns["target"].append(positions[target])
        columns["via"].append(int(cell["via"] is not None))
        columns["kind"].append(KINDS.index(cell["kind"]))
        columns["reason"].append(reason)
        columns["sentences"].append(cell["sentences"])
    return {**columns, "reasons": list(reasons)}


def _scores(cells: Cells, measures: Mapping[str, str]) -> dict[str, dict[str, list[Any]]]:
    """Score and interval of every cell, by measure; null without a score."""
    scores = {}
    for measure in measures:
        values = []
        intervals = []
        for cell in cells:
            score = cell["scores"].get(measure, {})
            values.append(_rounded(score.get("value"), SCORE_DIGITS))
            intervals.append(_rounded(score.get("interval"), SCORE_DIGITS))
        scores[measure] = {"values": values, "intervals": intervals}
    return scores


def _errors(cells: Cells) -> dict[str, dict[str, list[float | None]]]:
    """Rate of each output error of every cell, and of its references; null if unknown.

    Empty without output errors.
    """
    if not any(cell["outputs"] for cell in cells):
        return {}
    errors = {}
    for name in ERROR_TITLES:
        values = []
        references = []
        for cell in cells:
            outputs = cell["outputs"] or {}
            values.append(_rounded(outputs.get(name), SHARE_DIGITS))
            references.append(_rounded(outputs.get(f"{name}_references"), SHARE_DIGITS))
        errors[name] = {"values": values, "references": references}
    return errors


def _rounded(value: float | None, digits: int) -> float | None:
    if value is None:
        return None
    return round(value, digits)


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


def _static_tables(evaluation: StoredEvaluation) -> list[dict[str, Any]]:
    """Table of each measure for a browser without script: rows of texts, by source."""
    languages = evaluation.values["languages"]
    tables = []
    for measure, title in evaluation.measures.items():
        texts = {}
        for cell in evaluation.values["cells"]:
            score = cell["scores"].get(measure)
            texts[cell["pair"]] = format_number(score["value"]) if score else NO_VALUE
        rows = []
        for source in languages:
            row = [texts.get(f"{source}-{target}", "") for target in languages]
            rows.append((source, row))
        checkpoint = describe_checkpoint(evaluation.values)
        table = {
            "label": f"{evaluation.name}: {title}",
            "caption": f"{title} of {evaluation.name}, {checkpoint}",
            "languages": languages,
            "rows": rows,
        }
        tables.append(table)
    return tables
