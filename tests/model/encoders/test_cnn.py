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


def test_even_width_is_refused():
    with pytest.raises(ValueError, match="width 4 has no middle word; use an odd number"):
        ENCODERS.configure("cnn", width=4)
