"""Selection of the device."""

from __future__ import annotations

import pytest
import torch

from polyglot.core.errors import ConfigError
from polyglot.inference import devices
from polyglot.inference.devices import available_devices, select_device, select_precision
from polyglot.layers import onednn
from polyglot.layers.low_precision import available_precisions


@pytest.mark.parametrize("name", ["gpu", "cuda:99", 3.5, "", "meta"])
def test_a_device_that_does_not_exist_is_an_error(name):
    message = f"device: {name!r} is not available on this machine; available: 'cpu'"
    with pytest.raises(ConfigError) as error:
        select_device(name)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", ["cpu", torch.device("cpu")])
def test_an_existing_device_is_selected(name):
    assert select_device(name) == torch.device("cpu")


@pytest.mark.parametrize(("has_gpu", "expected"), [(True, "cuda"), (False, "cpu")])
def test_the_gpu_is_the_default(has_gpu, expected, monkeypatch):
    names = []
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    monkeypatch.setattr(torch, "device", lambda name: names.append(name) or cpu)
    select_device(None)
    assert names == [expected]


def test_the_number_of_a_gpu_is_a_device(monkeypatch):
    """0 is the first GPU and does not mean the default."""
    names = []
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch, "device", lambda name: names.append(name) or cpu)
    select_device(0)
    assert names == [0]


def test_all_devices_are_listed(monkeypatch):
    monkeypatch.setattr(devices.torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(devices.torch.backends.mps, "is_available", lambda: True)
    assert available_devices() == ["cpu", "cuda:0", "cuda:1", "mps"]


# Precision


def test_the_fastest_precision_is_selected():
    cpu = torch.device("cpu")
    available = available_precisions(cpu)
    assert select_precision("auto", cpu) == available[-1]
    assert select_precision("float32", cpu) == "float32"


def test_without_fast_products_a_precision_is_refused(monkeypatch):
    monkeypatch.setattr(onednn, "HAS_BFLOAT16", False)
    monkeypatch.setattr(onednn, "HAS_INT8", False)
    cpu = torch.device("cpu")
    assert select_precision("auto", cpu) == "float32"
    for name in ("bf16", "int8"):
        with pytest.raises(ConfigError) as error:
            select_precision(name, cpu)
        assert str(error.value) == (
            f"precision: the processor or GPU (cpu) has no fast products of {name}; "
            "available: float32"
        )


def test_an_unknown_precision_is_an_error():
    with pytest.raises(ConfigError, match=r"precision: .*'int16'.*Known: .*int8"):
        select_precision("int16", torch.device("cpu"))


@pytest.mark.parametrize("has_bfloat16", [False, True])
@pytest.mark.parametrize("has_int8", [False, True])
def test_a_processor_offers_the_precisions_that_it_computes_fast(
    has_bfloat16, has_int8, monkeypatch
):
    monkeypatch.setattr(onednn, "HAS_BFLOAT16", has_bfloat16)
    monkeypatch.setattr(onednn, "HAS_INT8", has_int8)
    expected = ["float32"] + ["bf16"] * has_bfloat16 + ["int8"] * has_int8
    assert available_precisions(torch.device("cpu")) == expected


@pytest.mark.parametrize("kind", ["cuda", "mps"])
@pytest.mark.parametrize("has_bfloat16", [False, True])
def test_a_gpu_has_its_own_precisions(kind, has_bfloat16, monkeypatch):
    """They do not depend on the processor: 8-bit products are for processors only."""
    monkeypatch.setattr(onednn, "HAS_BFLOAT16", not has_bfloat16)
    monkeypatch.setattr(onednn, "HAS_INT8", True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: has_bfloat16)
    expected = ["float32"] + ["bf16"] * (has_bfloat16 and kind == "cuda")
    assert available_precisions(torch.device(kind)) == expected
