"""Section with sentence embeddings: retrieval, semantic similarity, and sentences on a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from polyglot.core.score_tables import RETRIEVAL_TITLES
from polyglot.report.analyses import StoredAnalysis, stored_analyses
from polyglot.report.charts import COLOURS, Axis
from polyglot.report.files import RunFiles, language_tags
from polyglot.report.section import Section, render

# Size and margin of a plane
WIDTH = 520
HEIGHT = 400
MARGIN = 14

MAX_DOTS = 2000  # of a plane; with many languages, fewer sentences are shown
MANY_LANGUAGES = 8  # with more languages, the legend of a plane is folded
LINKED = 12  # sentences that are joined with their translations by lines

KIND_TITLES = {"supervised": "supervised", "zero-shot": "zero-shot †"}

Position = tuple[float, float]

Scores = list[float | None]
"""One row of a table; None without a score."""


def embeddings(files: RunFiles) -> Section | None:
    analyses = []
    for number, analysis in enumerate(stored_analyses(files)):
        analyses.append(_analysis(analysis, number))
    if not analyses:
        return None
    body = render(
        "embeddings.html",
        analyses=analyses,
        measures=list(RETRIEVAL_TITLES.values()),
        width=WIDTH,
        height=HEIGHT,
    )
    return Section("embeddings", "Sentence embeddings", body)


def _analysis(analysis: StoredAnalysis, number: int) -> dict[str, Any]:
    """Values of one analysis for the template."""
    values = analysis.values
    count = max(1, MAX_DOTS // max(1, len(values["map"]["sentences"])))
    sentences = _first_rows(values["map"]["sentences"], count)
    translations = list(zip(*sentences.values()))
    planes = values["map"]["planes"]
    maps = []
    for map_number, (title, points) in enumerate(planes.items()):
        plane = draw_plane(_first_rows(points, count))
        plane["id"] = f"map-{number}-{map_number}"
        plane["title"] = title
        maps.append(plane)
    return {
        "name": analysis.name,
        "test": "; ".join(values["test"]),
        "retrieval": _retrieval(values),
        "similarity": _similarity(values),
        "maps": maps,
        "representation": values["map"]["representation"],
        "linked": min([LINKED, *map(len, sentences.values())]),
        "sentences": sentences,
        "rows": translations,
        "tags": list(language_tags(sentences).values()),
        "many": len(sentences) > MANY_LANGUAGES,
    }


def _first_rows(rows_by_language: Mapping[str, Sequence[Any]], count: int) -> dict[str, Any]:
    """First sentences, or their points, of each language."""
    return {language: rows[:count] for language, rows in rows_by_language.items()}


def _retrieval(
    values: Mapping[str, Any],
) -> tuple[list[str], list[tuple[str, int, Scores]]]:
    """Titles of the kinds, and one row per representation: name, dimensions and mean scores.

    The scores are ordered by kind, then by metric.
    """
    means = {}
    for name, result in values["retrieval"].items():
        means[name] = result["means"]
    kinds = []
    for kind in KIND_TITLES:
        if any(kind in scores["p@1"] for scores in means.values()):
            kinds.append(kind)

    rows = []
    for name, scores in means.items():
        row = []
        for kind in kinds:
            row += [scores[metric].get(kind) for metric in RETRIEVAL_TITLES]
        size = values["sizes"][name]
        rows.append((name, size, row))
    titles = [KIND_TITLES[kind] for kind in kinds]
    return titles, rows


def _similarity(
    values: Mapping[str, Any],
) -> tuple[list[str], list[tuple[str, Scores]]]:
    """Names of the tests, and Spearman's correlations × 100 of each representation."""
    tests_by_name = values["similarity"]
    first_tests = next(iter(tests_by_name.values()), [])
    titles = [test["name"] for test in first_tests]
    rows = []
    for name, tests in tests_by_name.items():
        if tests:
            correlations = [_hundredfold(test["spearman"]) for test in tests]
            rows.append((name, correlations))
    return titles, rows


def _hundredfold(correlation: float | None) -> float | None:
    if correlation is None:
        return None
    return 100 * correlation


def draw_plane(points: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, Any]:
    """Dots of each language, and lines between translations, in units of the drawing.

    points: by language (N, 2), where equal rows are translations.
    """
    x_values: list[float] = []
    y_values: list[float] = []
    for language_points in points.values():
        x_values += [x for x, _ in language_points]
        y_values += [y for _, y in language_points]
    across = Axis(
        low=min(x_values),
        high=max(x_values),
        start=MARGIN,
        end=WIDTH - MARGIN,
    )
    up = Axis(
        low=min(y_values),
        high=max(y_values),
        start=HEIGHT - MARGIN,
        end=MARGIN,
    )

    positions: list[list[Position]] = []
    languages = []
    for number, language in enumerate(points):
        dots = [(across.position(x), up.position(y)) for x, y in points[language]]
        positions.append(dots)
        entry = {
            "name": language,
            "colour": number % COLOURS,
            "hollow": bool(number // COLOURS % 2),
            "dots": dots,
        }
        languages.append(entry)
    return {"languages": languages, "lines": _lines(positions)}


def _lines(positions: Sequence[Sequence[Position]]) -> list[tuple[float, float, float, float]]:
    """Lines from the first sentences of each language to the centre of their translations."""
    lines = []
    rows = list(zip(*positions))
    for translations in rows[:LINKED]:
        centre_x = mean(x for x, _ in translations)
        centre_y = mean(y for _, y in translations)
        for x, y in translations:
            lines.append((x, y, centre_x, centre_y))
    return lines
