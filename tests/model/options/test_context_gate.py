"""Context gate: the formula of Choi, Cho and Bengio, section 3, on both sides."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.memory import Memory
from polyglot.model.options import ContextGate
from tests.builders.models import allclose, random_batch, tiny_config, tiny_model


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


def test_target_side_with_the_network_of_the_source_side_over_memory_rows():
    """c = (1/K) Σ_k NN(m_k), also without a bridge, where the rows are the encoder's states."""
    option = build_gate(memory_size=8, context="network", hidden_size=5)
    words = torch.randn(2, 4, 6)
    rows = torch.randn(2, 3, 8)
    mask = torch.tensor([[True] * 3, [True, False, False]])
    gates = option.gates(words, all_real(2, 4), Memory(rows, mask=mask))
    for row, length in enumerate([3, 1]):
        context = torch.stack([option.network(state) for state in rows[row, :length]]).mean(0)
        assert context.shape == (5,)
        assert allclose(gates[row], torch.sigmoid(option.gate(context)))


@pytest.mark.parametrize("bridge", ["none", "attention"])
def test_target_side_with_the_context_of_the_source_words(bridge):
    """The paper's formula: both sides have their own W and b, but one context c."""
    gate = {"type": "context_gate", "context": "source", "hidden_size": 5}
    options = {"encoder": [{"type": "context_gate", "hidden_size": 5}], "decoder": [gate]}
    model = tiny_model(tiny_config(bridge=bridge, options=options)).eval()
    batch = random_batch()
    memory = model.encode("de", batch.source, batch.source_mask)
    source = model.encoders["de"]
    option = source.options["context_gate"]
    words = source.embedding(batch.source)
    target = model.decoders["en"].options["context_gate"]
    gates = target.start(memory)
    for row, length in enumerate(batch.source_mask.sum(1).tolist()):
        context = torch.stack([option.network(word) for word in words[row, :length]]).mean(0)
        assert allclose(memory.context[row], context)
        assert allclose(gates[row], torch.sigmoid(target.gate(context)))
    assert not hasattr(target, "network")

    joined = Memory.join(memory.split())
    assert torch.equal(joined.context, memory.context)
    assert torch.equal(memory.select(torch.tensor([2])).context, memory.context[2:])


@pytest.mark.parametrize(
    ("encoder", "found"),
    [([], "missing"), ([{"type": "context_gate", "hidden_size": 4}], "of size 4")],
)
def test_a_context_of_the_source_words_needs_the_gate_in_every_encoder(encoder, found):
    gate = {"type": "context_gate", "context": "source", "hidden_size": 5}
    message = (
        f"'source' needs context_gate with a context of size 5 in every encoder, found {found}"
    )
    with pytest.raises(ValueError, match=message):
        tiny_config(options={"encoder": encoder, "decoder": [gate]})
