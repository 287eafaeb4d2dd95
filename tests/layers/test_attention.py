"""Attention for one position after the other is the attention of all positions at once."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.attention import KINDS, Attention, AttentionSteps


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
