"""What every test shares.

A cache of its own, no network, few threads, no waiting for the disk, and the real corpora where
there are any.
"""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from pathlib import Path

CACHE = tempfile.TemporaryDirectory(prefix="polyglot-tests-")
os.environ["HF_HOME"] = CACHE.name
os.environ["HF_DATASETS_CACHE"] = f"{CACHE.name}/datasets"
os.environ["HF_HUB_OFFLINE"] = "1"

from polyglot.core.environment import (  # noqa: E402
    limit_shape_caches,
    reduce_garbage_collection,
)

limit_shape_caches()
reduce_garbage_collection()

import pytest  # noqa: E402
import torch  # noqa: E402

# Tests send Ctrl-C and the end of a terminal, to themselves and to programs that they start, and
# may be run where these are ignored, as in the background and under nohup.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
torch.set_num_threads(1)  # tensors here are too small to share
# No test survives a power cut, and ten files of every checkpoint wait for the disk; that they do is
# tested.
os.fsync = lambda descriptor: None

ROOT = Path(__file__).parent.parent


LONGEST_FOLDERS = (
    "training",
    "experiments",
    "docs",
    "cli",
    "evaluation",
    "device",
    "distributed",
    "benchmarks",
    "torture",
    "inference",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders that take longest, so that no worker ends long after the others."""

    def position(item: pytest.Item) -> int:
        for number, folder in enumerate(LONGEST_FOLDERS):
            if f"tests/{folder}/" in item.nodeid:
                return number
        return len(LONGEST_FOLDERS)

    items.sort(key=position)


def pytest_collection_finish() -> None:
    """Exempt libraries and collected tests, which are never freed, from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=[1, 3])
def cores(request):
    """How many threads PyTorch has."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an evaluation draw at most 20 bootstrap resamples, to save time."""
    from tests.builders.resamples import limit_resamples

    limit_resamples(monkeypatch)


@pytest.fixture
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pictures have one pixel; other tests draw each kind of picture."""
    from tests.builders.pictures import limit_pictures

    limit_pictures(monkeypatch)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real corpora: the folder that POLYGLOT_DATA names, or shared/data beside the project."""
    folder = Path(os.environ.get("POLYGLOT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}; POLYGLOT_DATA names another folder")
    return folder
