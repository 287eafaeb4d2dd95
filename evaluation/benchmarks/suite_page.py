"""Page of the benchmarks: one table, and the conditions under which its rows were measured."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from machine import machine_line

from polyglot.core.markdown import escape, table

COLUMNS = ["row", "system", "median", "lowest – highest", "ratio", "quality", "GFLOP/s beside it"]
EXPLANATION = """\
- ratio: how many times better the first system of the row is than the system of the line. Above 1,
  the first system is faster.
- lowest – highest: all readings. The systems of a row take turns.
- quality: last loss of the training, or BLEU of the translations.
- GFLOP/s beside it: best of many float32, bf16 and int8 matrix products just before a reading, the
  median over the readings. If they differ between the lines of a row, other programs disturbed it.
"""
PHRASEBOOK = "**The text is the phrasebook, not Multi30k: compare these figures with no others.**"
QUICK = "**A trial (--quick): the figures mean nothing.**"


def page(results: Mapping[str, dict]) -> str:
    """Return the page. results: by name of the row, as benchmarks.json has them."""
    lines = ["# Benchmarks", ""]
    if any(result["quick"] for result in results.values()):
        lines += [QUICK, ""]
    if any("phrasebook" in result["text"] for result in results.values()):
        lines += [PHRASEBOOK, ""]
    cells = []
    for result in results.values():
        cells += row_cells(result)
    lines += [table(COLUMNS, cells, words=("row", "system", "quality")), "", EXPLANATION]
    failures = failure_lines(results)
    if failures:
        lines += ["## Failures", "", *failures, ""]
    lines += ["## Conditions", "", *condition_lines(results), ""]
    return "\n".join(lines)


def row_table(result: dict) -> str:
    """Return the table of one row, for the terminal."""
    lines = [table(COLUMNS, row_cells(result), words=("row", "system", "quality"))]
    lines += failure_lines({result["title"]: result})
    return "\n".join(lines) + "\n"


def row_cells(result: dict) -> list[list[str]]:
    """Return one line of cells for each system of a row."""
    systems = result["systems"]
    reference = None
    lines = []
    for number, (name, system) in enumerate(systems.items()):
        title = f"{result['title']}, {result['unit']}" if number == 0 else ""
        readings = system["readings"]
        if not readings:
            lines.append([title, escape(name), "failed", "", "", "", ""])
            continue
        values = [reading["value"] for reading in readings]
        median = statistics.median(values)
        ratio = ""
        if number == 0:
            reference = median
        elif reference is not None:
            better = median / reference if result["lower_is_better"] else reference / median
            ratio = f"{better:.2f}"
        spread = f"{number_text(min(values))} – {number_text(max(values))}"
        quality = readings[-1]["quality"]
        cells = [title, escape(name), number_text(median), spread, ratio, quality]
        lines.append([*cells, limits_text(readings)])
    return lines


def number_text(value: float) -> str:
    """Write a value with about four digits: `2,663`, `85.4`, `0.214`."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}"


def limits_text(readings: Sequence[dict]) -> str:
    """Return the median limit of each precision, with slashes between them."""
    medians = []
    for precision in readings[0]["limits"]:
        values = [reading["limits"][precision] for reading in readings]
        medians.append(f"{statistics.median(values):.0f}")
    return " / ".join(medians)


def failure_lines(results: Mapping[str, dict]) -> list[str]:
    lines = []
    for name, result in results.items():
        for system_name, system in result["systems"].items():
            if system["failure"]:
                lines.append(f"- {name}, {escape(system_name)}: {escape(system['failure'])}")
    return lines


def condition_lines(results: Mapping[str, dict]) -> list[str]:
    """Return machine, text and programs; rows with the same conditions share a line."""
    rows: dict[str, list[str]] = {}
    for name, result in results.items():
        words = [
            machine_line(result["machine"]),
            f"text: {result['text']}",
            ", ".join(result["programs"]),
            f"{result['repetitions']} readings of each system",
            result["measured"].split()[0],
        ]
        rows.setdefault("; ".join(words), []).append(name)
    return [f"- {', '.join(names)}: {escape(line)}" for line, names in rows.items()]
