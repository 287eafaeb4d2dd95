"""Analysis of one run as a Markdown page, and as JSON, CSV and PNG files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy

from polyglot.analysis.embeddings.analysis import Analysis, Correlations, ProbeResult
from polyglot.analysis.embeddings.head_attention import HeadAttention
from polyglot.analysis.embeddings.retrieval import METRICS, RetrievalMatrix
from polyglot.analysis.embeddings.sentence_map import SentenceMap
from polyglot.analysis.page import WORK, clear_folder
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import pluralize
from polyglot.core.file_locks import output_lock
from polyglot.core.markdown import bullet_list, code_span, escape, table
from polyglot.core.score_tables import RETRIEVAL_TITLES, format_number
from polyglot.core.stored_json import with_checksum
from polyglot.evaluation.grid import KIND_MARKS, LEGEND, direct_grid, matrix_title, signature_lines
from polyglot.evaluation.views.heat_map import heat_map_png
from polyglot.evaluation.views.markdown import grid_table, matrix_csv, means_table

FORMAT = 2  # of analysis.json; to be increased if an older `polyglot report` cannot read it
HEAT_MAP_METRICS = ("p@1", "mrr")  # not the error: a darker cell means a better score


# Files


def save(analysis: Analysis, folder: Path) -> None:
    """Write `analysis.md`, `analysis.json`, figures, and for each representation a CSV file.

    Replaces the files of an earlier analysis. Raises CheckpointError if they cannot be written, or
    if another process writes there.
    """
    with output_lock(folder, work=WORK):
        _write_files(analysis, folder)


def _write_files(analysis: Analysis, folder: Path) -> None:
    clear_folder(folder, "analysis.*", "*.png", "retrieval.*.csv")
    for name, matrix in analysis.retrieval.items():
        replace_file(folder / f"retrieval.{name}.csv", matrix_csv(matrix))
        for metric in HEAT_MAP_METRICS:
            file_name = f"retrieval.{name}.{metric.replace('@', '')}.png"
            replace_file(folder / file_name, heat_map_png(matrix, metric))
    for name, picture in analysis.pictures.items():
        replace_file(folder / name, picture)
    content = json.dumps(with_checksum(to_dict(analysis)), indent=1, ensure_ascii=False)
    replace_file(folder / "analysis.json", content)
    replace_file(folder / "analysis.md", markdown(analysis))


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return all numbers as in `analysis.json`."""
    first = next(iter(analysis.retrieval.values()))
    return {
        "format": FORMAT,
        "checkpoint": dict(first.checkpoint),
        "test": list(first.test),
        "settings": analysis.settings.model_dump(),
        "sizes": analysis.sizes,
        "retrieval": _map_values(_matrix_to_dict, analysis.retrieval),
        "similarity": _map_values(_results_to_dicts, analysis.similarity),
        "probes": _map_values(_results_to_dicts, analysis.probes),
        "map": analysis.map and _map_to_dict(analysis.map, first.representation),
        "heads": analysis.heads and _heads_to_dict(analysis.heads),
        "versions": dict(first.versions),
        "machine": first.machine,
    }


def _map_values(function: Callable[[Any], Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: function(value) for name, value in values.items()}


def _matrix_to_dict(matrix: RetrievalMatrix) -> dict[str, Any]:
    cells = []
    for cell in matrix.cells.values():
        cells.append({**asdict(cell), "pair": str(cell.pair)})
    return {
        "means": {metric: matrix.means(metric) for metric in METRICS},
        "signatures": {metric: matrix.signatures(metric) for metric in METRICS},
        "cells": cells,
    }


def _results_to_dicts(results: Sequence[Correlations | ProbeResult]) -> list[dict[str, Any]]:
    return list(map(asdict, results))


def _map_to_dict(sentence_map: SentenceMap, representation: str) -> dict[str, Any]:
    planes = {}
    for name, points_by_language in sentence_map.planes.items():
        planes[name] = _map_values(_rounded, points_by_language)
    return {
        "representation": representation,
        "sentences": _map_values(list, sentence_map.sentences),
        "planes": planes,
    }


def _rounded(points: numpy.ndarray) -> list[list[float]]:
    """Points with four digits, more than a figure shows."""
    rows = []
    for x, y in points.tolist():
        rows.append([float(f"{x:.4g}"), float(f"{y:.4g}")])
    return rows


def _heads_to_dict(heads: HeadAttention) -> dict[str, Any]:
    return {
        "positions": _map_values(numpy.ndarray.tolist, heads.positions),
        "similarity": heads.similarity.tolist(),
    }


# Markdown


def markdown(analysis: Analysis) -> str:
    """Return the page: tables of all representations, then retrieval with the best of them."""
    first = next(iter(analysis.retrieval.values()))
    blocks = [
        f"# Sentence embeddings: {escape(matrix_title(first))}",
        "## Retrieval of translations",
        _retrieval_table(analysis),
    ]
    if has_results(analysis.similarity):
        title = "## Semantic similarity: Pearson / Spearman, times 100"
        blocks += [title, _similarity_table(analysis)]
    if has_results(analysis.probes):
        blocks += ["## Linear probes: accuracy in percent", _probes_table(analysis)]
    best = _best_representation(analysis)
    blocks += _matrix_blocks(best)
    if analysis.heads is not None:
        blocks += ["## Heads of the bridge", _heads_text(analysis.heads)]
    blocks += ["## Settings", _settings_list(best)]
    return "\n\n".join(blocks) + "\n"


def has_results(results: Mapping[str, Sequence[object]]) -> bool:
    """True if at least one representation has results."""
    return any(results.values())


def _retrieval_table(analysis: Analysis) -> str:
    matrices = analysis.retrieval
    kinds = []
    for kind in KIND_MARKS:
        if any(kind in matrix.means("p@1") for matrix in matrices.values()):
            kinds.append(kind)

    rows = []
    titles: Sequence[str] = []
    for name, matrix in matrices.items():
        columns = retrieval_columns(matrix, kinds)
        titles = list(columns)
        rows.append([name, str(analysis.sizes[name]), *columns.values()])
    return table(["representation", "dimensions", *titles], rows)


def retrieval_columns(matrix: RetrievalMatrix, kinds: Sequence[str]) -> dict[str, str]:
    """Return the mean of each kind of pairs and metric by the titles of the columns."""
    columns = {}
    for kind in kinds:
        for metric in METRICS:
            title = f"{KIND_MARKS[kind].format(kind)} {RETRIEVAL_TITLES[metric]}"
            columns[title] = format_number(matrix.means(metric).get(kind))
    return columns


def _similarity_table(analysis: Analysis) -> str:
    head = ["representation"]
    for test in next(iter(analysis.similarity.values())):
        head.append(f"{escape(test.name)} ({test.pairs})")
    rows = []
    for name, results in analysis.similarity.items():
        row = [name]
        for result in results:
            pearson = format_correlation(result.pearson)
            row.append(f"{pearson} / {format_correlation(result.spearman)}")
        rows.append(row)
    return table(head, rows)


def format_correlation(value: float | None) -> str:
    """Return a correlation times 100; – for None."""
    return format_number(None if value is None else 100 * value)


def _probes_table(analysis: Analysis) -> str:
    head = ["representation"]
    majorities = ["most frequent label"]
    for probe in next(iter(analysis.probes.values())):
        head.append(f"{escape(probe.name)}, {probe.language} ({probe.sentences})")
        majorities.append(format_number(probe.majority))
    rows = [majorities]
    for name, results in analysis.probes.items():
        rows.append([name, *(format_number(result.accuracy) for result in results)])
    return table(head, rows)


def _best_representation(analysis: Analysis) -> RetrievalMatrix:
    """Matrix with the highest mean P@1 over the kinds of pairs."""
    return max(analysis.retrieval.values(), key=lambda matrix: mean(matrix.means("p@1").values()))


def _matrix_blocks(matrix: RetrievalMatrix) -> list[str]:
    blocks = [
        f"## All pairs, {matrix.representation}",
        f"Rows are query languages, columns are searched languages. {LEGEND}.",
    ]
    for metric in METRICS:
        grid = direct_grid(matrix, metric)
        signatures = []
        for line in signature_lines(matrix, metric):
            signatures.append(f"- signature: {code_span(line)}")
        blocks += [
            f"### {grid.title}",
            grid_table(grid),
            means_table(grid),
            "\n".join(signatures),
        ]
    return blocks


def _heads_text(heads: HeadAttention) -> str:
    text = f"{pluralize(len(heads.similarity), 'head')}."
    similarity = heads.mean_similarity
    if similarity is None:
        return text
    return (
        f"{text} Mean cosine similarity between the attention of two heads: {similarity:.3f} "
        "(1: all heads attend to the same positions; 0: no overlap)."
    )


def _settings_list(matrix: RetrievalMatrix) -> str:
    sentences = []
    for cell in matrix.cells.values():
        if cell.scores:
            sentences.append(cell.sentences)
    limits = dict.fromkeys([min(sentences), max(sentences)])
    versions = [f"{name} {version}" for name, version in matrix.versions.items()]
    settings = {
        "test text": escape("; ".join(matrix.test)),
        "sentences of each pair": " to ".join(map(str, limits)),
        "trained pairs": ", ".join(map(str, matrix.trained)),
        "versions": ", ".join(versions),
        "machine": escape(matrix.machine),
    }
    return bullet_list(settings)
