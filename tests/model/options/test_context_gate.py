"""Context gate: the formula of Choi, Cho and Bengio, section 3, on both sides."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.memory import Memory
from polyglot.model.options import ContextGate
from tests.builders.models import allclose


def build_gate(*, memory_size, **settings):
    torch.manual_seed(0)
    return ContextGate(ContextGate.Config(**settings), size=6, memory_size=memory_size).eval()


def all_real(sentences, length):
    return torch.ones(sentences, length, dtype=torch.bool)


@pytest.mark.parametrize("hidden_size", [None, 9])
def test_source_side_equals_the_formula(hidden_size):
    option = build_gate(memory_size=None, hidden_size=hidden_size)
    words = torch.randn(2, 4, 6)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    gated = option(words, mask)
    for row, length in enumerate([4, 2]):
        sentence = words[row, :length]
        context = torch.stack([option.network(word) for word in sentence]).mean(0)
        expected = sentence * torch.sigmoid(option.gate(context))
        assert allclose(gated[row, :length], expected)


def test_target_side_equals_the_formula_with_the_rows_of_the_memory():
    option = build_gate(memory_size=8)
    words = torch.randn(1, 4, 6)
    rows = torch.randn(1, 3, 8)
    expected = words * torch.sigmoid(option.gate(rows.mean(1))).unsqueeze(1)
    assert allclose(option(words, all_real(1, 4), Memory(rows)), expected)


@pytest.mark.parametrize("memory", [None, Memory(torch.ones(3, 2, 8))], ids=["source", "target"])
def test_dropout_is_applied_to_the_context(memory):
    option = build_gate(memory_size=memory and 8, dropout=0.5).train()
    contexts = []
    option.gate.register_forward_hook(lambda module, inputs, output: contexts.append(inputs[0]))

    words = torch.randn(3, 4, 6)
    if memory is None:
        option(words, all_real(3, 4))
        assert len(contexts) == 1
    else:
        option(words, all_real(3, 4), memory)
        option.start(memory)
        assert len(contexts) == 2
    for context in contexts:
        assert 0.2 < (context == 0).float().mean() < 0.8


def assert_gates_differ_between_sentences(gates):
    assert (gates > 0).all()
    assert (gates < 1).all()
    assert gates.std(0).min() > 0.01


def test_gates_of_the_source_side_are_between_0_and_1_and_differ():
    option = build_gate(memory_size=None)
    gates = option.gates(20 * torch.randn(8, 5, 6), all_real(8, 5))
    assert_gates_differ_between_sentences(gates)


def test_gates_of_the_target_side_are_between_0_and_1_and_differ():
    option = build_gate(memory_size=8)
    memory = Memory(20 * torch.randn(8, 3, 8))
    gates = option.gates(torch.randn(8, 5, 6), all_real(8, 5), memory)
    assert_gates_differ_between_sentences(gates)


def test_padded_memory_rows_are_left_out_of_the_mean():
    option = build_gate(memory_size=8)
    words = torch.randn(1, 4, 6)
    rows = torch.randn(1, 3, 8)
    padded_rows = torch.cat([rows, 99 * torch.randn(1, 2, 8)], dim=1)
    padded = Memory(padded_rows, mask=torch.tensor([[True] * 3 + [False] * 2]))
    real = all_real(1, 4)
    assert allclose(option.gates(words, real, padded), option.gates(words, real, Memory(rows)))


def test_padded_words_are_left_out_of_the_mean():
    option = build_gate(memory_size=None)
    words = torch.randn(1, 5, 6)
    mask = torch.tensor([[True, True, True, False, False]])
    assert allclose(option.gates(words, mask), option.gates(words[:, :3], mask[:, :3]))
