"""Memory split into sentences and joined again."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.memory import Memory


@pytest.mark.parametrize("counts", [[3, 3, 3], [1, 4, 2], [2]])
def test_join_restores_a_split_memory(counts: list[int]) -> None:
    states = torch.randn(len(counts), 6, 5)
    mask = torch.arange(6) < torch.tensor(counts).unsqueeze(1)
    final_states = (torch.randn(len(counts), 2, 5), torch.randn(len(counts), 2, 5))

    sentences = Memory(states, mask, final_states=final_states).split()
    assert [tuple(memory.states.shape) for memory in sentences] == [(1, n, 5) for n in counts]

    joined = Memory.join(sentences)
    longest = max(counts)
    expected_mask = mask[:, :longest]
    assert torch.equal(joined.states, states[:, :longest] * expected_mask.unsqueeze(2))
    for joined_part, part in zip(joined.final_states, final_states, strict=True):
        assert torch.equal(joined_part, part)
    if expected_mask.all():
        assert joined.mask is None
    else:
        assert torch.equal(joined.mask, expected_mask)


def test_memory_without_mask_keeps_all_rows() -> None:
    states = torch.randn(2, 4, 3)
    joined = Memory.join(Memory(states).split())
    assert torch.equal(joined.states, states)
    assert joined.mask is None
    assert joined.final_states is None


def test_select_takes_all_tensors_of_the_sentences() -> None:
    memory = Memory(
        torch.randn(3, 4, 5),
        mask=torch.rand(3, 4) < 0.5,
        weights=torch.randn(3, 4, 6),
        final_states=(torch.randn(3, 2, 5),),
    )
    selected = memory.select(torch.tensor([2, 0]))
    assert torch.equal(selected.states, memory.states[[2, 0]])
    assert torch.equal(selected.mask, memory.mask[[2, 0]])
    assert torch.equal(selected.weights, memory.weights[[2, 0]])
    assert torch.equal(selected.final_states[0], memory.final_states[0][[2, 0]])


def test_mean_leaves_out_masked_rows() -> None:
    states = torch.randn(1, 3, 4)
    padded = torch.cat([states, torch.full((1, 2, 4), 9.0)], dim=1)
    mask = torch.tensor([[True, True, True, False, False]])
    torch.testing.assert_close(Memory(padded, mask).mean(), states.mean(dim=1))


def test_visible_rows_are_split_selected_and_joined_with_their_sentence() -> None:
    states = torch.randn(3, 4, 5)
    visible = torch.arange(4) < torch.tensor([[4], [1], [2]])
    memory = Memory(states, visible=visible)

    joined = Memory.join(memory.split())
    assert torch.equal(joined.states, states)
    assert joined.mask is None
    assert torch.equal(joined.attention_mask, visible)

    selected = memory.select(torch.tensor([2, 0]))
    assert torch.equal(selected.states, states[[2, 0]])
    assert torch.equal(selected.attention_mask, visible[[2, 0]])


def test_attention_sees_every_real_row_by_default() -> None:
    mask = torch.tensor([[True, False]])
    assert Memory(torch.randn(1, 2, 3)).attention_mask is None
    assert torch.equal(Memory(torch.randn(1, 2, 3), mask).attention_mask, mask)
