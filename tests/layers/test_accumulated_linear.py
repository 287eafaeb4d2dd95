"""A gradient formed at the end is the one that autograd forms step by step."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from polyglot.layers.accumulated_linear import AccumulatedLinear


def leaves(dtype=torch.double):
    torch.manual_seed(0)
    return [
        torch.randn(*shape, dtype=dtype, requires_grad=True)
        for shape in [(5, 3), (5,), (4, 3), (4, 3)]
    ]


def steps(weight, bias, one, other):
    linear = AccumulatedLinear(weight, bias=bias)
    return linear(one) + linear(linear(other)[:, :3].tanh()) * linear(one)


@pytest.mark.parametrize("biased", [True, False])
def test_values_and_gradients_are_those_of_the_plain_products(biased):
    weight, bias, one, other = leaves()
    given = (weight, bias, one, other) if biased else (weight, one, other)
    whole = steps if biased else lambda weight, one, other: steps(weight, None, one, other)
    assert torch.autograd.gradcheck(whole, given)
    first = one @ weight.t() + (bias if biased else 0)
    assert torch.allclose(AccumulatedLinear(weight, bias=bias if biased else None)(one), first)


def test_parts_side_by_side_are_one_matrix_and_get_a_gradient_each():
    weight, bias, one, other = leaves()
    parts = tuple(part.detach().clone().requires_grad_() for part in weight.split([1, 2], dim=1))

    def stepped(left, right, bias, one, other):
        linear = AccumulatedLinear(left, right, bias=bias)
        return linear(one, plus=linear(other)) * linear(other)

    assert torch.autograd.gradcheck(stepped, (*parts, bias, one, other))
    whole = AccumulatedLinear(weight, bias=bias)
    assert torch.allclose(
        stepped(*parts, bias, one, other), (whole(one) + whole(other)) * whole(other)
    )


def test_a_matrix_of_each_sentence_gets_a_gradient_of_its_own():
    torch.manual_seed(0)
    matrices, one, other = (
        torch.randn(2, *shape, dtype=torch.double, requires_grad=True)
        for shape in [(4, 3), (1, 3), (2, 3)]
    )

    def stepped(matrices, one, other):
        linear = AccumulatedLinear(matrices)
        return linear(one).tanh() * linear(other)

    assert torch.autograd.gradcheck(stepped, (matrices, one, other))
    assert torch.allclose(
        stepped(matrices, one, other), (one @ matrices.mT).tanh() * (other @ matrices.mT)
    )


def test_half_precision_is_near():
    weight, bias, one, other = leaves(torch.float32)
    steps(weight, bias, one, other).sum().backward()
    expected = [leaf.grad.clone() for leaf in (weight, bias, one, other)]
    for leaf in (weight, bias, one, other):
        leaf.grad = None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = steps(weight, bias, one, other)
    outputs.float().sum().backward()
    for leaf, wanted in zip((weight, bias, one, other), expected):
        assert leaf.grad.dtype == torch.float32
        assert (leaf.grad - wanted).norm() < 0.03 * wanted.norm()


def test_nothing_lives_longer_than_its_step():
    """Whatever Python's collector of circles does: the copies of the matrices are large."""
    gc.disable()
    try:
        weight, bias, one, _ = leaves()
        linear = AccumulatedLinear(weight, bias=bias)
        left = weakref.ref(linear.matrix)
        linear(one).sum().backward()
        del linear
        assert left() is None
    finally:
        gc.enable()


def test_a_way_back_that_never_comes_to_the_matrix_leaves_nothing():
    weight, bias, one, other = leaves()
    outputs = steps(weight, bias, one, other).sum()
    (expected,) = torch.autograd.grad(outputs, weight, retain_graph=True)
    torch.autograd.grad(outputs, one, retain_graph=True)
    assert torch.allclose(torch.autograd.grad(outputs, weight)[0], expected)
