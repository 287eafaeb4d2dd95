"""Contracts of every encoder, bridge and decoder in the registries."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.memory import Memory
from tests.builders.models import allclose, if_available
from tests.contracts.builders import (
    add_padding,
    backward_cubes,
    build_component,
    build_variants,
    check_sentences_alone,
    has_gradient,
    random_sentences,
)

SIZE = 16
INPUT_SIZE = 12


def encoder_variants(name):
    return build_variants(ENCODERS, name, input_size=INPUT_SIZE)


def decoder_variants(name):
    return build_variants(DECODERS, name, input_size=INPUT_SIZE, memory_size=SIZE)


@pytest.mark.usefixtures("combinations")
@pytest.mark.parametrize("name", [if_available(name) for name in ENCODERS.names()])
class TestEncoders:
    def test_states_have_the_size_and_are_0_on_padding(self, name):
        embedded, mask = random_sentences([5, 1, 3], INPUT_SIZE)
        for encoder in encoder_variants(name):
            states = encoder(embedded, mask)
            assert encoder.size == SIZE
            assert states.shape == (3, 5, SIZE)
            assert (states[~mask] == 0).all()
            assert (states[mask] != 0).any()

    def test_padding_does_not_change_the_states(self, name):
        embedded, mask = random_sentences([5, 2], INPUT_SIZE)
        padded, padded_mask = add_padding(embedded, mask, 4)
        for encoder in encoder_variants(name):
            assert allclose(encoder(embedded, mask), encoder(padded, padded_mask)[:, :5])

    def test_states_do_not_depend_on_other_sentences(self, name):
        embedded, mask = random_sentences([4, 6, 1], INPUT_SIZE)
        for encoder in encoder_variants(name):
            check_sentences_alone(encoder, embedded, mask)

    def test_gradients_reach_every_parameter(self, name):
        for encoder in encoder_variants(name):
            backward_cubes(encoder(*random_sentences([4, 2], INPUT_SIZE)))
            assert all(map(has_gradient, encoder.parameters()))

    def test_half_precision_is_close_to_float32(self, name):
        encoder = build_component(ENCODERS, name, input_size=INPUT_SIZE)
        embedded, mask = random_sentences([4, 2], INPUT_SIZE)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states = encoder(embedded, mask)
        assert states.isfinite().all()
        assert allclose(states.float(), encoder(embedded, mask), 0.05)


@pytest.mark.usefixtures("combinations")
@pytest.mark.parametrize("name", BRIDGES.names())
class TestBridges:
    def test_padding_does_not_change_the_memory(self, name):
        bridge = build_component(BRIDGES, name, size=SIZE)
        states, mask = random_sentences([5, 1], SIZE)
        memory = bridge(states, mask)
        padded_memory = bridge(*add_padding(states, mask, 3))
        assert allclose(memory.mean(), padded_memory.mean())
        if bridge.fixed_size:
            assert allclose(memory.states, padded_memory.states)

    def test_fixed_size_means_equal_numbers_of_rows(self, name):
        bridge = build_component(BRIDGES, name, size=SIZE)
        numbers_of_rows = set()
        for length in (1, 2, 7, 30):
            memory = bridge(*random_sentences([length], SIZE))
            numbers_of_rows.add(memory.states.shape[1])
        assert (len(numbers_of_rows) == 1) == bridge.fixed_size

    def test_memory_does_not_depend_on_other_sentences(self, name):
        bridge = build_component(BRIDGES, name, size=SIZE)
        states, mask = random_sentences([4, 6, 1], SIZE)
        together = bridge(states, mask).split()
        for row, length in enumerate([4, 6, 1]):
            sentence = slice(row, row + 1)
            alone = bridge(states[sentence, :length], mask[sentence, :length])
            assert allclose(alone.states, together[row].states)

    def test_weights_sum_to_1_and_are_0_on_padding(self, name):
        states, mask = random_sentences([5, 1, 3], SIZE)
        weights = build_component(BRIDGES, name, size=SIZE)(states, mask).weights
        if weights is None:
            pytest.skip(f"the bridge {name!r} has no attention weights")
        assert allclose(weights.sum(-1), torch.ones(weights.shape[:2]))
        assert (weights * ~mask.unsqueeze(1) == 0).all()

    def test_gradients_reach_states_and_every_parameter(self, name):
        for bridge in build_variants(BRIDGES, name, size=SIZE):
            states, mask = random_sentences([4, 2], SIZE)
            backward_cubes(bridge(states.requires_grad_(), mask).states)
            assert has_gradient(states)
            assert all(map(has_gradient, bridge.parameters()))


def run_step(decoder, embedded, state, memory):
    words = decoder.prepare_words(embedded, state)
    return decoder.step(words, state, memory)


@pytest.fixture
def memory():
    """Memory of three sentences with four, two and one real rows."""
    torch.manual_seed(2)
    return Memory(
        torch.randn(3, 4, SIZE),
        mask=torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]]),
        final_states=(torch.randn(3, 2, SIZE), torch.randn(3, 2, SIZE)),  # of two layers
    )


@pytest.mark.usefixtures("combinations")
@pytest.mark.parametrize("name", [if_available(name) for name in DECODERS.names()])
class TestDecoders:
    def test_steps_equal_the_whole_pass(self, name, memory):
        embedded, mask = random_sentences([5, 3, 1], INPUT_SIZE)
        for decoder in decoder_variants(name):
            whole = decoder(embedded, mask, memory)
            assert whole.shape == (3, 5, SIZE)
            state = decoder.start(memory)
            for position in range(5):
                states, state = run_step(decoder, embedded[:, position], state, memory)
                assert allclose(states, whole[:, position])

    def test_initial_state_has_its_size(self, name, memory):
        for decoder in decoder_variants(name):
            size = decoder.initial_state_size or SIZE
            assert decoder.initial_state(memory).shape == (3, size)

    def test_states_are_the_last_layer_of_the_inner_states(self, name, memory):
        embedded, mask = random_sentences([5, 3, 1], INPUT_SIZE)
        for decoder in decoder_variants(name):
            states, inner = decoder.with_inner_states(embedded, mask, memory)
            assert torch.equal(states, decoder(embedded, mask, memory))
            assert inner.states.shape == (3, 5, decoder.inner_size or SIZE)
            assert torch.allclose(decoder.last_layer(inner), states)

    def test_positions_do_not_depend_on_later_words(self, name, memory):
        embedded, mask = random_sentences([5, 5, 5], INPUT_SIZE)
        changed = embedded.clone()
        changed[:, 3:] = 5.0
        for decoder in decoder_variants(name):
            states = decoder(embedded, mask, memory)
            changed_states = decoder(changed, mask, memory)
            assert allclose(states[:, :3], changed_states[:, :3])
            assert not allclose(states[:, 3:], changed_states[:, 3:])

    def test_hypotheses_do_not_depend_on_each_other(self, name, memory):
        """Two hypotheses a sentence are reordered, and the second sentence is removed."""
        embedded, _ = random_sentences([2] * 6, INPUT_SIZE)
        two_each = torch.tensor([0, 0, 1, 1, 2, 2])
        kept_rows = torch.tensor([1, 0, 5, 4])
        kept_sentences = torch.tensor([0, 2])
        for decoder in decoder_variants(name):
            state = decoder.reorder(decoder.start(memory), two_each, None)
            first, state = run_step(decoder, embedded[:, 0], state, memory)
            state = decoder.reorder(state, kept_rows, kept_sentences)
            words = embedded[kept_rows, 1]
            second, _ = run_step(decoder, words, state, memory.select(kept_sentences))

            for row, old_row in enumerate(kept_rows.tolist()):
                hypothesis = slice(old_row, old_row + 1)
                memory_alone = memory.select(two_each[hypothesis])
                state = decoder.start(memory_alone)
                first_alone, state = run_step(decoder, embedded[hypothesis, 0], state, memory_alone)
                second_alone, _ = run_step(decoder, embedded[hypothesis, 1], state, memory_alone)
                assert allclose(first[old_row], first_alone[0])
                assert allclose(second[row], second_alone[0])

    def test_masked_memory_rows_do_not_change_the_states(self, name, memory):
        embedded, mask = random_sentences([3, 3, 3], INPUT_SIZE)
        is_real = memory.mask.unsqueeze(-1)
        noisy = replace(memory, states=torch.where(is_real, memory.states, torch.tensor(50.0)))
        for decoder in decoder_variants(name):
            assert allclose(decoder(embedded, mask, memory), decoder(embedded, mask, noisy))

    def test_gradients_reach_every_parameter(self, name, memory):
        for decoder in decoder_variants(name):
            backward_cubes(decoder(*random_sentences([4, 2, 1], INPUT_SIZE), memory))
            assert all(map(has_gradient, decoder.parameters()))
