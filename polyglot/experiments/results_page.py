"""The result page of an experiment: what it found, the paper beside it, and how to repeat it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from polyglot.analysis.embeddings.comparison import comparison
from polyglot.core.atomic_files import replace_file
from polyglot.core.markdown import bullet_list, code_span, escape, table
from polyglot.core.score_tables import ERROR_TITLES
from polyglot.evaluation.grid import (
    KIND_MARKS,
    LEGEND,
    PIVOT_LEGEND,
    mean_errors_by_kind,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.significance import SIGNIFICANCE_LEVEL
from polyglot.evaluation.views.markdown import settings_list, with_interval
from polyglot.experiments.figure import figure_png
from polyglot.experiments.results import Claim, Results, SystemResult

YES = {True: "yes", False: "no", None: "–"}


def save(results: Results, folder: Path) -> None:
    """`result.md`, `result.json` and `result.png`. Raises CheckpointError when they cannot be written."""
    replace_file(
        folder / "result.json", json.dumps(results.to_dict(), indent=1, ensure_ascii=False)
    )
    replace_file(folder / "result.png", figure_png(results))
    replace_file(folder / "result.md", "\n\n".join(_blocks(results)) + "\n")


def _blocks(results: Results) -> Iterator[str]:
    systems = results.systems
    yield f"# {escape(results.title)}"
    if results.question:
        yield escape(results.question)
    if results.expected:
        yield f"**Expected.** {escape(results.expected)}"
    if results.size:
        yield f"Size {code_span(results.size)}" + (
            f": {escape(results.about)}" if results.about else "."
        )
    yield f"{results.measure.title} if nothing else is said. {LEGEND} · {PIVOT_LEGEND}."
    yield "![Scores of every system](result.png)"
    if results.outcomes:
        yield "## Goals"
        rows = ([escape(one.goal), one.found, YES[one.reached]] for one in results.outcomes)
        yield table(["goal", "found", "reached"], rows)
    yield "## Means"
    yield _means(results)
    yield "## Every direction"
    yield _directions(results)
    several = any(len(system.matrices) > 1 for system in systems)
    notes = ["A number over several seeds is mean ± standard deviation"] if several else []
    if results.note:
        notes.append(escape(results.note))
    yield "\n".join(f"- {note}." for note in [*notes, *_origins(results)])
    if intervals := _intervals(results):
        yield "## 95 % confidence intervals"
        yield f"Bootstrap, {systems[0].matrices[0].protocol.resamples} resamples, mean ± half the width; of the first run of each system."
        yield intervals
    if rows := list(_left_out(results)):
        yield "## Left out"
        yield "Zero-shot where a system was trained without the direction; mean ± standard deviation of those that were trained on it."
        yield table(["direction", "left out", "trained on it", "difference"], rows)
    if hops := list(_hops(results)):
        yield "## One hop and two"
        if results.hops_note:
            yield f"{escape(results.hops_note)}."
        yield from hops
    if any(system.reference for system in systems):
        yield "## Beside the paper"
        yield _beside(results)
    if results.claims:
        yield "## What the paper found on its own text"
        yield "Differences between two systems, there and here; \\* as above; – where the paper lacks one."
        yield _claims(results)
    yield "## Under every condition"
    rows = (
        [_of(system, kind), *(_shown(system, kind, measure=each) for each in results.measures)]
        for system in systems
        for kind in system.kinds(results.measure)
    )
    yield table(["", *(measure.title for measure in results.measures)], rows)
    yield "## What is wrong with the outputs"
    yield "In brackets the same of the references" + (
        "; of the first seed of each." if several else "."
    )
    rows = (
        [_of(system, kind), *shares.values()]
        for system in systems
        for kind, shares in mean_errors_by_kind(system.matrices[0]).items()
    )
    yield table(["", *ERROR_TITLES.values()], rows)
    if results.embeddings:
        yield "## Sentence embeddings"
        yield comparison(results.embeddings)
    if empty := {name: reason for system in systems for name, reason in system.empty.items()}:
        yield "## Without a score"
        yield bullet_list(empty)
    yield "## How it was made"
    if differs := results.differences():
        yield "What differs between the configurations of the first run of each, besides place and seed; `–` where a system has no such key."
        rows = (
            [code_span(key), *(code_span(value) if value else "–" for value in values)]
            for key, values in differs.items()
        )
        yield table(["key", *map(_name, systems)], rows)
    for system in systems:
        yield f"### {_name(system)}"
        yield "```\n" + "\n".join(run.command for run in system.runs) + "\n```"
        yield _made(system)


def _name(system: SystemResult) -> str:
    return escape(system.name)


def _mark(p: float | None) -> str:
    """Of a difference."""
    return "\\*" if p is not None and p < SIGNIFICANCE_LEVEL else ""


def _of(system: SystemResult, kind: str) -> str:
    return f"{_name(system)}, {kind}"


def _means(results: Results) -> str:
    kinds = [
        kind
        for kind in KIND_MARKS
        if any(kind in system.kinds(results.measure) for system in results.systems)
    ]
    every = [
        {kind: sum(cell.kind == kind for cell in system.directions.values()) for kind in kinds}
        for system in results.systems
    ]
    alike = {kind for kind in kinds if len({counts[kind] for counts in every if counts[kind]}) == 1}
    rows = []
    for system, counts in zip(results.systems, every):
        over = {
            kind: f" ({counts[kind]} direction{'s' * (counts[kind] > 1)})"
            for kind in kinds
            if counts[kind] and kind not in alike
        }
        rows.append(
            [
                _name(system),
                *(
                    f"{_shown(system, kind, measure=results.measure)}{over.get(kind, '')}"
                    for kind in kinds
                ),
            ]
        )
        if system.reference:
            theirs = system.beside_reference(results.measure)
            of = {
                kind: "" if count == counts[kind] else f" ({count} of {counts[kind]} directions)"
                for kind, (_, _, count) in theirs.items()
            }
            rows.append(
                [
                    f"{_name(system)}, the paper",
                    *(
                        f"{theirs[kind][0]:.2f}{of[kind]}" if kind in theirs else "–"
                        for kind in kinds
                    ),
                ]
            )
    return table(["system", *(KIND_MARKS[kind].format(kind) for kind in kinds)], rows)


def _shown(system: SystemResult, kind: str, *, measure: Measure) -> str:
    found = system.kinds(measure)
    return found[kind].shown() if kind in found else "–"


def _directions(results: Results) -> str:
    head = ["direction"]
    for system in results.systems:
        head += [_name(system), *(["the paper"] if system.reference else [])]
    rows = []
    for name in results.directions:
        row = [name]
        for system in results.systems:
            cell = system.directions.get(name)
            score = (
                f"{system.spread(name, results.measure).shown()}{_mark(results.p(name, system))}"
                if cell
                else ""
            )
            row.append(KIND_MARKS[cell.kind].format(score) if cell else "–")
            if system.reference:
                theirs = system.reference_score(name)
                row.append("" if theirs is None else f"{theirs:.2f}")
        rows.append(row)
    return table(head, rows)


def _intervals(results: Results) -> str:
    """Empty where there are none."""
    rows = []
    for name in results.directions:
        cells = [system.directions.get(name) for system in results.systems]
        scores = [cell.scores.get(str(results.measure)) if cell else None for cell in cells]
        if any(score and score.interval is not None for score in scores):
            rows.append([name, *map(with_interval, scores)])
    return table(["direction", *map(_name, results.systems)], rows) if rows else ""


def _left_out(results: Results) -> Iterator[list[str]]:
    """A row for each direction that some systems lack."""
    for pair, unseen, seen in results.left_out():
        compared = [seen.shown(), f"{unseen - seen.mean:+.2f}"] if seen else ["–", ""]
        yield [str(pair), KIND_MARKS["zero-shot"].format(f"{unseen:.2f}"), *compared]


def _hops(results: Results) -> Iterator[str]:
    """A table of each system that has a pivot: its pairs in one hop and in two, and what the second hop is worth."""
    for system in results.systems:
        rows = []
        pivots = {str(pair): cell for pair, cell in system.matrices[0].pivots.items()}
        for pair, ways in results.hops[system.name].rows.items():
            one, two = (
                system.spread(direction, results.measure) for direction in (pair, pivots[pair].name)
            )
            kind, difference = (
                system.directions[pair].kind,
                f"{one.mean - two.mean:+.2f}{_mark(ways['direct'].p)}",
            )
            rows.append(
                [
                    pair,
                    KIND_MARKS[kind].format(one.shown()),
                    KIND_MARKS["pivot"].format(two.shown()),
                    difference,
                ]
            )
        if rows:
            yield table(
                [
                    _name(system),
                    "direct",
                    f"through {system.matrices[0].protocol.pivot}",
                    "difference",
                ],
                rows,
            )


def _beside(results: Results) -> str:
    rows = [
        [_of(system, kind), f"{ours:.2f}", f"{theirs:.2f}", f"{ours - theirs:+.2f}", count]
        for system in results.systems
        for kind, (theirs, ours, count) in system.beside_reference(results.measure).items()
    ]
    return table(["", "ours", "the paper's", "difference", "directions that both have"], rows)


def _claims(results: Results) -> str:
    rows = (
        [
            f"{escape(claim.system)}, {claim.direction}",
            escape(claim.beside),
            "–" if claim.paper is None else f"{claim.paper:+.2f}{_from(claim)}",
            f"{claim.ours:+.2f}{_mark(claim.p)}",
            YES[claim.holds],
        ]
        for claim in results.claims
    )
    return table(["", "beside", "the paper's difference", "ours", "the same sign"], rows)


def _from(claim: Claim) -> str:
    """Said where the paper's difference is from another system."""
    return "" if claim.paper_beside == claim.beside else f" (from {escape(claim.paper_beside)})"


def _origins(results: Results) -> Iterator[str]:
    for system in results.systems:
        if system.reference:
            theirs = system.reference
            yield f"{_name(system)} stands beside {theirs.source}: {code_span(theirs.signature)}, {theirs.test_set}; {theirs.condition}"
    for line in dict.fromkeys(
        line
        for system in results.systems
        for line in signature_lines(system.matrices[0], results.measure)
    ):
        yield f"ours: {code_span(line)}"


def _made(system: SystemResult) -> str:
    lines = []
    for run in system.runs:
        spent = "" if run.seconds is None else f", {run.seconds:,.0f} s of training"
        when = "" if run.day is None else f", until {run.day}"
        read = [
            f"{escape(str(one.get('run')))}: {one.get('checkpoint')} checkpoint, step {', '.join(map(str, one.get('steps', ())))}"
            for one in run.checkpoint.get("members", [run.checkpoint])
        ]
        lines.append(
            f"- {'; '.join(read)}{spent}{when}; {code_span(f'evaluation/{run.name}/matrix.md')} has all of it"
        )
    return "\n".join([f"- {system.parameters:,} parameters", *lines, settings_list(system.matrices[0])])
