"""A trained run that trials copy and damage, and calls of the program in a copy."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyglot.core.file_locks import LOCK_FILES
from tests.builders.command_line import CONFIG, write_text
from tests.builders.forked import PROGRAM, ForkedProgram
from tests.torture.trial import CORRECT, Finding, Outcome

TIME_LIMIT = 60.0
"""Seconds after which a call counts as hanging; a call takes about one."""

RUN = "runs/mine"
STEPS = 4
RESUMED_STEPS = 6
TRANSLATE = ("translate", RUN, "train.de", "--from", "de", "--to", "en", "--beam", "1")
EMBED = ("embed", RUN, "train.de", "--language", "de", "--output", "vectors.npy")
RESUME = ("train", RUN, "--resume", f"training.steps={RESUMED_STEPS}")


@dataclass(frozen=True, slots=True)
class Call:
    """How a call of the program ended."""

    status: int
    output: str
    errors: str
    seconds: float
    hangs: bool

    def problem(self) -> Finding | None:
        """What is wrong whatever the call was; None if nothing is."""
        if self.hangs:
            return Finding(Outcome.HANG, f"no end after {self.seconds:.0f} s")
        if "Traceback" in self.errors:
            return Finding(Outcome.TRACEBACK, self.errors[-2000:])
        if self.status < 0:
            return Finding(Outcome.TRACEBACK, f"ended by signal {-self.status}")
        if self.status and not self.errors.strip() and not self.output.strip():
            return Finding(Outcome.SILENT_ERROR, f"exit code {self.status} without a message")
        return None

    def problem_of_killed(self) -> Finding | None:
        """What is wrong with a call that a signal was sent to; None if nothing is."""
        if self.hangs:
            return Finding(Outcome.HANG, f"no end {self.seconds:.0f} s after the signal")
        if "Traceback" in self.errors:
            return Finding(Outcome.TRACEBACK, self.errors[-2000:])
        return None


def start(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    prepare: Callable[[], object] = lambda: None,
    streams: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start the program in a folder, in a process group of its own, with a cache of its own.

    prepare: called in the new process first. streams: folder for the files `output` and `errors`.
    """
    cache = folder / "cache"
    streams = streams or folder

    def prepare_process() -> None:
        import datasets

        datasets.config.HF_DATASETS_CACHE = cache
        prepare()

    with (streams / "output").open("wb") as output, (streams / "errors").open("wb") as errors:
        return ForkedProgram(
            [*PROGRAM, *arguments],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            preexec_fn=prepare_process,
            start_new_session=True,
        )


def finish(process: subprocess.Popen[bytes], streams: Path, begin: float) -> Call:
    """Wait for the end of a process; end its group when it takes too long.

    streams: folder of the files `output` and `errors`.
    """
    hangs = False
    try:
        process.wait(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        hangs = True
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return Call(
        process.returncode,
        (streams / "output").read_text(errors="replace"),
        (streams / "errors").read_text(errors="replace"),
        time.monotonic() - begin,
        hangs,
    )


def call(folder: Path, *arguments: str, prepare: Callable[[], object] = lambda: None) -> Call:
    """Run the program in a folder to its end."""
    begin = time.monotonic()
    return finish(start(folder, *arguments, prepare=prepare), folder, begin)


def parameters(folder: Path, step: int) -> dict[str, str]:
    """SHA-256 of each file of parameters in a checkpoint, by name."""
    checkpoint = folder / RUN / "checkpoints" / f"step-{step:08d}"
    hashes = {}
    for path in sorted(checkpoint.glob("*.safetensors")):
        hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def files_below(folder: Path) -> list[Path]:
    """Regular files below a folder, except locks, in a fixed order."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name not in LOCK_FILES:
            found.append(path)
    return found


@dataclass(frozen=True, slots=True)
class Results:
    """Results of the commands on an intact run; a damaged run may not give others."""

    translations: str
    scores: Sequence[Mapping[str, str]]
    vectors: bytes
    resumed: Mapping[str, str]

    def comparison(self, name: str, call_result: Call, folder: Path) -> Finding:
        """Compare the results of a successful command with those of the intact run."""
        results = {
            "translate": lambda: call_result.output == self.translations,
            "evaluate": lambda: _scores(folder) == self.scores,
            "embed": lambda: (folder / "vectors.npy").read_bytes() == self.vectors,
            "resume": lambda: parameters(folder, RESUMED_STEPS) == self.resumed,
        }
        if name in results and not results[name]():
            return Finding(Outcome.SILENT_ERROR, f"{name} gave other results, exit code 0")
        return CORRECT


COMMANDS: Mapping[str, Sequence[str]] = {
    "translate": TRANSLATE,
    "evaluate": ("evaluate", RUN),
    "embed": EMBED,
    "resume": RESUME,
    "report": ("report", RUN),
    "show": ("show", RUN),
    "check": ("check", RUN),
    "average": ("average", RUN, "--last", "2", "--to", "averaged"),
    "export": ("export", RUN, "--component", "encoder.de", "--to", "exported"),
}


def _scores(folder: Path) -> list[dict[str, str]]:
    """Cells of the matrix, without the time that they took."""
    cells = []
    for path in sorted((folder / RUN / "evaluation").rglob("matrix.csv")):
        with path.open(newline="") as file:
            cells += csv.DictReader(file)
    for cell in cells:
        del cell["seconds"]
    return cells


class Workplace:
    """The intact run with its text and cache, and its results."""

    def __init__(self, folder: Path) -> None:
        self.intact = folder / "intact"
        self.intact.mkdir(parents=True)
        write_text(self.intact)
        (self.intact / "mine.yaml").write_text(CONFIG)
        for arguments in (("train", "mine.yaml"), ("evaluate", RUN), ("report", RUN)):
            _expect_success(self.intact, *arguments)
        self.training_seconds = self._time_training(folder / "timed")
        self.results = self._results(folder / "reference")
        self.trained = parameters(self.intact, STEPS)
        self.trained_by_two = self._trained_by_two(folder / "two")

    def copy(self, folder: Path) -> Path:
        """Copy the intact folder; returns the run directory of the copy."""
        shutil.copytree(self.intact, folder, dirs_exist_ok=True)
        return folder / RUN

    def copy_text(self, folder: Path) -> None:
        """Copy the text and the configuration only."""
        for path in self.intact.iterdir():
            if path.is_file():
                shutil.copy(path, folder)

    def _time_training(self, folder: Path) -> float:
        folder.mkdir()
        self.copy_text(folder)
        return _expect_success(folder, "train", "mine.yaml").seconds

    def _results(self, folder: Path) -> Results:
        self.copy(folder)
        translations = _expect_success(folder, *TRANSLATE).output
        _expect_success(folder, *EMBED)
        vectors = (folder / "vectors.npy").read_bytes()
        scores = _scores(folder)
        _expect_success(folder, *RESUME)
        return Results(translations, scores, vectors, parameters(folder, RESUMED_STEPS))

    def _trained_by_two(self, folder: Path) -> dict[str, str]:
        """Parameters after a training by two processes, which add gradients in another order."""
        folder.mkdir()
        self.copy_text(folder)
        _expect_success(folder, "train", "mine.yaml", "--processes", "2")
        return parameters(folder, STEPS)


def _expect_success(folder: Path, *arguments: str) -> Call:
    result = call(folder, *arguments)
    assert not result.status, f"{arguments}: {result.errors}"
    return result
