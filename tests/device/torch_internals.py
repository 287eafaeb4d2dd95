"""Parts of PyTorch 2.13 that are not public, for the tests of this folder only."""

import pytest
from torch.optim import optimizer
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["FakeStore", "TorchDispatchMode", "allow_fused_optimizers_on_meta"]


def allow_fused_optimizers_on_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let optimizers take `fused=True` on meta as on CUDA; `_fused_adam_` runs there."""
    name = "_get_fused_kernels_supported_devices"
    monkeypatch.setattr(optimizer, name, lambda: ["cpu", "cuda", "meta"])
