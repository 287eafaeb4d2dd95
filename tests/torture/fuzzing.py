"""Random configurations, command lines and texts, in the process of the trials."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

from tests.builders.schema_keys import schema_keys
from tests.torture.config_inputs import config_cases, override_cases
from tests.torture.inputs import FILES, command_lines, text_cases
from tests.torture.odd_values import Case
from tests.torture.test_fuzz import run_case
from tests.torture.trial import CORRECT, Finding, Outcome, Table, Trial
from tests.torture.workplace import Workplace


def fuzz(workplace: Workplace, folder: Path, table: Table, *, seed: int, count: int) -> None:
    """Call the program with random inputs, and add the outcomes to the table."""
    intact = folder / "intact"
    shutil.copytree(workplace.intact, intact)
    for name, content in FILES.items():
        (intact / name).write_bytes(content)
    keys = sorted({key.name for key in schema_keys()})
    kinds = {
        "random configurations": config_cases(keys),
        "random settings": override_cases(keys),
        "random texts": text_cases(),
        "random command lines": command_lines(),
    }
    for area, strategy in kinds.items():
        _fuzz_area(area, strategy, intact, folder, table, seed=seed, count=count // len(kinds))


def _fuzz_area(
    area: str,
    strategy: st.SearchStrategy[Case],
    intact: Path,
    folder: Path,
    table: Table,
    *,
    seed: int,
    count: int,
) -> None:
    @hypothesis_seed(seed)
    @settings(
        max_examples=max(1, count),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def try_case(case: Case) -> None:
        result = run_case(case, intact, folder / "case")
        trial = Trial(area, str(case)[:500], lambda folder: CORRECT)
        table.add(trial, _finding(result.complaints))

    try_case()


def _finding(complaints: list[str]) -> Finding:
    if not complaints:
        return CORRECT
    outcome = Outcome.SILENT_ERROR
    if any(complaint.startswith("traceback") for complaint in complaints):
        outcome = Outcome.TRACEBACK
    elif any(complaint.endswith(" s") for complaint in complaints):
        outcome = Outcome.HANG
    return Finding(outcome, "; ".join(complaints)[:2000])
