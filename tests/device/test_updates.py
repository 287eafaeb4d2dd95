"""Training updates on the meta device: on one device, and without waiting for it."""

from __future__ import annotations

import pytest

from polyglot.optim.optimizers import OPTIMIZERS
from tests.device.builders import PRECISIONS, meta_model, meta_trainer
from tests.device.cases import CASES, case_name
from tests.device.rules import GpuRules

LOSSES = {
    "agreement": {"weight": 0.1},
    "consistency": {"weight": 0.1},
    "reference_consistency": {"weight": 0.1},
}


def update(trainer) -> None:
    """One update, with everything that the loop does between two lines of the log."""
    with GpuRules():
        norm = trainer.update()
        trainer.progress.step += 1
        trainer.loss_monitor.add_norm(trainer.progress.step, norm)


def check_update(number, losses, run, transfers, monkeypatch) -> None:
    precision = list(PRECISIONS)[number % len(PRECISIONS)]
    model = meta_model(**CASES[number])
    trainer = meta_trainer(run, model, monkeypatch, precision=precision, losses=losses)
    update(trainer)
    assert not trainer.loss_monitor.reads_every_step
    assert transfers.count == 0


@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_name, CASES))
def test_an_update_does_not_wait_for_the_device(number, run, transfers, monkeypatch):
    """In turn without other losses and with one of them: every loss computes the model again.

    Precisions change in another rhythm, so that each loss has each precision.
    """
    turns = [{}, *({name: weight} for name, weight in LOSSES.items())]
    check_update(number, turns[number % len(turns)], run, transfers, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_name, CASES))
def test_an_update_with_all_losses_does_not_wait(number, run, transfers, monkeypatch):
    check_update(number, LOSSES, run, transfers, monkeypatch)


@pytest.mark.parametrize("optimizer", OPTIMIZERS.names())
@pytest.mark.parametrize("precision", PRECISIONS)
def test_optimizers_wait_only_to_skip_a_step_in_fp16(
    optimizer, precision, run, transfers, monkeypatch
):
    """Fused optimizers skip it on the device."""
    trainer = meta_trainer(
        run,
        meta_model("transformer", "attention", "lstm"),
        monkeypatch,
        optimizer=optimizer,
        precision=precision,
    )
    for _ in range(2):
        update(trainer)
    is_fused = optimizer in ("adam", "adamw", "sgd")
    waits = precision == "fp16" and not is_fused
    assert transfers.count == (2 if waits else 0)
    for group in trainer.optimizer.param_groups:
        assert group.get("fused") or group.get("foreach") is not False
