"""Result page of an experiment: its tables, the comparison with papers, and all commands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyglot.analysis.embeddings.comparison import comparison
from polyglot.core.atomic_files import replace_file
from polyglot.core.markdown import bullet_list, code_span, escape, table
from polyglot.core.score_tables import NO_VALUE
from polyglot.evaluation.grid import LEGEND, PIVOT_LEGEND, signature_lines
from polyglot.evaluation.views.markdown import settings_list
from polyglot.experiments import result_tables
from polyglot.experiments.figure import figure_png
from polyglot.experiments.result_file import results_dict
from polyglot.experiments.results import Results
from polyglot.experiments.system_result import SystemResult, TrainedRun


def save(results: Results, folder: Path) -> None:
    """Write `result.md`, `result.json` and `result.png`.

    Raise CheckpointError if they cannot be written.
    """
    numbers = json.dumps(results_dict(results), indent=1, ensure_ascii=False)
    replace_file(folder / "result.json", numbers)
    replace_file(folder / "result.png", figure_png(results))
    replace_file(folder / "result.md", "\n\n".join(_blocks(results)) + "\n")


def _introduction(results: Results) -> Iterator[str]:
    yield f"# {escape(results.title)}"
    if results.question:
        yield f"**Question.** {escape(results.question)}"
    if results.expected:
        yield f"**Expected.** {escape(results.expected)}"
    if results.size and results.about:
        yield f"Size {code_span(results.size)}: {escape(results.about)}"
    elif results.size:
        yield f"Size {code_span(results.size)}."


def _blocks(results: Results) -> Iterator[str]:
    yield from _introduction(results)
    title = results.measure.title
    yield f"Scores are {title} unless stated otherwise. {LEGEND} · {PIVOT_LEGEND}."
    yield "![Scores of every system](result.png)"
    if results.goal_results:
        yield "## Goals"
        yield result_tables.goals_table(results)
    yield "## Means"
    yield result_tables.means_table(results)
    yield "## Every direction"
    yield result_tables.directions_table(results)
    yield "\n".join(f"- {note}." for note in _notes(results))
    yield from _intervals(results)
    yield from _left_out(results)
    yield from _pivot(results)
    yield from _paper(results)
    yield "## All metrics and conditions"
    yield result_tables.metrics_table(results)
    yield from _output_errors(results)
    if results.embeddings:
        yield "## Sentence embeddings"
        yield comparison(results.embeddings)
    yield from _missing_scores(results)
    yield from _configurations(results)


def _has_several_seeds(results: Results) -> bool:
    return any(len(system.matrices) > 1 for system in results.systems)


def _notes(results: Results) -> Iterator[str]:
    """Yield explanations of the scores: seeds, test, papers, signatures."""
    if _has_several_seeds(results):
        yield "A score over several seeds is mean ± standard deviation"
    if results.significance_note:
        yield escape(results.significance_note)
    for system in results.systems:
        if system.reference:
            paper = system.reference
            yield (
                f"{escape(system.name)} is compared with {paper.source}: "
                f"{code_span(paper.signature)}, {paper.test_set}; {paper.condition}"
            )
    signatures: dict[str, None] = {}
    for system in results.systems:
        signatures.update(dict.fromkeys(signature_lines(system.matrices[0], results.measure)))
    for signature in signatures:
        yield f"ours: {code_span(signature)}"


def _intervals(results: Results) -> Iterator[str]:
    intervals = result_tables.intervals_table(results)
    if intervals:
        resamples = results.systems[0].matrices[0].protocol.resamples
        yield "## 95 % confidence intervals"
        yield (
            f"Bootstrap with {resamples} resamples: mean ± half of the interval width, "
            "for the first run of each system."
        )
        yield intervals


def _left_out(results: Results) -> Iterator[str]:
    left_out = result_tables.left_out_table(results)
    if left_out:
        yield "## Directions left out of training"
        yield (
            "Zero-shot score of the model trained without the direction; "
            "mean ± standard deviation of the models trained with it."
        )
        yield left_out


def _pivot(results: Results) -> Iterator[str]:
    tables = list(result_tables.pivot_tables(results))
    if tables:
        yield "## Direct and pivot translation"
        if results.pivot_note:
            yield f"{escape(results.pivot_note)}."
        yield from tables


def _paper(results: Results) -> Iterator[str]:
    if any(system.reference for system in results.systems):
        yield "## Comparison with the paper"
        yield result_tables.paper_table(results)
    if results.claims:
        yield "## Differences between systems, here and in the paper"
        yield (
            "Difference between two systems, in the paper and in our results. \\* as above. "
            "–: the paper has no such system."
        )
        yield result_tables.claims_table(results)


def _output_errors(results: Results) -> Iterator[str]:
    yield "## Output errors"
    explanation = "In brackets: the same measure for the references."
    if _has_several_seeds(results):
        explanation += " First seed of each system."
    yield explanation
    yield result_tables.output_errors_table(results)


def _missing_scores(results: Results) -> Iterator[str]:
    reasons: dict[str, str] = {}
    for system in results.systems:
        reasons.update(system.missing_scores)
    if reasons:
        yield "## Without a score"
        yield bullet_list(reasons)


def _configurations(results: Results) -> Iterator[str]:
    yield "## Configurations and training commands"
    differing = results.differing_settings()
    if differing:
        yield (
            "Configuration keys that differ between the systems (first run of each), "
            "except run directory and seed. –: the system has no such key."
        )
        rows = []
        for key, values in differing.items():
            rows.append([code_span(key), *map(_setting, values)])
        names = [escape(system.name) for system in results.systems]
        yield table(["key", *names], rows)
    for system in results.systems:
        commands = "\n".join(run.command for run in system.runs)
        yield f"### {escape(system.name)}"
        yield f"```\n{commands}\n```"
        yield _system_details(system)


def _setting(value: str) -> str:
    return code_span(value) if value else NO_VALUE


def _system_details(system: SystemResult) -> str:
    """List of parameters, checkpoints, training times and settings of the evaluation."""
    lines = [f"- {system.parameters:,} parameters"]
    for run in system.runs:
        details = _training_details(run)
        matrix = code_span(f"evaluation/{run.name}/matrix.md")
        lines.append(f"- {details}; all scores: {matrix}")
    lines.append(settings_list(system.matrices[0]))
    return "\n".join(lines)


def _training_details(run: TrainedRun) -> str:
    models: Sequence[Mapping[str, Any]] = run.checkpoint.get("members", [run.checkpoint])
    checkpoints = []
    for model in models:
        steps = ", ".join(map(str, model.get("steps", ())))
        name = escape(str(model.get("run")))
        checkpoints.append(f"{name}: {model.get('checkpoint')} checkpoint, step {steps}")
    details = "; ".join(checkpoints)
    if run.seconds is not None:
        details += f", {run.seconds:,.0f} s of training"
    if run.day is not None:
        details += f", until {run.day}"
    return details
