"""Changed configurations, files and command lines: each call ends soon, with a result or a message.

The short tests are part of the suite. `pytest -m slow tests/torture` tries 10 000 inputs;
POLYGLOT_FUZZ_SEED chooses other ones, and the inputs that fail are printed together at the end.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from polyglot.core.file_locks import LOCK_FILES
from tests.builders.command_line import CONFIG, write_text
from tests.builders.schema_keys import schema_keys
from tests.torture.config_inputs import config_cases, override_cases
from tests.torture.in_process import Call, call_program
from tests.torture.inputs import FILES, command_lines, run_cases, text_cases
from tests.torture.odd_values import Case

KEYS = sorted({key.name for key in schema_keys()})
SEED = int(os.environ.get("POLYGLOT_FUZZ_SEED", "1"))


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with text, a configuration, and the evaluated run `runs/mine`."""
    folder = tmp_path_factory.mktemp("intact")
    write_text(folder)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "mine.yaml").write_text(CONFIG)
    with in_folder(folder):
        for command in (["train", "mine.yaml"], ["evaluate", "runs/mine"]):
            call = call_program(*command)
            assert not call.status, call.errors
    return folder


class in_folder:
    """Context with another working directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        self.previous = Path.cwd()
        os.chdir(self.folder)

    def __exit__(self, *_: object) -> None:
        os.chdir(self.previous)


def run_case(case: Case, intact: Path, folder: Path) -> Call:
    """Call the program in a folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(intact, folder)
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    with in_folder(folder):
        return call_program(*case.arguments, stdin=case.stdin)


def complaints_of(
    strategy: st.SearchStrategy[Case], count: int, intact: Path, folder: Path
) -> list[str]:
    """Call the program with inputs of a strategy; returns what a user should not see.

    The inputs are always the same ones for one SEED.
    """
    complaints: list[str] = []
    statuses: Counter[int] = Counter()

    @seed(SEED)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def try_case(case: Case) -> None:
        call = run_case(case, intact, folder)
        statuses[call.status] += 1
        for complaint in call.complaints:
            complaints.append(f"{case}\n{complaint}")
            if "POLYGLOT_FUZZ_LOG" in os.environ:
                with open(os.environ["POLYGLOT_FUZZ_LOG"], "a") as log:
                    log.write(f"{complaints[-1]}\n\n")

    try_case()
    print(f"exit codes: {dict(statuses)}")
    return complaints


def intact_contents(intact: Path) -> dict[str, bytes]:
    """Contents of the files of the run, by path below the run directory."""
    run = intact / "runs" / "mine"
    contents = {}
    for path in sorted(run.rglob("*")):
        if path.is_file() and path.name not in LOCK_FILES:
            contents[str(path.relative_to(run))] = path.read_bytes()
    return contents


def strategies(intact: Path) -> dict[str, st.SearchStrategy[Case]]:
    return {
        "configurations": config_cases(KEYS),
        "overrides": override_cases(KEYS),
        "text": text_cases(),
        "command lines": command_lines(),
        "damaged runs": run_cases(intact_contents(intact)),
    }


SHORT = {
    "configurations": 12,
    "overrides": 12,
    "text": 8,
    "command lines": 12,
    "damaged runs": 8,
}
LONG = {
    "configurations": 2500,
    "overrides": 2500,
    "text": 2000,
    "command lines": 2000,
    "damaged runs": 1000,
}


@pytest.mark.parametrize("kind", SHORT)
def test_no_input_ends_in_a_traceback(kind: str, intact: Path, tmp_path: Path) -> None:
    strategy = strategies(intact)[kind]
    complaints = complaints_of(strategy, SHORT[kind], intact, tmp_path / "case")
    assert not complaints, "\n".join(complaints)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_no_input_of_ten_thousand_ends_in_a_traceback(
    kind: str, intact: Path, tmp_path: Path
) -> None:
    strategy = strategies(intact)[kind]
    complaints = complaints_of(strategy, LONG[kind], intact, tmp_path / "case")
    assert not complaints, "\n".join(complaints)
