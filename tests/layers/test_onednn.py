"""Operators of oneDNN: operands may have any strides."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch.nn import functional

from polyglot.layers import onednn

pytestmark = pytest.mark.skipif(not onednn.AVAILABLE, reason="this PyTorch has no oneDNN")

LAYOUTS = {
    "contiguous": lambda tensor: tensor.contiguous(),
    "with gaps": lambda tensor: torch.stack([tensor, tensor + 9], dim=-1)[..., 0],
    "transposed": lambda tensor: tensor.t().contiguous().t(),
    "offset": lambda tensor: torch.cat([tensor + 9, tensor])[len(tensor) :],
}
"""Functions that return a tensor with equal numbers and other strides."""


def operands() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return torch.randn(7, 24), torch.randn(40, 24), torch.randn(40), torch.randn(7, 40)


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_strides_of_operands_do_not_change_a_product(activation):
    inputs, weight, bias, plus = operands()
    expected = functional.linear(inputs, weight, bias)
    summed = expected + plus
    if activation != "none":
        expected = getattr(functional, activation)(expected)
    for names in product(LAYOUTS, repeat=3):
        laid_out = zip(names, (inputs, weight, bias), strict=True)
        operands_of_call = [LAYOUTS[name](tensor) for name, tensor in laid_out]
        result = onednn.multiply(*operands_of_call, activation=activation)
        torch.testing.assert_close(result, expected)
        assert result.is_contiguous()
        for lay_out in LAYOUTS.values():
            result = onednn.multiply(*operands_of_call, plus=lay_out(plus))
            torch.testing.assert_close(result, summed)


def test_a_bias_of_equal_numbers_may_be_expanded():
    inputs, weight, _, _ = operands()
    bias = torch.full((1,), 3.0).expand(40)
    expected = functional.linear(inputs, weight) + 3
    torch.testing.assert_close(onednn.multiply(inputs, weight, bias), expected)
    row = torch.randn(1, 40).expand(7, 40)
    torch.testing.assert_close(onednn.multiply(inputs, weight, bias, plus=row), expected + row)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_matrix_of_any_strides_can_be_packed(layout):
    inputs, weight, bias, _ = operands()
    packed = onednn.pack(LAYOUTS[layout](weight))
    expected = functional.linear(inputs, weight, bias)
    torch.testing.assert_close(onednn.multiply(inputs, packed, bias), expected)


@pytest.mark.skipif(not onednn.HAS_INT8, reason="this processor has no fast 8-bit products")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_whole_numbers_are_multiplied_exactly_in_8_bits(layout):
    torch.manual_seed(0)
    inputs = torch.randint(-127, 128, (7, 64)).float()
    integers = torch.randint(-127, 128, (40, 64), dtype=torch.int8)
    scales = torch.rand(40) + 0.5
    weights = onednn.pack_int8(LAYOUTS[layout](integers), scales)
    expected = (inputs.double() @ integers.double().t() * scales).float()
    torch.testing.assert_close(onednn.multiply_int8(inputs, weights), expected)


@pytest.mark.skipif(not onednn.HAS_INT8, reason="this processor has no fast 8-bit products")
def test_inputs_of_8_bits_are_rounded_to_the_nearest_number():
    inputs = torch.tensor([[-126.6, -0.6, -0.4, 0.4, 0.6, 126.6, 1.0, -1.0]])
    weights = onednn.pack_int8(torch.eye(8, dtype=torch.int8), torch.ones(8))
    expected = torch.tensor([[-127.0, -1.0, 0.0, 0.0, 1.0, 127.0, 1.0, -1.0]])
    torch.testing.assert_close(onednn.multiply_int8(inputs, weights), expected)
