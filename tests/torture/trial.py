"""Trials of the program under bad conditions, and the table of their outcomes."""

from __future__ import annotations

import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Outcome(Enum):
    """How a trial ended, as a column of the table."""

    CORRECT = "correct"
    SILENT_ERROR = "silent errors"
    TRACEBACK = "tracebacks"
    HANG = "hangs"
    LOST_DATA = "lost data"


@dataclass(frozen=True, slots=True)
class Finding:
    """Outcome of one trial. reason: what was seen, and what would have been right."""

    outcome: Outcome
    reason: str = ""


CORRECT = Finding(Outcome.CORRECT)


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial. attempt: called with a new empty folder."""

    area: str
    description: str
    attempt: Callable[[Path], Finding]


@dataclass(slots=True)
class Table:
    """Outcomes by area."""

    counts: dict[str, Counter[Outcome]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, trial: Trial, finding: Finding) -> None:
        """Count a trial, and keep the description of one that is not correct."""
        self.counts.setdefault(trial.area, Counter())[finding.outcome] += 1
        if finding.outcome is not Outcome.CORRECT:
            self.failures.append(
                f"{trial.area}: {trial.description}: {finding.outcome.value}: {finding.reason}"
            )

    @property
    def total(self) -> Counter[Outcome]:
        """Outcomes of all areas."""
        total: Counter[Outcome] = Counter()
        for counts in self.counts.values():
            total.update(counts)
        return total

    def markdown(self) -> str:
        """Table in Markdown, with a line for each area and one for all."""
        titles = ["area", "tried", *(outcome.value for outcome in Outcome)]
        lines = [_row(titles), _row(["---", *("---:" for _ in titles[1:])])]
        for area, counts in self.counts.items():
            lines.append(_row(_cells(area, counts)))
        lines.append(_row(_cells("**all**", self.total)))
        return "\n".join(lines)


def _cells(title: str, counts: Counter[Outcome]) -> list[str]:
    numbers = [str(counts[outcome]) for outcome in Outcome]
    return [title, str(counts.total()), *numbers]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def run_trial(trial: Trial, folder: Path) -> Finding:
    """Run one trial in a new folder, which is removed unless something is wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        finding = trial.attempt(folder)
    except Exception:  # a trial that cannot be judged is counted as wrong, and the others go on
        return Finding(Outcome.SILENT_ERROR, f"the trial failed: {traceback.format_exc()}")
    if finding.outcome is Outcome.CORRECT:
        shutil.rmtree(folder, ignore_errors=True)
    return finding


def run_trials(
    trials: list[Trial],
    folder: Path,
    *,
    seconds: float | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Table:
    """Run trials one after the other, until the time is over. seconds: None for no limit."""
    start = time.monotonic()
    table = Table()
    for number, trial in enumerate(trials):
        if seconds is not None and time.monotonic() - start > seconds:
            report(f"time is over after {number} of {len(trials)} trials")
            break
        finding = run_trial(trial, folder / f"trial-{number}")
        table.add(trial, finding)
        if finding.outcome is not Outcome.CORRECT:
            report(table.failures[-1])
    return table
