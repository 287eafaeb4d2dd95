"""Transfers keep exact values."""

from __future__ import annotations

import torch

from polyglot.tasks.transfers import _from_whole_numbers, _to_whole_numbers, to_host_together


def test_packed_values_are_exact():
    tensors = [
        torch.tensor([[1.5, -torch.inf], [1e-40, -0.0]]),
        torch.tensor([2**40, -1]),
        torch.tensor([True, False]),
    ]
    for tensor in tensors:
        packed = _to_whole_numbers(tensor)
        unpacked = _from_whole_numbers(packed, tensor.dtype).view(tensor.shape)
        assert unpacked.dtype == tensor.dtype
        assert torch.equal(unpacked, tensor)
        assert torch.equal(unpacked.float().signbit(), tensor.float().signbit())


def test_tensors_in_main_memory_are_not_copied():
    tensors = [torch.zeros(2), torch.zeros(2)]
    moved = to_host_together(tensors)
    assert moved[0] is tensors[0] and moved[1] is tensors[1]
