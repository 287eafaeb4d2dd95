"""Stack of bridges: equal to its bridges applied one after the other."""

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


def sentences():
    """States and mask of sentences of five and two words."""
    torch.manual_seed(1)
    mask = torch.arange(5) < torch.tensor([[5], [2]])
    return torch.randn(2, 5, SIZE) * mask.unsqueeze(-1), mask


@pytest.mark.parametrize(
    ("bridges", "fixed_size"),
    [
        ([TRANSFORMER], False),
        (["none", TRANSFORMER], False),
        ([TRANSFORMER, "mean"], True),
        ([{**ATTENTION, "heads": 3}, TRANSFORMER], True),
    ],
)
def test_size_is_fixed_if_any_bridge_has_a_fixed_size(bridges, fixed_size):
    bridge = stack(*bridges)
    states, mask = sentences()
    memory = bridge(states, mask)
    assert bridge.fixed_size == fixed_size
    if fixed_size:
        assert memory.mask is None or memory.mask.all()
    else:
        assert torch.equal(memory.mask, mask)


def test_weights_are_the_product_over_source_positions():
    bridge = stack({**ATTENTION, "heads": 4}, {**ATTENTION, "heads": 2})
    states, mask = sentences()
    memory = bridge(states, mask)
    assert memory.weights.shape == (2, 2, 5)
    assert allclose(memory.weights @ states, memory.states)

    first, second = bridge.bridges
    first_memory = first(states, mask)
    second_memory = second(first_memory.states, torch.ones(2, 4, dtype=torch.bool))
    assert allclose(memory.weights, second_memory.weights @ first_memory.weights)


@pytest.mark.parametrize(
    "bridges", [[TRANSFORMER, {**ATTENTION, "heads": 3}], [{**ATTENTION, "heads": 3}, TRANSFORMER]]
)
def test_stack_with_an_attention_bridge_has_a_penalty(bridges):
    model = tiny_model(tiny_config(bridge={"type": "stack", "bridges": bridges}))
    batch = random_batch()
    assert "bridge" in Criterion(LossesConfig())(model(batch), batch).terms


def test_heads_must_divide_the_size_of_the_states():
    bridges = ["attention", {"type": "transformer", "heads": 3}]
    message = r"bridge\.bridges\.1\.heads: 3 heads cannot share size 16"
    with pytest.raises(ValueError, match=message):
        tiny_config(bridge={"type": "stack", "bridges": bridges})
    with pytest.raises(ValueError, match=r"bridge\.heads: 5 heads cannot share size 16"):
        tiny_config(bridge={"type": "perceiver", "heads": 5})
