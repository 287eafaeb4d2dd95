"""Tables of the result page of an experiment, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyglot.core.markdown import escape, table
from polyglot.core.score_tables import ERROR_TITLES, KINDS, NO_VALUE, format_difference
from polyglot.evaluation.grid import KIND_MARKS, mean_errors_by_kind, pivot_name
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.significance import DIRECT, SIGNIFICANCE_LEVEL
from polyglot.evaluation.views.markdown import with_interval
from polyglot.experiments.results import Claim, Results
from polyglot.experiments.system_result import SystemResult

ANSWERS = {True: "yes", False: "no", None: NO_VALUE}


def significance_mark(p: float | None) -> str:
    """`*`, escaped for Markdown, for a significant difference; otherwise empty."""
    return "\\*" if p is not None and p < SIGNIFICANCE_LEVEL else ""


def _label(system: SystemResult, kind: str) -> str:
    return f"{escape(system.name)}, {kind}"


def _system_names(results: Results) -> list[str]:
    return [escape(system.name) for system in results.systems]


def _mean_of_kind(
    system: SystemResult,
    kind: str,
    measure: Measure,
) -> str:
    means = system.means_by_kind(measure)
    return means[kind].format() if kind in means else NO_VALUE


def goals_table(results: Results) -> str:
    """One row per goal."""
    rows = []
    for result in results.goal_results:
        rows.append([escape(result.goal), result.value, ANSWERS[result.reached]])
    return table(["goal", "result", "reached"], rows)


def means_table(results: Results) -> str:
    """Mean score of each kind of directions: one row per system, and one for its paper.

    The number of directions is shown if it differs between the systems, or from the paper.
    """
    counts = {}
    used_kinds = set()
    for system in results.systems:
        counts[system.name] = _directions_by_kind(system)
        used_kinds.update(system.means_by_kind(results.measure))
    kinds = [kind for kind in KINDS if kind in used_kinds]

    rows = []
    for system in results.systems:
        row = [escape(system.name)]
        for kind in kinds:
            note = _count_note(kind, system.name, counts)
            row.append(f"{_mean_of_kind(system, kind, results.measure)}{note}")
        rows.append(row)
        if system.reference:
            paper_row = [f"{escape(system.name)}, the paper"]
            for kind in kinds:
                total = counts[system.name].get(kind, 0)
                paper_mean = _paper_mean(system, kind, results.measure, total=total)
                paper_row.append(paper_mean)
            rows.append(paper_row)
    head = ["system"]
    for kind in kinds:
        head.append(KIND_MARKS[kind].format(kind))
    return table(head, rows)


def _directions_by_kind(system: SystemResult) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cell in system.directions.values():
        counts[cell.kind] = counts.get(cell.kind, 0) + 1
    return counts


def _count_note(
    kind: str,
    system: str,
    counts: Mapping[str, Mapping[str, int]],
) -> str:
    """Number of directions of a kind; empty if all systems with this kind have the same number."""
    different_counts = set()
    for counts_of_system in counts.values():
        if kind in counts_of_system:
            different_counts.add(counts_of_system[kind])
    if len(different_counts) <= 1 or kind not in counts[system]:
        return ""
    count = counts[system][kind]
    if count == 1:
        return f" ({count} direction)"
    return f" ({count} directions)"


def _paper_mean(
    system: SystemResult,
    kind: str,
    measure: Measure,
    *,
    total: int,
) -> str:
    """Mean of the paper's table; with the number of directions if the paper lacks some of ours."""
    means = system.paper_means(measure)
    if kind not in means:
        return NO_VALUE
    score = f"{means[kind].paper:.2f}"
    if means[kind].count == total:
        return score
    return f"{score} ({means[kind].count} of {total} directions)"


def directions_table(results: Results) -> str:
    """One row per direction: score of each system, and of its paper."""
    head = ["direction"]
    for system in results.systems:
        head.append(escape(system.name))
        if system.reference:
            head.append("the paper")
    rows = []
    for direction in results.directions:
        row = [direction]
        for system in results.systems:
            row.append(_direction_score(results, system, direction))
            if system.reference:
                paper = system.reference_score(direction)
                row.append("" if paper is None else f"{paper:.2f}")
        rows.append(row)
    return table(head, rows)


def _direction_score(
    results: Results,
    system: SystemResult,
    direction: str,
) -> str:
    if direction not in system.directions:
        return NO_VALUE
    score = system.spread(direction, results.measure).format()
    mark = significance_mark(results.p_value(direction, system))
    kind = system.directions[direction].kind
    return KIND_MARKS[kind].format(f"{score}{mark}")


def intervals_table(results: Results) -> str:
    """Confidence interval of each direction, in the first run of each system; empty without any."""
    rows = []
    for direction in results.directions:
        scores = []
        for system in results.systems:
            cell = system.directions.get(direction)
            scores.append(cell.scores.get(str(results.measure)) if cell else None)
        if any(score and score.interval is not None for score in scores):
            rows.append([direction, *map(with_interval, scores)])
    if not rows:
        return ""
    return table(["direction", *_system_names(results)], rows)


def left_out_table(results: Results) -> str:
    """One row for each direction that some systems were trained without; empty without any."""
    rows = []
    for direction in results.left_out_directions():
        zero_shot = KIND_MARKS["zero-shot"].format(f"{direction.zero_shot:.2f}")
        trained = NO_VALUE
        difference = ""
        if direction.trained:
            trained = direction.trained.format()
            difference = format_difference(direction.zero_shot - direction.trained.mean)
        rows.append([str(direction.pair), zero_shot, trained, difference])
    if not rows:
        return ""
    return table(["direction", "left out", "trained", "difference"], rows)


def pivot_tables(results: Results) -> Iterator[str]:
    """Yield a table of direct and pivot translation for each system with a pivot."""
    for system in results.systems:
        rows = []
        for pair, row in results.pivot_comparisons[system.name].rows.items():
            mark = significance_mark(row[DIRECT].p)
            rows.append(
                _pivot_row(
                    system,
                    pair,
                    results.measure,
                    mark=mark,
                )
            )
        if rows:
            through = pivot_name(system.matrices[0])
            yield table([escape(system.name), "direct", through, "difference"], rows)


def _pivot_row(
    system: SystemResult,
    pair: str,
    measure: Measure,
    *,
    mark: str,
) -> list[str]:
    pivot_directions = {}
    for pivot_pair, cell in system.matrices[0].pivots.items():
        pivot_directions[str(pivot_pair)] = cell.name
    direct = system.spread(pair, measure)
    pivot = system.spread(pivot_directions[pair], measure)
    return [
        pair,
        KIND_MARKS[system.directions[pair].kind].format(direct.format()),
        KIND_MARKS["pivot"].format(pivot.format()),
        f"{format_difference(direct.mean - pivot.mean)}{mark}",
    ]


def paper_table(results: Results) -> str:
    """Means of our scores and of the papers' tables, over the common directions."""
    rows = []
    for system in results.systems:
        for kind, means in system.paper_means(results.measure).items():
            difference = format_difference(means.ours - means.paper)
            scores = [f"{means.ours:.2f}", f"{means.paper:.2f}", difference]
            rows.append([_label(system, kind), *scores, means.count])
    return table(["", "ours", "the paper's", "difference", "common directions"], rows)


def claims_table(results: Results) -> str:
    """Differences between systems, in the paper and in our results."""
    rows = []
    for claim in results.claims:
        rows.append(
            [
                f"{escape(claim.system)}, {claim.direction}",
                escape(claim.baseline),
                _difference_of_paper(claim),
                f"{format_difference(claim.ours)}{significance_mark(claim.p)}",
                ANSWERS[claim.has_same_sign],
            ]
        )
    head = ["", "compared with", "the paper's difference", "our difference", "same sign"]
    return table(head, rows)


def _difference_of_paper(claim: Claim) -> str:
    """Difference in the paper; with its baseline if it is not ours."""
    if claim.paper is None or claim.paper_baseline == claim.baseline:
        return format_difference(claim.paper)
    return f"{format_difference(claim.paper)} (from {escape(claim.paper_baseline)})"


def metrics_table(results: Results) -> str:
    """Mean of each kind by all metrics and conditions."""
    rows = []
    for system in results.systems:
        for kind in system.means_by_kind(results.measure):
            means = [_mean_of_kind(system, kind, measure) for measure in results.measures]
            rows.append([_label(system, kind), *means])
    titles = [measure.title for measure in results.measures]
    return table(["", *titles], rows)


def output_errors_table(results: Results) -> str:
    """Mean output errors of the first run of each system."""
    rows = []
    for system in results.systems:
        for kind, errors in mean_errors_by_kind(system.matrices[0]).items():
            rows.append([_label(system, kind), *errors.values()])
    return table(["", *ERROR_TITLES.values()], rows)
