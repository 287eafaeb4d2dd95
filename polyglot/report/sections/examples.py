"""What the model wrote: sources, references and the outputs of all routes, the worst and the best of each direction among them."""

from __future__ import annotations

from typing import Any

from sacrebleu.metrics import CHRF

from polyglot.report.files import Files, Scored
from polyglot.report.section import Section, render

MEBIBYTES = 2  # of text in the page, about
MOST, LEAST = 120, 6  # sentences of a direction


def examples(files: Files) -> Section | None:
    evaluations = {
        scored.name: of_evaluation(scored, budget=MEBIBYTES * 2**20 // len(files.scored))
        for scored in files.scored
    }
    evaluations = {name: values for name, values in evaluations.items() if values["routes"]}
    if not evaluations:
        return None
    return Section("examples", "Examples", render("examples.html"), {"evaluations": evaluations})


def of_evaluation(scored: Scored, *, budget: int) -> dict[str, Any]:
    """Of each pair some rows: text of source and reference, and of each route its output with the chrF2 of the sentence."""
    routes: dict[str, list[dict[str, Any]]] = {}
    for cell in scored.cells:
        if cell["scores"]:
            routes.setdefault(cell["pair"], []).append(cell)
    count = min(MOST, max(LEAST, budget // (len(routes) or 1) // 400))
    found = {}
    for pair, cells in routes.items():
        sources, references = (
            scored.lines("text", cells[0][side]) for side in ("source_text", "reference_text")
        )
        outputs = {cell["via"] or "": scored.lines("hypotheses", _name(cell)) for cell in cells}
        if {len(sources), len(references), *map(len, outputs.values())} != {cells[0]["sentences"]}:
            continue  # the files are not those that were scored
        chosen = _chosen(outputs[cells[0]["via"] or ""], references, count)
        metric = CHRF()
        found[pair] = [
            {
                "row": row + 1,
                "source": sources[row],
                "reference": references[row],
                "outputs": [
                    [
                        via,
                        lines[row],
                        round(metric.sentence_score(lines[row], [references[row]]).score, 1),
                    ]
                    for via, lines in outputs.items()
                ],
            }
            for row in chosen
        ]
    return {"routes": found, "kinds": {pair: cells[0]["kind"] for pair, cells in routes.items()}}


def _name(cell: dict[str, Any]) -> str:
    source, _, target = cell["pair"].partition("-")
    return "-".join(filter(None, (source, cell["via"], target)))


def _chosen(outputs: list[str], references: list[str], count: int) -> list[int]:
    """Rows in the order of the text: a third of them the worst by chrF2, a third the best, and the first ones."""
    if len(outputs) <= count:
        return list(range(len(outputs)))
    metric = CHRF()
    scores = [
        metric.sentence_score(output, [reference]).score
        for output, reference in zip(outputs, references)
    ]
    order = sorted(range(len(outputs)), key=scores.__getitem__)
    third = count // 3
    ends = dict.fromkeys([*order[:third], *order[len(order) - third :]])
    return sorted(
        [*ends, *[row for row in range(len(outputs)) if row not in ends][: count - len(ends)]]
    )
