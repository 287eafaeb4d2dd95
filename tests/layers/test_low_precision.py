"""Products in bfloat16 and in 8-bit integers."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.linear import Linear, pack_layer
from polyglot.layers.low_precision import (
    MINIMUM_SIZE,
    LowPrecisionLinear,
    Precision,
    available_precisions,
    set_precision,
)

CPU = torch.device("cpu")
AVAILABLE = available_precisions(CPU)[1:]
LARGEST_ERRORS = {"bf16": 0.005, "int8": 0.015}
"""Relative errors: 8 binary digits, or 127 steps from 0 to the largest number of a row."""

pytestmark = pytest.mark.skipif(
    not AVAILABLE, reason="this processor has neither bfloat16 nor 8-bit products"
)


def random_layer(inputs: int = 64, outputs: int = 96) -> Linear:
    torch.manual_seed(1)
    layer = Linear(inputs, outputs)
    # Outputs of very different sizes: each needs its own scale.
    sizes = torch.logspace(-3, 3, outputs).unsqueeze(1)
    layer.weight.data *= sizes
    return layer.requires_grad_(False)


def exact_product(layer: Linear, inputs: torch.Tensor) -> torch.Tensor:
    product = inputs.double() @ layer.weight.double().t()
    return product + layer.bias.double()


def pack_in(layer: Linear, precision: Precision) -> LowPrecisionLinear:
    set_precision(layer, precision)
    packed = pack_layer(layer)
    assert isinstance(packed, LowPrecisionLinear)
    return packed


@pytest.mark.parametrize("precision", AVAILABLE)
@pytest.mark.parametrize("sentences", [1, 5, 300])
def test_products_are_close_to_exact_ones(precision, sentences):
    layer = random_layer()
    layer.bias.zero_()  # it would hide the errors of small rows
    set_precision(layer, precision)
    inputs = torch.randn(sentences, 3, 64) * torch.logspace(-4, 4, sentences).view(-1, 1, 1)
    with torch.no_grad():
        outputs = layer(inputs)
    exact = exact_product(layer, inputs)
    assert outputs.dtype == torch.float32
    assert outputs.shape == exact.shape
    # Of each output and row, so that no scale is shared.
    norms = inputs.double().norm(dim=-1, keepdim=True) * layer.weight.double().norm(dim=1)
    errors = (outputs - exact).abs() / norms
    assert 0 < errors.max() < LARGEST_ERRORS[precision]


@pytest.mark.parametrize("precision", AVAILABLE)
def test_a_row_does_not_depend_on_the_other_rows(precision):
    layer = pack_in(random_layer(), precision)
    rows = torch.randn(40, 64)
    alone = torch.cat([layer(row.unsqueeze(0)) for row in rows])
    rows_and_large_ones = torch.cat([rows, 1e4 * torch.randn(24, 64)])
    together = layer(rows_and_large_ones)[:40]
    tolerance = 0 if precision == "int8" else 1e-2  # sums of bfloat16 in another order
    torch.testing.assert_close(together, alone, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("precision", AVAILABLE)
def test_rows_of_zeros_give_the_bias_and_damaged_rows_stay_damaged(precision):
    layer = random_layer()
    packed = pack_in(layer, precision)
    rows = torch.randn(4, 64)
    rows[1] = 0
    rows[2, 5] = torch.nan
    rows[3, 5] = torch.inf
    outputs = packed(rows)
    torch.testing.assert_close(outputs[1], layer.bias, rtol=0.01, atol=0.001)
    assert outputs[0].isfinite().all()
    assert outputs[2].isnan().all()
    assert not outputs[3].isfinite().any()


@pytest.mark.parametrize("precision", AVAILABLE)
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_activation_and_addition_follow_the_product(precision, activation):
    layer = random_layer()
    plain = pack_in(layer, precision)
    packed = pack_layer(layer, activation=activation)
    inputs = torch.randn(7, 64)
    product = plain(inputs)
    if activation == "none":
        residual = torch.randn(7, 96)
        torch.testing.assert_close(packed(inputs, plus=residual), product + residual)
        assert torch.equal(packed(inputs), product)
        return
    expected = getattr(torch.nn.functional, activation)(product)
    torch.testing.assert_close(packed(inputs), expected)


@pytest.mark.parametrize("precision", AVAILABLE)
def test_training_and_small_matrices_keep_float32(precision):
    layer = random_layer()
    small = Linear(MINIMUM_SIZE - 1, 96).requires_grad_(False)
    inputs = torch.randn(5, 64)
    small_inputs = torch.randn(5, MINIMUM_SIZE - 1)
    expected = layer(inputs)
    expected_small = small(small_inputs)
    set_precision(layer, precision)
    set_precision(small, precision)
    assert torch.equal(layer(inputs), expected)  # with gradients
    with torch.no_grad():
        assert not torch.equal(layer(inputs), expected)
        assert torch.equal(small(small_inputs), expected_small)


@pytest.mark.parametrize("precision", AVAILABLE)
def test_factors_multiply_the_outputs(precision):
    """As in attention, whose queries are divided by the square root of their size."""
    layer = random_layer()
    inputs = torch.randn(7, 64)
    factors = torch.rand(96) + 0.1
    plain = pack_in(layer, precision)(inputs)
    scaled = pack_layer(layer, factors=factors)(inputs)
    torch.testing.assert_close(scaled, plain * factors, rtol=0.01, atol=1e-2 * plain.abs().max())
    assert torch.equal(pack_layer(layer)(inputs), plain)


@pytest.mark.parametrize("precision", AVAILABLE)
def test_float32_again_gives_the_same_numbers_as_before(precision):
    layer = random_layer()
    inputs = torch.randn(7, 64)
    expected = pack_layer(layer)(inputs)
    set_precision(layer, precision)
    set_precision(layer, "float32")
    assert torch.equal(pack_layer(layer)(inputs), expected)
