"""OpenNMT-py's components behind our interface compute what ours compute with the same weights."""

from __future__ import annotations

import pytest
import torch

from polyglot.core.errors import ConfigError
from polyglot.layers import opennmt
from polyglot.layers.opennmt import is_installed
from polyglot.model.config import ModelConfig
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.memory import Memory
from tests.builders.models import allclose

SIZE = 16
BLOCKS = {"size": SIZE, "layers": 2, "heads": 4, "feed_forward": 24, "dropout": 0.0}
needs_opennmt = pytest.mark.skipif(not is_installed(), reason="OpenNMT-py is not installed")


def built(registry, name, **settings):
    torch.manual_seed(0)
    given = {"memory_size": SIZE} if registry is DECODERS else {}
    return registry.build(registry.configure(name, **settings), input_size=SIZE, **given).eval()


def sentences(*lengths):
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(*mask.shape, SIZE) * mask.unsqueeze(-1), mask


def copy_attention(ours, theirs, *, cross=False):
    """OpenNMT-py has three matrices without biases where we have one or two with."""
    keys_and_values = [theirs.linear_keys.weight, theirs.linear_values.weight]
    if cross:
        weights = {
            ours.queries: theirs.linear_query.weight,
            ours.memory: torch.cat(keys_and_values),
        }
    else:
        weights = {ours.inputs: torch.cat([theirs.linear_query.weight, *keys_and_values])}
    for linear, weight in (weights | {ours.output: theirs.final_linear.weight}).items():
        linear.weight.copy_(weight)
        linear.bias.zero_()


def copy_layer(ours, theirs, *, norms):
    copy_attention(ours.attention, theirs.self_attn)
    ours.feed_forward.hidden.load_state_dict(theirs.feed_forward.w_1.state_dict())
    ours.feed_forward.output.load_state_dict(theirs.feed_forward.w_2.state_dict())
    for around, norm in norms:
        with torch.no_grad():
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.normal_()
        around.norm.load_state_dict(norm.state_dict())


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("training", [False, True])
def test_convolutional_encoders_agree(training):
    """The layers are the same; ours has positions in front of them, of which theirs knows nothing."""
    theirs, ours = (
        built(ENCODERS, "onmt_cnn", size=SIZE, layers=3, width=5, dropout=0.0).train(training),
        built(ENCODERS, "cnn", size=SIZE, layers=3, dropout=0.0),
    )
    theirs.theirs.linear.weight.copy_(torch.eye(SIZE))
    theirs.theirs.linear.bias.zero_()
    for one, other in zip(ours.convolutions, theirs.theirs.cnn.layers):
        other.conv.g.uniform_(0.5, 1.5)
        norms = other.conv.weight.flatten(1).norm(dim=1)
        one.weight.copy_(
            (other.conv.weight * (other.conv.g / norms)[:, None, None, None]).squeeze(3)
        )
        one.bias.copy_(other.conv.bias)
    ours.positions = torch.nn.Identity()
    embedded, mask = sentences(6, 2, 1)
    assert allclose(ours(embedded, mask), theirs(embedded, mask))


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("cell", ["LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_final_states_are_those_of_each_sentence_alone(cell, bidirectional):
    """Of the last layer they are the states at both ends; of every layer what the package itself starts its decoder with."""
    encoder = built(
        ENCODERS, "onmt_rnn", size=SIZE, layers=3, cell=cell, bidirectional=bidirectional
    )
    embedded, mask = sentences(6, 2, 1)
    states, final = encoder.with_final_states(embedded, mask)
    assert [part.shape for part in final] == [(3, 3, SIZE)] * (2 if cell == "LSTM" else 1)
    for row, length in enumerate([6, 2, 1]):
        forwards, backwards = states[row, length - 1, : SIZE // 2], states[row, 0, SIZE // 2 :]
        wanted = torch.cat([forwards, backwards]) if bidirectional else states[row, length - 1]
        assert allclose(final[0][row, -1], wanted)
        _, alone = encoder.with_final_states(
            embedded[row : row + 1, :length], mask[row : row + 1, :length]
        )
        assert all(allclose(one[0], other[row]) for one, other in zip(alone, final))


@needs_opennmt
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"encoder": {"type": "lstm", "size": 16}},
            "found type lstm, size 16, layers 2 in encoder",
        ),
        (
            {"languages": {"de": {"encoder": {"layers": 1}}}},
            "found type onmt_rnn, size 16, layers 1, cell LSTM in languages.de.encoder",
        ),
    ],
)
def test_a_decoder_that_starts_from_final_states_needs_an_encoder_alike(changes, problem):
    model = {
        "encoder": {"type": "onmt_rnn", "size": 16},
        "decoder": {"type": "onmt_rnn", "size": 16, "start": "final"},
    }
    ModelConfig.model_validate(model)
    with pytest.raises(
        ValueError,
        match=f"decoder.start: 'final' needs encoders with type onmt_rnn, size 16, layers 2, cell LSTM, {problem}",
    ):
        ModelConfig.model_validate(model | changes)


@needs_opennmt
@torch.no_grad()
def test_transformer_encoders_agree():
    theirs, ours = (
        built(ENCODERS, "onmt_transformer", **BLOCKS),
        built(ENCODERS, "transformer", **BLOCKS),
    )
    for one, other in zip(ours.layers, theirs.theirs.transformer):
        copy_layer(
            one,
            other,
            norms=[
                (one.around_attention, other.layer_norm),
                (one.around_feed_forward, other.feed_forward.layer_norm),
            ],
        )
    embedded, mask = sentences(6, 2, 1)
    assert allclose(ours(embedded, mask), theirs(embedded, mask))


@needs_opennmt
@torch.no_grad()
def test_transformer_decoders_agree():
    theirs, ours = (
        built(DECODERS, "onmt_transformer", **BLOCKS),
        built(DECODERS, "transformer", **BLOCKS),
    )
    for one, other in zip(ours.layers, theirs.theirs.transformer_layers):
        norms = [
            (one.around_attention, other.layer_norm_1),
            (one.around_cross, other.layer_norm_2),
            (one.around_feed_forward, other.feed_forward.layer_norm),
        ]
        copy_layer(one, other, norms=norms)
        copy_attention(one.cross, other.context_attn, cross=True)
    embedded, mask = sentences(5, 3, 1)
    memory = Memory(*sentences(4, 2, 1))
    assert allclose(ours(embedded, mask, memory), theirs(embedded, mask, memory))


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("feeding", [False, True])
@pytest.mark.parametrize("attention", ["dot", "general"])  # with mlp its output has no tanh
def test_recurrent_decoders_agree(attention, feeding):
    settings = {
        "size": SIZE,
        "layers": 2,
        "attention": attention,
        "input_feeding": feeding,
        "dropout": 0.0,
    }
    theirs, ours = built(DECODERS, "onmt_rnn", **settings), built(DECODERS, "lstm", **settings)
    rnn = theirs.theirs.rnn
    cells = (
        {
            f"{key}_l{number}": value
            for number, cell in enumerate(rnn.layers)
            for key, value in cell.state_dict().items()
        }
        if feeding
        else rnn.state_dict()
    )
    ours.recurrence.load_state_dict(cells)
    their_attention = theirs.theirs.attn
    if attention == "general":
        ours.attention.query.weight.copy_(their_attention.linear_in.weight)
    ours.combine.weight.copy_(their_attention.linear_out.weight)
    embedded, mask = sentences(5, 3, 1)
    memory = Memory(*sentences(4, 2, 1))
    assert allclose(ours(embedded, mask, memory), theirs(embedded, mask, memory))


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(opennmt, "find_spec", lambda name: None)
    with pytest.raises(
        ConfigError,
        match=r"the types onmt_\* need OpenNMT-py 3.0.4, which is not installed: pip install 'polyglot-nmt\[opennmt\]'",
    ):
        built(ENCODERS, "onmt_rnn", size=SIZE)
