"""Annealed quantities: the formula, and what is trained, kept and gone on with."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyglot.layers.annealing import Annealed, Decay, is_annealed


def test_the_values_are_those_of_the_formula():
    assert [Decay(start=2.0, decay=0.5, every=3).at(step) for step in (0, 2, 3, 5, 6)] == [
        2.0,
        2.0,
        1.0,
        1.0,
        0.5,
    ]
    paper = Decay(start=5.0, decay=0.9995, minimum=0.5)
    assert (
        paper.at(1) == pytest.approx(4.9975)
        and paper.at(1000) == pytest.approx(5 * 0.9995**1000)
        and paper.at(100_000) == 0.5
    )


def test_a_quantity_is_a_tensor_of_its_module_and_no_parameter():
    module = nn.Module()
    module.annealed = Annealed(temperature=Decay(start=2.0, decay=0.5))
    module.annealed.set_step(2)
    assert module.annealed.temperature.item() == 0.5
    assert not list(module.parameters())
    (name,) = module.state_dict()
    assert is_annealed(name) and not is_annealed("body.layers.0.weight")
    assert module.annealed.values() == {"temperature": torch.tensor(0.5)}


def test_what_could_not_fall_is_refused():
    with pytest.raises(
        ValueError, match=r"minimum 0.5 is above start 0.1; lower the minimum or raise the start"
    ):
        Decay(start=0.1, decay=0.9, minimum=0.5)
