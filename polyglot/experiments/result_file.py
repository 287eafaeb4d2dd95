"""Results of an experiment as JSON: all numbers, with their signatures and p-values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from polyglot.analysis.embeddings.analysis import Analysis
from polyglot.analysis.embeddings.retrieval import METRICS
from polyglot.evaluation.score_matrix import Cell, merge_provenance
from polyglot.evaluation.significance import DIRECT
from polyglot.experiments.goal_results import GoalResult
from polyglot.experiments.results import Claim, Results, join_signatures
from polyglot.experiments.system_result import SystemResult


def results_dict(results: Results) -> dict[str, Any]:
    """Content of `result.json`. Its keys are a file format: older files must stay readable."""
    systems = {}
    for system in results.systems:
        systems[system.name] = _system_dict(results, system)
    embeddings = {}
    for name, analysis in results.embeddings.items():
        embeddings[name] = _embeddings_dict(analysis)
    return {
        "title": results.title,
        "size": results.size,
        "measure": str(results.measure),
        "test": results.significance_note or None,
        "test_of_hops": results.pivot_note or None,
        "systems": systems,
        "goals": [_goal_dict(result) for result in results.goal_results],
        "claims": [_claim_dict(claim) for claim in results.claims],
        "left_out": _left_out_dict(results),
        "embeddings": embeddings,
    }


def _system_dict(results: Results, system: SystemResult) -> dict[str, Any]:
    kinds = {}
    signatures = {}
    for measure in results.measures:
        kinds[str(measure)] = {}
        for kind, spread in system.means_by_kind(measure).items():
            kinds[str(measure)][kind] = asdict(spread)
        signatures[str(measure)] = join_signatures(
            matrix.signatures(measure) for matrix in system.matrices
        )

    directions = {}
    for name, cell in system.directions.items():
        directions[name] = _direction_dict(results, system, cell)
    pivot_p_values = {}
    for pair, row in results.pivot_comparisons[system.name].rows.items():
        pivot_p_values[pair] = row[DIRECT].p

    commands = []
    seconds = []
    days = []
    checkpoints = []
    for run in system.runs:
        commands.append(run.command)
        seconds.append(run.seconds)
        days.append(run.day)
        checkpoints.append(dict(run.checkpoint))

    versions = []
    machines = []
    for matrix in system.matrices:
        versions.append(matrix.versions)
        machines.append({"machine": matrix.machine})
    return {
        "parameters": system.parameters,
        "commands": commands,
        "seconds": seconds,
        "days": days,
        "checkpoints": checkpoints,
        "reference": system.reference and system.reference.title,
        "kinds": kinds,
        "directions": directions,
        "hops": pivot_p_values,
        "signatures": signatures,
        "empty": system.missing_scores,
        "versions": merge_provenance(versions),
        "machine": merge_provenance(machines)["machine"],
    }


def _direction_dict(
    results: Results,
    system: SystemResult,
    cell: Cell,
) -> dict[str, Any]:
    intervals = {}
    for measure, score in cell.scores.items():
        if score.interval is not None:
            intervals[measure] = [score.mean, score.interval]
    scores = {}
    for measure in results.measures:
        if str(measure) in cell.scores:
            scores[str(measure)] = asdict(system.spread(cell.name, measure))
    return {
        "kind": cell.kind,
        "intervals": intervals,
        "scores": scores,
        "paper": system.reference_score(cell.name),
        "p": results.p_value(cell.name, system),
        "outputs": cell.outputs and asdict(cell.outputs),
    }


def _goal_dict(result: GoalResult) -> dict[str, Any]:
    return {"goal": result.goal, "found": result.value, "reached": result.reached}


def _claim_dict(claim: Claim) -> dict[str, Any]:
    return {
        "system": claim.system,
        "beside": claim.baseline,
        "direction": claim.direction,
        "paper": claim.paper,
        "paper_beside": claim.paper_baseline,
        "ours": claim.ours,
        "p": claim.p,
    }


def _left_out_dict(results: Results) -> dict[str, Any]:
    directions = {}
    for direction in results.left_out_directions():
        trained = asdict(direction.trained) if direction.trained else None
        directions[str(direction.pair)] = {"zero-shot": direction.zero_shot, "supervised": trained}
    return directions


def _embeddings_dict(analysis: Analysis) -> dict[str, Any]:
    means = {}
    for representation, matrix in analysis.retrieval.items():
        means[representation] = {metric: matrix.means(metric) for metric in METRICS}
    return means
