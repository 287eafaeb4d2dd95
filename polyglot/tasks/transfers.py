"""Transfers between main memory and the device of a model.

Every copy from the device goes through `to_host`, because it waits for the device. A test replaces
this function to count the waits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def to_host(tensor: Tensor) -> Tensor:
    """Copy a tensor to main memory; waits until the device has computed it."""
    return tensor.cpu()


def to_host_together(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy several tensors to main memory in a single transfer; on the CPU, return them.

    float32, boolean and whole numbers keep their exact value and their type.
    """
    if tensors[0].device.type == "cpu":
        return list(tensors)
    packed = to_host(torch.cat([_to_whole_numbers(tensor) for tensor in tensors]))
    parts = packed.split([tensor.numel() for tensor in tensors])
    unpacked = []
    for part, tensor in zip(parts, tensors):
        unpacked.append(_from_whole_numbers(part, tensor.dtype).view(tensor.shape))
    return unpacked


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from main memory to a device without waiting for the device.

    On CUDA this needs pinned memory, which PyTorch reuses only when the copy is done.
    """
    if tensor.device == device:
        return tensor
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def _to_whole_numbers(tensor: Tensor) -> Tensor:
    """Convert a tensor to int64 (N,); of float32, the bits."""
    flat = tensor.flatten()
    if tensor.dtype == torch.float32:
        flat = flat.view(torch.int32)
    return flat.to(torch.int64)


def _from_whole_numbers(numbers: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype == torch.float32:
        return numbers.to(torch.int32).view(torch.float32)
    return numbers.to(dtype)
