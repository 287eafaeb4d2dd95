"""Stored results of a run: in its directory, or for a run on the hub, in two places."""

from __future__ import annotations

from pathlib import Path

from polyglot.runs.run import Run


def results_roots(run: Run) -> list[Path]:
    """Return the folders that hold `evaluation/` and `analysis/`; later ones have newer results.

    The results that a run on the hub was published with are downloaded.
    """
    if run.hub is None:
        return [run.path]
    run.hub.fetch_results()
    return [run.path, run.results]


def results_folder(run: Run, name: str) -> Path:
    """Return the folder of stored results, such as `evaluation/default`.

    For a run on the hub, results of this machine come before those of the repository.
    """
    folder = run.results / name
    if run.hub is None or folder.exists():
        return folder
    run.hub.fetch_results(name)
    return run.path / name
