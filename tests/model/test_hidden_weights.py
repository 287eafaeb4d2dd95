"""Matrices that transform states, which some optimizers update in another way."""

from __future__ import annotations

import pytest

from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.options import OPTIONS
from tests.builders.models import VOCABULARY, if_available, tiny_component, tiny_config, tiny_model

NOT_HIDDEN_WEIGHTS = (
    "queries",  # first rows of the Perceiver bridge
    "body.positions.embedding",
    "energy.weight",  # a single row
    "matrices",  # role transformations below each other
)
ENCODER_OPTIONS = ["roles", "latent_graph", "context_gate"]


def models():
    """Settings of models that together contain every component."""
    for name in ENCODERS.names():
        if not name.startswith("onmt_"):
            yield {"encoder": name}
    for name in BRIDGES.names():
        yield {"bridge": name}
    for name in DECODERS.names():
        if not name.startswith("onmt_"):
            yield {"decoder": name}
    yield {"options": {"decoder": [tiny_component(OPTIONS, "word_prediction")]}}
    yield {"options": {"encoder": [tiny_component(OPTIONS, name) for name in ENCODER_OPTIONS]}}
    yield {"embedding": {"size": 16, "tie_sides": True, "tie_output": True}}


@pytest.mark.parametrize("settings", list(models()), ids=str)
def test_hidden_weights_are_all_matrices_without_a_row_for_each_word(settings):
    model = tiny_model(tiny_config(**settings))
    hidden_weights = model.hidden_weights()
    ids = {id(parameter) for parameter in hidden_weights}
    assert len(ids) == len(hidden_weights)
    for name, parameter in model.named_parameters():
        is_vocabulary = len(parameter) == VOCABULARY
        is_excluded = parameter.dim() != 2 or is_vocabulary or name.endswith(NOT_HIDDEN_WEIGHTS)
        assert (id(parameter) in ids) != is_excluded, name


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [if_available("onmt_rnn", "onmt_rnn"), if_available("onmt_transformer", "onmt_transformer")],
)
def test_hidden_weights_of_opennmt_components(encoder, decoder):
    model = tiny_model(tiny_config(encoder, decoder=decoder))
    ids = {id(parameter) for parameter in model.hidden_weights()}
    names = [name for name, parameter in model.named_parameters() if id(parameter) in ids]
    assert any(name.startswith("encoders.de.body") for name in names)
    assert any(name.startswith("decoders.de.body") for name in names)
    for name in names:
        assert "embedding" not in name
        assert not name.startswith("decoders.de.output")
