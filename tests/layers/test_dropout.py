"""Dropout keeps the mean, drops the share it says, and is fixed by PyTorch's seed."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.dropout import Dropout, StepDropout


@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
def test_drops_its_share_and_keeps_the_mean(share):
    torch.manual_seed(0)
    out = Dropout(share)(torch.ones(200, 500))
    assert (out == 0).float().mean().item() == pytest.approx(share, abs=0.01)
    assert out.mean().item() == pytest.approx(1.0, abs=0.02 / (1 - share))
    assert out.unique().tolist() == pytest.approx([0.0, 1 / (1 - share)])


def test_the_seed_fixes_it_and_calls_differ():
    dropout, states = Dropout(0.5), torch.ones(1000)
    torch.manual_seed(3)
    first, second = dropout(states), dropout(states)
    torch.manual_seed(3)
    assert torch.equal(dropout(states), first) and not torch.equal(first, second)


def test_gradients_pass_where_numbers_did():
    states = torch.ones(100, requires_grad=True)
    out = Dropout(0.4)(states)
    out.sum().backward()
    assert torch.equal(states.grad, out.detach())


def test_nothing_happens_outside_training():
    states = torch.randn(10)
    assert Dropout(0.5).eval()(states) is states
    assert Dropout(0.0)(states) is states


def test_steps_drop_their_share_each_in_its_own_way():
    torch.manual_seed(0)
    steps = StepDropout(0.3)
    outs = torch.stack(
        [steps(torch.ones(50, 80)) for _ in range(40)]
    )  # more than are drawn at once
    assert (outs == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert outs.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert len({out.flatten().numpy().tobytes() for out in outs}) == len(outs)
    torch.manual_seed(0)
    assert torch.equal(StepDropout(0.3)(torch.ones(50, 80)), outs[0])


def test_steps_without_dropout_are_left_alone():
    states = torch.randn(10)
    assert StepDropout(0.0)(states) is states
