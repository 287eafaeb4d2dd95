"""What the tests on the meta device share."""

from __future__ import annotations

import pytest
from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState

from tests.builders.runs import tiny_run
from tests.device import rules
from tests.device.torch_internals import allow_fused_optimizers_on_meta


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run directory whose configuration the trainers read; it has no data of theirs."""
    return tiny_run(tmp_path_factory.mktemp("device"))


@pytest.fixture(autouse=True)
def accelerate_without_device() -> None:
    """State that accelerate's optimizers ask for; tests of other folders may have reset it."""
    AcceleratorState._reset_state()
    PartialState._reset_state()
    Accelerator(cpu=True)


@pytest.fixture(autouse=True)
def fused_optimizers(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_fused_optimizers_on_meta(monkeypatch)


@pytest.fixture
def transfers(monkeypatch: pytest.MonkeyPatch) -> rules.Transfers:
    """Transfers to main memory; the test may not wait for the device in any other way."""
    return rules.Transfers(monkeypatch)


@pytest.fixture(autouse=True)
def checked_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    rules.check_fused_attention(monkeypatch)
