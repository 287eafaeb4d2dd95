"""OpenNMT-py components behind our interface give the same outputs as ours with equal weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

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


def build_encoder(name, **settings):
    torch.manual_seed(0)
    return ENCODERS.build(ENCODERS.configure(name, **settings), input_size=SIZE).eval()


def build_decoder(name, **settings):
    torch.manual_seed(0)
    config = DECODERS.configure(name, **settings)
    return DECODERS.build(config, input_size=SIZE, memory_size=SIZE).eval()


def sentences(*lengths):
    """Random vectors (B, S, D) of sentences of these lengths, and their mask."""
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(*mask.shape, SIZE) * mask.unsqueeze(-1), mask


def copy_linear(ours, weight):
    ours.weight.copy_(weight)
    ours.bias.zero_()


def copy_self_attention(ours, theirs):
    """OpenNMT-py has three matrices without biases where ours has one with a bias."""
    queries = theirs.linear_query.weight
    keys = theirs.linear_keys.weight
    values = theirs.linear_values.weight
    copy_linear(ours.inputs, torch.cat([queries, keys, values]))
    copy_linear(ours.output, theirs.final_linear.weight)


def copy_cross_attention(ours, theirs):
    keys = theirs.linear_keys.weight
    values = theirs.linear_values.weight
    copy_linear(ours.queries, theirs.linear_query.weight)
    copy_linear(ours.memory, torch.cat([keys, values]))
    copy_linear(ours.output, theirs.final_linear.weight)


def copy_layer(ours, theirs, *, norms):
    """Copy self-attention and the feed-forward network; give the layer norms random values."""
    copy_self_attention(ours.attention, theirs.self_attn)
    ours.feed_forward.hidden.load_state_dict(theirs.feed_forward.w_1.state_dict())
    ours.feed_forward.output.load_state_dict(theirs.feed_forward.w_2.state_dict())
    for residual, norm in norms:
        norm.weight.uniform_(0.5, 1.5)
        norm.bias.normal_()
        residual.norm.load_state_dict(norm.state_dict())


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("training", [False, True])
def test_convolutional_encoders_agree(training):
    """Our encoder adds positions before the layers; they are removed here."""
    theirs = build_encoder("onmt_cnn", size=SIZE, layers=3, width=5, dropout=0.0).train(training)
    ours = build_encoder("cnn", size=SIZE, layers=3, dropout=0.0)
    ours.positions = nn.Identity()
    theirs.theirs.linear.weight.copy_(torch.eye(SIZE))
    theirs.theirs.linear.bias.zero_()

    for convolution, layer in zip(ours.convolutions, theirs.theirs.cnn.layers):
        layer.conv.g.uniform_(0.5, 1.5)
        norms = layer.conv.weight.flatten(1).norm(dim=1)
        scale = (layer.conv.g / norms)[:, None, None, None]
        convolution.weight.copy_((layer.conv.weight * scale).squeeze(3))
        convolution.bias.copy_(layer.conv.bias)

    embedded, mask = sentences(6, 2, 1)
    assert allclose(ours(embedded, mask), theirs(embedded, mask))


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("cell", ["LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_final_states_are_the_states_at_the_ends_of_each_sentence(cell, bidirectional):
    encoder = build_encoder("onmt_rnn", size=SIZE, layers=3, cell=cell, bidirectional=bidirectional)
    embedded, mask = sentences(6, 2, 1)
    states, final_states = encoder.with_final_states(embedded, mask)
    assert len(final_states) == (2 if cell == "LSTM" else 1)
    for part in final_states:
        assert part.shape == (3, 3, SIZE)

    for row, length in enumerate([6, 2, 1]):
        last_state = states[row, length - 1]
        if bidirectional:
            half = SIZE // 2
            last_state = torch.cat([last_state[:half], states[row, 0, half:]])
        assert allclose(final_states[0][row, -1], last_state)


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("cell", ["LSTM", "GRU"])
def test_final_states_do_not_depend_on_other_sentences(cell):
    encoder = build_encoder("onmt_rnn", size=SIZE, layers=3, cell=cell)
    embedded, mask = sentences(6, 2, 1)
    _, final_states = encoder.with_final_states(embedded, mask)
    for row, length in enumerate([6, 2, 1]):
        sentence = embedded[row : row + 1, :length]
        _, final_states_alone = encoder.with_final_states(sentence, mask[row : row + 1, :length])
        for part_alone, part in zip(final_states_alone, final_states):
            assert allclose(part_alone[0], part[row])


@needs_opennmt
@pytest.mark.parametrize(
    ("changes", "found"),
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
def test_start_from_final_states_needs_encoders_with_the_same_settings(changes, found):
    model = {
        "encoder": {"type": "onmt_rnn", "size": 16},
        "decoder": {"type": "onmt_rnn", "size": 16, "start": "final"},
    }
    ModelConfig.model_validate(model)
    needed = "needs encoders with type onmt_rnn, size 16, layers 2, cell LSTM"
    with pytest.raises(ValueError, match=f"decoder.start: 'final' {needed}, {found}"):
        ModelConfig.model_validate(model | changes)


@needs_opennmt
@torch.no_grad()
def test_transformer_encoders_agree():
    theirs = build_encoder("onmt_transformer", **BLOCKS)
    ours = build_encoder("transformer", **BLOCKS)
    for our_layer, their_layer in zip(ours.layers, theirs.theirs.transformer):
        norms = [
            (our_layer.around_attention, their_layer.layer_norm),
            (our_layer.around_feed_forward, their_layer.feed_forward.layer_norm),
        ]
        copy_layer(our_layer, their_layer, norms=norms)

    embedded, mask = sentences(6, 2, 1)
    assert allclose(ours(embedded, mask), theirs(embedded, mask))


@needs_opennmt
@torch.no_grad()
def test_transformer_decoders_agree():
    theirs = build_decoder("onmt_transformer", **BLOCKS)
    ours = build_decoder("transformer", **BLOCKS)
    for our_layer, their_layer in zip(ours.layers, theirs.theirs.transformer_layers):
        norms = [
            (our_layer.around_attention, their_layer.layer_norm_1),
            (our_layer.around_cross, their_layer.layer_norm_2),
            (our_layer.around_feed_forward, their_layer.feed_forward.layer_norm),
        ]
        copy_layer(our_layer, their_layer, norms=norms)
        copy_cross_attention(our_layer.cross, their_layer.context_attn)

    embedded, mask = sentences(5, 3, 1)
    memory = Memory(*sentences(4, 2, 1))
    assert allclose(ours(embedded, mask, memory), theirs(embedded, mask, memory))


def recurrent_weights(rnn, *, input_feeding):
    """Weights of a decoder of OpenNMT-py under the names of `torch.nn.LSTM`."""
    if not input_feeding:
        return rnn.state_dict()
    weights = {}
    for number, cell in enumerate(rnn.layers):
        for name, weight in cell.state_dict().items():
            weights[f"{name}_l{number}"] = weight
    return weights


@needs_opennmt
@torch.no_grad()
@pytest.mark.parametrize("input_feeding", [False, True])
@pytest.mark.parametrize("attention", ["dot", "general"])  # with mlp, its output has no tanh
def test_recurrent_decoders_agree(attention, input_feeding):
    settings = {
        "size": SIZE,
        "layers": 2,
        "attention": attention,
        "input_feeding": input_feeding,
        "dropout": 0.0,
    }
    theirs = build_decoder("onmt_rnn", **settings)
    ours = build_decoder("lstm", **settings)
    weights = recurrent_weights(theirs.theirs.rnn, input_feeding=input_feeding)
    ours.recurrence.load_state_dict(weights)
    their_attention = theirs.theirs.attn
    if attention == "general":
        ours.attention.query.weight.copy_(their_attention.linear_in.weight)
    ours.combine.weight.copy_(their_attention.linear_out.weight)

    embedded, mask = sentences(5, 3, 1)
    memory = Memory(*sentences(4, 2, 1))
    assert allclose(ours(embedded, mask, memory), theirs(embedded, mask, memory))


def test_missing_package_is_reported_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(opennmt, "find_spec", lambda name: None)
    message = (
        r"the types onmt_\* need OpenNMT-py 3.0.4, which is not installed: "
        r"pip install 'polyglot-nmt\[opennmt\]'"
    )
    with pytest.raises(ConfigError, match=message):
        build_encoder("onmt_rnn", size=SIZE)
