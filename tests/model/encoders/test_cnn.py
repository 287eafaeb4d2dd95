"""Window of a convolutional encoder."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.encoders import ENCODERS


@pytest.mark.parametrize(("layers", "width"), [(1, 5), (2, 3), (3, 5)])
def test_every_layer_widens_the_context(layers, width):
    torch.manual_seed(0)
    config = ENCODERS.configure("cnn", size=8, layers=layers, width=width)
    encoder = ENCODERS.build(config, input_size=8).eval()
    embedded = torch.randn(1, 21, 8)
    mask = torch.ones(1, 21, dtype=torch.bool)
    changed_input = embedded.clone()
    changed_input[0, 10] += 1.0

    is_changed = (encoder(embedded, mask) != encoder(changed_input, mask)).any(-1)[0]
    reach = layers * (width // 2)
    assert is_changed.nonzero().flatten().tolist() == list(range(10 - reach, 10 + reach + 1))


def combine(form, states, update):
    """Formula of a layer for one position. update: convolution of the states."""
    if form == "gated":
        values, gates = update.chunk(2)
        return (states + values / (1 + torch.exp(-gates))) / 2**0.5
    if form == "tanh":
        return torch.tanh(states + update)
    return states + torch.tanh(update)


@pytest.mark.parametrize("form", ["gated", "tanh", "tanh_sum"])
def test_layers_are_the_formula_for_every_position(form):
    """Positions outside the sentence are zeros, before every layer."""
    torch.manual_seed(0)
    config = ENCODERS.configure("cnn", size=6, layers=2, width=3, form=form)
    encoder = ENCODERS.build(config, input_size=6).eval()
    embedded = torch.randn(1, 7, 6)
    length = 5
    mask = torch.arange(7).unsqueeze(0) < length
    states = encoder.positions(encoder.inputs(embedded))[0, :length]
    for convolution in encoder.convolutions:
        padded = torch.cat([torch.zeros(1, 6), states, torch.zeros(1, 6)])
        next_states = []
        for position in range(length):
            window = padded[position : position + 3]  # (width, D)
            update = torch.einsum("odw,wd->o", convolution.weight, window) + convolution.bias
            next_states.append(combine(form, states[position], update))
        states = torch.stack(next_states)
    result = encoder(embedded, mask)
    assert torch.allclose(result[0, :length], states, atol=1e-5)
    assert (result[0, length:] == 0).all()


def test_even_width_is_refused():
    with pytest.raises(ValueError, match="width 4 has no middle word; use an odd number"):
        ENCODERS.configure("cnn", width=4)
