"""Divergence of two word distributions equals the formula, slice by slice."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from polyglot.layers import divergence
from polyglot.layers.divergence import projected_divergence


def random_parts(rows=7):
    generator = torch.Generator().manual_seed(0)
    shapes = [(rows, 4), (rows, 4), (9, 4), (9,)]
    parts = [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [part.requires_grad_() for part in parts]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("slice_rows", [1, 3, 100])
def test_values_and_gradients_equal_those_of_torch(symmetric, slice_rows, monkeypatch):
    monkeypatch.setattr(divergence, "SLICE_ROWS", slice_rows)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)  # for exact comparison
    states, other_states, weight, bias = parts = random_parts()
    loss = projected_divergence(states, other_states, weight, bias, symmetric=symmetric)
    gradients = torch.autograd.grad(loss, parts)

    log_p = functional.linear(states, weight, bias).log_softmax(dim=1)
    log_q = functional.linear(other_states, weight, bias).log_softmax(dim=1)
    # torch names the target first in its formula: kl_div(log q, log p) is KL(p ‖ q)
    expected = functional.kl_div(log_q, log_p, reduction="sum", log_target=True)
    if symmetric:
        reverse = functional.kl_div(log_p, log_q, reduction="sum", log_target=True)
        expected = (expected + reverse) / 2
    expected_gradients = torch.autograd.grad(expected, parts)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-5)
    for gradient, expected_gradient in zip(gradients, expected_gradients):
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-5, atol=1e-6)


def test_equal_states_have_no_divergence_and_no_gradient():
    states, _, weight, bias = random_parts()
    loss = projected_divergence(states, states.detach(), weight, bias, symmetric=True)
    (gradient,) = torch.autograd.grad(loss, states)
    assert loss.item() == pytest.approx(0, abs=1e-9)
    assert gradient.abs().max() < 1e-9


def test_order_matters_without_symmetry_only():
    states, other_states, weight, bias = random_parts()

    def divergences(symmetric):
        forth = projected_divergence(states, other_states, weight, bias, symmetric=symmetric)
        back = projected_divergence(other_states, states, weight, bias, symmetric=symmetric)
        return forth.item(), back.item()

    forth, back = divergences(symmetric=False)
    assert abs(forth - back) > 0.01
    forth_and_back, back_and_forth = divergences(symmetric=True)
    assert forth_and_back == pytest.approx(back_and_forth, rel=1e-6)
    assert forth_and_back == pytest.approx((forth + back) / 2, rel=1e-6)


def test_half_precision_has_the_values_of_float32_within_its_rounding():
    states, other_states, weight, bias = [part.detach().float() for part in random_parts()]
    expected = projected_divergence(states, other_states, weight, bias, symmetric=True)
    with torch.autocast("cpu", torch.bfloat16):
        loss = projected_divergence(states, other_states, weight, bias, symmetric=True)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=0.05)
    assert loss.item() != expected.item()
