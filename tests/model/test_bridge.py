"""The attention bridge: the formulas of Vázquez et al., section 2, and the properties that follow."""

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

SIZE, HEADS = 16, 4


@pytest.fixture
def bridge():
    torch.manual_seed(0)
    return AttentionBridge(AttentionBridge.Config(heads=HEADS, hidden_size=8), size=SIZE)


def penalty(weights, *, pieces=1):
    """Of all sentences together; each target has so many pieces and an end."""
    memory = Memory(torch.zeros(len(weights), weights.shape[1], SIZE), weights=weights)
    batch = Batch.from_sentences(
        Task(LanguagePair("de", "en")), [[5]] * len(weights), [[5] * pieces] * len(weights)
    )
    return (
        BridgePenalty(BridgePenalty.Config())(Output(None, None, memory), batch).item()
        * batch.target_tokens
    )


def test_is_the_formula(bridge):
    states = torch.randn(2, 5, SIZE)
    memory = bridge(states, torch.ones(2, 5, dtype=torch.bool))
    for one, weights, rows in zip(states, memory.weights, memory.states):
        expected = torch.softmax(
            bridge.heads.weight @ torch.relu(bridge.hidden.weight @ one.T), dim=1
        )
        assert allclose(weights, expected) and allclose(rows, expected @ one)


@pytest.mark.parametrize("length", [1, 2, HEADS - 1, HEADS, 20])
def test_as_many_rows_for_every_length(bridge, length):
    memory = bridge(torch.randn(3, length, SIZE), torch.ones(3, length, dtype=torch.bool))
    assert memory.states.shape == (3, HEADS, SIZE) and memory.mask is None


def test_one_word_is_every_row(bridge):
    states = torch.randn(1, 1, SIZE)
    assert allclose(
        bridge(states, torch.ones(1, 1, dtype=torch.bool)).states, states.expand(1, HEADS, SIZE)
    )


def test_the_decoder_starts_from_the_mean_of_the_rows(bridge):
    memory = bridge(torch.randn(2, 5, SIZE), torch.ones(2, 5, dtype=torch.bool))
    assert allclose(memory.mean(), memory.states.sum(1) / HEADS)


def test_no_penalty_for_orthonormal_rows():
    assert penalty(torch.eye(HEADS, 6).unsqueeze(0)) == pytest.approx(0)


@pytest.mark.parametrize("positions", [1, 3, 6])
def test_penalty_of_equal_rows(positions):
    """Every row uniform: A·Aᵀ is 1/n everywhere, so K(K−1) entries of 1/n² and K of (1/n − 1)²."""
    equal = torch.full((2, HEADS, positions), 1 / positions)
    expected = HEADS * (HEADS - 1) / positions**2 + HEADS * (1 / positions - 1) ** 2
    assert penalty(equal) == pytest.approx(len(equal) * expected, rel=1e-5)


def test_penalty_weighs_against_the_whole_sentence():
    """As −log p(y given x) does: summed over sentences, and shared among target tokens like the translation loss, however many."""
    one, other = torch.eye(HEADS, 6).unsqueeze(0), torch.full((1, HEADS, 6), 1 / 6)
    both = torch.cat([one, other])
    assert penalty(both) == pytest.approx(penalty(one) + penalty(other), rel=1e-5)
    assert penalty(both, pieces=1) == pytest.approx(penalty(both, pieces=9), rel=1e-5)
