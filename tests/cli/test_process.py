"""The program as a process: exit codes, signals, closed pipes and full disks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from polyglot.model.encoders import ENCODERS
from polyglot.runs import checkpoint as checkpoints
from tests.builders.forked import ForkedProgram
from tests.cli.small_run import TRANSLATE, start_program

TIMEOUT = 180  # seconds; a loaded machine needs a minute to start a process


def popen_for(arguments: Sequence[str]) -> type[subprocess.Popen]:
    """A new interpreter for commands that do not load PyTorch, otherwise a forked process."""
    is_quick = arguments in [("show",), ("--version",)]
    return subprocess.Popen if is_quick else ForkedProgram


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full exists on Linux only")
@pytest.mark.parametrize(
    "arguments", [("show", "phrasebook"), ("show",), ("--version",), TRANSLATE], ids=" ".join
)
def test_full_disk_of_standard_output_is_one_message(arguments, folder):
    with open("/dev/full", "w") as full:
        process = start_program(*arguments, popen=popen_for(arguments), stdout=full)
        _, errors = process.communicate(b"es regnet\n", timeout=TIMEOUT)
    message = errors.decode()
    assert process.returncode == 2
    assert "Traceback" not in message
    assert "Exception ignored" not in message
    assert message.endswith("cannot be written: No space left on device; free some space there\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "phrasebook"),
        ("evaluate", "runs/mine", "--protocol", "small.yaml"),
        ("--quiet", *TRANSLATE, "some.txt"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_closed_output_is_not_an_error(arguments, folder):
    """For output that is printed during the work or at the end, lines or tables."""
    Path("some.txt").write_text("es regnet\n")
    Path("small.yaml").write_text("pairs: [de-fr]\nmetrics: [chrf]\nresamples: 0\n")
    with start_program(*arguments, popen=popen_for(arguments)) as process:
        process.stdout.close()
        process.stdin.close()
        errors = process.stderr.read()
        assert process.wait(timeout=TIMEOUT) == 0, errors
    for part in (b"Traceback", b"BrokenPipe", b"Broken pipe"):
        assert part not in errors


def test_mistake_of_the_user_ends_with_exit_code_2(folder):
    with start_program("train", "mine.yaml", "model.encoder=lsmt") as process:
        output, errors = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, output) == (2, b"")
    known = ", ".join(ENCODERS.names())
    assert errors.decode() == (
        "error: mine.yaml: 1 problem\n"
        "  model.encoder.type: no encoder named 'lsmt'. Did you mean 'lstm'? "
        f"Known: {known}\n"
    )


def wait_for_training(process: subprocess.Popen, log: Path) -> None:
    """Wait until the log has a record of a training step, or the process has ended."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        if log.exists() and '"training"' in log.read_text():
            return
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "exit_code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_stopped_training_can_be_resumed(number, exit_code, folder, polyglot):
    settings = ("training.steps", "validation.every", "training.checkpoint.every")
    endless = [f"{setting}=1000000" for setting in settings]
    with start_program("train", "mine.yaml", "run=other", *endless) as process:
        wait_for_training(process, Path("other/log.jsonl"))
        process.send_signal(number)
        _, output = process.communicate(timeout=TIMEOUT)
    errors = output.decode()
    assert process.returncode == exit_code
    assert "Traceback" not in errors
    assert "interrupted; continue with: polyglot train other --resume" in errors

    step = checkpoints.steps(Path("other/checkpoints"))[-1]
    assert polyglot("train", "other", "--resume", f"training.steps={step + 2}").status == 0
    assert checkpoints.steps(Path("other/checkpoints"))[-1] == step + 2


IMPORT_ERROR = """
import sys, signal, types

class InterruptingModule(types.ModuleType):
    def __getattr__(self, name):
        signal.raise_signal(signal.SIGINT)

class InterruptingFinder:
    '''Takes an interrupt during the import for an error of the import, as NumPy does.'''
    def find_spec(self, name, path, target=None):
        if name == "polyglot.config.schema":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("cannot load module more than once per process") from None
"""
INTERRUPTIONS = {
    "while the program loads": "sys.modules['polyglot.cli.training'] = InterruptingModule('x')",
    "while the command line is read": (
        "import typer.main\ntyper.main.get_command = lambda app: signal.raise_signal(signal.SIGINT)"
    ),
    "in a command": (
        "import polyglot.core.presets\n"
        "polyglot.core.presets.categories_of = lambda name: signal.raise_signal(signal.SIGINT)"
    ),
    "in an import of a command": (
        "import builtins, time\n"
        "builtins.print = lambda *_, **__: time.sleep(9)\n"
        "sys.meta_path.insert(0, InterruptingFinder())"
    ),
}


def accept_ctrl_c() -> None:
    """The tests may run in the background, where Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("place", INTERRUPTIONS)
def test_ctrl_c_leaves_no_traceback(place, tmp_path):
    start = "from polyglot.__main__ import main\nmain()"
    code = "\n".join([IMPORT_ERROR, INTERRUPTIONS[place], start])
    process = subprocess.run(
        [sys.executable, "-c", code, "show", "phrasebook"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        preexec_fn=accept_ctrl_c,
    )
    expected = "interrupted\n" if place.endswith("command") else ""
    assert (process.returncode, process.stderr) == (130, expected)
    assert process.stdout == ""
