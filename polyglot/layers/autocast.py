"""Autocast of a device: the type of its products, and a context without it.

`torch.autocast` raises an error for a device that has no autocast, such as `meta`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def autocast_type(device_type: str) -> torch.dtype | None:
    """Type to which autocast converts the inputs of products; None if it is off."""
    if not torch.amp.is_autocast_available(device_type):
        return None
    if not torch.is_autocast_enabled(device_type):
        return None
    return torch.get_autocast_dtype(device_type)


def without_autocast(device_type: str) -> AbstractContextManager[None]:
    """Context in which operations on this kind of device keep the type of their inputs."""
    if not torch.amp.is_autocast_available(device_type):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)
