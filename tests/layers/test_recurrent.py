"""Single steps equal fused calls, in values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyglot.layers.recurrent import KINDS, Stepper, run, start_state, tanh
from tests.models import close


@pytest.mark.parametrize("word_size", [6, 4])  # with two more numbers that only the step brings
@pytest.mark.parametrize("kind", KINDS)
def test_steps_have_the_values_and_gradients_of_the_fused_call(kind, word_size):
    torch.manual_seed(0)
    recurrence = KINDS[kind](6, 5, 2, batch_first=True)
    inputs, initial, out = torch.randn(3, 7, 6), torch.randn(3, 5), torch.randn(3, 7, 5)

    def gradients(outputs):
        recurrence.zero_grad()
        (outputs * out).sum().backward()
        return [parameter.grad.clone() for parameter in recurrence.parameters()]

    fused = run(recurrence, inputs, start_state(kind, initial, 2))
    stepper = Stepper(recurrence, word_size=word_size)
    words = stepper.read(inputs[..., :word_size])
    state, steps = stepper.start(initial), []
    for position in range(7):
        output, state = stepper(words[:, position], inputs[:, position, word_size:], state)
        steps.append(output)
    steps = torch.stack(steps, dim=1)
    assert close(fused, steps)
    assert all(close(one, other) for one, other in zip(gradients(fused), gradients(steps)))


def test_a_step_that_is_not_used_costs_no_gradient():
    recurrence = nn.LSTM(4, 4, batch_first=True)
    stepper = Stepper(recurrence, word_size=4)
    words, nothing = stepper.read(torch.randn(2, 4)), torch.zeros(2, 0)
    first, state = stepper(words, nothing, stepper.start(torch.zeros(2, 4)))
    stepper(words, nothing, state)
    first.sum().backward()
    assert recurrence.weight_hh_l0.grad.isfinite().all()


def test_tanh_is_the_hyperbolic_tangent_in_values_and_gradients():
    states = torch.cat([torch.linspace(-20, 20, 401), torch.tensor([1e-4, -1e-6, 0.0, 1e4])]).requires_grad_()
    values, expected = tanh(states), torch.tanh(states)
    assert torch.allclose(values, expected, rtol=0, atol=3e-7)
    assert torch.allclose(*(torch.autograd.grad(each.sum(), states)[0] for each in (values, expected)), rtol=0, atol=1e-6)


def test_tanh_near_zero_keeps_its_precision_in_bfloat16():
    states = torch.linspace(-0.01, 0.01, 41, dtype=torch.bfloat16)
    assert torch.equal(tanh(states), torch.tanh(states))
