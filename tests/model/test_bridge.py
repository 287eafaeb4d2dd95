"""Attention bridge: formulas of Vázquez et al., section 2, and properties that follow from them."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.bridges import AttentionBridge
from polyglot.model.losses import BridgePenalty
from polyglot.model.memory import Memory
from polyglot.model.translation_model import Output
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair, Task
from tests.builders.models import allclose

SIZE = 16
HEADS = 4


@pytest.fixture
def bridge():
    torch.manual_seed(0)
    return AttentionBridge(AttentionBridge.Config(heads=HEADS, hidden_size=8), size=SIZE)


def all_real(sentences, length):
    return torch.ones(sentences, length, dtype=torch.bool)


def penalty(weights, *, target_length=1):
    """Penalty of these attention weights, summed over the sentences."""
    memory = Memory(torch.zeros(len(weights), weights.shape[1], SIZE), weights=weights)
    batch = Batch.from_sentences(
        Task(LanguagePair("de", "en")),
        [[5]] * len(weights),
        [[5] * target_length] * len(weights),
    )
    loss = BridgePenalty(BridgePenalty.Config())(Output(None, None, memory, inner=None), batch)
    return loss.item() * batch.target_tokens


def test_weights_and_rows_equal_the_formula(bridge):
    states = torch.randn(2, 5, SIZE)
    memory = bridge(states, all_real(2, 5))
    for sentence in range(2):
        hidden = torch.relu(bridge.hidden.weight @ states[sentence].T)
        expected = torch.softmax(bridge.heads.weight @ hidden, dim=1)
        assert allclose(memory.weights[sentence], expected)
        assert allclose(memory.states[sentence], expected @ states[sentence])


@pytest.mark.parametrize("length", [1, 2, HEADS - 1, HEADS, 20])
def test_number_of_rows_does_not_depend_on_the_length(bridge, length):
    memory = bridge(torch.randn(3, length, SIZE), all_real(3, length))
    assert memory.states.shape == (3, HEADS, SIZE)
    assert memory.mask is None


def test_every_row_of_a_one_word_sentence_is_its_state(bridge):
    states = torch.randn(1, 1, SIZE)
    memory = bridge(states, all_real(1, 1))
    assert allclose(memory.states, states.expand(1, HEADS, SIZE))


def test_memory_mean_is_the_mean_of_the_rows(bridge):
    memory = bridge(torch.randn(2, 5, SIZE), all_real(2, 5))
    assert allclose(memory.mean(), memory.states.sum(1) / HEADS)


def test_orthonormal_rows_have_no_penalty():
    assert penalty(torch.eye(HEADS, 6).unsqueeze(0)) == pytest.approx(0)


@pytest.mark.parametrize("length", [1, 3, 6])
def test_penalty_of_uniform_rows(length):
    """A·Aᵀ is 1/S everywhere: K(K−1) entries of 1/S² and K entries of (1/S − 1)²."""
    uniform = torch.full((2, HEADS, length), 1 / length)
    off_diagonal = HEADS * (HEADS - 1) / length**2
    diagonal = HEADS * (1 / length - 1) ** 2
    assert penalty(uniform) == pytest.approx(2 * (off_diagonal + diagonal), rel=1e-5)


def test_penalty_is_summed_over_sentences_and_independent_of_target_length():
    """Like −log p(y given x) of a sentence; the division by target tokens is the same."""
    orthonormal = torch.eye(HEADS, 6).unsqueeze(0)
    uniform = torch.full((1, HEADS, 6), 1 / 6)
    both = torch.cat([orthonormal, uniform])
    assert penalty(both) == pytest.approx(penalty(orthonormal) + penalty(uniform), rel=1e-5)
    assert penalty(both) == pytest.approx(penalty(both, target_length=9), rel=1e-5)


# Settings of the published program


def test_bias_is_added_to_the_hidden_layer():
    torch.manual_seed(0)
    config = AttentionBridge.Config(heads=HEADS, hidden_size=8, bias=True)
    bridge = AttentionBridge(config, size=SIZE)
    assert bridge.hidden.bias.abs().sum() > 0
    assert bridge.heads.bias is None

    states = torch.randn(1, 5, SIZE)
    hidden = torch.relu(bridge.hidden.weight @ states[0].T + bridge.hidden.bias.unsqueeze(1))
    expected = torch.softmax(bridge.heads.weight @ hidden, dim=1)
    assert allclose(bridge(states, all_real(1, 5)).weights[0], expected)


def test_short_source_hides_rows_from_the_attention_but_not_from_the_mean():
    torch.manual_seed(0)
    config = AttentionBridge.Config(heads=HEADS, hidden_size=8, visible_rows="source_length")
    bridge = AttentionBridge(config, size=SIZE)
    lengths = torch.tensor([6, HEADS, 3, 1])
    memory = bridge(torch.randn(4, 6, SIZE), torch.arange(6) < lengths.unsqueeze(1))

    assert memory.attention_mask.tolist() == [
        [True, True, True, True],
        [True, True, True, True],
        [True, True, True, False],
        [True, False, False, False],
    ]
    assert memory.mask is None
    assert memory.states.shape == (4, HEADS, SIZE)
    assert allclose(memory.mean(), memory.states.sum(dim=1) / HEADS)
