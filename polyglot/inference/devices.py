"""Selection of the device that translates."""

from __future__ import annotations

import torch

from polyglot.core.errors import ConfigError


def select_device(name: str | torch.device | None) -> torch.device:
    """Return the named device, or by default the GPU if there is one.

    Raises ConfigError if this machine does not have the device.
    """
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    # PyTorch raises a RuntimeError for a wrong name or the `meta` device, which holds no values,
    # an AssertionError if it was built without the device, and a TypeError for a wrong type.
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, TypeError):
        available = ", ".join(map(repr, available_devices()))
        raise ConfigError(
            f"device: {name!r} is not available on this machine; available: {available}"
        ) from None
    return device


def available_devices() -> list[str]:
    """Return PyTorch's names of this machine's devices."""
    devices = ["cpu"]
    for number in range(torch.cuda.device_count()):
        devices.append(f"cuda:{number}")
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices
