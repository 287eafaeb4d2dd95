"""Single steps equal fused calls, in values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyglot.layers.recurrent import (
    RECURRENCES,
    RecurrentSteps,
    repeat_initial_state,
    run_recurrence,
)
from tests.builders.models import allclose


@pytest.mark.parametrize("word_size", [6, 4])  # with two more numbers that only the step brings
@pytest.mark.parametrize("kind", RECURRENCES)
def test_steps_have_the_values_and_gradients_of_the_fused_call(kind, word_size):
    torch.manual_seed(0)
    recurrence = RECURRENCES[kind](6, 5, 2, batch_first=True)
    inputs, initial, out = torch.randn(3, 7, 6), torch.randn(3, 5), torch.randn(3, 7, 5)

    def gradients(outputs):
        recurrence.zero_grad()
        (outputs * out).sum().backward()
        return [parameter.grad.clone() for parameter in recurrence.parameters()]

    fused = run_recurrence(recurrence, inputs, repeat_initial_state(kind, initial, 2))
    stepper = RecurrentSteps(recurrence, word_size=word_size)
    words = stepper.project_words(inputs[..., :word_size])
    state, steps = stepper.start(initial), []
    for position in range(7):
        output, state = stepper(words[:, position], inputs[:, position, word_size:], state)
        steps.append(output)
    steps = torch.stack(steps, dim=1)
    assert allclose(fused, steps)
    assert all(allclose(one, other) for one, other in zip(gradients(fused), gradients(steps)))


def test_a_step_that_is_not_used_costs_no_gradient():
    recurrence = nn.LSTM(4, 4, batch_first=True)
    stepper = RecurrentSteps(recurrence, word_size=4)
    words, nothing = stepper.project_words(torch.randn(2, 4)), torch.zeros(2, 0)
    first, state = stepper(words, nothing, stepper.start(torch.zeros(2, 4)))
    stepper(words, nothing, state)
    first.sum().backward()
    assert recurrence.weight_hh_l0.grad.isfinite().all()
