"""Launching several processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from polyglot.core.errors import ConfigError
from polyglot.distributed import launch as launch_module
from polyglot.distributed import processes, store, watch
from polyglot.distributed.launch import launch, launcher_world_size

WRITE_VARIABLES = """
import json, os, sys
names = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "POLYGLOT_STORE",
    "OMP_NUM_THREADS", "POLYGLOT_LAUNCHED", "TORCHELASTIC_RESTART_COUNT",
)
with open(sys.argv[1] + os.environ["RANK"], "w") as file:
    json.dump({name: os.environ[name] for name in names}, file)
"""


def command(code, *arguments):
    return [sys.executable, "-c", code, *map(str, arguments)]


# Environment


def test_each_process_has_the_variables_of_its_rank(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_module.os, "sched_getaffinity", lambda _: range(12))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert launch(3, command(WRITE_VARIABLES, f"{tmp_path}/")) == 0
    stores = set()
    for rank in range(3):
        variables = json.loads((tmp_path / str(rank)).read_text())
        stores.add(variables.pop("POLYGLOT_STORE"))
        assert variables == {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "3",
            "LOCAL_WORLD_SIZE": "3",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "OMP_NUM_THREADS": "4",
            "POLYGLOT_LAUNCHED": str(os.getpid()),
        }
    (store,) = stores
    assert not os.path.exists(os.path.dirname(store)), "the store is removed at the end"


@pytest.mark.parametrize(
    ("cores", "processes", "threads"), [(12, 3, "4"), (7, 2, "3"), (2, 2, "1"), (2, 3, "1")]
)
def test_processes_divide_the_cores_and_have_at_least_one_thread(
    cores, processes, threads, monkeypatch
):
    monkeypatch.setattr(launch_module.os, "sched_getaffinity", lambda _: range(cores))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert launch_module._common_environment(processes)["OMP_NUM_THREADS"] == threads


def test_only_the_user_can_enter_the_folder_of_the_store():
    with launch_module._private_store() as store:
        assert os.stat(os.path.dirname(store)).st_mode & 0o077 == 0
        assert not os.path.exists(store)
    with launch_module._private_store() as other_store:
        assert other_store != store


def test_the_number_of_threads_of_the_user_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert launch(2, command(WRITE_VARIABLES, f"{tmp_path}/")) == 0
    assert json.loads((tmp_path / "1").read_text())["OMP_NUM_THREADS"] == "7"


def test_a_wrong_number_of_threads_is_an_error_before_any_process_starts(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    message = "OMP_NUM_THREADS is 'many' in the environment; it must be a whole number"
    with pytest.raises(ConfigError, match=message):
        launch(2, ["no such program"])


# Exit codes

RANK_1_ENDS = """
import os, sys, time
if os.environ["RANK"] == "1":
    {end}
time.sleep({others_sleep})
"""
KILL_SELF = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("end", "status"),
    [("sys.exit(3)", 3), (KILL_SELF, 137), ("sys.exit(0)", 0)],
    ids=["fails", "killed", "succeeds"],
)
def test_the_exit_code_is_that_of_the_first_process_that_failed(end, status):
    assert launch(2, command(RANK_1_ENDS.format(end=end, others_sleep=0.3))) == status


@pytest.mark.parametrize(
    ("end", "grace", "status"),
    [("sys.exit(5)", "FAILURE_GRACE", 5), (KILL_SELF, "KILL_GRACE", 137)],
    ids=["failed", "killed"],
)
def test_a_process_that_does_not_end_by_itself_is_killed(end, grace, status, monkeypatch):
    monkeypatch.setattr(launch_module, "FAILURE_GRACE", 600)
    monkeypatch.setattr(launch_module, "KILL_GRACE", 600)
    monkeypatch.setattr(launch_module, grace, 0.2)
    start = time.monotonic()
    assert launch(2, command(RANK_1_ENDS.format(end=end, others_sleep=60))) == status
    assert time.monotonic() - start < 30


def test_all_processes_end_within_a_minute_after_any_failure():
    """A process that hangs is missed, reported by the others, which leave; then it is killed.

    After a process was killed, the others first have to miss it.
    """
    notice = store.HEARTBEAT_TIMEOUT + 2 * watch.HEARTBEAT_INTERVAL
    leave = max(
        watch.EXIT_GRACE + store.SHORT_TIMEOUT, 2 * store.SHORT_TIMEOUT, processes.STORE_LINGER
    )
    assert notice + leave + launch_module.FAILURE_GRACE < 60
    assert notice + watch.EXIT_GRACE < launch_module.KILL_GRACE < 60
    wait_for_others = watch.HEARTBEAT_INTERVAL + processes.STORE_LINGER
    assert wait_for_others < launch_module.FAILURE_GRACE, "rank 0 can wait for the others"
    end = watch.HEARTBEAT_INTERVAL + watch.EXIT_GRACE
    assert end < launch_module.FAILURE_GRACE, "a rank that reads of a failure can end"


# Restarts

COUNT_STARTS = """
import os, sys, time
with open(sys.argv[1] + os.environ["RANK"], "a") as file:
    file.write(os.environ["TORCHELASTIC_RESTART_COUNT"])
if os.environ["RANK"] == "1" and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < {failures}:
    {end}
time.sleep(0.3)
"""


@pytest.mark.parametrize(
    ("end", "failures", "starts", "status"),
    [
        (KILL_SELF, 2, "012", 0),
        (KILL_SELF, 9, "0123", 137),
        ("sys.exit(1)", 1, "01", 0),
        ("sys.exit(2)", 9, "0", 2),
    ],
    ids=["killed twice", "always killed", "crashes", "error of the user"],
)
def test_all_processes_start_again_after_one_was_lost(
    end, failures, starts, status, tmp_path, capfd
):
    program = command(COUNT_STARTS.format(end=end, failures=failures), f"{tmp_path}/")
    assert launch(2, program, restarts=3) == status
    for rank in range(2):
        assert (tmp_path / str(rank)).read_text() == starts
    errors = capfd.readouterr().err
    assert errors.count("restart ") == len(starts) - 1
    assert errors.count("restart 1 of 3, from the last checkpoint\n") == (len(starts) > 1)


def test_an_interrupted_run_does_not_start_again(tmp_path):
    code = """
import os, signal, sys, time
with open(sys.argv[1] + os.environ["RANK"], "a") as file:
    file.write(".")
time.sleep(0.5)
if os.environ["RANK"] == "1":
    os.kill(os.getppid(), signal.SIGTERM)
time.sleep(60)
"""
    assert launch(2, command(code, f"{tmp_path}/"), restarts=3) == 143
    assert (tmp_path / "0").read_text() == "."


# Interruptions


def test_sigterm_is_passed_to_each_process_and_the_previous_handler_is_restored():
    handler = signal.getsignal(signal.SIGTERM)
    code = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if os.environ["RANK"] == "1":
    time.sleep(1)
    os.kill(os.getppid(), signal.SIGTERM)
time.sleep(60)
"""
    assert launch(2, command(code)) == 143
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.parametrize(
    ("signal_name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)]
)
def test_processes_without_a_handler_end_at_once_with_one_message(signal_name, status, capfd):
    """Python's default for Ctrl-C would print two tracebacks."""
    code = f"""
import os, signal, time
if os.environ["RANK"] == "1":
    os.kill(os.getppid(), signal.{signal_name})
time.sleep(100)
"""
    assert launch(2, command(code)) == status
    assert capfd.readouterr() == ("", "interrupted\n")


def test_a_process_that_saves_its_work_prints_its_own_message(capfd):
    code = """
import os, signal, sys, time

def save(*_):
    print("saved", flush=True)
    sys.exit(143)

if os.environ["RANK"] == "0":
    signal.signal(signal.SIGTERM, save)
    os.kill(os.getppid(), signal.SIGINT)
time.sleep(100)
"""
    assert launch(2, command(code)) == 130
    assert capfd.readouterr() == ("saved\n", "")


def test_a_second_ctrl_c_kills_processes_without_a_message(capfd):
    code = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while os.environ["RANK"] == "0":
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(0.5)
time.sleep(900)
"""
    assert launch(2, command(code)) == 130
    assert capfd.readouterr() == ("", "")


# Variables of a launcher


@pytest.fixture
def launcher(monkeypatch):
    """Variables of the first of four processes."""
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    variables = {
        "WORLD_SIZE": "4",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "first",
        "MASTER_PORT": "29500",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_the_world_size_is_that_of_the_launcher(launcher):
    assert launcher_world_size() == 4
    launcher.setenv("WORLD_SIZE", "1")
    assert launcher_world_size() == 1


def test_without_a_world_size_there_is_no_launcher(launcher):
    launcher.setenv("WORLD_SIZE", "")
    assert launcher_world_size() is None
    launcher.delenv("WORLD_SIZE")
    assert launcher_world_size() is None, "another program may set RANK"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("WORLD_SIZE", "two", "is 'two' in the environment, which is not a number of processes"),
        ("RANK", "4", "RANK is '4'; it must be a whole number below WORLD_SIZE"),
        ("RANK", "-1", "RANK is '-1'; it must be a whole number below WORLD_SIZE"),
        ("RANK", "9" * 5000, "it must be a whole number below WORLD_SIZE"),
        ("RANK", "first", "RANK is 'first'; it must be a whole number below WORLD_SIZE"),
        ("LOCAL_RANK", "4", "LOCAL_RANK is '4'; it must be a whole number, at most 3"),
        ("LOCAL_WORLD_SIZE", "", "LOCAL_WORLD_SIZE is ''; it must be a whole number, at most 4"),
        (
            "MASTER_PORT",
            "first",
            "MASTER_PORT is 'first'; it must be a whole number, at most 65535",
        ),
    ],
)
def test_a_wrong_variable_of_a_launcher_is_an_error(name, value, message, launcher):
    launcher.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        launcher_world_size()


def test_missing_variables_of_a_launcher_are_an_error(launcher):
    launcher.delenv("RANK")
    message = "WORLD_SIZE is 4 in the environment, but RANK is not set"
    with pytest.raises(ConfigError, match=message):
        launcher_world_size()
    launcher.delenv("MASTER_ADDR")
    launcher.setenv("POLYGLOT_STORE", "/dev/shm/store")
    with pytest.raises(ConfigError, match="but RANK is not set"):
        launcher_world_size()
    launcher.delenv("POLYGLOT_STORE")
    message = (
        "but RANK and MASTER_ADDR are not set; "
        "a launcher sets these variables: unset them, or use one"
    )
    with pytest.raises(ConfigError, match=message):
        launcher_world_size()


# Ctrl-Z

COUNT_UNTIL_STOPPED = """
import os, sys, time
from polyglot.core.signals import continue_when_parent_ends
continue_when_parent_ends()
while not os.path.exists(sys.argv[1] + "enough"):
    time.sleep(0.02)
    with open(sys.argv[1] + os.environ["RANK"], "a") as file:
        file.write(".")
"""
LAUNCH_TWO = """
import sys
from polyglot.distributed.launch import launch
sys.exit(launch(2, [sys.executable, "-c", *sys.argv[1:]]))
"""


class CountingJob:
    """Launcher with two processes that count until a file exists: a job, as a shell has it."""

    def __init__(self, folder):
        self.folder = folder
        self.launcher = subprocess.Popen(
            command(LAUNCH_TWO, COUNT_UNTIL_STOPPED, f"{folder}/"), preexec_fn=os.setpgrp
        )

    def counts(self):
        counts = []
        for rank in range(2):
            file = self.folder / str(rank)
            counts.append(file.stat().st_size if file.exists() else 0)
        return counts

    def wait_until_both_count(self):
        start = self.counts()

        def both_have_counted():
            counts = self.counts()
            return counts[0] > start[0] and counts[1] > start[1]

        wait_until(both_have_counted)

    def suspend(self):
        """Send the signal of Ctrl-Z; check that no process counts."""
        options = os.WSTOPPED | os.WNOWAIT | os.WNOHANG
        self.launcher.send_signal(signal.SIGTSTP)
        wait_until(lambda: os.waitid(os.P_PID, self.launcher.pid, options))
        time.sleep(0.1)
        suspended = self.counts()
        time.sleep(0.5)
        assert self.counts() == suspended

    def stop(self):
        (self.folder / "enough").touch()


def wait_until(condition):
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def counting_job(tmp_path):
    job = CountingJob(tmp_path)
    try:
        job.wait_until_both_count()
        yield job
    finally:
        job.stop()
        job.launcher.kill()
        job.launcher.wait()


def test_ctrl_z_stops_all_processes_until_the_launcher_continues(counting_job):
    counting_job.suspend()
    counting_job.launcher.send_signal(signal.SIGCONT)
    counting_job.wait_until_both_count()
    counting_job.stop()
    assert counting_job.launcher.wait(60) == 0


def test_stopped_processes_continue_when_their_launcher_is_killed(counting_job):
    """So that they notice it, and end."""
    counting_job.suspend()
    counting_job.launcher.kill()
    counting_job.wait_until_both_count()
