"""Selection of the device that translates, of its precision and of the engine."""

from __future__ import annotations

import torch

from polyglot.core.errors import ConfigError, unknown_name
from polyglot.layers.cuda import avoid_cudnn_attention
from polyglot.layers.low_precision import PRECISIONS, Precision, available_precisions

ENGINES = ("polyglot", "ctranslate2")


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
    if device.type == "cuda":
        avoid_cudnn_attention()
    return device


def check_engine(name: str) -> None:
    """Raise ConfigError for an unknown engine, the program that searches for translations."""
    if name not in ENGINES:
        raise ConfigError(f"engine: {unknown_name('engine', name, ENGINES)}")


def check_ensemble_engine(name: str) -> None:
    """Raise ConfigError for an engine that cannot average the probabilities of several models."""
    check_engine(name)
    if name != "polyglot":
        raise ConfigError(f"engine: {name} searches with a single model; for several, leave it out")


def available_devices() -> list[str]:
    """Return PyTorch's names of this machine's devices."""
    devices = ["cpu"]
    for number in range(torch.cuda.device_count()):
        devices.append(f"cuda:{number}")
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices


def select_precision(name: str, device: torch.device) -> Precision:
    """Return the named precision; for `auto` the fastest one of the device.

    Raises ConfigError for an unknown name, and for a precision that the device does not compute
    at full speed.
    """
    available = available_precisions(device)
    if name == "auto":
        return available[-1]
    if name not in PRECISIONS:
        message = unknown_name("precision", name, (*PRECISIONS, "auto"))
        raise ConfigError(f"precision: {message}")
    if name not in available:
        listed = ", ".join(available)
        raise ConfigError(
            f"precision: the processor or GPU ({device}) has no fast products of {name}; "
            f"available: {listed}"
        )
    return name
