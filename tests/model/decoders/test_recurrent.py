"""Initial state of recurrent decoders, and bridge rows that their attention does not see."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.decoders import DECODERS
from polyglot.model.memory import Memory
from tests.builders.models import allclose

ROWS = 4
SIZE = 8
INPUT_SIZE = 6


def build_decoder(kind, *, memory_size=SIZE, **settings):
    torch.manual_seed(0)
    config = DECODERS.configure(kind, size=SIZE, **settings)
    decoder = DECODERS.build(config, input_size=INPUT_SIZE, memory_size=memory_size)
    return decoder.eval()


def random_memory(size=SIZE, **tensors):
    generator = torch.Generator().manual_seed(1)
    return Memory(torch.randn(2, ROWS, size, generator=generator), **tensors)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_initial_state_is_the_mean_of_the_rows_by_default(kind):
    memory = random_memory()
    decoder = build_decoder(kind, layers=2)
    assert allclose(decoder.initial_state(memory), memory.states.sum(dim=1) / ROWS)
    assert not list(decoder.initial.parameters())


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("memory_size", [SIZE, 5])
def test_initial_state_with_tanh_is_projected(kind, memory_size):
    memory = random_memory(memory_size)
    decoder = build_decoder(kind, layers=2, memory_size=memory_size, start="tanh")
    (matrix,) = decoder.initial.parameters()
    assert matrix.shape == (SIZE, memory_size)

    mean = memory.states.sum(dim=1) / ROWS
    assert allclose(decoder.initial_state(memory), torch.tanh(mean @ matrix.T))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("start", ["mean", "tanh"])
def test_every_layer_starts_from_the_initial_state(kind, start):
    memory = random_memory()
    decoder = build_decoder(kind, layers=2, start=start)
    initial = decoder.initial_state(memory)
    layers = decoder.start(memory).layer_states
    assert len(layers) == 2
    for layer_state in layers:
        for part in layer_state:  # h, and c of an LSTM
            assert torch.equal(part, initial)


def test_attention_over_the_visible_rows_equals_the_formula():
    """c_t = Σ_k softmax_k(s_t·W_a·m_k) m_k over the visible rows; output tanh(W [c_t; s_t])."""
    visible_count = 2
    decoder = build_decoder("lstm", layers=1, attention="general")
    words = torch.randn(1, 3, INPUT_SIZE)
    rows = torch.randn(1, ROWS, SIZE)
    visible = (torch.arange(ROWS) < visible_count).unsqueeze(0)
    mask = torch.ones(1, 3, dtype=torch.bool)
    (output,) = decoder(words, mask, Memory(rows, visible=visible))

    initial = rows.mean(dim=1).unsqueeze(0)
    (states,), _ = decoder.recurrence(words, (initial, initial))
    visible_rows = rows[0, :visible_count]
    scores = states @ decoder.attention.query.weight.T @ visible_rows.T
    contexts = torch.softmax(scores, dim=1) @ visible_rows
    combined = torch.cat([contexts, states], dim=1) @ decoder.combine.weight.T
    assert allclose(output, torch.tanh(combined))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("lstm", {"input_feeding": False}),
        ("lstm", {"input_feeding": True}),
        ("gru", {"input_feeding": False}),
        ("gru", {"input_feeding": True}),
        ("transformer", {"heads": 4}),
    ],
)
def test_decoder_does_not_attend_to_invisible_rows(kind, settings):
    """Two invisible rows change places. That keeps the mean, and so the initial state."""
    decoder = build_decoder(kind, layers=1, **settings)
    words = torch.randn(1, 3, INPUT_SIZE)
    mask = torch.ones(1, 3, dtype=torch.bool)
    rows = torch.randn(1, ROWS, SIZE)
    visible = torch.tensor([[True, True, False, False]])

    output = decoder(words, mask, Memory(rows, visible=visible))
    swapped = decoder(words, mask, Memory(rows[:, [0, 1, 3, 2]], visible=visible))
    assert allclose(output, swapped)
    assert not allclose(output, decoder(words, mask, Memory(rows)))
