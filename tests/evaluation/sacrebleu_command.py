"""The command line of sacreBLEU, in a forked process that has its modules already."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_sacrebleu(folder: Path, *arguments: str) -> Any:
    """Run `sacrebleu ARGUMENTS` in a folder and return the JSON that it prints."""
    output = folder / "sacrebleu.json"
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(folder, arguments, output)
    )
    process.start()
    process.join()
    assert process.exitcode == 0
    return json.loads(output.read_text(encoding="utf-8"))


def _run(folder: Path, arguments: Sequence[str], output: Path) -> None:
    # Its import sets SIGPIPE to its default, so that a closed pipe would end the tests.
    from sacrebleu import sacrebleu

    os.chdir(folder)
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
    sys.stdin = open(os.devnull)
    sys.stdout = open(1, "w", closefd=False)
    sys.argv = ["sacrebleu", *arguments, "-w", "14", "-f", "json"]
    sacrebleu.main()
