"""Failure reports of the processes of a run: each failure is reported once."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from polyglot.core.errors import ConfigError
from polyglot.distributed import connection as connection_module
from polyglot.distributed import processes as processes_module
from polyglot.distributed import store as store_module
from polyglot.distributed import watch as watch_module
from polyglot.distributed.processes import LostProcessError, Processes
from polyglot.distributed.watch import HeartbeatMonitor
from tests.builders.forked import PROGRAM, ForkedProgram

REPORTED = "reported"
"""Result of `outcome` for a process that reports its error; otherwise its exit code."""


class FakeStore(dict):
    """Store in memory, without a process that holds it."""

    def set(self, key, value):
        self[key] = value

    def add(self, key, number):
        self[key] = self.get(key, 0) + number
        return self[key]

    def check(self, keys):
        return all(key in self for key in keys)

    def compare_set(self, key, expected, value):
        return self.setdefault(key, value)


class SilentStore(FakeStore):
    """Store of a stopped process: it never answers."""

    def add(self, key, number):
        threading.Event().wait()


class StoppedMonitor:
    is_silent = False
    failure = None

    def stop(self):
        pass

    def connection_error(self):
        return self.failure


@pytest.fixture
def two_ranks(monkeypatch):
    """Ranks 0 and 1 with one store; rank 0 does not wait for rank 1 at the end."""
    monkeypatch.setattr(processes_module, "STORE_LINGER", 0)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    store = FakeStore()
    ranks = []
    for rank in range(2):
        processes = Processes()
        processes.rank = rank
        processes.world_size = 2
        processes.store = store
        processes.monitor = StoppedMonitor()
        ranks.append(processes)
    return ranks


def shorten_timeouts(monkeypatch):
    """Shorten all timeouts; this process is the second of a machine."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(watch_module, "HEARTBEAT_TIMEOUT", 0.1)
    monkeypatch.setattr(watch_module, "SHORT_TIMEOUT", 0.1)
    monkeypatch.setattr(watch_module, "HEARTBEAT_INTERVAL", 0.02)
    monkeypatch.setattr(watch_module, "EXIT_GRACE", 0)
    monkeypatch.setattr(store_module, "SHORT_TIMEOUT", 0.1)
    monkeypatch.setattr(store_module, "POLL_INTERVAL", 0.01)


@pytest.fixture
def exited(monkeypatch):
    """Event that is set when a monitor ends the process."""
    event = threading.Event()
    monkeypatch.setattr(watch_module.os, "_exit", lambda status: event.set())
    return event


def outcome(processes, error):
    """Return `REPORTED`, or the exit code of a process that ends without a message."""
    try:
        processes._handle_failure(error)
    except SystemExit as end:
        return end.code
    return REPORTED


# Errors and interruptions


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_of_one_rank_is_reported_only_by_that_rank(rank, two_ranks):
    other = two_ranks[1 - rank]
    assert outcome(two_ranks[rank], ConfigError("runs/mine: exists")) == REPORTED
    assert outcome(other, LostProcessError("process 0 has failed")) == 2


def test_an_error_that_both_ranks_find_is_reported_once(two_ranks):
    assert outcome(two_ranks[0], ConfigError("no such key")) == REPORTED
    assert outcome(two_ranks[1], ConfigError("no such key")) == 2


def test_different_errors_of_two_ranks_are_both_reported(two_ranks):
    assert outcome(two_ranks[0], ConfigError("no such key")) == REPORTED
    assert outcome(two_ranks[1], ConfigError("no such file")) == REPORTED


def test_a_bug_of_one_rank_is_also_reported_by_another_which_names_the_checkpoint(two_ranks):
    assert outcome(two_ranks[1], ValueError("?")) == REPORTED
    assert outcome(two_ranks[0], LostProcessError("process 1 has failed")) == REPORTED


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["rank 0 first", "rank 1 first"])
@pytest.mark.parametrize(
    ("signals", "status"), [((), 130), ((15,), 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_an_interruption_is_reported_by_rank_0(order, signals, status, two_ranks):
    outcomes = {}
    for rank in order:
        outcomes[rank] = outcome(two_ranks[rank], KeyboardInterrupt(*signals))
    assert outcomes == {0: REPORTED, 1: status}


def test_a_rank_that_reads_the_interruption_of_rank_0_reports_nothing(two_ranks):
    assert outcome(two_ranks[0], KeyboardInterrupt()) == REPORTED
    assert outcome(two_ranks[1], LostProcessError("process 0 was interrupted")) == 2


# Barriers and the end of a run


class FakeClock:
    """Clock without waiting: `sleep` moves it, and then calls a function."""

    def __init__(self, after_sleep=lambda: None):
        self.now = 0.0
        self.after_sleep = after_sleep

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        assert self.now < 60, "waits without end"
        self.after_sleep()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["rank 0 first", "rank 1 first"])
def test_a_barrier_waits_for_every_rank(order, two_ranks, monkeypatch):
    first, second = (two_ranks[rank] for rank in order)
    events = []

    def second_arrives():
        monkeypatch.setattr(processes_module, "time", FakeClock())
        second.barrier("end")
        events.append("second passed")

    monkeypatch.setattr(processes_module, "time", FakeClock(second_arrives))
    first.barrier("end")
    events.append("first passed")
    assert events == ["second passed", "first passed"]


def test_a_barrier_ends_if_another_rank_fails(two_ranks, monkeypatch):
    monitor = two_ranks[0].monitor

    def fail():
        monitor.failure = "process 1 has failed"

    monkeypatch.setattr(processes_module, "time", FakeClock(fail))
    with pytest.raises(LostProcessError, match="process 1 has failed"):
        two_ranks[0].barrier("end")


@pytest.mark.parametrize("leaves_after", [0.0, 0.3, 5.9, None])
def test_rank_0_leaves_after_the_others_or_after_a_while(leaves_after, two_ranks, monkeypatch):
    """It holds the store, which the others read until they leave."""
    monkeypatch.setattr(processes_module, "STORE_LINGER", 6.0)
    store = two_ranks[0].store

    def leave_at_last():
        if leaves_after is not None and clock.now >= leaves_after:
            store["left"] = 2

    clock = FakeClock(leave_at_last)
    monkeypatch.setattr(processes_module, "time", clock)
    if leaves_after == 0:
        two_ranks[1]._leave()
        assert clock.now == 0, "only rank 0 waits"
    two_ranks[0]._leave()
    latest = 6.0 if leaves_after is None else leaves_after
    assert latest <= clock.now < latest + 0.15
    assert leaves_after == 0 or clock.now > 0


@pytest.fixture
def connected_ranks(two_ranks, monkeypatch):
    """Rank 0 with a launcher; returns the list of its events."""
    events = []
    state = SimpleNamespace(
        process_index=0,
        num_processes=2,
        destroy_process_group=lambda: events.append("connection closed"),
    )
    monkeypatch.setattr(processes_module, "launcher_world_size", lambda: 2)
    monkeypatch.setattr(processes_module, "connect", lambda: state)

    class RankZero(Processes):
        def __new__(cls, rank, world_size):
            assert (rank, world_size) == (0, 2)
            return two_ranks[0]

    def record(name):
        method = getattr(two_ranks[0], name)

        def recorded(*arguments):
            events.append(" ".join([name.strip("_"), *map(str, arguments)]))
            return method(*arguments)

        monkeypatch.setattr(two_ranks[0], name, recorded)

    record("barrier")
    record("_leave")
    monkeypatch.setattr(two_ranks[0].monitor, "stop", lambda: events.append("monitor stopped"))
    two_ranks[0].store["end/1"] = ""
    return RankZero, events


def test_ranks_wait_for_each_other_and_then_close_the_connection(connected_ranks):
    rank_zero, events = connected_ranks
    with rank_zero.connected():
        events.append("run")
    assert events == ["run", "barrier end", "monitor stopped", "leave", "connection closed"]


def test_a_failure_ends_without_waiting_for_the_end_of_the_others(connected_ranks):
    """The connection stays open: another rank may hang in a collective call."""
    rank_zero, events = connected_ranks
    with pytest.raises(ConfigError), rank_zero.connected():
        raise ConfigError("no such key")
    assert events == ["monitor stopped", "leave"]


# Lost processes


def test_a_stopped_rank_0_is_reported_without_waiting_for_its_store(
    two_ranks, exited, monkeypatch, capfd
):
    monkeypatch.setattr(watch_module, "connect_store", SilentStore)
    shorten_timeouts(monkeypatch)
    monitor = HeartbeatMonitor(1, 2)
    monitor.awaited = "gradients of bridge"
    monitor.checkpoint_message = lambda: "the last checkpoint is step 5"
    monitor.start()
    assert exited.wait(60)
    assert capfd.readouterr().err == (
        "error: process 0 is gone: it was killed or stopped, or its machine is off; "
        "process 1 waited for gradients of bridge; the last checkpoint is step 5\n"
    )
    monkeypatch.setattr(processes_module, "SHORT_TIMEOUT", 0.1)
    two_ranks[1].store = SilentStore()
    assert outcome(two_ranks[1], LostProcessError("process 0 is gone")) == REPORTED


@pytest.mark.parametrize("is_blocked", [False, True], ids=["fails", "blocks"])
def test_a_lost_disk_does_not_keep_the_process_from_ending(is_blocked, exited, monkeypatch, capfd):
    def read_disk():
        if is_blocked:
            threading.Event().wait()
        raise OSError("stale file handle")

    monkeypatch.setattr(watch_module, "connect_store", FakeStore)
    shorten_timeouts(monkeypatch)
    monitor = HeartbeatMonitor(1, 2)
    monitor.checkpoint_message = read_disk
    monitor._fail(0, "has failed")
    monitor.start()
    assert exited.wait(60)
    assert capfd.readouterr().err == "error: process 0 has failed\n"


@pytest.mark.parametrize(
    ("rank", "local_rank", "is_reporter"),
    [(1, 1, True), (2, 2, False), (8, 0, True), (9, 1, False)],
)
def test_one_process_on_each_machine_reports_that_rank_0_is_lost(
    rank, local_rank, is_reporter, monkeypatch
):
    shorten_timeouts(monkeypatch)
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("LOCAL_RANK", str(local_rank))
    assert store_module.claim_report(SilentStore()) == is_reporter


# The launcher


@pytest.mark.parametrize("is_launched", [False, True])
def test_only_a_process_of_a_launcher_is_continued_when_the_launcher_ends(is_launched, monkeypatch):
    monkeypatch.setattr(watch_module, "connect_store", FakeStore)
    calls = []
    monkeypatch.setattr(watch_module, "continue_when_parent_ends", lambda: calls.append(True))
    monkeypatch.delenv("POLYGLOT_LAUNCHED", raising=False)
    if is_launched:
        monkeypatch.setenv("POLYGLOT_LAUNCHED", "1")
    HeartbeatMonitor(0, 2)
    assert bool(calls) == is_launched


@pytest.mark.parametrize(
    ("launcher", "is_alone"),
    [(None, False), (os.getppid, False), (os.getpid, True)],
    ids=["none", "alive", "ended"],
)
def test_a_process_whose_launcher_ended_before_its_first_check_is_alone(
    launcher, is_alone, monkeypatch
):
    """The launcher is identified by its process number: another process may be the parent now."""
    monkeypatch.setattr(watch_module, "connect_store", FakeStore)
    monkeypatch.setattr(watch_module, "HEARTBEAT_INTERVAL", 0.01)
    monkeypatch.setattr(watch_module, "EXIT_GRACE", 600)
    monkeypatch.delenv("POLYGLOT_LAUNCHED", raising=False)
    if launcher:
        monkeypatch.setenv("POLYGLOT_LAUNCHED", str(launcher()))
    monitor = HeartbeatMonitor(0, 1)
    monitor.start()
    deadline = time.monotonic() + 240
    while not is_alone and monitor.store.get("beat/0", 0) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    is_detected = monitor._failure_detected.wait(60 if is_alone else 0)
    monitor.stop()
    assert is_detected == is_alone
    if is_alone:
        assert monitor.failure.startswith("process 0 is alone: the program")
    else:
        assert monitor.failure is None


@pytest.mark.parametrize("rank", [0, 1])
def test_all_ranks_notice_that_the_launcher_ended_and_rank_0_reports_it(
    rank, exited, monkeypatch, capfd
):
    monkeypatch.setattr(watch_module, "connect_store", FakeStore)
    shorten_timeouts(monkeypatch)
    monkeypatch.setattr(watch_module, "HEARTBEAT_TIMEOUT", 60)
    monkeypatch.setenv("POLYGLOT_LAUNCHED", "0")
    HeartbeatMonitor(rank, 2).start()
    assert exited.wait(60)
    message = "error: process 0 is alone: the program that started the processes is gone\n"
    if rank == 1:
        message = ""
    assert capfd.readouterr().err == message


def test_a_rank_whose_failure_rank_0_reports_ends_without_a_message(two_ranks):
    two_ranks[1].monitor.is_silent = True
    assert outcome(two_ranks[1], LostProcessError("process 1 is alone")) == 2


# Connection


@pytest.fixture
def unused_port(monkeypatch):
    """Variables of the second process of a launcher; no process listens at the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {
        "WORLD_SIZE": 2,
        "RANK": 1,
        "LOCAL_RANK": 0,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    return port


def test_an_unknown_machine_is_an_error(unused_port, monkeypatch):
    def fail(name, port):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(connection_module.socket, "getaddrinfo", fail)
    monkeypatch.setattr(connection_module, "WAIT_MESSAGE_DELAY", 0)
    monkeypatch.setenv("MASTER_ADDR", "nowhere.invalid")
    message = (
        "cannot connect at nowhere.invalid:.* not known; "
        "were all of them started, with the same address"
    )
    with pytest.raises(ConfigError, match=message):
        with Processes.connected():
            pass


def test_a_process_does_not_wait_forever_for_ranks_that_never_start(
    unused_port, tmp_path, monkeypatch
):
    """In a separate process, which the timeout ends."""
    monkeypatch.setattr(connection_module, "WAIT_MESSAGE_DELAY", 0.5)
    monkeypatch.setattr(connection_module, "CONNECT_TIMEOUT", 1)
    process = ForkedProgram(
        [*PROGRAM, "train", "phrasebook", f"run={tmp_path / 'run'}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    address = f"127.0.0.1:{unused_port}"
    waits, error = errors.splitlines()
    assert waits == f"process 1 waits for the others at {address}"
    start = f"error: the processes cannot connect at {address}: not all came within 1 s; were"
    assert error.startswith(start)
