"""Faster products are the same products."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from polyglot.layers import onednn
from polyglot.layers.linear import FEW_ROWS, PackedLinear, linear, pad_rows, product
from tests.builders.models import allclose

SHAPES = [(4,), (1, 4), (7, 4), (2, 3, 4), (0, 4), (3, 0)]


@pytest.fixture(params=[True, False], ids=["oneDNN", "BLAS"], autouse=True)
def kernel_calls(request, monkeypatch):
    """(with oneDNN?, arguments of each call of oneDNN): every test runs with and without oneDNN."""
    if request.param and not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch has no oneDNN")
    called = []
    multiply = onednn.multiply

    def counted_multiply(*arguments, **options):
        called.append(arguments)
        return multiply(*arguments, **options)

    monkeypatch.setattr(onednn, "AVAILABLE", request.param and onednn.AVAILABLE)
    monkeypatch.setattr(onednn, "HAS_BFLOAT16", request.param and onednn.HAS_BFLOAT16)
    monkeypatch.setattr(onednn, "multiply", counted_multiply)
    return request.param, called


def operands(*shape: int, dtype=torch.float32):
    torch.manual_seed(0)
    return [
        torch.randn(*each, dtype=dtype, requires_grad=True)
        for each in (shape, (5, shape[-1]), (5,))
    ]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_are_those_of_the_plain_product(shape, biased, dtype):
    inputs, weight, bias = (each.detach() for each in operands(*shape, dtype=dtype))
    bias = bias if biased else None
    expected = functional.linear(inputs, weight, bias)
    for other in (
        linear(inputs, weight, bias),
        product(inputs, weight, bias),
        PackedLinear(weight, bias)(inputs),
    ):
        assert other.dtype == dtype and other.shape == expected.shape
        assert allclose(other, expected)


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
@pytest.mark.parametrize("shape", SHAPES)
@torch.no_grad()
def test_activations_and_sums_on_the_way_are_those_after_the_product(shape, activation):
    inputs, weight, bias = operands(*shape)
    expected = functional.linear(inputs, weight, bias)
    assert allclose(PackedLinear(weight, bias)(inputs, plus=expected * 2), expected * 3)
    assert allclose(
        PackedLinear(weight, bias, activation=activation)(inputs),
        getattr(functional, activation)(expected) if activation != "none" else expected,
    )


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
        assert allclose(one, other)


def test_float32_on_a_cpu_goes_through_onednn_where_there_is_one(kernel_calls):
    wanted, called = kernel_calls
    inputs, weight, bias = (each.detach() for each in operands(3, 4))
    for way in (linear, product, lambda *given: PackedLinear(*given[1:])(inputs)):
        called.clear()
        way(inputs, weight, bias)
        assert len(called) == wanted


@pytest.mark.parametrize("shape", [(700, 8), (31, 17, 8), (FEW_ROWS, 8), (3, 8)])
@pytest.mark.parametrize("biased", [True, False])
def test_bfloat16_on_a_cpu_is_multiplied_as_autocast_does_it_in_rows_that_come_again(
    shape, biased, kernel_calls
):
    def made(function):
        inputs, weight, bias = operands(*shape)
        given = [inputs, weight, bias] if biased else [inputs, weight]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = function(*given)
        outputs.backward(torch.linspace(-1, 1, outputs.numel()).view(outputs.shape).bfloat16())
        return [outputs, *(each.grad for each in given)]

    for one, other in zip(made(linear), made(functional.linear), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert torch.allclose(
            one.float(), other.float(), rtol=0.02, atol=0.02 * other.abs().max().item()
        )
    many = torch.Size(shape[:-1]).numel() > FEW_ROWS
    even = {700: 768, 31 * 17: 640}.get(torch.Size(shape[:-1]).numel())
    assert [len(given[0]) for given in kernel_calls[1]] == [even] * (
        2 if onednn.HAS_BFLOAT16 and many else 0
    )  # there and back


def test_what_comes_out_can_be_changed_in_place():
    def gradient(function):
        inputs, weight, bias = operands(700, 8)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            function(linear(inputs, weight, bias)).square().sum().backward()
        return inputs.grad

    assert torch.equal(gradient(torch.relu_), gradient(torch.relu))


@pytest.mark.parametrize("rows", [FEW_ROWS, 700])
def test_types_that_do_not_fit_are_refused_as_ever(rows):
    inputs, weight, bias = operands(rows, 8)
    for given in ((inputs.bfloat16(), weight, None), (inputs.bfloat16(), weight.bfloat16(), bias)):
        with pytest.raises(RuntimeError, match="dtype"):
            linear(*given)


@pytest.mark.parametrize("rows", [FEW_ROWS, 700])
def test_autocast_leaves_double_precision_as_it_is(rows):
    given = operands(rows, 8, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(*given).dtype == functional.linear(*given).dtype


def test_sums_in_bfloat16():
    inputs, weight, bias = (each.detach().bfloat16() for each in operands(700, 8))
    expected = functional.linear(inputs, weight, bias)
    assert torch.allclose(
        product(inputs, weight, bias, plus=expected), expected * 2, rtol=0.02, atol=0.05
    )
    assert product(inputs, weight, bias, plus=expected.float()).dtype == torch.float32


def test_shapes_alone():
    inputs, weight, bias = (each.detach().to("meta") for each in operands(700, 8))
    assert linear(inputs, weight, bias).shape == (700, 5)


def test_numbers_of_rows_are_few_and_not_much_larger(monkeypatch):
    monkeypatch.setattr(onednn, "HAS_BFLOAT16", True)
    numbers = range(1, 4097)
    padded = [pad_rows(torch.ones(number, 1), torch.bfloat16) for number in numbers]
    assert all(
        number <= len(rows) <= 1.25 * number and rows[:number].all() and not rows[number:].any()
        for number, rows in zip(numbers, padded)
    )
    assert len({len(rows) for rows in padded[FEW_ROWS:]}) == 4 * 4  # four octaves
    assert all(rows.dtype == torch.bfloat16 for rows in padded)
    for kind in (torch.float32, torch.float16):
        assert len(pad_rows(torch.ones(700, 1), kind)) == 700


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
@torch.no_grad()
def test_what_is_no_number_stays_none(activation):
    inputs, weight, bias = operands(*SHAPES[0])
    weight[0, 0] = torch.nan
    assert PackedLinear(weight, bias, activation=activation)(inputs)[..., 0].isnan().all()


@pytest.mark.parametrize("shape", [(31, 16), (64, 1008), (5, 3), (128, 1024)])
def test_a_matrix_is_laid_out_transposed_whatever_its_width(shape):
    matrix, inputs = torch.randn(*shape), torch.randn(2, shape[0])
    with torch.no_grad():
        assert allclose(PackedLinear(matrix.t())(inputs), inputs @ matrix)


def test_a_second_derivative_is_refused_and_never_wrong(kernel_calls):
    if not kernel_calls[0]:
        pytest.skip("the plain product has second derivatives")
    inputs, weight, bias = operands(3, 4)
    (first,) = torch.autograd.grad(
        linear(inputs, weight, bias).square().sum(), inputs, create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_strides_change_nothing():
    inputs, weight, bias = (each.detach() for each in operands(7, 4))
    inputs, bias = torch.randn(7, 8)[:, ::2], torch.randn(10)[::2]
    for strided, other in (
        (inputs, bias),
        (torch.randn(4, 7).t(), bias),
        (inputs, torch.randn(1).expand(5)),
    ):
        expected = functional.linear(strided, weight, other)
        assert allclose(linear(strided, weight, other), expected)
        assert allclose(PackedLinear(weight, other)(strided), expected)


def test_gradients_of_strided_operands():
    def gradients(function):
        torch.manual_seed(0)
        inputs, weight, bias = (
            torch.randn(4, 7, requires_grad=True),
            torch.randn(5, 9, requires_grad=True),
            torch.randn(10, requires_grad=True),
        )
        function(inputs.t(), weight[:, 3:7], bias[::2]).square().sum().backward()
        return inputs.grad, weight.grad, bias.grad

    assert all(
        allclose(one, other) for one, other in zip(gradients(linear), gradients(functional.linear))
    )


def test_a_slice_of_a_matrix_and_a_transposed_matrix_are_matrices():
    inputs, weight, _ = (each.detach() for each in operands(7, 2))
    weight = weight.new_tensor(torch.arange(40.0).view(5, 8).tolist())[:, 3:5]
    for matrix in (weight, weight.t().contiguous().t()):
        assert allclose(linear(inputs, matrix), inputs @ matrix.t())
        assert allclose(PackedLinear(matrix)(inputs), inputs @ matrix.t())


def test_autocast_decides_the_type():
    inputs, weight, bias = operands(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(inputs, weight, bias).dtype == torch.bfloat16
