"""Gates in few passes have the values and gradients of their formulas."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.lstm_cell import lstm_cell_, tanh


def test_tanh_is_the_hyperbolic_tangent_in_values_and_gradients():
    states = torch.cat(
        [torch.linspace(-20, 20, 401), torch.tensor([1e-4, -1e-6, 0.0, 1e4])]
    ).requires_grad_()
    values, expected = tanh(states), torch.tanh(states)
    assert torch.allclose(values, expected, rtol=0, atol=3e-7)
    assert torch.allclose(
        *(torch.autograd.grad(each.sum(), states)[0] for each in (values, expected)),
        rtol=0,
        atol=1e-6,
    )


def test_tanh_near_zero_keeps_its_precision_in_bfloat16():
    states = torch.linspace(-0.01, 0.01, 41, dtype=torch.bfloat16)
    assert torch.equal(tanh(states), torch.tanh(states))


def leaves(dtype):
    torch.manual_seed(0)
    return torch.randn(3, 20, dtype=dtype, requires_grad=True), torch.randn(
        3, 5, dtype=dtype, requires_grad=True
    )


def test_a_cell_has_the_gradients_that_differences_have():
    gates, cell = leaves(torch.double)
    assert torch.autograd.gradcheck(
        lambda gates, cell: lstm_cell_(gates.clone(), cell), (gates, cell)
    )
    assert torch.autograd.gradcheck(
        lambda gates, cell: lstm_cell_(gates.clone(), cell)[1], (gates, cell)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.double, torch.bfloat16])
def test_a_cell_is_that_of_pytorch(dtype):
    gates, cell = leaves(dtype)
    reference = torch.nn.LSTMCell(20, 5, dtype=dtype)
    with torch.no_grad():
        reference.weight_ih.copy_(torch.eye(20))
        for name in ("weight_hh", "bias_ih", "bias_hh"):
            getattr(reference, name).zero_()
    tolerance = {"rtol": 0, "atol": 0.02 if dtype == torch.bfloat16 else 1e-6}
    for ours, theirs in zip(
        lstm_cell_(gates.clone(), cell), reference(gates, (torch.zeros_like(cell), cell))
    ):
        assert torch.allclose(ours, theirs, **tolerance)
        for one, other in zip(
            *(
                torch.autograd.grad(each.square().sum(), (gates, cell), retain_graph=True)
                for each in (ours, theirs)
            )
        ):
            assert torch.allclose(one, other, **tolerance)


def test_gates_may_be_of_half_precision_and_the_cell_of_full():
    """As under autocast."""
    gates, cell = leaves(torch.float32)
    half = gates.detach().bfloat16().requires_grad_()
    ours, reference = ([*lstm_cell_(one.clone(), cell)] for one in (half, gates))
    assert all(one.dtype == torch.float32 for one in ours)
    found, expected = (
        torch.autograd.grad(sum(each.square().sum() for each in states), (one, cell))
        for states, one in ((ours, half), (reference, gates))
    )
    assert [one.dtype for one in found] == [torch.bfloat16, torch.float32]
    for one, other in zip(found, expected):
        assert torch.allclose(one.float(), other, rtol=0, atol=0.05)
