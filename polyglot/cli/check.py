"""Command `check`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.core.errors import ConfigError, abbreviate, pluralize
from polyglot.core.file_checks import INTACT, FileCheck
from polyglot.core.hub_address import is_hub_address, refuse_hub
from polyglot.core.tables import FoldedTable

DAMAGE_FOUND = 1
"""Exit code if a file is damaged, missing or changed."""

PRINTED_PROBLEMS = 100
"""Problems that are printed for each path; `--json` prints all."""


@command(
    "polyglot check runs/phrasebook",
    "polyglot check runs/phrasebook && polyglot train runs/phrasebook --resume",
    "polyglot check ~/.cache/huggingface/datasets",
    "polyglot check runs/a runs/b --json",
    "polyglot check runs/phrasebook --accept-changes",
)
def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|CACHE...",
            help="Run directories, runs on the hub (hub:user/name), the folder of cached text, or "
            "one of its .arrow files.",
            autocompletion=completion.runs,
        ),
    ],
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes",
            help="First store the present values of config.yaml as the accepted ones.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the state of every file as JSON.")
    ] = False,
) -> None:
    """Check every file of runs and of cached text: intact, damaged, missing or changed.

    The exit code is 0 if everything is intact, and 1 if something is not.
    """
    if accept_changes:
        for path in paths:
            refuse_hub(path, "--accept-changes changes the run")
    folders = [_folder_of(path) for path in paths]
    kinds = [_kind_of(folder, accept_changes=accept_changes) for folder in folders]
    has_problem = False
    reports = []
    for path, folder, kind in zip(paths, folders, kinds):
        if accept_changes:
            _accept(folder)
        results = _check(folder, kind)
        problems = [result for result in results if result.is_problem]
        has_problem = has_problem or bool(problems)
        if as_json:
            reports.append(_report(path, kind, results))
        else:
            _print_results(str(path), folder, results)
    if as_json:
        print(json.dumps(reports, indent=1, ensure_ascii=False))
    if has_problem:
        raise typer.Exit(DAMAGE_FOUND)


def _folder_of(path: Path) -> Path:
    """Return the folder to check; all files of a run on the hub are downloaded."""
    if not is_hub_address(path):
        return path
    from polyglot.runs.hub_files import HubFiles

    files = HubFiles.open(path)
    files.fetch_all()
    return files.folder


def _kind_of(path: Path, *, accept_changes: bool) -> str:
    """Return `run` or `cache`. Raises ConfigError for anything else."""
    from polyglot.data.cache_check import find_cache
    from polyglot.runs.detection import is_run

    if is_run(path):
        return "run"
    if find_cache(path) is None:
        raise ConfigError(
            f"{path}: neither a run directory nor a folder with cached text; a run has a "
            "config.yaml, and a cache has .arrow files"
        )
    if accept_changes:
        raise ConfigError(f"{path}: --accept-changes is for runs, and this is a cache")
    return "cache"


def _accept(path: Path) -> None:
    """Store the values of `config.yaml`, and log which of them had changed."""
    from polyglot.runs.config_changes import accept_changes
    from polyglot.runs.run import Run

    run = Run.open(path, accept_changes=True)
    with run.lock():
        changes = accept_changes(path, run.config)
    accepted = abbreviate(changes, shown=20) or "nothing had changed"
    logger.info(f"{path}: the values of config.yaml are stored: {accepted}")


def _check(path: Path, kind: str) -> list[FileCheck]:
    from polyglot.data.cache_check import check_cache, find_cache
    from polyglot.runs.integrity import check_run

    if kind == "run":
        return check_run(path)
    return list(check_cache(find_cache(path)))


def _report(path: Path, kind: str, results: Sequence[FileCheck]) -> dict[str, Any]:
    """Return the state of all files of a run or cache for `--json`."""
    files = []
    for result in results:
        entry = {"path": str(result.path), "state": result.state}
        if result.message:
            entry["message"] = result.message
        if result.advice:
            entry["advice"] = result.advice
        files.append(entry)
    intact = not any(result.is_problem for result in results)
    return {"path": str(path), "kind": kind, "intact": intact, "files": files}


def _print_results(title: str, path: Path, results: Sequence[FileCheck]) -> None:
    """Print one line for each part, then every problem and what can be done."""
    table = _parts_table(title, path, results)
    screen.print(table)

    problems = [result for result in results if result.is_problem]
    for result in problems[:PRINTED_PROBLEMS]:
        _print_problem(result)
    hidden_count = len(problems) - PRINTED_PROBLEMS
    if hidden_count > 0:
        screen.print(f"… and {hidden_count} more; --json lists all")
    if not problems:
        files = pluralize(len(results), "file")
        screen.print(f"{files}, no damage found")


def _parts_table(title: str, path: Path, results: Sequence[FileCheck]) -> FoldedTable:
    """Table with one row for each part of a run or cache."""
    results_by_part: dict[str, list[FileCheck]] = {}
    for result in results:
        part = _part_of(path, result.path)
        results_by_part.setdefault(part, []).append(result)

    table = FoldedTable(
        "part",
        "files",
        "state",
        "belongs to",
        title=title,
        text_columns={"state", "belongs to"},
    )
    for part, part_results in results_by_part.items():
        file_count = str(len(part_results))
        state = _summarize_states(part_results)
        remarks = _remarks(part_results)
        table.add_row(part, file_count, state, remarks)
    return table


def _print_problem(result: FileCheck) -> None:
    line = f"{result.path}: {result.state}"
    message = result.message.removeprefix(f"{result.path}: ")
    if message:
        line += f": {message}"
    screen.print(Text(line), soft_wrap=True)
    if result.advice and result.advice not in message:
        screen.print(Text(f"  → {result.advice}"), soft_wrap=True)


def _part_of(path: Path, file: Path) -> str:
    """Folder of a checkpoint or result, first folder of other files, or the file itself."""
    try:
        parts = file.relative_to(path).parts
    except ValueError:
        parts = (file.name,)
    if len(parts) > 1 and parts[0] in ("checkpoints", "evaluation", "analysis"):
        return "/".join(parts[:2])
    return parts[0] if parts else file.name


def _summarize_states(results: Sequence[FileCheck]) -> Text:
    """Return `intact`, or the number of files in each state: `3 intact, 1 damaged`."""
    counts: dict[str, int] = {}
    for result in results:
        counts[result.state] = counts.get(result.state, 0) + 1
    is_problem = any(result.is_problem for result in results)
    style = "bold red" if is_problem else ""
    if list(counts) == [INTACT]:
        return Text(INTACT)
    if len(results) == 1:
        return Text(results[0].state, style=style)
    listed = [f"{count} {state}" for state, count in counts.items()]
    return Text(", ".join(listed), style=style)


def _remarks(results: Sequence[FileCheck]) -> str:
    """Return the messages of files without a problem, each message once."""
    messages: dict[str, None] = {}
    for result in results:
        if result.message and not result.is_problem:
            messages[result.message] = None
    return "; ".join(messages)
