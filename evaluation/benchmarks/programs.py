"""Measured programs: versions of Polyglot, OpenNMT-py and CTranslate2."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from measuring import MeasurementError, environment, run_process, seconds_of
from suite_text import SOURCE, TARGET, Text, join_pieces, read_lines

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WINDOWS = 8
"""Lines that the log of a training has."""
WARMUP_WINDOWS = 2
"""Lines of the log that are not counted."""
NEVER = 1_000_000
"""Number of steps that no training reaches."""
NO_VALIDATION = ["data.valid=[]", "data.test=[]", f"validation={{every: {NEVER}}}"]
DIRECTION = ("--from", SOURCE, "--to", TARGET)


class Reading(NamedTuple):
    """One measured value."""

    value: float
    quality: str = ""
    """Loss or BLEU of the same run, which shows a system that is faster but worse."""


def bleu(path: Path, text: Text) -> str:
    """Return the BLEU of a file with translations as pieces."""
    import sacrebleu

    translations = [join_pieces(line) for line in read_lines(path)]
    score = sacrebleu.corpus_bleu(translations, [text.references])
    return f"BLEU {score.score:.1f}"


@dataclass(frozen=True)
class Polyglot:
    """One version of this program: its source tree, and a folder for its runs."""

    name: str
    source: Path
    folder: Path
    text: Text
    threads: int
    settings: Sequence[str] = ()
    """Settings of every training."""

    def run(self, *command: object, threads: int | None = None, output: Path | None = None) -> str:
        """Run Python with a module or a script. The folder of the runs is the working directory."""
        self.folder.mkdir(parents=True, exist_ok=True)
        variables = environment(threads or self.threads)
        variables["PYTHONPATH"] = str(self.source)
        return run_process(
            [sys.executable, *command], folder=self.folder, variables=variables, output=output
        )

    def train(
        self,
        name: str,
        preset: str,
        settings: Sequence[str],
        *,
        updates: int,
        threads: int | None = None,
    ) -> Path:
        """Train a new run without validation; return its directory."""
        run = self.folder / name
        shutil.rmtree(run, ignore_errors=True)
        words = self.training_command(run, preset, settings, updates=updates)
        self.run("-m", "polyglot", *words, threads=threads)
        return run

    def training_command(
        self, run: Path, preset: str, settings: Sequence[str], *, updates: int
    ) -> list[object]:
        return [
            "-q",
            "train",
            preset,
            f"run={run}",
            f"data.folder={self.text.folder}",
            *NO_VALIDATION,
            f"training.steps={updates}",
            f"training.log_every={max(1, updates // WINDOWS)}",
            *settings,
            *self.settings,
        ]

    def training_rate(
        self,
        name: str,
        preset: str,
        settings: Sequence[str],
        *,
        updates: int,
        threads: int | None = None,
    ) -> Reading:
        """Train a new run; return its target tokens per second and its last loss."""
        run = self.train(name, preset, settings, updates=updates, threads=threads)
        windows = training_windows(run)
        rates = [window["tokens_per_second"] for window in windows]
        return Reading(statistics.median(rates), f"loss {windows[-1]['loss']:.2f}")

    def convert(self, checkpoint: Path, name: str) -> Path:
        """Convert a model of OpenNMT-py, once; return the run directory."""
        run = self.folder / name
        if not run.is_dir():
            self.run("-m", "polyglot", "convert", checkpoint, run, *DIRECTION)
        return run

    def translation_rate(self, run: Path, *, beam: int) -> Reading:
        """Translate the test text in a new process; return its sentences per second and BLEU."""
        output = self.folder / f"translations.{beam}"
        command = ["-m", "polyglot", "translate", run, self.text.test, *DIRECTION, "--beam", beam]
        seconds = seconds_of(lambda: self.run(*command, output=output))
        return Reading(len(read_lines(self.text.test)) / seconds, bleu(output, self.text))

    def seconds_to_translate(self, run: Path, text: Path) -> Reading:
        """Return the seconds of a process that translates a text with beam 5."""
        command = ["-m", "polyglot", "translate", run, text, *DIRECTION, "--beam", 5]
        return Reading(seconds_of(lambda: self.run(*command)))


def training_windows(run: Path) -> list[dict]:
    """Return the lines of a run's log about training, without the warm-up."""
    lines = []
    for line in read_lines(run / "log.jsonl"):
        values = json.loads(line)
        if values["kind"] == "training":
            lines.append(values)
    return lines[min(WARMUP_WINDOWS, len(lines) - 1) :]


@contextmanager
def source_tree(revision: str) -> Iterator[Path]:
    """Write the files of a revision of the clone to a temporary folder. Raises MeasurementError."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True)
    if archive.returncode:
        message = archive.stderr.decode(errors="replace").strip()
        raise MeasurementError(f"--previous {revision}: {message}")
    with TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def revision_of_clone() -> str:
    """Return the commit of this version, with `+` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    return done.stdout.strip() or "not a clone"


# Peers


@dataclass(frozen=True)
class OpenNMT:
    """OpenNMT-py 3.0.4 in another virtual environment.

    programs: the `bin` folder of the environment.
    """

    programs: Path
    folder: Path
    text: Text
    threads: int

    def run(self, program: str, *options: object) -> str:
        return run_process(
            [self.programs / program, *options],
            folder=self.folder,
            variables=environment(self.threads),
        )

    def version(self) -> str:
        code = "import importlib.metadata as m; print(m.version('OpenNMT-py'))"
        self.folder.mkdir(parents=True, exist_ok=True)
        return f"OpenNMT-py {self.run('python', '-c', code).strip()}"

    def prepare(self, name: str, config: str) -> Path:
        """Write a configuration and, once, the vocabulary; return the configuration's path."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.yaml"
        path.write_text(config.format(pieces=self.text.pieces), encoding="utf-8")
        if not (self.folder / "onmt" / "vocab.tgt").exists():
            self.run("onmt_build_vocab", "-config", path.name, "-n_sample", -1)
        return path

    def train(self, name: str, config: str, *options: object, updates: int) -> str:
        """Train a model, saved as `onmt/NAME_step_UPDATES.pt`; return the output."""
        path = self.prepare(name, config)
        command = ["-config", path.name, "-train_steps", updates, "-save_model", f"onmt/{name}"]
        command += ["-save_checkpoint_steps", updates, "-valid_steps", NEVER]
        command += ["-report_every", max(1, updates // WINDOWS), "-bucket_size", 32768]
        return self.run("onmt_train", *command, *options)

    def training_rate(self, name: str, config: str, *options: object, updates: int) -> Reading:
        """Train a model; return the target tokens per second of its log, without the warm-up."""
        output = self.train(name, config, *options, updates=updates)
        rates = [float(rate) for rate in re.findall(r"/\s*(\d+) tok/s", output)]
        if not rates:
            raise MeasurementError(f"onmt_train printed no `tok/s`: {output[-300:]}")
        return Reading(statistics.median(rates[min(WARMUP_WINDOWS, len(rates) - 1) :]))

    def checkpoint(self, name: str, config: str, *options: object, updates: int) -> Path:
        """Return a model that is trained once."""
        path = self.folder / "onmt" / f"{name}_step_{updates}.pt"
        if not path.exists():
            self.train(name, config, *options, updates=updates)
        return path

    def translation_rate(self, checkpoint: Path, *, beam: int, batch: int) -> Reading:
        """Translate the test text in a new process; return its sentences per second and BLEU."""
        output = self.folder / f"translations.{beam}"
        options = ["-model", checkpoint, "-src", self.text.test, "-output", output]
        options += ["-beam_size", beam, "-batch_size", batch]
        seconds = seconds_of(lambda: self.run("onmt_translate", *options))
        return Reading(len(read_lines(self.text.test)) / seconds, bleu(output, self.text))


def has_ctranslate2() -> bool:
    return importlib.util.find_spec("ctranslate2") is not None


def export_to_ctranslate2(version: Polyglot, run: Path) -> Path:
    """Write the model of a run for CTranslate2, once; return its folder."""
    folder = version.folder / f"{run.name}.ctranslate2"
    if not folder.is_dir():
        direction = f"{SOURCE}-{TARGET}"
        options = ["--ctranslate2", direction, "--to", folder]
        version.run("-m", "polyglot", "export", run, *options)
    return folder
