"""Which parameters are weights between states, for optimizers that treat those differently."""

from __future__ import annotations

import pytest

from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.options import OPTIONS
from tests.builders.models import VOCABULARY, if_available, tiny_component, tiny_config, tiny_model

OTHERS = (
    "queries",
    "body.positions.embedding",
    "energy.weight",
    "matrices",
)  # rows to begin with, positions, a vector, U of the roles
MODELS = [
    *({"encoder": name} for name in ENCODERS.names() if not name.startswith("onmt_")),
    *({"bridge": name} for name in BRIDGES.names()),
    *({"decoder": name} for name in DECODERS.names() if not name.startswith("onmt_")),
    {"options": {"decoder": [tiny_component(OPTIONS, "word_prediction")]}},
    {
        "options": {
            "encoder": [
                tiny_component(OPTIONS, name) for name in ("roles", "latent_graph", "context_gate")
            ]
        }
    },
    {"embedding": {"size": 16, "tie_sides": True, "tie_output": True}},
]


@pytest.mark.parametrize("settings", MODELS, ids=str)
def test_all_of_two_dimensions_but_those_with_a_row_for_each_word(settings):
    model = tiny_model(tiny_config(**settings))
    hidden = {id(one) for one in model.hidden_weights()}
    for name, parameter in model.named_parameters():
        other = parameter.dim() != 2 or len(parameter) == VOCABULARY or name.endswith(OTHERS)
        assert (id(parameter) in hidden) != other, name
    assert len(hidden) == len(model.hidden_weights())


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [if_available("onmt_rnn", "onmt_rnn"), if_available("onmt_transformer", "onmt_transformer")],
)
def test_those_of_opennmt(encoder, decoder):
    model = tiny_model(tiny_config(encoder, decoder=decoder))
    names = {id(one): name for name, one in model.named_parameters()}
    found = {names[id(one)] for one in model.hidden_weights()}
    assert all(
        any(name.startswith(f"{side}.de.body") for name in found)
        for side in ("encoders", "decoders")
    )
    assert not any("embedding" in name or name.startswith("decoders.de.output") for name in found)
