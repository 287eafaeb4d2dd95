"""Contracts of every option, alone and on every encoder and decoder that can have it."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import Criterion, LossesConfig
from polyglot.model.memory import Memory
from polyglot.model.options import OPTIONS
from tests.builders.models import (
    TINY,
    allclose,
    if_available,
    random_batch,
    tiny_component,
    tiny_config,
    tiny_model,
)
from tests.contracts.builders import (
    add_padding,
    backward_cubes,
    build_variants,
    check_search_of_each_sentence,
    check_sentences_alone,
    has_gradient,
    random_sentences,
)

SIZE = 12
STATES_SIZE = 16
CONTEXT_SIZE = TINY["hidden_size"]
PLACES = {name: OPTIONS.get(name).place for name in OPTIONS.names()}
EMBEDDING_OPTIONS = [name for name, place in PLACES.items() if place == "embedding"]
STATES_OPTIONS = [name for name, place in PLACES.items() if place == "states"]
TARGET_STATES_OPTIONS = [name for name in STATES_OPTIONS if "decoder" in OPTIONS.get(name).sides]
TARGET_OPTIONS = EMBEDDING_OPTIONS + TARGET_STATES_OPTIONS


@pytest.fixture
def memory():
    """Memory of three sentences with four, two and one real rows."""
    torch.manual_seed(2)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]])
    return Memory(torch.randn(3, 4, STATES_SIZE), mask=mask, context=torch.randn(3, CONTEXT_SIZE))


class TargetStates(nn.Module):
    """An option at the states of a decoder, called like an option at its embeddings."""

    def __init__(self, option):
        super().__init__()
        self.option = option
        self.start = option.start
        self.step = option.step
        self.reorder = option.reorder

    def forward(self, states, mask, memory):
        return self.option(states, None, mask)


def target_variants(name):
    """Variants of an option of a decoder, which change vectors of size `SIZE`."""
    if name in EMBEDDING_OPTIONS:
        yield from build_variants(OPTIONS, name, size=SIZE, memory_size=STATES_SIZE)
    else:
        sizes = {"input_size": SIZE, "size": SIZE}
        for option in build_variants(OPTIONS, name, **sizes, is_target=True):
            yield TargetStates(option)


def source_variants(name):
    """Variants of an option of an encoder, with a function of words (B, S, E) and their mask."""
    if name in EMBEDDING_OPTIONS:
        for option in build_variants(OPTIONS, name, size=SIZE, memory_size=None):
            yield option, option
    else:
        for option in build_variants(OPTIONS, name, input_size=SIZE, size=STATES_SIZE):
            yield option, partial(change_states, option)


def change_states(option, embedded, mask):
    """Apply an option at `states` to states made of the words."""
    states = torch.cat([embedded, embedded[..., : STATES_SIZE - SIZE]], dim=-1)
    return option(states, embedded, mask)


def check_half_precision(function, embedded, mask):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = function(embedded, mask)
    assert half.isfinite().all()
    assert allclose(half.float()[mask], function(embedded, mask)[mask], 0.1)


def check_padding(function, embedded, mask):
    """Assert that neither more padding nor the numbers in it change the outputs."""
    expected = function(embedded, mask)[mask]
    padded = function(*add_padding(embedded, mask, 4))[:, : mask.shape[1]]
    assert allclose(padded[mask], expected)
    dirty = torch.where(mask.unsqueeze(-1), embedded, torch.tensor(3.0))
    assert allclose(function(dirty, mask)[mask], expected)


@pytest.mark.usefixtures("combinations")
@pytest.mark.parametrize("name", EMBEDDING_OPTIONS + STATES_OPTIONS)
class TestEncoderOptions:
    def test_padding_does_not_change_the_outputs(self, name):
        embedded, mask = random_sentences([5, 1, 3], SIZE)
        for _, function in source_variants(name):
            check_padding(function, embedded, mask)

    def test_outputs_do_not_depend_on_other_sentences(self, name):
        for _, function in source_variants(name):
            check_sentences_alone(function, *random_sentences([4, 6, 1], SIZE))

    def test_gradients_reach_every_parameter(self, name):
        for option, function in source_variants(name):
            option.train()
            backward_cubes(function(*random_sentences([4, 2, 3], SIZE)))
            assert all(map(has_gradient, option.parameters()))

    def test_half_precision_is_close_to_float32(self, name):
        embedded, mask = random_sentences([4, 2, 1], SIZE)
        for _, function in source_variants(name):
            check_half_precision(function, embedded, mask)


@pytest.mark.parametrize("name", OPTIONS.names())
def test_option_adds_only_its_own_parameters(name):
    """All other parameters have the same names and initial values as without the option."""
    side = "decoder" if PLACES[name] == "decoder" else "encoder"
    options = {side: [tiny_component(OPTIONS, name)]}
    parameters = dict(tiny_model(tiny_config()).named_parameters())
    parameters_with_option = dict(tiny_model(tiny_config(options=options)).named_parameters())

    added = parameters_with_option.keys() - parameters.keys()
    assert added
    assert all(".options." in key for key in added)
    for key, parameter in parameters.items():
        assert torch.equal(parameter, parameters_with_option[key])


def test_model_without_options_has_no_buffers():
    assert not list(tiny_model(tiny_config()).buffers())


@pytest.mark.usefixtures("combinations")
@pytest.mark.parametrize("name", TARGET_OPTIONS)
class TestDecoderOptions:
    def test_padding_does_not_change_the_outputs(self, name, memory):
        embedded, mask = random_sentences([5, 1, 3], SIZE)
        for option in target_variants(name):
            check_padding(partial(option, memory=memory), embedded, mask)

    def test_outputs_do_not_depend_on_other_sentences(self, name, memory):
        embedded, mask = random_sentences([4, 6, 1], SIZE)
        for option in target_variants(name):
            together = option(embedded, mask, memory)
            for row, length in enumerate([4, 6, 1]):
                sentence = slice(row, row + 1)
                alone = option(
                    embedded[sentence, :length],
                    mask[sentence, :length],
                    memory.select(torch.tensor([row])),
                )
                assert allclose(alone[0], together[row, :length])

    def test_gradients_reach_every_parameter(self, name, memory):
        for option in target_variants(name):
            option.train()
            backward_cubes(option(*random_sentences([4, 2, 3], SIZE), memory))
            assert all(map(has_gradient, option.parameters()))

    def test_half_precision_is_close_to_float32(self, name, memory):
        embedded, mask = random_sentences([4, 2, 1], SIZE)
        for option in target_variants(name):
            check_half_precision(partial(option, memory=memory), embedded, mask)

    def test_positions_do_not_depend_on_later_words(self, name, memory):
        embedded, mask = random_sentences([5, 5, 5], SIZE)
        for option in target_variants(name):
            outputs = option(embedded, mask, memory)
            for position in range(1, 5):
                changed = embedded.clone()
                changed[:, position:] = 5.0
                changed_outputs = option(changed, mask, memory)
                assert allclose(changed_outputs[:, :position], outputs[:, :position])

    def test_steps_equal_the_whole_pass(self, name, memory):
        embedded, mask = random_sentences([9, 3, 1], SIZE)
        for option in target_variants(name):
            whole = option(embedded, mask, memory)
            state = option.start(memory)
            for position in range(9):
                outputs, state = option.step(embedded[:, position], state)
                is_real = mask[:, position]
                assert allclose(outputs[is_real], whole[is_real, position])

    def test_hypotheses_do_not_depend_on_each_other(self, name, memory):
        embedded, _ = random_sentences([2] * 6, SIZE)
        two_each = torch.tensor([0, 0, 1, 1, 2, 2])
        kept_rows = torch.tensor([1, 0, 5, 4])
        for option in target_variants(name):
            state = option.reorder(option.start(memory), two_each)
            first, state = option.step(embedded[:, 0], state)
            second, _ = option.step(embedded[kept_rows, 1], option.reorder(state, kept_rows))

            for row, old_row in enumerate(kept_rows.tolist()):
                hypothesis = slice(old_row, old_row + 1)
                state = option.start(memory.select(two_each[hypothesis]))
                first_alone, state = option.step(embedded[hypothesis, 0], state)
                second_alone, _ = option.step(embedded[hypothesis, 1], state)
                assert allclose(first[old_row], first_alone[0])
                assert allclose(second[row], second_alone[0])

    def test_state_does_not_grow_with_the_prefix(self, name, memory):
        embedded, _ = random_sentences([12, 12, 12], SIZE)
        for option in target_variants(name):
            state = option.start(memory)
            shapes = []
            for position in range(12):
                _, state = option.step(embedded[:, position], state)
                tensors = [leaf for leaf in tree_leaves(state) if isinstance(leaf, torch.Tensor)]
                shapes.append([tensor.shape for tensor in tensors])
            assert shapes[-1] == shapes[0]


ALTERNATIVE_SETTINGS = {
    "roles": [
        {"assignment": "onehot"},
        {"context": "cnn", "width": 3},
        {"assignment": "dense", "combination": "rank1"},
        {"target_context": "before_word"},
    ],
    "context_gate": [{"context": "network"}, {"context": "source"}],
    "latent_graph": [{"edges": "none"}, {"layers": 2}],
    "state_roles": [{"context": "cnn", "width": 3}, {"target_context": "before_word"}],
}
"""Settings with which an option computes something else."""


def models_with(name, *, encoder="lstm", decoder="lstm", sides=("encoder", "decoder")):
    """Models with an option; with its alternative settings only on LSTMs, to save time."""
    alternatives = ALTERNATIVE_SETTINGS.get(name, []) if encoder == decoder == "lstm" else []
    for settings in [{}, *alternatives]:
        option = tiny_component(OPTIONS, name) | settings
        options = {side: [option] for side in sides}
        yield tiny_model(tiny_config(encoder, decoder=decoder, options=options))


def pairs_of(options, components):
    """Every option on an LSTM and a Transformer, and the first option on every component."""
    for component in components:
        has_all_options = component in ("lstm", "transformer")
        for option in options if has_all_options else options[:1]:
            yield if_available(option, component)


ENCODER_PAIRS = []
for place_options in (EMBEDDING_OPTIONS, STATES_OPTIONS):
    ENCODER_PAIRS += pairs_of(place_options, ENCODERS.names())
DECODER_PAIRS = []
for place_options in (EMBEDDING_OPTIONS, TARGET_STATES_OPTIONS):
    DECODER_PAIRS += pairs_of(place_options, DECODERS.names())


@pytest.mark.parametrize(("name", "encoder"), ENCODER_PAIRS)
class TestOnEveryEncoder:
    def test_states_do_not_depend_on_other_sentences_and_are_0_on_padding(self, name, encoder):
        batch = random_batch(lengths=[(5, 1), (1, 1), (9, 1)])
        for model in models_with(name, encoder=encoder, sides=["encoder"]):
            language_encoder = model.eval().encoders["de"]
            states = language_encoder(batch.source, batch.source_mask)
            assert states.isfinite().all()
            assert (states[~batch.source_mask] == 0).all()
            check_sentences_alone(language_encoder, batch.source, batch.source_mask)

    def test_updates_reduce_the_loss(self, name, encoder):
        batch = random_batch()
        for model in models_with(name, encoder=encoder, sides=["encoder"]):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            totals = []
            for _ in range(3):
                torch.manual_seed(0)
                total = Criterion(LossesConfig())(model(batch), batch).total
                totals.append(total.item())
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
            assert totals[2] < totals[0]
            for parameter in model.encoders["de"].options.parameters():
                assert parameter.grad is not None
            for parameter in model.encoders["en"].parameters():
                assert parameter.grad is None


@pytest.mark.parametrize(("name", "decoder"), DECODER_PAIRS)
class TestOnEveryDecoder:
    def test_steps_equal_the_whole_pass(self, name, decoder):
        batch = random_batch(lengths=[(5, 6), (1, 6), (9, 6)])
        for model in models_with(name, decoder=decoder):
            language_decoder = model.eval().decoders["en"]
            memory = model.encode("de", batch.source, batch.source_mask)
            states = language_decoder(batch.target_in, batch.target_mask, memory)
            whole = language_decoder.output(states)

            state = language_decoder.start(memory)
            for position in range(7):
                tokens = batch.target_in[:, position]
                logits, state = language_decoder.step(tokens, state, memory)
                assert allclose(logits, whole[:, position], 1e-4)

    def test_search_does_not_depend_on_other_sentences(self, name, decoder):
        for model in models_with(name, decoder=decoder):
            check_search_of_each_sentence(model)
