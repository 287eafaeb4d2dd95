"""Reference runs: check that a change of the code does not change the results of the program.

    python tests/reference_runs.py record before.json      # with the code before the change
    python tests/reference_runs.py compare before.json     # with the code after the change

Each reference run is a short training, followed by an evaluation, two translations of 200 lines,
and 200 sentence embeddings. `record` writes hashes of all results to a JSON file. `compare` repeats
the runs and prints a table. Its exit code is 1 if a result differs, and 2 if a command fails.

The script uses only the command line of the program and the files of a run directory. Therefore it
also works with older code:

    PYTHONPATH=OLD_CLONE python tests/reference_runs.py record before.json

Commands run in the working folder, not in the current one. So `python -m polyglot` uses the package
that is installed, or the one in PYTHONPATH. The script prints the folder of that package.

All runs use the CPU and one thread for each process. The results are the same only on the same type
of processor and with the same version of PyTorch. On another machine, record the old code again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors import deserialize

# Commands of the program. Only this section names commands, options, and configuration keys.

PROGRAM = "python -m polyglot"
TRAIN = ["train", "{config}", "run={run}"]
EVALUATE = ["evaluate", "{run}", "--protocol", "quick"]
TRANSLATE_GREEDY = ["translate", "{run}", "--from", "de", "--to", "en", "--beam", "1", "{text}"]
TRANSLATE_BEAM = [
    *["translate", "{run}", "--from", "de", "--to", "en"],
    *["--beam", "4", "--n-best", "2", "{text}"],
]
EMBED = ["embed", "{run}", "--language", "de", "--output", "{embeddings}", "{text}"]

PHRASEBOOK_TEXT = [
    "data.train=[{type: phrasebook, split: train, train: 2000, valid: 50, test: 200}]",
    "data.valid=[{type: phrasebook, split: valid, train: 2000, valid: 50, test: 200}]",
    "data.test=[{type: phrasebook, split: test, train: 2000, valid: 50, test: 200}]",
]

PHRASEBOOK_SETTINGS = [
    *PHRASEBOOK_TEXT,
    "vocabulary.size=500",
    "model.embedding.size=96",
    "model.encoder.size=128",
    "model.decoder.size=128",
    "model.states_size=32",
    "model.bridge.heads=8",
    "model.bridge.hidden_size=64",
    "batching.size=64",
    "optimizer.learning_rate=0.01",
    "learning_rate_schedule.warmup=20",
    "training.steps=300",
    "training.checkpoint.every=150",
    "schedule.phases=[{until_step: 30, pairs: ['*-en']}]",
    "validation.every=150",
    "validation.sentences=20",
]

SMALL_SETTINGS = [
    *PHRASEBOOK_SETTINGS,
    "languages=[en, de, fr]",
    "schedule=with_copies",
    "schedule.copy_weight=0.2",
    "training.steps=80",
    "training.checkpoint.every=40",
    "validation.every=40",
    "validation.bleu_pairs=[de-fr]",
]

ROLES_SETTINGS = [
    "model.options.encoder=[{type: roles, roles: 4}]",
    "model.options.decoder=[{type: roles, roles: 4, assignment: onehot}]",
]

SHARING_SETTINGS = [
    "sharing.vocabulary={west: [en, de]}",
    "sharing.embeddings={west: [en, de]}",
    "sharing.encoder={west: [en, de]}",
    "sharing.decoder=all",
]

# float32 and half the width: many processors compute slowly with bf16, which Muon needs even here.
MULTI30K_SETTINGS = [
    "training.precision=no",
    "model.embedding.size=64",
    "model.encoder.size=64",
    "model.encoder.feed_forward=128",
    "model.bridge.bridges.0.feed_forward=128",
    "model.bridge.bridges.1.hidden_size=128",
    "model.decoder.size=64",
    "model.decoder.feed_forward=128",
    "training.steps=50",
    "training.checkpoint.every=50",
    "batching.size=256",
    "validation.every=50",
    "validation.sentences=20",
]
MULTI30K_FOLDER = "data.folder={folder}"


@dataclass(frozen=True)
class ReferenceRun:
    """One training: the configuration, and further arguments of the training command."""

    config: str
    arguments: list[str]


REFERENCE_RUNS = {
    "phrasebook": ReferenceRun("phrasebook", PHRASEBOOK_SETTINGS),
    "roles": ReferenceRun("phrasebook", [*SMALL_SETTINGS, *ROLES_SETTINGS]),
    "latent-graph": ReferenceRun(
        "phrasebook",
        [*SMALL_SETTINGS, "model.options.encoder=[{type: latent_graph, head_size: 32}]"],
    ),
    "word-prediction": ReferenceRun(
        "phrasebook",
        [
            *SMALL_SETTINGS,
            "model.options.decoder=[{type: word_prediction, predict: both, layers: own}]",
        ],
    ),
    "sharing-groups": ReferenceRun("phrasebook", [*SMALL_SETTINGS, *SHARING_SETTINGS]),
    "two-processes": ReferenceRun(
        "phrasebook",
        [*SMALL_SETTINGS, "parallel.verify=20", "--processes", "2"],
    ),
    "two-processes-partitioned": ReferenceRun(
        "phrasebook",
        [*SMALL_SETTINGS, "parallel.placement=partitioned", "--processes", "2"],
    ),
    "multi30k": ReferenceRun("multi30k/tiny", MULTI30K_SETTINGS),
}

# Files of a run directory. Only this section names them.

CHECKPOINTS = "checkpoints/step-*"
TENSOR_FILES = "*.safetensors"
EVALUATION = "evaluation/quick"
SCORES = "matrix.csv"
COLUMN_OF_SECONDS = 5
HYPOTHESES = "hypotheses/*.txt"
SOURCE_TEXT = "text/de.*.txt"
LINES = 200

# Results are compared bit by bit: one thread adds numbers always in the same order.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


class CommandFailed(Exception):
    """A command of the program ended with an error."""


class Program:
    """The program under test, called through its command line in a working folder."""

    def __init__(self, command: str, work: Path) -> None:
        self.command = shlex.split(command)
        self.work = work
        self.environment = {**os.environ, **ONE_THREAD}
        # Text that older code prepared must not be reused.
        self.environment["HF_DATASETS_CACHE"] = str(work / "cache")

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """Run a command in the working folder."""
        return subprocess.run(
            command,
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            check=False,
        )

    def call(self, arguments: Sequence[str]) -> bytes:
        """Run one command and return its standard output. Raises CommandFailed."""
        command = [*self.command, *arguments]
        result = self.run(command)
        if result.returncode != 0:
            messages = result.stderr.decode(errors="replace")
            raise CommandFailed(f"{shlex.join(command)}\n{messages}")
        return result.stdout

    def package_folder(self) -> str:
        """Return the folder of the package, or the command itself if it is not a module."""
        if "-m" not in self.command:
            return shlex.join(self.command)
        position = self.command.index("-m")
        module = self.command[position + 1]
        code = f"import {module}; print({module}.__path__[0])"
        command = [*self.command[:position], "-c", code]
        result = self.run(command)
        return result.stdout.decode().strip()


def main() -> int:
    """Run `record` or `compare`, and return the exit code."""
    arguments = parse_arguments()
    try:
        if arguments.action == "record":
            return record(arguments)
        return compare(arguments)
    except CommandFailed as error:
        print(f"A command failed: {error}", file=sys.stderr)
        return 2


def parse_arguments() -> argparse.Namespace:
    """Parse the arguments of this script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path, metavar="FILE.json", help="file of the recorded results")
    parser.add_argument(
        "--program", default=PROGRAM, help="command that starts the program; default: %(default)s"
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="new folder that keeps all results; default: a temporary folder",
    )
    parser.add_argument(
        "--multi30k", type=Path, metavar="FOLDER", help="folder of the Multi30k text"
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        choices=list(REFERENCE_RUNS),
        default=list(REFERENCE_RUNS),
        metavar="NAME",
        help=f"only these runs; all: {', '.join(REFERENCE_RUNS)}",
    )
    return parser.parse_args()


def record(arguments: argparse.Namespace) -> int:
    """Write the results of all runs to the file, and return the exit code."""
    results = {"machine": describe_machine(), "runs": perform_runs(arguments)}
    arguments.file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"The results are in {arguments.file}.")
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Print a table of recorded and present results, and return the exit code."""
    recorded = json.loads(arguments.file.read_text(encoding="utf-8"))
    machine = describe_machine()
    if machine != recorded["machine"]:
        print(f"Warning: recorded on {recorded['machine']}, but this machine is {machine}.")

    present_runs = perform_runs(arguments)
    different = 0
    for name in arguments.runs:
        if name not in present_runs or name not in recorded["runs"]:
            print(f"{name:26} not compared: the run was skipped, now or in the recording")
            continue
        different += print_comparison(name, recorded["runs"][name], present_runs[name])

    if different:
        print(f"{different} results are different.")
        return 1
    print("All compared results are the same.")
    return 0


def print_comparison(name: str, recorded: dict[str, Any], present: dict[str, Any]) -> int:
    """Print a row for each result of one run, and return the number of differences."""
    different = 0
    for thing in sorted({*recorded, *present}):
        if thing not in present:
            status = "different: it is missing now"
        elif thing not in recorded:
            status = "different: it is new"
        elif recorded[thing] != present[thing]:
            status = "different"
        else:
            status = "same"
        different += status != "same"
        print(f"{name:26} {thing:36} {status}")
    return different


def perform_runs(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Perform the chosen runs, and return the results of each."""
    if arguments.work is None:
        with tempfile.TemporaryDirectory() as folder:
            return perform_runs_in(Path(folder), arguments)
    arguments.work.mkdir(parents=True)
    return perform_runs_in(arguments.work.resolve(), arguments)


def perform_runs_in(work: Path, arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Perform the chosen runs in a working folder, and return the results of each."""
    program = Program(arguments.program, work)
    print(f"The program is {program.package_folder()}.", flush=True)
    results = {}
    for name in arguments.runs:
        settings = list(REFERENCE_RUNS[name].arguments)
        if name == "multi30k":
            if arguments.multi30k is None:
                print("multi30k: skipped, because --multi30k does not name its folder")
                continue
            settings.append(MULTI30K_FOLDER.format(folder=arguments.multi30k.resolve()))

        start = time.monotonic()
        run_folder = work / name
        run_folder.mkdir()
        results[name] = perform_run(program, run_folder, REFERENCE_RUNS[name].config, settings)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return results


def perform_run(
    program: Program, folder: Path, config: str, settings: Sequence[str]
) -> dict[str, Any]:
    """Train, evaluate, translate, and embed in a folder; return the hashes and the scores."""
    run = folder / "run"
    program.call([*fill(TRAIN, config=config, run=run), *settings])
    program.call(fill(EVALUATE, run=run))

    text = folder / "text.de"
    text.write_text(first_lines(run / EVALUATION), encoding="utf-8")
    greedy = program.call(fill(TRANSLATE_GREEDY, run=run, text=text))
    (folder / "greedy.en").write_bytes(greedy)
    beam = program.call(fill(TRANSLATE_BEAM, run=run, text=text))
    (folder / "beam.tsv").write_bytes(beam)
    embeddings = folder / "embeddings.npy"
    program.call(fill(EMBED, run=run, text=text, embeddings=embeddings))

    results: dict[str, Any] = {}
    for name, digest in checkpoint_hashes(run).items():
        results[f"checkpoint: {name}"] = digest
    results["scores"] = scores(run / EVALUATION / SCORES)
    results["translations of the evaluation"] = hash_files(run / EVALUATION, HYPOTHESES)
    results["translations, greedy"] = sha256(greedy)
    results["translations, beam"] = sha256(beam)
    results["embeddings"] = sha256(embeddings.read_bytes())
    return results


def fill(template: Sequence[str], **values: object) -> list[str]:
    """Return the arguments of a command with the values in place of `{name}`."""
    return [argument.format(**values) for argument in template]


def first_lines(evaluation: Path) -> str:
    """Return the first German lines of the text that an evaluation translated."""
    (path,) = evaluation.glob(SOURCE_TEXT)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(lines[:LINES])


def checkpoint_hashes(run: Path) -> dict[str, str]:
    """Return a hash of each tensor file of the last checkpoint."""
    last = max(run.glob(CHECKPOINTS))
    hashes = {}
    for path in sorted(last.glob(TENSOR_FILES)):
        hashes[path.name] = hash_tensors(path)
    return hashes


def hash_tensors(path: Path) -> str:
    """Hash names, types, shapes, and numbers of a file, but not its metadata."""
    digest = hashlib.sha256()
    for name, tensor in sorted(deserialize(path.read_bytes())):
        digest.update(f"{name} {tensor['dtype']} {list(tensor['shape'])}\n".encode())
        digest.update(tensor["data"])
    return digest.hexdigest()


def scores(path: Path) -> list[str]:
    """Return the rows of the table of scores, without the time that each took."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split(",")
        del cells[COLUMN_OF_SECONDS]
        rows.append(",".join(cells))
    return rows


def hash_files(folder: Path, pattern: str) -> str:
    """Hash names and contents of files together."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        digest.update(f"{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sha256(content: bytes) -> str:
    """Return the SHA-256 as text."""
    return hashlib.sha256(content).hexdigest()


def describe_machine() -> str:
    """Return the processor and the versions that influence the last digits of results."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                processor = line.split(": ")[1]
                break
    python = platform.python_version()
    return f"{processor}, Python {python}, PyTorch {version('torch')}, NumPy {version('numpy')}"


if __name__ == "__main__":
    sys.exit(main())
