"""Files and streams that the system refuses: one message and exit code 2, no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polyglot.cli import app as program

PROGRAM = [sys.executable, "-m", "polyglot"]


def run_main(monkeypatch, capsys, error):
    """Run the program with a command that raises an error; return exit code and message."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(program, "app", fail)
    monkeypatch.setattr(program, "_discard_output", lambda: None)
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **_: None, raising=False)
    with pytest.raises(SystemExit) as end:
        program.main()
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "runs/mine"), "runs/mine: cannot be used: Perm"),
        (OSError(36, "File name too long", "a" * 300), "cannot be used: File name too long"),
        (OSError(30, "Read-only file system", "x"), "x: cannot be used: Read-only file system"),
        (OSError(28, "No space left on device"), "free some space there"),
        (OSError(5, "Input/output error"), "file of this command: cannot be used: Input/output"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "not UTF-8"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    ],
)
def test_error_of_the_system_is_a_message(error, message, monkeypatch, capsys):
    code, output = run_main(monkeypatch, capsys, error)
    assert code == 2
    assert message in output
    assert "Traceback" not in output


def test_message_is_short_and_without_control_characters(monkeypatch, capsys):
    name = "\x1b[31m" + "long" * 5000
    code, output = run_main(monkeypatch, capsys, OSError(2, "No such file or directory", name))
    assert code == 2
    assert len(output) < 4096
    assert "\x1b[31m" not in output


@pytest.mark.parametrize(
    ("redirection", "code"), [("<&-", 0), ("2>&-", 0), (">&-", 2), ("<&- 2>&-", 0), ("<&- >&-", 2)]
)
def test_closed_standard_streams(redirection, code):
    """The version needs the standard output, and neither of the other streams."""
    command = f'exec "$@" --version {redirection}'
    result = subprocess.run(
        ["bash", "-c", command, "bash", *PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == code
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
    assert result.stdout.startswith("polyglot ") == (code == 0)
