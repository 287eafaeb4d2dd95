"""Faster products are the same products."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from polyglot.layers.linear import LaidOut, linear, product
from tests.models import close

SHAPES = [(1, 4), (7, 4), (2, 3, 4), (0, 4)]


def operands(*shape: int, dtype=torch.float32):
    torch.manual_seed(0)
    return [torch.randn(*each, dtype=dtype, requires_grad=True) for each in (shape, (5, 4), (5,))]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_are_those_of_the_plain_product(shape, biased, dtype):
    inputs, weight, bias = (each.detach() for each in operands(*shape, dtype=dtype))
    bias = bias if biased else None
    expected = functional.linear(inputs, weight, bias)
    for other in (linear(inputs, weight, bias), product(inputs, weight, bias), LaidOut(weight, bias)(inputs)):
        assert other.dtype == dtype and other.shape == expected.shape
        assert close(other, expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("biased", [True, False])
def test_gradients_are_those_of_the_plain_product(shape, biased):
    def gradients(function):
        inputs, weight, bias = operands(*shape)
        given = [inputs, weight, bias] if biased else [inputs, weight]
        outputs = function(*given)
        outputs.backward(torch.linspace(-1, 1, outputs.numel()).view(outputs.shape))
        return [each.grad for each in given]

    for one, other in zip(gradients(linear), gradients(functional.linear)):
        assert close(one, other)


def test_a_slice_of_a_matrix_and_a_transposed_matrix_are_matrices():
    inputs, weight, _ = (each.detach() for each in operands(7, 2))
    weight = weight.new_tensor(torch.arange(40.0).view(5, 8).tolist())[:, 3:5]
    for matrix in (weight, weight.t().contiguous().t()):
        assert close(linear(inputs, matrix), inputs @ matrix.t())
        assert close(LaidOut(matrix)(inputs), inputs @ matrix.t())


def test_autocast_decides_the_type():
    inputs, weight, bias = operands(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(inputs, weight, bias).dtype == torch.bfloat16
