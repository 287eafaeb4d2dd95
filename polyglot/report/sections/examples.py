"""Section with examples: sources, references, and the worst and best translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sacrebleu.metrics import CHRF

from polyglot.report.files import RunFiles, StoredEvaluation
from polyglot.report.section import Section, render

TEXT_SIZE = 2 * 2**20  # bytes of examples in the page, approximately
BYTES_PER_EXAMPLE = 400  # approximately
MAX_SENTENCES = 120  # of a direction
MIN_SENTENCES = 6

METRIC = CHRF()


def examples(files: RunFiles) -> Section | None:
    evaluations = {}
    for evaluation in files.evaluations:
        size = TEXT_SIZE // len(files.evaluations)
        values = _evaluation_examples(evaluation, size=size)
        if values["routes"]:
            evaluations[evaluation.name] = values
    if not evaluations:
        return None
    body = render("examples.html")
    return Section("examples", "Examples", body, {"evaluations": evaluations})


def _evaluation_examples(evaluation: StoredEvaluation, *, size: int) -> dict[str, Any]:
    """Examples of each pair, as JSON for the page. size: bytes of text, approximately."""
    cells_by_pair: dict[str, list[dict[str, Any]]] = {}
    for cell in evaluation.cells:
        if cell["scores"]:
            cells_by_pair.setdefault(cell["pair"], []).append(cell)

    size_of_pair = size // (len(cells_by_pair) or 1)
    sentences = size_of_pair // BYTES_PER_EXAMPLE
    count = min(MAX_SENTENCES, max(MIN_SENTENCES, sentences))

    routes = {}
    kinds = {}
    for pair, cells in cells_by_pair.items():
        kinds[pair] = cells[0]["kind"]
        rows = _pair_examples(evaluation, cells, count)
        if rows is not None:
            routes[pair] = rows
    return {"routes": routes, "kinds": kinds}


def _pair_examples(
    evaluation: StoredEvaluation,
    cells: Sequence[Mapping[str, Any]],
    count: int,
) -> list[dict[str, Any]] | None:
    """Source, reference and translations of some sentences of a pair.

    cells: direct and pivot translation of the pair.
    Returns None if the number of lines in the files is not that of the scored text.
    """
    first = cells[0]
    sources = evaluation.text(first["source_text"])
    references = evaluation.text(first["reference_text"])
    outputs = {}
    for cell in cells:
        via = cell["via"] or ""
        outputs[via] = evaluation.hypotheses(cell)
    texts = [sources, references, *outputs.values()]
    if any(len(lines) != first["sentences"] for lines in texts):
        return None

    first_outputs = outputs[first["via"] or ""]
    rows = []
    for row in _select_rows(first_outputs, references, count):
        reference = references[row]
        scored_outputs = []
        for via, lines in outputs.items():
            score = _chrf(lines[row], reference)
            scored_outputs.append([via, lines[row], round(score, 1)])
        example = {
            "row": row + 1,
            "source": sources[row],
            "reference": reference,
            "outputs": scored_outputs,
        }
        rows.append(example)
    return rows


def _chrf(output: str, reference: str) -> float:
    """chrF2 of a sentence, from 0 to 100."""
    return METRIC.sentence_score(output, [reference]).score


def _select_rows(outputs: Sequence[str], references: Sequence[str], count: int) -> list[int]:
    """Rows in text order: one third worst by chrF2, one third best, and the first ones."""
    if len(outputs) <= count:
        return list(range(len(outputs)))
    scores = []
    for output, reference in zip(outputs, references):
        scores.append(_chrf(output, reference))
    order = sorted(range(len(outputs)), key=scores.__getitem__)
    third = count // 3
    worst = order[:third]
    best = order[len(order) - third :]
    selected = {*worst, *best}
    for row in range(len(outputs)):
        if len(selected) == count:
            break
        selected.add(row)
    return sorted(selected)
