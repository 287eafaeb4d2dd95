"""Starting several processes on this machine."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest

from polyglot.distributed import launch as launching
from polyglot.distributed.launch import launch

FACTS = """
import json, os, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS")
open(sys.argv[1] + os.environ["RANK"], "w").write(json.dumps({name: os.environ[name] for name in names}))
"""


def command(code, *arguments):
    return [sys.executable, "-c", code, *map(str, arguments)]


def test_each_process_knows_who_it_is_and_where_all_meet(tmp_path, monkeypatch):
    monkeypatch.setattr(launching.os, "sched_getaffinity", lambda _: range(12))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert launch(3, command(FACTS, f"{tmp_path}/")) == 0
    facts = [json.loads((tmp_path / str(number)).read_text()) for number in range(3)]
    assert [(one["RANK"], one["LOCAL_RANK"]) for one in facts] == [("0", "0"), ("1", "1"), ("2", "2")]
    assert all((one["WORLD_SIZE"], one["LOCAL_WORLD_SIZE"], one["OMP_NUM_THREADS"]) == ("3", "3", "4") for one in facts)
    assert len({(one["MASTER_ADDR"], one["MASTER_PORT"]) for one in facts}) == 1


def test_threads_that_the_user_names_count(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert launch(2, command(FACTS, f"{tmp_path}/")) == 0
    assert json.loads((tmp_path / "1").read_text())["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize(
    ("end", "status"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("pass", 0)], ids=["fails", "is killed", "ends well"]
)
def test_the_status_is_that_of_the_first_that_failed(end, status):
    assert launch(2, command(f"import os, sys, time\nif os.environ['RANK'] == '1':\n    {end}\nelse:\n    time.sleep(0.3)")) == status


def test_what_does_not_end_by_itself_is_ended(monkeypatch):
    monkeypatch.setattr(launching, "GRACE", 0.2)
    began = time.monotonic()
    assert launch(2, command("import os, sys, time\nif os.environ['RANK'] == '1':\n    sys.exit(5)\ntime.sleep(60)")) == 5
    assert time.monotonic() - began < 30


def test_an_interruption_comes_to_each_and_the_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM)
    waits = "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
    waits += "if os.environ['RANK'] == '1':\n    time.sleep(1)\n    os.kill(os.getppid(), signal.SIGTERM)\ntime.sleep(60)"
    assert launch(2, command(waits)) == 143
    assert signal.getsignal(signal.SIGTERM) == before
