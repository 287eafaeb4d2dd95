"""Which parameters are matrices from states to states, for optimizers that treat those differently."""

from __future__ import annotations

import pytest

from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.options import OPTIONS
from tests.models import VOCABULARY, there, tiny_component, tiny_config, tiny_model

ROWS_OF_SOMETHING = ("queries", "body.positions.embedding", "language", "matrices")  # of rows, of positions, of a tag, of roles
MODELS = [
    *({"encoder": name} for name in ENCODERS.names() if not name.startswith("onmt_")),
    *({"bridge": name} for name in BRIDGES.names()),
    *({"decoder": name} for name in DECODERS.names() if not name.startswith("onmt_")),
    {"options": {"decoder": [tiny_component(OPTIONS, "word_prediction")]}},
    {"options": {"encoder": [tiny_component(OPTIONS, name) for name in ("roles", "latent_graph", "context_gate")]}},
    {"embedding": {"size": 16, "tie_sides": True, "tie_output": True}},
]


@pytest.mark.parametrize("settings", MODELS, ids=str)
def test_all_that_have_two_dimensions_but_those_with_a_row_for_each_word(settings):
    model = tiny_model(tiny_config(**settings))
    matrices = {id(one) for one in model.matrices()}
    for name, parameter in model.named_parameters():
        of_something = VOCABULARY in parameter.shape[:1] or name.endswith(ROWS_OF_SOMETHING)
        assert (id(parameter) in matrices) == (parameter.dim() == 2 and not of_something), name
    assert len(matrices) == len(model.matrices())


@pytest.mark.parametrize(("encoder", "decoder"), [there("onmt_rnn", "onmt_rnn"), there("onmt_transformer", "onmt_transformer")])
def test_those_of_opennmt(encoder, decoder):
    model = tiny_model(tiny_config(encoder, decoder=decoder))
    names = {id(one): name for name, one in model.named_parameters()}
    found = {names[id(one)] for one in model.matrices()}
    assert any(name.startswith("encoders.de.body") for name in found) and any(name.startswith("decoders.de.body") for name in found)
