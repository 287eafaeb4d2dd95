"""Recurrent encoders: dropout between the layers and on the states, and the reset gate of a GRU."""

from __future__ import annotations

import numpy
import pytest
import torch

from polyglot.layers.dropout import dropout
from polyglot.model.encoders import ENCODERS
from tests.model.decoders import recomputed

RATE = 0.5


def build_encoder(kind, **settings):
    torch.manual_seed(0)
    config = ENCODERS.configure(kind, size=8, dropout=RATE, **settings)
    return ENCODERS.build(config, input_size=6)


@pytest.fixture
def sentences():
    """Embedded words (B, S, E) and their mask (B, S); the second sentence is padded."""
    generator = torch.Generator().manual_seed(1)
    embedded = torch.randn(2, 5, 6, generator=generator)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    return embedded, mask


def states_with_seed(encoder, sentences):
    torch.manual_seed(2)
    return encoder(*sentences)


def two_layers_with_seed(encoder, sentences, *, states_rate):
    """Written-out formula of two layers, with the same random draws."""
    embedded, mask = sentences
    torch.manual_seed(2)
    lower = dropout(encoder.layers[0](embedded, mask), RATE)
    upper = encoder.layers[1](lower, mask)
    return dropout(upper, states_rate) if states_rate else upper


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize(
    ("settings", "states_rate"),
    [({}, RATE), ({"states_dropout": 0.0}, 0.0), ({"states_dropout": 0.25}, 0.25)],
)
def test_dropout_on_the_states_has_its_own_rate(settings, states_rate, kind, sentences):
    encoder = build_encoder(kind, layers=2, **settings)
    expected = two_layers_with_seed(encoder, sentences, states_rate=states_rate)
    assert torch.equal(states_with_seed(encoder, sentences), expected)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_single_layer_without_states_dropout_has_no_dropout(kind, sentences):
    encoder = build_encoder(kind, layers=1, states_dropout=0.0)
    training = encoder.train()(*sentences)
    assert torch.equal(training, encoder.eval()(*sentences))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_reset_gate_before_the_product_equals_the_formula(bidirectional, sentences):
    """n = tanh(W x + U (r ∘ s)) of Cho et al. 2014; each sentence within its own length."""
    encoder = build_encoder("gru", layers=1, bidirectional=bidirectional, reset_after=False)
    encoder.double().eval()
    embedded, mask = sentences
    states = encoder(embedded.double(), mask).detach().numpy()

    parameters = {}
    for name, parameter in encoder.layers[0].named_parameters():
        parameters[name] = parameter.detach().numpy()
    for sentence, length in enumerate([5, 3]):
        words = embedded[sentence, :length].double().numpy()
        expected = gru_states(parameters, "forwards", words)
        if bidirectional:
            backwards = gru_states(parameters, "backwards", words[::-1])[::-1]
            expected = numpy.concatenate([expected, backwards], axis=1)
        assert numpy.abs(states[sentence, :length] - expected).max() < 1e-12
        assert not states[sentence, length:].any()


def gru_states(parameters, name, words):
    state = numpy.zeros(parameters[f"{name}.weight_hh_l0"].shape[1])
    states = []
    for word in words:
        state = recomputed.gru(parameters, name, word, state, reset_after=False)
        states.append(state)
    return numpy.array(states)


def test_reset_gate_before_the_product_has_the_parameters_of_the_other():
    after = build_encoder("gru").state_dict()
    before = build_encoder("gru", reset_after=False).state_dict()
    assert {name: tuple(value.shape) for name, value in after.items()} == {
        name: tuple(value.shape) for name, value in before.items()
    }
