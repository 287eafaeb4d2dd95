"""What a decoder attends to, taken apart into sentences and put together again."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.memory import Memory


@pytest.mark.parametrize("counts", [[3, 3, 3], [1, 4, 2], [2]])
def test_sentences_make_the_memory_that_they_were_taken_from(counts: list[int]) -> None:
    states = torch.randn(len(counts), 6, 5)
    mask = torch.arange(6) < torch.tensor(counts).unsqueeze(1)
    final = (torch.randn(len(counts), 2, 5), torch.randn(len(counts), 2, 5))
    alone = Memory(states, mask, final_states=final).split()
    assert [tuple(own.states.shape) for own in alone] == [(1, count, 5) for count in counts]
    again, most = Memory.join(alone), max(counts)
    assert all(torch.equal(one, other) for one, other in zip(again.final_states, final, strict=True))
    expected = mask[:, :most]
    assert torch.equal(again.states, states[:, :most] * expected.unsqueeze(2))
    assert again.mask is None if expected.all() else torch.equal(again.mask, expected)


def test_a_memory_without_a_mask_keeps_every_row() -> None:
    states = torch.randn(2, 4, 3)
    again = Memory.join(Memory(states).split())
    assert torch.equal(again.states, states) and again.mask is None and again.final_states is None
