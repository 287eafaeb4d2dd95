"""An analysis as a page, and as files in a folder of the run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy

from polyglot.analysis.embeddings.analysis import Analysis
from polyglot.analysis.embeddings.retrieval import METRICS
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, pluralize
from polyglot.core.markdown import bullet_list, code_span, escape, table
from polyglot.core.score_tables import RETRIEVAL_TITLES, format_number
from polyglot.evaluation.grid import KIND_MARKS, LEGEND, direct_grid, matrix_title, signature_lines
from polyglot.evaluation.views.heat_map import heat_map_png
from polyglot.evaluation.views.markdown import grid_table, matrix_csv, means_table

FORMAT = 2  # of analysis.json: to be raised when an older program could not read it


def save(analysis: Analysis, folder: Path) -> None:
    """`analysis.md` and `.json`, of each representation a CSV file and two heat maps, the map and the heads.

    What an earlier analysis left there is replaced. Raises CheckpointError when it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in [
            *folder.glob("analysis.*"),
            *folder.glob("*.png"),
            *folder.glob("retrieval.*.csv"),
        ]:
            path.unlink()
    except OSError as error:
        raise CheckpointError(
            f"{folder}: the analysis cannot be written: {error.strerror or error}"
        ) from None
    for name, matrix in analysis.retrieval.items():
        replace_file(folder / f"retrieval.{name}.csv", matrix_csv(matrix))
        for metric in ("p@1", "mrr"):  # of the error, darker would not be better
            replace_file(
                folder / f"retrieval.{name}.{metric.replace('@', '')}.png",
                heat_map_png(matrix, metric),
            )
    for name, picture in analysis.pictures.items():
        replace_file(folder / name, picture)
    replace_file(
        folder / "analysis.json", json.dumps(to_dict(analysis), indent=1, ensure_ascii=False)
    )
    replace_file(folder / "analysis.md", markdown(analysis))


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """All numbers, as JSON has them."""
    matrices = {
        name: {
            "means": {metric: matrix.means(metric) for metric in METRICS},
            "signatures": {metric: matrix.signatures(metric) for metric in METRICS},
            "cells": [{**asdict(cell), "pair": str(cell.pair)} for cell in matrix.cells.values()],
        }
        for name, matrix in analysis.retrieval.items()
    }
    first = next(iter(analysis.retrieval.values()))
    found = analysis.heads
    return {
        "format": FORMAT,
        "checkpoint": dict(first.checkpoint),
        "test": list(first.test),
        "settings": analysis.settings.model_dump(),
        "sizes": analysis.sizes,
        "retrieval": matrices,
        "similarity": {
            name: [asdict(one) for one in own] for name, own in analysis.similarity.items()
        },
        "probes": {name: [asdict(one) for one in own] for name, own in analysis.probes.items()},
        "map": analysis.map
        and {
            "representation": next(iter(analysis.retrieval)),
            "sentences": {
                language: list(lines) for language, lines in analysis.map.sentences.items()
            },
            "planes": {
                name: {one: _rounded(points) for one, points in places.items()}
                for name, places in analysis.map.planes.items()
            },
        },
        "heads": found
        and {
            "positions": {one: own.tolist() for one, own in found.positions.items()},
            "similarity": found.similarity.tolist(),
        },
        "versions": dict(first.versions),
        "machine": first.machine,
    }


def markdown(analysis: Analysis) -> str:
    """A page: representations side by side first, then the matrix of the best one."""
    first = next(iter(analysis.retrieval.values()))
    kinds = [
        kind
        for kind in KIND_MARKS
        if any(kind in matrix.means("p@1") for matrix in analysis.retrieval.values())
    ]
    blocks = [f"# Sentence embeddings: {escape(matrix_title(first))}"]
    blocks += ["## Retrieval: does a sentence find its translation?", table(
        ["representation", "numbers", *(f"{KIND_MARKS[kind].format(kind)} {RETRIEVAL_TITLES[metric]}" for kind in kinds for metric in METRICS)],
        [[name, str(analysis.sizes[name]), *(format_number(matrix.means(metric).get(kind)) for kind in kinds for metric in METRICS)]
         for name, matrix in analysis.retrieval.items()],
    )]  # fmt: skip
    if any(analysis.similarity.values()):
        tests = next(iter(analysis.similarity.values()))
        blocks += ["## Semantic similarity: Pearson / Spearman, times 100", table(
            ["representation", *(f"{escape(one.name)} ({one.pairs})" for one in tests)],
            [
                [name, *(f"{_hundredfold(one.pearson)} / {_hundredfold(one.spearman)}" for one in own)]
                for name, own in analysis.similarity.items()
            ],
        )]  # fmt: skip
    if any(analysis.probes.values()):
        tests = next(iter(analysis.probes.values()))
        blocks += ["## Linear probes: accuracy in percent", table(
            ["representation", *(f"{escape(one.name)}, {one.language} ({one.sentences})" for one in tests)],
            [["the most frequent label", *(format_number(one.majority) for one in tests)],
             *([name, *(format_number(one.accuracy) for one in own)] for name, own in analysis.probes.items())],
        )]  # fmt: skip
    best = max(
        analysis.retrieval, key=lambda name: mean(analysis.retrieval[name].means("p@1").values())
    )
    matrix = analysis.retrieval[best]
    blocks += [f"## Every pair, {best}", f"Rows ask, columns are searched. {LEGEND}."]
    for metric in METRICS:
        grid = direct_grid(matrix, metric)
        signatures = "\n".join(
            f"- signature: {code_span(line)}" for line in signature_lines(matrix, metric)
        )
        blocks += [f"### {grid.title}", grid_table(grid), means_table(grid), signatures]
    if analysis.heads is not None:
        count, alike = len(analysis.heads.similarity), analysis.heads.alike
        said = (
            ""
            if alike is None
            else f"; the mean cosine of the attention of two of them is {alike:.3f} (1: all the same, 0: apart)"
        )
        blocks += ["## Heads of the bridge", f"{pluralize(count, 'head')}{said}."]
    sentences = sorted({cell.sentences for cell in matrix.cells.values() if cell.scores})
    blocks += ["## Settings", bullet_list({
        "test text": escape("; ".join(matrix.test)),
        "sentences of each pair": " to ".join(map(str, dict.fromkeys([*sentences[:1], *sentences[-1:]]))),
        "trained pairs": ", ".join(map(str, matrix.trained)),
        "versions": ", ".join(f"{name} {version}" for name, version in matrix.versions.items()),
        "machine": escape(matrix.machine),
    })]  # fmt: skip
    return "\n\n".join(blocks) + "\n"


def _rounded(points: numpy.ndarray) -> list[list[float]]:
    """To four digits, which is more than a picture shows."""
    return [[float(f"{value:.4g}") for value in point] for point in points.tolist()]


def _hundredfold(value: float | None) -> str:
    return format_number(None if value is None else 100 * value)
