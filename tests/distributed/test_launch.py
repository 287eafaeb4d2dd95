"""Starting several processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from polyglot.core.errors import ConfigError
from polyglot.distributed import launch as launching
from polyglot.distributed import processes, store, watch
from polyglot.distributed.launch import launch, launched

FACTS = """
import json, os, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "POLYGLOT_LAUNCHED")
open(sys.argv[1] + os.environ["RANK"], "w").write(json.dumps({name: os.environ[name] for name in names}))
"""


def command(code, *arguments):
    return [sys.executable, "-c", code, *map(str, arguments)]


def test_each_process_knows_who_it_is_and_where_all_meet(tmp_path, monkeypatch):
    monkeypatch.setattr(launching.os, "sched_getaffinity", lambda _: range(12))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert launch(3, command(FACTS, f"{tmp_path}/")) == 0
    facts = [json.loads((tmp_path / str(number)).read_text()) for number in range(3)]
    assert [(one["RANK"], one["LOCAL_RANK"]) for one in facts] == [
        ("0", "0"),
        ("1", "1"),
        ("2", "2"),
    ]
    assert all(
        (one["WORLD_SIZE"], one["LOCAL_WORLD_SIZE"], one["OMP_NUM_THREADS"]) == ("3", "3", "4")
        for one in facts
    )
    assert len({(one["MASTER_ADDR"], one["MASTER_PORT"]) for one in facts}) == 1
    assert {one["POLYGLOT_LAUNCHED"] for one in facts} == {str(os.getpid())}


def test_threads_that_the_user_names_count(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert launch(2, command(FACTS, f"{tmp_path}/")) == 0
    assert json.loads((tmp_path / "1").read_text())["OMP_NUM_THREADS"] == "7"


def test_threads_that_are_no_number_are_said_before_anybody_is_started(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    with pytest.raises(
        ConfigError, match="OMP_NUM_THREADS is 'many' in the environment, and has to be a number"
    ):
        launch(2, ["no such program"])


@pytest.mark.parametrize(
    ("end", "status"),
    [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("pass", 0)],
    ids=["fails", "is killed", "ends well"],
)
def test_the_status_is_that_of_the_first_that_failed(end, status):
    assert (
        launch(
            2,
            command(
                f"import os, sys, time\nif os.environ['RANK'] == '1':\n    {end}\nelse:\n    time.sleep(0.3)"
            ),
        )
        == status
    )


@pytest.mark.parametrize(
    ("end", "limit", "status"),
    [("sys.exit(5)", "GRACE", 5), ("os.kill(os.getpid(), 9)", "UNTOLD", 137)],
    ids=["told by the failed", "told by nobody"],
)
def test_what_does_not_end_by_itself_is_ended(end, limit, status, monkeypatch):
    for name in ("GRACE", "UNTOLD"):
        monkeypatch.setattr(launching, name, 0.2 if name == limit else 600)
    began = time.monotonic()
    assert (
        launch(
            2,
            command(
                f"import os, sys, time\nif os.environ['RANK'] == '1':\n    {end}\ntime.sleep(60)"
            ),
        )
        == status
    )
    assert time.monotonic() - began < 30


def test_whatever_happens_all_have_ended_within_a_minute():
    """One that hangs: the others miss it, say so or are ended, leave, and then it is killed. One that was killed: they miss it first."""
    missed = store.PATIENCE + 2 * watch.BEAT
    leaves = max(watch.GRACE + store.SHORT_PATIENCE, 2 * store.SHORT_PATIENCE, processes.LINGER)
    assert missed + leaves + launching.GRACE < 60
    assert watch.BEAT + processes.LINGER < launching.GRACE, (
        "who waits for the others to leave has said why"
    )
    assert missed + watch.GRACE < launching.UNTOLD < 60
    assert watch.BEAT + watch.GRACE < launching.GRACE, "who hears of a failure can end"


def test_an_interruption_comes_to_each_and_the_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM)
    waits = (
        "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
    )
    waits += "if os.environ['RANK'] == '1':\n    time.sleep(1)\n    os.kill(os.getppid(), signal.SIGTERM)\ntime.sleep(60)"
    assert launch(2, command(waits)) == 143
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(("sent", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_processes_that_have_nothing_to_put_away_end_at_once_and_one_word_says_so(
    sent, status, capfd
):
    """Python's own answer to Ctrl-C would be two tracebacks."""
    waits = "import os, signal, time\n"
    waits += (
        f"if os.environ['RANK'] == '1':\n    os.kill(os.getppid(), signal.{sent})\ntime.sleep(100)"
    )
    assert launch(2, command(waits)) == status
    assert capfd.readouterr() == ("", "interrupted\n")


def test_who_puts_something_away_says_so_itself_and_is_not_waited_for_twice(capfd):
    says = "import os, signal, sys, time\n"
    says += "def end(*_):\n    print('put away', flush=True)\n    sys.exit(143)\n"
    says += "if os.environ['RANK'] == '0':\n    signal.signal(signal.SIGTERM, end)\n    os.kill(os.getppid(), signal.SIGINT)\ntime.sleep(100)"
    assert launch(2, command(says)) == 130
    assert capfd.readouterr() == ("put away\n", "")
    deaf = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    deaf += "while os.environ['RANK'] == '0':\n    os.kill(os.getppid(), signal.SIGINT)\n    time.sleep(0.5)\ntime.sleep(900)"
    assert launch(2, command(deaf)) == 130
    assert capfd.readouterr() == ("", ""), "whoever asks twice need not be told"


def test_several_processes_are_those_that_a_launcher_counts(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert launched() is None
    monkeypatch.setenv("RANK", "0")
    assert launched() is None, "somebody's variable of that name is no launcher"
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("MASTER_ADDR", "first")
    monkeypatch.setenv("MASTER_PORT", "29500")
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert launched() == 4
    monkeypatch.setenv("MASTER_PORT", "first")
    with pytest.raises(
        ConfigError, match="but MASTER_PORT is 'first', and has to be a number up to 65535"
    ):
        launched()
    monkeypatch.setenv("MASTER_PORT", "29500")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "")
    with pytest.raises(
        ConfigError, match="but LOCAL_WORLD_SIZE is '', and has to be a number up to 4"
    ):
        launched()
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    monkeypatch.setenv("WORLD_SIZE", "")
    assert launched() is None
    monkeypatch.setenv("WORLD_SIZE", "two")
    with pytest.raises(
        ConfigError, match="WORLD_SIZE is 'two' in the environment, which is no number of processes"
    ):
        launched()
    monkeypatch.setenv("WORLD_SIZE", "4")
    for rank in ("4", "-1", "first"):
        monkeypatch.setenv("RANK", rank)
        with pytest.raises(
            ConfigError,
            match=f"WORLD_SIZE is 4 in the environment, but RANK is '{rank}', and has to be a number below that",
        ):
            launched()
    monkeypatch.delenv("RANK")
    with pytest.raises(
        ConfigError, match="WORLD_SIZE is 4 in the environment, but RANK is not set"
    ):
        launched()
    monkeypatch.delenv("MASTER_ADDR")
    with pytest.raises(
        ConfigError,
        match="but RANK and MASTER_ADDR are not set; a launcher sets these variables: unset them, or use one",
    ):
        launched()


class Counting:
    """Two processes that count until they find a file, and the program that has started them: a job as a shell has them."""

    code = (
        "import os, sys, time\nfrom polyglot.core.signals import continue_when_parent_ends\ncontinue_when_parent_ends()\n"
    )
    code += "while not os.path.exists(sys.argv[1] + 'enough'):\n    time.sleep(0.02)\n"
    code += "    open(sys.argv[1] + os.environ['RANK'], 'a').write('.')"
    launch = "import sys\nfrom polyglot.distributed.launch import launch\nsys.exit(launch(2, [sys.executable, '-c', *sys.argv[1:]]))"

    def __init__(self, folder):
        self.folder = folder
        self.launcher = subprocess.Popen(
            command(self.launch, self.code, f"{folder}/"), preexec_fn=os.setpgrp
        )

    def counted(self):
        files = [self.folder / str(rank) for rank in range(2)]
        return [len(file.read_text()) if file.exists() else 0 for file in files]

    def wait_until_both_count(self):
        before = self.counted()
        wait_until(lambda: all(now > then for now, then in zip(self.counted(), before)))

    def halt(self):
        self.launcher.send_signal(signal.SIGTSTP)
        wait_until(
            lambda: os.waitid(os.P_PID, self.launcher.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG)
        )
        time.sleep(0.1)
        halted = self.counted()
        time.sleep(0.5)
        assert self.counted() == halted


def wait_until(condition):
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def counting(tmp_path):
    counting = Counting(tmp_path)
    try:
        counting.wait_until_both_count()
        yield counting
    finally:
        (tmp_path / "enough").touch()
        counting.launcher.kill()
        counting.launcher.wait()


def test_ctrl_z_halts_all_until_they_go_on(counting):
    counting.halt()
    counting.launcher.send_signal(signal.SIGCONT)
    counting.wait_until_both_count()
    (counting.folder / "enough").touch()
    assert counting.launcher.wait(60) == 0


def test_processes_that_were_halted_go_on_when_the_program_that_started_them_is_killed(counting):
    """So that they notice, and end."""
    counting.halt()
    counting.launcher.kill()
    counting.wait_until_both_count()
