"""A stack reads as its bridges do one after the other."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.bridges import BRIDGES
from polyglot.model.losses import Criterion, LossesConfig
from tests.builders.models import allclose, random_batch, tiny_config, tiny_model

SIZE = 8
ATTENTION = {"type": "attention", "hidden_size": 6}
TRANSFORMER = {"type": "transformer", "heads": 2, "feed_forward": 12, "dropout": 0.0}


def stack(*bridges):
    torch.manual_seed(0)
    return BRIDGES.build(BRIDGES.configure("stack", bridges=list(bridges)), size=SIZE).eval()


def read(bridge):
    torch.manual_seed(1)
    mask = torch.arange(5) < torch.tensor([[5], [2]])
    return bridge(torch.randn(2, 5, SIZE) * mask.unsqueeze(-1), mask), mask


@pytest.mark.parametrize(
    ("bridges", "fixed"),
    [
        ([TRANSFORMER], False),
        (["none", TRANSFORMER], False),
        ([TRANSFORMER, "mean"], True),
        ([{**ATTENTION, "heads": 3}, TRANSFORMER], True),
    ],
)
def test_is_of_fixed_size_when_any_of_it_is(bridges, fixed):
    bridge = stack(*bridges)
    memory, mask = read(bridge)
    assert bridge.fixed_size == fixed == (memory.mask is None or memory.mask.all())
    assert fixed or torch.equal(memory.mask, mask)


def test_weights_are_the_product_over_source_positions():
    memory, mask = read(bridge := stack({**ATTENTION, "heads": 4}, {**ATTENTION, "heads": 2}))
    torch.manual_seed(1)
    states = torch.randn(2, 5, SIZE) * mask.unsqueeze(-1)
    assert memory.weights.shape == (2, 2, 5) and allclose(memory.weights @ states, memory.states)
    first = bridge.bridges[0](states, mask)
    assert allclose(
        memory.weights,
        bridge.bridges[1](first.states, torch.ones(2, 4, dtype=torch.bool)).weights @ first.weights,
    )


@pytest.mark.parametrize(
    "bridges", [[TRANSFORMER, {**ATTENTION, "heads": 3}], [{**ATTENTION, "heads": 3}, TRANSFORMER]]
)
def test_the_penalty_sees_the_attention_in_it(bridges):
    model = tiny_model(tiny_config(bridge={"type": "stack", "bridges": bridges}))
    batch = random_batch()
    assert "bridge" in Criterion(LossesConfig())(model(batch), batch).terms


def test_heads_that_do_not_divide_the_states_are_refused_with_their_place():
    with pytest.raises(
        ValueError, match=r"bridge\.bridges\.1\.heads: 3 heads cannot share size 16"
    ):
        tiny_config(
            bridge={"type": "stack", "bridges": ["attention", {"type": "transformer", "heads": 3}]}
        )
    with pytest.raises(ValueError, match=r"bridge\.heads: 5 heads cannot share size 16"):
        tiny_config(bridge={"type": "perceiver", "heads": 5})
