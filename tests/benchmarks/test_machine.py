"""Machine limit of the benchmarks: the best of many products that the program uses."""

from __future__ import annotations

import machine
import pytest
import torch

from polyglot.layers import onednn


def test_a_limit_is_the_best_of_many(monkeypatch):
    """Every call but one is slowed by other programs."""
    moment = 0.0
    durations = iter([9.0, 5.0, 4.0, 0.5, 3.0, 5.0])  # the first one is a warm-up

    def product():
        nonlocal moment
        moment += next(durations)

    monkeypatch.setattr(machine.time, "perf_counter", lambda: moment)
    assert machine.fastest_seconds(product, 1.0) == 0.5


def test_limits_have_the_precisions_of_search():
    from polyglot.layers.low_precision import available_precisions

    limits = machine.matrix_product_limits(1, size=64, seconds=0.0)
    assert list(limits) == available_precisions(torch.device("cpu"))
    assert min(limits.values()) > 0


@pytest.mark.skipif(not onednn.HAS_INT8, reason="products of 8-bit integers need VNNI")
def test_unsigned_integers_are_multiplied_as_signed_ones():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randint(-127, 128, (5, 64), dtype=torch.int8, generator=generator)
    weight = torch.randint(-127, 128, (32, 64), dtype=torch.int8, generator=generator)
    matrix = onednn.pack_int8(weight, torch.full((32,), 0.5))
    unsigned = (inputs.int() + onednn.INT8_ZERO).to(torch.uint8)
    expected = (inputs.double() @ weight.double().t()) * 0.5
    assert torch.equal(onednn.multiply_unsigned(unsigned, matrix).double(), expected)


def test_the_processor_is_named_with_its_instruction_sets(monkeypatch, tmp_path):
    cpu_info = tmp_path / "cpuinfo"
    cpu_info.write_text("model name\t: Some Processor\nflags\t\t: fpu avx2 amx_bf16 avx512f\n")
    monkeypatch.setattr(machine, "CPU_INFO", cpu_info)
    processor = machine.find_processor()
    assert processor.model == "Some Processor"
    assert processor.instruction_sets == ("AVX2", "AVX512", "AMX_BF16")
