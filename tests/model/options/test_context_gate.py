"""The context gate: the formula of Choi, Cho and Bengio, section 3, on either side."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.memory import Memory
from polyglot.model.options import ContextGate
from tests.builders.models import allclose


def gate(*, memory_size, **settings):
    torch.manual_seed(0)
    return ContextGate(ContextGate.Config(**settings), size=6, memory_size=memory_size).eval()


def test_is_the_formula_on_the_source_side():
    option, words, mask = (
        gate(memory_size=None),
        torch.randn(2, 4, 6),
        torch.tensor([[True] * 4, [True, True, False, False]]),
    )
    for sentence, own, found in zip(words, mask, option(words, mask)):
        context = torch.stack([option.network(word) for word in sentence[own]]).mean(0)
        assert allclose(found[own], sentence[own] * torch.sigmoid(option.gate(context)))


@pytest.mark.parametrize("memory", [None, Memory(torch.ones(3, 2, 8))], ids=["source", "target"])
def test_dropout_is_on_the_context(memory):
    option = gate(memory_size=memory and 8, dropout=0.5).train()
    seen = []
    option.gate.register_forward_hook(lambda module, given, found: seen.append(given[0]))
    words, mask = torch.randn(3, 4, 6), torch.ones(3, 4, dtype=torch.bool)
    option(words, mask, *([memory] if memory else []))
    if memory:
        option.start(memory)
    assert all(0.2 < (context == 0).float().mean() < 0.8 for context in seen) and len(seen) == (
        2 if memory else 1
    )


def test_is_the_formula_on_the_target_side_with_the_rows_of_the_memory():
    option, words = gate(memory_size=8), torch.randn(1, 4, 6)
    rows = torch.randn(1, 3, 8)
    expected = words * torch.sigmoid(option.gate(rows.mean(1))).unsqueeze(1)
    assert allclose(option(words, torch.ones(1, 4, dtype=torch.bool), Memory(rows)), expected)


def test_masks_lie_between_0_and_1_and_differ_between_contexts():
    option, words = gate(memory_size=None), 20 * torch.randn(8, 5, 6)
    masks = option.gates(words, torch.ones(8, 5, dtype=torch.bool))
    assert (masks > 0).all() and (masks < 1).all() and masks.std(0).min() > 0.01


def test_masks_of_the_target_side_lie_there_too():
    option, words = gate(memory_size=8), torch.randn(8, 5, 6)
    masks = option.gates(
        words, torch.ones(8, 5, dtype=torch.bool), Memory(20 * torch.randn(8, 3, 8))
    )
    assert (masks > 0).all() and (masks < 1).all() and masks.std(0).min() > 0.01


def test_padded_rows_of_the_memory_do_not_enter_its_average():
    option, words, rows = gate(memory_size=8), torch.randn(1, 4, 6), torch.randn(1, 3, 8)
    real = torch.ones(1, 4, dtype=torch.bool)
    padded = Memory(
        torch.cat([rows, 99 * torch.randn(1, 2, 8)], dim=1),
        mask=torch.tensor([[True] * 3 + [False] * 2]),
    )
    assert allclose(option.gates(words, real, padded), option.gates(words, real, Memory(rows)))


def test_padding_does_not_enter_the_average():
    option, words = gate(memory_size=None), torch.randn(1, 5, 6)
    mask = torch.tensor([[True, True, True, False, False]])
    assert allclose(option.gates(words, mask), option.gates(words[:, :3], mask[:, :3]))
