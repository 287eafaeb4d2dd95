"""What the processes of a run say when one of them ends: each thing once."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from polyglot.core.errors import ConfigError
from polyglot.distributed import processes as together
from polyglot.distributed import store as stores
from polyglot.distributed import watch as watching
from polyglot.distributed.processes import Lost, Processes
from polyglot.distributed.watch import Watch


class Store(dict):
    """The store of the first process, without one."""

    def add(self, key, number):
        self[key] = self.get(key, 0) + number
        return self[key]

    def check(self, keys):
        return all(key in self for key in keys)

    def compare_set(self, key, expected, value):
        return self.setdefault(key, value)


class Stopped:
    silent = False

    def stop(self):
        pass


@pytest.fixture
def two(monkeypatch):
    """Processes 0 and 1; nobody waits for the other to leave."""
    monkeypatch.setattr(together, "LINGER", 0)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    shared, both = Store(), []
    for index in range(2):
        process = Processes()
        process.index, process.number, process.store, process.watch = index, 2, shared, Stopped()
        both.append(process)
    return both


def hurry(monkeypatch):
    """Let everything that is waited for take no time, as the second process of a machine."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    for room, names in {
        watching: ("PATIENCE", "SHORT_PATIENCE"),
        stores: ("SHORT_PATIENCE",),
    }.items():
        for name in names:
            monkeypatch.setattr(room, name, 0.1)
    monkeypatch.setattr(watching, "BEAT", 0.02)
    monkeypatch.setattr(watching, "GRACE", 0)
    monkeypatch.setattr(stores, "SLICE", 0.01)


def says(process, error):
    """Whether a process says something about what ended it, or its status when it ends in silence."""
    try:
        process._failed(error)
    except SystemExit as end:
        return end.code
    return True


@pytest.mark.parametrize("finder", [0, 1])
def test_a_mistake_that_one_has_found_is_said_by_that_one_alone(finder, two):
    assert says(two[finder], ConfigError("runs/mine: exists")) is True
    assert says(two[1 - finder], Lost("process 0 has failed")) == 2


def test_a_mistake_that_both_have_found_is_said_once(two):
    assert [says(one, ConfigError("no such key")) for one in two] == [True, 2]


def test_a_bug_of_one_is_also_said_by_another_which_knows_what_is_left(two):
    assert (
        says(two[1], ValueError("?")) is True and says(two[0], Lost("process 1 has failed")) is True
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
@pytest.mark.parametrize(("given", "status"), [((), 130), ((15,), 143)], ids=["control-c", "kill"])
def test_an_interruption_is_said_by_the_first_process(order, given, status, two):
    said = {index: says(two[index], KeyboardInterrupt(*given)) for index in order}
    assert said == {0: True, 1: status}


def test_who_hears_of_an_interruption_only_from_the_first_process_says_nothing(two):
    assert (
        says(two[0], KeyboardInterrupt()) is True
        and says(two[1], Lost("process 0 was interrupted")) == 2
    )


class Silent(Store):
    """That of a process that is stopped."""

    def add(self, key, number):
        threading.Event().wait()


def test_a_first_process_that_is_stopped_is_missed_and_nobody_waits_for_its_store(
    two, monkeypatch, capfd
):
    monkeypatch.setattr(watching, "store", Silent)
    hurry(monkeypatch)
    ended = threading.Event()
    monkeypatch.setattr(watching.os, "_exit", lambda status: ended.set())
    watch = Watch(1, 2)
    watch.waiting, watch.kept = "its part of bridge", lambda: "the last checkpoint is step 5"
    watch.start()
    assert ended.wait(60)
    said = "error: process 0 is gone: it was killed or stopped, or its machine is off; process 1 waited for its part of bridge; the last"
    assert capfd.readouterr().err.startswith(said)
    monkeypatch.setattr(together, "SHORT_PATIENCE", 0.1)
    two[1].store = Silent()
    assert says(two[1], Lost("process 0 is gone")) is True


@pytest.mark.parametrize("blocks", [False, True], ids=["fails", "blocks"])
def test_a_disk_that_is_gone_keeps_nobody_from_ending(blocks, monkeypatch, capfd):
    def kept():
        if blocks:
            threading.Event().wait()
        raise OSError("stale file handle")

    monkeypatch.setattr(watching, "store", Store)
    hurry(monkeypatch)
    ended = threading.Event()
    monkeypatch.setattr(watching.os, "_exit", lambda status: ended.set())
    watch = Watch(1, 2)
    watch.kept = kept
    watch._fail(0, "has failed")
    watch.start()
    assert ended.wait(60)
    assert capfd.readouterr().err == "error: process 0 has failed\n"


@pytest.mark.parametrize("launched", [False, True])
def test_only_who_was_started_by_a_launcher_is_woken_when_that_is_gone(launched, monkeypatch):
    monkeypatch.setattr(watching, "store", Store)
    woken = []
    monkeypatch.setattr(watching, "continue_when_parent_ends", lambda: woken.append(True))
    monkeypatch.delenv("POLYGLOT_LAUNCHED", raising=False)
    if launched:
        monkeypatch.setenv("POLYGLOT_LAUNCHED", "1")
    Watch(0, 2)
    assert bool(woken) == launched


@pytest.mark.parametrize(
    ("launcher", "alone"),
    [(None, False), (os.getppid, False), (os.getpid, True)],
    ids=["none", "there", "gone"],
)
def test_processes_whose_launcher_was_gone_before_they_looked_are_alone(
    launcher, alone, monkeypatch
):
    """It is known by its number: the parent of now may be another already."""
    monkeypatch.setattr(watching, "store", Store)
    monkeypatch.setattr(watching, "BEAT", 0.01)
    monkeypatch.setattr(watching, "GRACE", 600)
    monkeypatch.delenv("POLYGLOT_LAUNCHED", raising=False)
    if launcher:
        monkeypatch.setenv("POLYGLOT_LAUNCHED", str(launcher()))
    watch = Watch(0, 1)
    watch.start()
    deadline = time.monotonic() + 240
    while not alone and watch.store.get("beat/0", 0) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    found = watch._found.wait(60 if alone else 0)
    watch.stop()
    assert found == alone and (watch.failure or "").startswith(
        "process 0 is alone: the program" if alone else ""
    )


def test_all_who_lose_their_launcher_find_that_out_and_the_first_says_it(two, monkeypatch, capfd):
    monkeypatch.setattr(watching, "store", Store)
    hurry(monkeypatch)
    monkeypatch.setattr(watching, "PATIENCE", 60)
    monkeypatch.setenv("POLYGLOT_LAUNCHED", "0")
    for index in range(2):
        ended = threading.Event()
        monkeypatch.setattr(watching.os, "_exit", lambda status: ended.set())
        watch = Watch(index, 2)
        watch.start()
        assert ended.wait(60)
        said = "error: process 0 is alone: the program that started the processes is gone\n"
        assert capfd.readouterr().err == ("" if index else said)
    two[1].watch.silent = True
    assert says(two[1], Lost("process 1 is alone")) == 2


@pytest.mark.parametrize(
    ("rank", "local_rank", "says"), [(1, 1, True), (2, 2, False), (8, 0, True), (9, 1, False)]
)
def test_one_on_each_machine_says_that_the_first_process_is_gone(
    rank, local_rank, says, monkeypatch
):
    hurry(monkeypatch)
    for name, value in {"RANK": rank, "LOCAL_RANK": local_rank}.items():
        monkeypatch.setenv(name, str(value))
    assert stores.first_to_say(Silent()) == says


@pytest.fixture
def nobody_else(monkeypatch):
    """A launcher's second process, and nobody at the address of the first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    together = {
        "WORLD_SIZE": 2,
        "RANK": 1,
        "LOCAL_RANK": 0,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    for name, value in together.items():
        monkeypatch.setenv(name, str(value))
    return port


def test_a_machine_that_nobody_knows_is_said_at_once(nobody_else, monkeypatch):
    def look_up(name, port):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(together.socket, "getaddrinfo", look_up)
    monkeypatch.setattr(together, "SOON", 0)
    monkeypatch.setenv("MASTER_ADDR", "nowhere.invalid")
    with pytest.raises(
        ConfigError,
        match="cannot meet at nowhere.invalid:.* not known; were all of them started, with the same address",
    ):
        with Processes.together():
            pass


def test_processes_that_never_come_are_not_waited_for_for_ever(nobody_else):
    """In a process of its own, which it ends."""
    meet = "from polyglot.distributed import processes\nprocesses.SOON, processes.LATE = 0.5, 1\n"
    meet += "with processes.Processes.together():\n    pass"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    done = subprocess.run(
        [sys.executable, "-c", meet], capture_output=True, text=True, timeout=120, env=environment
    )
    waits, error = done.stderr.splitlines()
    assert (
        done.returncode == 2
        and waits == f"process 1 waits for the others at 127.0.0.1:{nobody_else}"
    )
    assert error.startswith(
        f"error: the processes cannot meet at 127.0.0.1:{nobody_else}: not all came within 1 s; were"
    )
