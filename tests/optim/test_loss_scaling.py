"""Optimizers with the loss scaling of float16."""

from __future__ import annotations

import pytest
import torch

from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
from polyglot.training import loss_scaler
from polyglot.training.loss_scaler import LossScaler

FUSED = {"adam", "adamw", "sgd"}
"""Optimizers that decide on the device, in their fused kernel, whether to skip an update."""


@pytest.mark.parametrize("name", OPTIMIZERS.names())
@pytest.mark.parametrize("is_hidden", [True, False])
def test_an_infinite_gradient_changes_nothing_and_fused_optimizers_read_nothing(
    name, is_hidden, monkeypatch
):
    """A value that is read from a GPU stops it; the other optimizers read one an update."""
    values_read = []
    read = loss_scaler.to_host

    def count_reads(value):
        values_read.append(value)
        return read(value)

    monkeypatch.setattr(loss_scaler, "to_host", count_reads)
    weight = torch.nn.Parameter(torch.ones(2, 2))
    groups = parameter_groups([weight], hidden=[weight] if is_hidden else [])
    optimizer = OPTIMIZERS.build(OPTIMIZERS.configure(name), parameters=groups)
    scaler = LossScaler("cpu", init_scale=8.0)

    for gradient, changes in ((float("inf"), False), (1.0, True)):
        before = weight.detach().clone()
        scaler.scale((gradient * weight[0, 0])).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        assert torch.equal(weight, before) != changes
    assert scaler.get_scale() == 4.0  # halved once, by the infinite gradient
    assert len(values_read) == (0 if name in FUSED else 2)
