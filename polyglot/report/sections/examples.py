"""Section with examples: sources, references, and the worst and best translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from sacrebleu.metrics import CHRF

from polyglot.core.language_codes import has_spaces
from polyglot.report.files import RunFiles, StoredEvaluation
from polyglot.report.section import Section, render

TEXT_SIZE = 2 * 2**20  # bytes of examples in the page, approximately
MARKUP_SIZE = 60  # bytes of an example without its texts, approximately
SAMPLED_LINES = 20  # of each text, from which the size of an example is estimated
MAX_SENTENCES = 120  # of a direction
MIN_SENTENCES = 6
MAX_SCORED = 20_000  # translations that are scored to find the worst and the best

METRIC = CHRF()

Cell = Mapping[str, Any]
"""A cell of matrix.json."""


def examples(files: RunFiles) -> Section | None:
    evaluations = {}
    for evaluation in files.evaluations:
        size = TEXT_SIZE // len(files.evaluations)
        values = _evaluation_examples(evaluation, size=size)
        if values["routes"]:
            evaluations[evaluation.name] = values
    if not evaluations:
        return None
    data = {
        "evaluations": evaluations,
        "selected": files.main_evaluation.name,
        "without_spaces": [name for name in files.run.config.languages if not has_spaces(name)],
    }
    return Section("examples", "Examples", render("examples.html"), data)


def _evaluation_examples(evaluation: StoredEvaluation, *, size: int) -> dict[str, Any]:
    """Examples of each pair, as JSON for the page; of some pairs if there are too many.

    size: bytes of text, approximately.
    """
    cells_by_pair: dict[str, list[Cell]] = {}
    for cell in evaluation.cells:
        if cell["scores"]:
            cells_by_pair.setdefault(cell["pair"], []).append(cell)
    if not cells_by_pair:
        return {"routes": {}, "kinds": {}, "scored": 0}

    example_size = _example_size(evaluation, cells_by_pair)
    all_examples = max(1, size // example_size)
    pairs = _select_pairs(evaluation, cells_by_pair, all_examples // MIN_SENTENCES)
    count = min(MAX_SENTENCES, max(MIN_SENTENCES, all_examples // len(pairs)))
    scored = max(count, MAX_SCORED // len(pairs))

    routes = {}
    kinds = {}
    for pair in pairs:
        cells = cells_by_pair[pair]
        kinds[pair] = cells[0]["kind"]
        rows = _pair_examples(evaluation, cells, count, scored=scored)
        if rows is not None:
            routes[pair] = rows
    return {"routes": routes, "kinds": kinds, "scored": len(cells_by_pair)}


def _example_size(
    evaluation: StoredEvaluation,
    cells_by_pair: Mapping[str, Sequence[Cell]],
) -> int:
    """Estimated bytes of an example: source, reference and the outputs of all routes."""
    names = {cells[0]["source_text"] for cells in cells_by_pair.values()}
    sizes = [0]
    for name in names:
        for line in evaluation.text(name)[:SAMPLED_LINES]:
            sizes.append(len(line.encode()))
    routes = max(map(len, cells_by_pair.values()))
    return MARKUP_SIZE + round(mean(sizes) * (2 + routes))


def _select_pairs(
    evaluation: StoredEvaluation,
    cells_by_pair: Mapping[str, Sequence[Cell]],
    limit: int,
) -> list[str]:
    """All pairs, or `limit` of them: of each kind the worst, the best, and the first ones."""
    limit = max(1, limit)
    if len(cells_by_pair) <= limit:
        return list(cells_by_pair)

    measure = next(iter(evaluation.measures))
    pairs_by_kind: dict[str, list[str]] = {}
    for pair, cells in cells_by_pair.items():
        pairs_by_kind.setdefault(cells[0]["kind"], []).append(pair)
    limit_of_kind = max(1, limit // len(pairs_by_kind))

    selected: set[str] = set()
    for pairs in pairs_by_kind.values():
        scores = []
        for pair in pairs:
            score = cells_by_pair[pair][0]["scores"].get(measure)
            scores.append(score["value"] if score else 0.0)
        rows = _worst_and_best(scores, min(limit_of_kind, len(pairs)))
        selected.update(pairs[row] for row in rows)
    return [pair for pair in cells_by_pair if pair in selected]


def _pair_examples(
    evaluation: StoredEvaluation,
    cells: Sequence[Cell],
    count: int,
    *,
    scored: int,
) -> list[dict[str, Any]] | None:
    """Source, reference and translations of some sentences of a pair.

    cells: direct and pivot translation of the pair. scored: number of sentences, from the first on,
    among which the worst and the best are searched.
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

    first_via = first["via"] or ""
    first_scores: list[float] = []
    selected_rows = list(range(len(references)))
    if len(references) > count:
        for output, reference in zip(outputs[first_via][:scored], references):
            first_scores.append(_chrf(output, reference))
        selected_rows = _worst_and_best(first_scores, count)

    rows = []
    for row in selected_rows:
        reference = references[row]
        scored_outputs = []
        for via, lines in outputs.items():
            if via == first_via and first_scores:
                score = first_scores[row]
            else:
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


def _worst_and_best(scores: Sequence[float], count: int) -> list[int]:
    """Positions in order: one third lowest scores, one third highest, and the first ones."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    third = count // 3
    worst = order[:third]
    best = order[len(order) - third :]
    selected = {*worst, *best}
    for row in range(len(scores)):
        if len(selected) == count:
            break
        selected.add(row)
    return sorted(selected)
