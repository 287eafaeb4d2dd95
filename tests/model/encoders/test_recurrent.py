"""Dropout of recurrent encoders: between the layers, and on the states."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.dropout import dropout
from polyglot.model.encoders import ENCODERS

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
