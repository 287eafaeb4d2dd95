"""Sentence embeddings: what retrieval and similarity found, and sentences of all languages on a plane."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from polyglot.report.analyses import Analysed, analyses
from polyglot.report.charts import COLOURS
from polyglot.report.files import Files
from polyglot.report.section import Section, render

WIDTH, HEIGHT, MARGIN = 520, 400, 14  # of a map
LINKED = (
    12  # sentences whose translations are joined by a line, so that one sees how far apart they are
)
KINDS = {"supervised": "supervised", "zero-shot": "zero-shot †"}
MEASURES = {"p@1": "P@1", "mrr": "MRR", "xsim": "xSIM error"}


def embeddings(files: Files) -> Section | None:
    found = [_analysis(one, number) for number, one in enumerate(analyses(files))]
    body = render(
        "embeddings.html",
        analyses=found,
        measures=list(MEASURES.values()),
        width=WIDTH,
        height=HEIGHT,
    )
    return Section("embeddings", "Sentence embeddings", body) if found else None


def _analysis(analysed: Analysed, number: int) -> dict[str, Any]:
    values = analysed.values
    sentences = values["map"]["sentences"]
    return {
        "name": analysed.name,
        "test": "; ".join(values["test"]),
        "retrieval": _retrieval(values),
        "similarity": _similarity(values),
        "maps": [
            {"id": f"map-{number}-{place}", "title": title, **drawn(points)}
            for place, (title, points) in enumerate(values["map"]["planes"].items())
        ],
        "representation": values["map"]["representation"],
        "linked": min(LINKED, min(map(len, sentences.values()))),
        "sentences": sentences,
        "rows": list(zip(*sentences.values())),
    }


def _retrieval(
    values: dict[str, Any],
) -> tuple[list[str], list[tuple[str, int, list[float | None]]]]:
    """Kinds, and of each representation its size and the means of every measure, kind by kind."""
    kinds = [
        kind
        for kind in KINDS
        if any(kind in own["means"]["p@1"] for own in values["retrieval"].values())
    ]
    return [KINDS[kind] for kind in kinds], [
        (
            name,
            values["sizes"][name],
            [own["means"][measure].get(kind) for kind in kinds for measure in MEASURES],
        )
        for name, own in values["retrieval"].items()
    ]


def _similarity(values: dict[str, Any]) -> tuple[list[str], list[tuple[str, list[float | None]]]]:
    """Names of the tests, and of each representation Spearman's correlations times 100; None where it has none."""
    tests = next(iter(values["similarity"].values()), [])
    scores = {
        name: [one["spearman"] for one in own] for name, own in values["similarity"].items() if own
    }
    return [one["name"] for one in tests], [
        (name, [one and 100 * one for one in own]) for name, own in scores.items()
    ]


def drawn(points: dict[str, Sequence[Sequence[float]]]) -> dict[str, Any]:
    """A plane in the picture's own units: dots of each language, and lines between translations. points: by language (N, 2)"""
    (left, right), (low, high) = (
        (min(axis), max(axis)) for axis in zip(*(point for own in points.values() for point in own))
    )

    def place(point: Sequence[float]) -> tuple[float, float]:
        across, up = (point[0] - left) / (right - left or 1), (point[1] - low) / (high - low or 1)
        return round(MARGIN + across * (WIDTH - 2 * MARGIN), 1), round(
            HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN), 1
        )

    placed = {language: [place(point) for point in own] for language, own in points.items()}
    centres = [
        tuple(mean(axis) for axis in zip(*same)) for same in list(zip(*placed.values()))[:LINKED]
    ]
    return {
        "languages": [
            {
                "name": language,
                "colour": number % COLOURS,
                "hollow": bool(number // COLOURS % 2),
                "dots": dots,
            }
            for number, (language, dots) in enumerate(placed.items())
        ],
        "lines": [
            (*dots[number], *centre)
            for number, centre in enumerate(centres)
            for dots in placed.values()
        ],
    }
