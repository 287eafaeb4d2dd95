"""The rules refuse what would wait for a GPU, or fail on it."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from polyglot.tasks.transfers import to_device, to_host_together
from tests.device.rules import META, GpuRules, cuda_autocast

VECTOR = torch.empty(3, device=META)
MATRIX = torch.empty(3, 3, device=META)
HALF = torch.empty(3, 3, device=META, dtype=torch.bfloat16)
MASK = torch.empty(3, device=META, dtype=torch.bool)
HOST = torch.ones(3, 3)


@pytest.mark.parametrize(
    "operation",
    [
        lambda: MATRIX @ HOST,
        lambda: MATRIX.index_select(0, torch.tensor([0])),
        lambda: MATRIX[[0, 1]],
        lambda: torch.tensor([1.0], device=META),
        lambda: VECTOR[MASK],
        lambda: VECTOR.clone().__setitem__(MASK, VECTOR),
        lambda: VECTOR.clone().add_(torch.ones(3)),
        lambda: HOST.to(META),
        lambda: MATRIX.clone().copy_(HOST),
        lambda: torch.cat([MATRIX, HOST]),
        lambda: functional.linear(HALF, MATRIX),
        lambda: VECTOR.unique(),
        lambda: VECTOR.nonzero(),
        lambda: VECTOR.sum().item(),
        lambda: MATRIX.tolist(),
        lambda: MATRIX.cpu(),
        lambda: bool(MASK.any()),
    ],
)
def test_is_refused(operation):
    with pytest.raises((AssertionError, RuntimeError, NotImplementedError)), GpuRules():
        operation()


def test_is_allowed():
    with GpuRules():
        assert (MATRIX @ MATRIX + 1).device == META
        assert to_device(HOST, META).device == META
        assert MATRIX.masked_fill(MASK, 0.0).device == META


def test_autocast_refuses_recurrences_in_float16(monkeypatch):
    with cuda_autocast(monkeypatch, torch.bfloat16):
        assert functional.linear(MATRIX, MATRIX).dtype == torch.bfloat16
        assert (HALF @ HALF).softmax(dim=1).dtype == torch.float32
        with pytest.raises(AssertionError, match="float16"):
            torch.nn.LSTM(3, 3, device=META)(MATRIX)


def test_tensors_travel_together(transfers):
    tensors = [MATRIX, torch.empty(2, 1, device=META, dtype=torch.int64), MASK]
    moved = to_host_together(tensors)
    assert transfers.count == 1
    for tensor, original in zip(moved, tensors, strict=True):
        assert tensor.device.type == "cpu"
        assert tensor.shape == original.shape
        assert tensor.dtype == original.dtype
