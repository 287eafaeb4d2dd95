"""What a convolution sees."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.encoders import ENCODERS


@pytest.mark.parametrize(("layers", "width"), [(1, 5), (2, 3), (3, 5)])
def test_layers_widen_the_view(layers, width):
    torch.manual_seed(0)
    encoder = ENCODERS.build(
        ENCODERS.configure("cnn", size=8, layers=layers, width=width), input_size=8
    ).eval()
    embedded, mask = torch.randn(1, 21, 8), torch.ones(1, 21, dtype=torch.bool)
    changed = embedded.clone()
    changed[0, 10] += 1.0
    moved = (
        (encoder(embedded, mask) != encoder(changed, mask)).any(-1)[0].nonzero().flatten().tolist()
    )
    reach = layers * (width // 2)
    assert moved == list(range(10 - reach, 10 + reach + 1))


def test_a_window_without_a_middle_is_refused():
    with pytest.raises(ValueError, match="width 4 has no middle word; use an odd number"):
        ENCODERS.configure("cnn", width=4)
