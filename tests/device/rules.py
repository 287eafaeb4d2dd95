"""Rules of a GPU, checked on PyTorch's `meta` device, whose tensors have shapes and no values.

The meta device itself refuses to copy values to main memory, and most operations with tensors of
two devices. `GpuRules` refuses what it lets pass, and counts the transfers to main memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from polyglot.layers import autocast
from polyglot.tasks import transfers
from tests.device.torch_internals import TorchDispatchMode

META = torch.device("meta")
COPIES = ("aten::_to_copy", "aten::copy_")
WAITING = ("aten::nonzero", "aten::_unique2", "aten::masked_select", "aten::_local_scalar_dense")
INDEXING = ("aten::index", "aten::index_put_", "aten::_index_put_impl_", "aten::index_put")
PRODUCTS = ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::convolution")


class GpuRules(TorchDispatchMode):
    """Fails on what a GPU would not do, or only after the program has waited for it.

    Operations with tensors of two devices; products of two types; boolean masks and lists as
    index; copies to the device that wait for it.
    """

    def __enter__(self):
        self.lists = NoLists()
        self.lists.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.lists.__exit__(*error)

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        name = function.name().partition(".")[0]
        tensors = list(tensors_in([*arguments, *options.values()]))
        devices = {tensor.device.type for tensor in tensors if is_on_a_device(tensor)}
        if name in COPIES:
            check_copy(name, arguments, options)
        elif "meta" in devices:
            assert devices == {"meta"}, f"{name} of tensors on {sorted(devices)}"
            assert name not in WAITING, f"{name} waits for the device"
            if name in INDEXING:
                check_index(name, arguments[1])
            if name in PRODUCTS:
                types_of_product = {tensor.dtype for tensor in tensors}
                assert len(types_of_product) == 1, f"{name} of {types_of_product}"
        if name == "aten::_fused_sgd_" and devices == {"meta"}:
            return None  # the one operation that meta lacks; it changes its arguments in place
        return function(*arguments, **options)


class NoLists(TorchFunctionMode):
    """Fails where a list of numbers becomes a tensor on the device: the copy waits for it."""

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function in (Tensor.__getitem__, Tensor.__setitem__) and is_on_meta(arguments[0]):
            index = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
            assert not any(isinstance(part, list) for part in index), "a list as index waits"
        if function is torch.tensor:
            device = torch.device(options.get("device") or "cpu")
            assert device.type == "cpu", "torch.tensor on the device waits"
        return function(*arguments, **options)


def is_on_meta(tensor: Tensor) -> bool:
    return tensor.device.type == "meta"


def tensors_in(values: Iterable[object]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


def is_on_a_device(tensor: Tensor) -> bool:
    """A scalar in main memory is an argument of a kernel, like a Python number."""
    return tensor.device.type != "cpu" or tensor.dim() > 0


def check_copy(name: str, arguments: tuple, options: dict) -> None:
    """A copy to the device may not wait for it."""
    if name == "aten::_to_copy":
        [source] = arguments
        target = torch.device(options.get("device") or source.device)
        asynchronous = options.get("non_blocking", False)
    else:
        source = arguments[1]
        target = arguments[0].device
        asynchronous = len(arguments) > 2 and arguments[2]
    if target.type == "meta" and source.device.type == "cpu":
        assert asynchronous, f"{name} to the device waits for it"


def check_index(name: str, index: list[Tensor | None]) -> None:
    for tensor in index:
        if tensor is not None:
            assert tensor.dtype not in (torch.bool, torch.uint8), f"{name} by a mask waits"


# Transfers to main memory
# --------------------------------------------------------------------------


class Transfers:
    """Replaces the program's function for copies to main memory; the copies are zeros."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        modules = modules_with(transfers.to_host)
        for module in modules:
            monkeypatch.setattr(module, "to_host", self)

    def __call__(self, tensor: Tensor) -> Tensor:
        if tensor.device.type == "cpu":
            return tensor
        self.count += 1
        return torch.zeros(tensor.shape, dtype=tensor.dtype, device="cpu")


def modules_with(function: object) -> list[object]:
    """Modules of the program that have imported this function."""
    import sys

    modules = []
    for name, module in list(sys.modules.items()):
        if name.startswith("polyglot.") and getattr(module, "to_host", None) is function:
            modules.append(module)
    return modules


# Autocast
# ------------------------------------------------------------------------------------------

LOWERED = {
    functional.linear,
    functional.conv1d,
    torch.conv1d,
    functional.scaled_dot_product_attention,
    torch.matmul,
    torch.bmm,
    torch.mm,
    torch.addmm,
    torch.baddbmm,
    Tensor.matmul,
    Tensor.__matmul__,
    Tensor.addmm,
    torch.lstm,
    torch.gru,
}
"""Operations that autocast on CUDA runs in its type; cuDNN's recurrences always in float16."""
RAISED = {
    torch.softmax,
    torch.log_softmax,
    functional.softmax,
    functional.log_softmax,
    functional.layer_norm,
    Tensor.softmax,
    Tensor.log_softmax,
    Tensor.norm,
    Tensor.exp,
    Tensor.log,
    Tensor.pow,
    Tensor.sum,
    Tensor.cumsum,
}
"""Operations that autocast on CUDA runs in float32, those of them that the program uses."""
PROMOTED = {torch.cat, torch.stack}
"""Operations that autocast on CUDA runs in the widest type of their inputs."""


class CudaAutocast(TorchFunctionMode):
    """Stand-in for `torch.autocast("cuda")`, which does nothing to tensors on `meta`."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_enabled = True

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if self.is_enabled and "out" not in options:
            if function in (torch.lstm, torch.gru):
                raise AssertionError("autocast runs this recurrence in float16")
            dtype = self._type_of(function, arguments)
            if dtype is not None:
                arguments = convert(arguments, dtype)
                options = {key: convert(value, dtype) for key, value in options.items()}
        return function(*arguments, **options)

    def _type_of(self, function: object, arguments: tuple) -> torch.dtype | None:
        if function in LOWERED:
            return self.dtype
        if function in RAISED:
            return torch.float32
        if function in PROMOTED:
            types = {tensor.dtype for tensor in tensors_in(arguments) if tensor.is_floating_point()}
            return torch.float32 if torch.float32 in types else None
        return None


def convert(value: object, dtype: torch.dtype) -> object:
    if isinstance(value, Tensor):
        is_converted = value.is_floating_point() and value.dtype != torch.float64
        return value.to(dtype) if is_converted else value
    if isinstance(value, list | tuple):
        return type(value)(convert(entry, dtype) for entry in value)
    return value


@contextmanager
def cuda_autocast(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> Iterator[None]:
    """Run the operations of the block, and the program's questions about autocast, as on CUDA."""
    mode = CudaAutocast(dtype)

    @contextmanager
    def without_autocast(device_type: str) -> Iterator[None]:
        before = mode.is_enabled
        mode.is_enabled = False
        yield
        mode.is_enabled = before

    def autocast_type(device_type: str) -> torch.dtype | None:
        return mode.dtype if mode.is_enabled else None

    with monkeypatch.context() as patch, mode:
        patch.setattr(autocast, "autocast_type", autocast_type)
        patch.setattr(autocast, "without_autocast", without_autocast)
        yield


# Attention
# -----------------------------------------------------------------------------------------


def check_fused_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on arguments with which CUDA has no fused kernel for attention."""
    fused = functional.scaled_dot_product_attention

    def checked(queries, keys, values, attn_mask=None, dropout_p=0.0, is_causal=False):
        for tensor in (queries, keys, values):
            assert tensor.stride(-1) == 1
            assert tensor.dtype == queries.dtype
        if attn_mask is not None:
            assert not is_causal
            assert attn_mask.dtype == torch.bool
            assert attn_mask.stride(-1) == 1
        return fused(
            queries, keys, values, attn_mask=attn_mask, dropout_p=dropout_p, is_causal=is_causal
        )

    monkeypatch.setattr(functional, "scaled_dot_product_attention", checked)
