"""Attention for one position after the other is the attention of all positions at once."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.attention import KINDS, Attention, AttentionSteps


def scores_by_formula(attention, query, row):
    """Score of one query (Q) and one row (D) of the memory."""
    if attention.kind == "dot":
        return query @ row
    if attention.kind == "general":
        return query @ attention.query.weight.T @ row
    hidden = attention.query.weight @ query + attention.key.weight @ row + attention.key.bias
    return attention.energy.weight[0] @ hidden.tanh()


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_contexts_and_weights_equal_the_formula(kind):
    """α = softmax of q·m, q·W·m or v·tanh(W q + U m); c = Σ α m, without the padding."""
    torch.manual_seed(0)
    attention = Attention(kind, query_size=4, memory_size=4)
    queries = torch.randn(2, 5, 4)
    memory = torch.randn(2, 3, 4)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    contexts, weights = attention(queries, attention.keys(memory), memory, mask)
    for sentence, length in enumerate([2, 3]):
        rows = memory[sentence, :length]
        for position, query in enumerate(queries[sentence]):
            scores = [scores_by_formula(attention, query, row) for row in rows]
            expected = torch.stack(scores).softmax(dim=0)
            torch.testing.assert_close(weights[sentence, position, :length], expected)
            torch.testing.assert_close(contexts[sentence, position], expected @ rows)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_have_the_contexts_and_gradients_of_the_whole(kind, masked):
    torch.manual_seed(0)
    attention = Attention(kind, query_size=4, memory_size=4)
    queries, memory, wanted = (torch.randn(2, rows, 4, requires_grad=True) for rows in (5, 3, 5))
    mask = torch.tensor([[True, True, False], [True, True, True]]) if masked else None
    whole, _ = attention(queries, attention.keys(memory), memory, mask)
    steps = AttentionSteps(attention, attention.keys(memory), memory)
    stepped = torch.stack([steps(one, mask) for one in queries.unbind(1)], dim=1)
    assert torch.allclose(stepped, whole, rtol=0, atol=1e-6)
    given = (queries, memory, *attention.parameters())
    for ours, theirs in zip(
        *(torch.autograd.grad((each * wanted).sum(), given) for each in (stepped, whole))
    ):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-5)


def test_hypotheses_of_a_sentence_share_its_memory_and_sentences_leave():
    torch.manual_seed(0)
    attention = Attention("general", query_size=4, memory_size=4)
    memory, queries = torch.randn(3, 2, 4), torch.randn(3, 2, 4)
    with torch.no_grad():
        steps = AttentionSteps(attention, attention.keys(memory), memory)
        every = steps(queries.flatten(0, 1), None).unflatten(0, (3, 2))
        staying = torch.tensor([2, 0])
        assert torch.allclose(
            steps.select(staying)(queries[staying].flatten(0, 1), None).unflatten(0, (2, 2)),
            every[staying],
        )


def test_half_precision_is_near():
    torch.manual_seed(0)
    attention = Attention("general", query_size=4, memory_size=4)
    queries, memory = (
        torch.randn(2, 4, requires_grad=True),
        torch.randn(2, 3, 4, requires_grad=True),
    )
    expected = torch.autograd.grad(
        AttentionSteps(attention, attention.keys(memory), memory)(queries, None).sum(),
        (queries, memory),
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        contexts = AttentionSteps(attention, attention.keys(memory), memory)(queries, None)
    for one, other in zip(torch.autograd.grad(contexts.float().sum(), (queries, memory)), expected):
        assert one.dtype == torch.float32 and torch.allclose(one, other, rtol=0, atol=0.05)


def saved_numbers(attention, queries, memory):
    """Numbers that the backward pass keeps, and the gradients of Σ c²."""
    saved = []

    def keep(tensor):
        saved.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        contexts, _ = attention(queries, attention.keys(memory), memory, None)
        total = contexts.square().sum()
    return sum(saved), torch.autograd.grad(total, [queries, memory, *attention.parameters()])


def test_large_hidden_layer_of_mlp_is_computed_again_in_the_backward_pass(monkeypatch):
    torch.manual_seed(0)
    sentences, positions, rows, size = 4, 48, 48, 128
    attention = Attention("mlp", query_size=size, memory_size=size)
    queries = torch.randn(sentences, positions, size, requires_grad=True)
    memory = torch.randn(sentences, rows, size, requires_grad=True)
    hidden_numbers = sentences * positions * rows * size

    kept, gradients = saved_numbers(attention, queries, memory)
    assert kept < hidden_numbers / 4

    monkeypatch.setattr("polyglot.layers.attention.KEPT_NUMBERS", hidden_numbers)
    kept, expected_gradients = saved_numbers(attention, queries, memory)
    assert kept > hidden_numbers
    for gradient, expected in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, expected, atol=1e-4, rtol=1e-4)
