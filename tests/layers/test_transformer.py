"""The blocks compute what PyTorch's own do with the same weights; steps over a cache, what
whole passes do.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyglot.layers.positions import Positions, rotate
from polyglot.layers.transformer import (
    EPSILON,
    CrossAttentionLayer,
    SelfAttentionLayer,
    TransformerConfig,
)
from polyglot.model.decoders import DECODERS
from polyglot.model.memory import Memory
from tests.builders.models import allclose

SIZE, HEADS, HIDDEN = 16, 4, 24


def config(**settings):
    return TransformerConfig(size=SIZE, heads=HEADS, feed_forward=HIDDEN, dropout=0.0, **settings)


def copy(ours, theirs):
    """Our weights into the reference layer; norms, which start as ones and zeros, made
    different first.
    """
    with torch.no_grad():
        for module in ours.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_()
    attention, cross = ours.attention, getattr(ours, "cross", None)
    values = {"self_attn.in_proj": attention.inputs, "self_attn.out_proj.": attention.output}
    values |= {
        "linear1.": ours.feed_forward.hidden,
        "linear2.": ours.feed_forward.output,
        "norm1.": ours.around_attention.norm,
    }
    if cross:
        values |= {"multihead_attn.out_proj.": cross.output, "norm2.": ours.around_cross.norm}
    values[f"norm{3 if cross else 2}."] = ours.around_feed_forward.norm
    state = {
        f"{name}{'' if name.endswith('.') else '_'}{key}": value
        for name, one in values.items()
        for key, value in one.state_dict().items()
    }
    if cross:
        for key in ("weight", "bias"):
            state[f"multihead_attn.in_proj_{key}"] = torch.cat(
                [getattr(cross.queries, key), getattr(cross.memory, key)]
            )
    theirs.load_state_dict(state)
    return theirs.eval()


def reference(kind, norm, activation):
    given = {
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm == "pre",
        "layer_norm_eps": EPSILON,
    }
    return kind(SIZE, HEADS, HIDDEN, **given)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layers_are_those_of_pytorch(norm, activation):
    torch.manual_seed(0)
    ours = SelfAttentionLayer(SIZE, config(norm=norm, activation=activation)).eval()
    theirs = copy(ours, reference(nn.TransformerEncoderLayer, norm, activation))
    states, mask = torch.randn(3, 6, SIZE), torch.arange(6) < torch.tensor([[6], [2], [1]])
    assert allclose(ours(states, mask)[mask], theirs(states, src_key_padding_mask=~mask)[mask])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_decoder_layers_are_those_of_pytorch(norm, activation):
    torch.manual_seed(0)
    ours = CrossAttentionLayer(
        SIZE, config(norm=norm, activation=activation), memory_size=SIZE
    ).eval()
    theirs = copy(ours, reference(nn.TransformerDecoderLayer, norm, activation))
    states, memory, mask = (
        torch.randn(3, 5, SIZE),
        torch.randn(3, 4, SIZE),
        torch.arange(4) < torch.tensor([[4], [2], [1]]),
    )
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    expected = theirs(
        states, memory, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=~mask
    )
    assert allclose(ours(states, memory, mask), expected)


def test_swiglu_is_the_formula():
    torch.manual_seed(0)
    feed_forward = SelfAttentionLayer(SIZE, config(activation="swiglu")).feed_forward
    states = torch.randn(2, SIZE)
    gate, other = feed_forward.hidden.weight.chunk(2)
    gate_bias, other_bias = feed_forward.hidden.bias.chunk(2)
    expected = nn.functional.silu(states @ gate.T + gate_bias) * (states @ other.T + other_bias)
    assert allclose(feed_forward(states), feed_forward.output(expected))


def test_a_sentence_without_words_attends_to_nothing():
    """Zeros and finite gradients, not NaN: what fused attention must answer to a mask without
    anything real.
    """
    torch.manual_seed(0)
    attention = SelfAttentionLayer(SIZE, config()).attention
    mask = torch.tensor([[True, True], [False, False]])
    states = attention(torch.randn(2, 2, SIZE), mask)
    assert allclose(states[1], attention.output.bias.expand(2, -1))
    states.sum().backward()
    assert attention.inputs.weight.grad.isfinite().all()


@pytest.mark.parametrize("positions", ["rotary", "sinusoidal"])
@pytest.mark.parametrize(
    ("norm", "activation"), [("pre", "relu"), ("post", "gelu"), ("pre", "swiglu")]
)
def test_steps_of_a_search_are_the_whole_pass(norm, activation, positions):
    """Four hypotheses of each sentence that branch and die, sentences that leave, and more
    words than caches have room for at first.
    """
    torch.manual_seed(0)
    settings = {
        "size": SIZE,
        "heads": HEADS,
        "feed_forward": HIDDEN,
        "layers": 2,
        "norm": norm,
        "activation": activation,
        "positions": positions,
    }
    decoder = DECODERS.build(
        DECODERS.configure("transformer", **settings), input_size=SIZE, memory_size=SIZE
    ).eval()
    memory = Memory(
        torch.randn(5, 3, SIZE), torch.arange(3) < torch.tensor([[3], [1], [2], [3], [2]])
    )
    written, state, hypotheses = torch.zeros(5, 0, SIZE), decoder.start(memory), 1
    for length in range(1, 60):
        words = torch.randn(len(written), SIZE)
        written = torch.cat([written, words.unsqueeze(1)], dim=1)
        states, state = decoder.step(decoder.prepare_words(words, state), state, memory)
        each = Memory(
            memory.states.repeat_interleave(hypotheses, 0),
            memory.mask.repeat_interleave(hypotheses, 0),
        )
        if length % 7 in (0, 1, 2):
            assert allclose(
                states,
                decoder(written, torch.ones(written.shape[:2], dtype=torch.bool), each)[:, -1],
            )
        left = torch.tensor([[3, 1, 2], [2, 1], [0]][length // 20]) if length % 20 == 19 else None
        origins = torch.arange(len(memory.states)) if left is None else left
        rows = (
            origins.unsqueeze(1) * hypotheses + torch.randint(hypotheses, (len(origins), 4))
        ).flatten()
        state, written, hypotheses = decoder.reorder(state, rows, left), written[rows], 4
        memory = memory if left is None else memory.select(left)


def test_sinusoids_are_the_formula():
    places = Positions("sinusoidal", size=6, longest=1)(torch.zeros(1, 9, 6))
    for place, column in ((0, 0), (3, 2), (8, 4)):
        angle = torch.tensor(place / 10000 ** (column / 6))
        assert allclose(
            places[0, place, column : column + 2], torch.stack([angle.sin(), angle.cos()])
        )


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_positions_go_on_from_where_they_are(kind):
    positions, states = Positions(kind, size=6, longest=5), torch.zeros(2, 9, 6)
    assert allclose(positions(states)[:, 7:8], positions(states[:, 7:8], 7))


def test_learned_places_end_with_the_last():
    places = Positions("learned", size=6, longest=5)(torch.zeros(1, 9, 6))
    assert allclose(places[0, 5:], places[0, 4].expand(4, -1)) and not allclose(
        places[0, 3], places[0, 4]
    )


def test_rotated_products_depend_on_distance_alone():
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, 8).double()
    product = lambda one, other: (rotate(query, one) * rotate(key, other)).sum()  # noqa: E731
    assert allclose(product(3, 1), product(12, 10)) and not allclose(product(3, 1), product(3, 2))


def test_what_translation_made_training_may_use():
    """Tables are kept between calls; one made in inference mode could not be part of a gradient."""
    with torch.inference_mode():
        rotate(torch.zeros(1, 1, 700, 4))
    states = torch.randn(1, 1, 700, 4, requires_grad=True)
    rotate(states).sum().backward()
    assert states.grad.isfinite().all()
