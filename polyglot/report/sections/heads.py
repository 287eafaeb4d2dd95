"""Section with the bridge heads over many sentences: attended positions and similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyglot.report.analyses import StoredAnalysis, stored_analyses
from polyglot.report.files import RunFiles
from polyglot.report.section import Section, render

Positions = Mapping[str, Sequence[Sequence[float]]]
"""Attention of each head (K) in each tenth of a sentence, by language."""


def heads(files: RunFiles) -> Section | None:
    analyses = []
    for analysis in stored_analyses(files):
        if analysis.values["heads"]:
            analyses.append(_heads(analysis))
    if not analyses:
        return None
    body = render("heads.html", analyses=analyses)
    return Section("heads", "Mean attention of the heads", body)


def _heads(analysis: StoredAnalysis) -> dict[str, Any]:
    """Values of one analysis; heads are ordered from start to end of the sentence."""
    positions: Positions = analysis.values["heads"]["positions"]
    similarity = analysis.values["heads"]["similarity"]
    places = [_mean_position(positions, head) for head in range(len(similarity))]
    order = sorted(range(len(similarity)), key=places.__getitem__)

    ordered_positions = {}
    highest = []
    for language, rows in positions.items():
        ordered_positions[language] = [rows[head] for head in order]
        highest += [max(row) for row in rows]

    ordered_similarity = []
    different_heads = []
    for head in order:
        row = similarity[head]
        ordered_similarity.append([row[other] for other in order])
        different_heads += [row[other] for other in order if other != head]

    mean_similarity = None
    if different_heads:
        mean_similarity = sum(different_heads) / len(different_heads)
    return {
        "name": analysis.name,
        "count": len(order),
        "alike": mean_similarity,
        "order": [head + 1 for head in order],
        "top": max(highest),
        "positions": ordered_positions,
        "likeness": ordered_similarity,
    }


def _mean_position(positions: Positions, head: int) -> float:
    """Attended position of a head, summed over languages, in tenths of a sentence."""
    total = 0.0
    for rows in positions.values():
        for tenth, share in enumerate(rows[head]):
            total += tenth * share
    return total
