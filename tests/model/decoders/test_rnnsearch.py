"""The decoders of RNNsearch equal the formulas of their papers, recomputed in NumPy."""

from __future__ import annotations

import itertools

import numpy
import pytest
import torch

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.model.decoders import DECODERS
from polyglot.model.memory import Memory
from tests.builders.models import random_batch, tiny_config, tiny_model
from tests.builders.runs import tiny_settings
from tests.model.decoders import recomputed

SIZE = 4
WORD_SIZE = 3
MEMORY_SIZE = 5
LENGTH = 3
TOLERANCE = 1e-6
CELLS = [
    {"kind": "gru"},
    {"kind": "gru", "reset_after": False},
    {"kind": "lstm"},
]
VARIANTS = list(
    itertools.product(CELLS, ["paper", "conditional"], ["tanh", "maxout"], ["mean", "tanh"])
)


def build_decoder(**settings):
    config = DECODERS.configure("rnnsearch", size=SIZE, **settings)
    decoder = DECODERS.build(config, input_size=WORD_SIZE, memory_size=MEMORY_SIZE)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.uniform_(-1, 1, generator=generator)
    return decoder.double().eval()


def random_numbers(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("cell", "form", "output", "start"), VARIANTS)
def test_outputs_and_gradients_equal_the_recomputation(cell, form, output, start):
    decoder = build_decoder(form=form, output=output, start=start, output_size=2, **cell)
    words = random_numbers(1, LENGTH, WORD_SIZE, seed=1)
    memory = random_numbers(1, 4, MEMORY_SIZE, seed=2)
    directions = random_numbers(LENGTH, 2, seed=3)
    mask = torch.ones(1, LENGTH, dtype=torch.bool)

    outputs = decoder(words, mask, Memory(memory))[0]
    (outputs * directions).sum().backward()

    def recomputed_outputs(parameters):
        states, contexts = recomputed.decode(
            parameters, words[0].numpy(), memory[0].numpy(), form=form, start=start, **cell
        )
        rows = []
        for state, context, word in zip(states, contexts, words[0].numpy()):
            rows.append(recomputed.output_layer(parameters, state, context, word, output))
        return numpy.array(rows)

    parameters = {}
    for name, parameter in decoder.named_parameters():
        parameters[name] = parameter.detach().numpy().copy()
    expected = recomputed_outputs(parameters)
    assert numpy.abs(outputs.detach().numpy() - expected).max() < TOLERANCE

    expected_gradients = recomputed.gradients(
        lambda changed: float((recomputed_outputs(changed) * directions.numpy()).sum()), parameters
    )
    for name, parameter in decoder.named_parameters():
        difference = parameter.grad.numpy() - expected_gradients[name]
        assert numpy.abs(difference).max() < TOLERANCE, name


def test_output_layer_has_its_own_size():
    decoder = {"type": "rnnsearch", "size": 16, "output_size": 6, "output": "maxout"}
    model = tiny_model(tiny_config(decoder=decoder))
    assert model(random_batch()).states.shape[2] == 6
    assert model.decoders["en"].output.weight.shape[1] == 6
    assert model.decoders["en"].body.initial_state_size == 16


def test_tied_output_needs_the_size_of_the_output_layer(tmp_path):
    decoder = {"type": "rnnsearch", "size": 16, "output_size": 12}
    embedding = {"size": 12, "tie_output": True}
    tied = {"model": {"decoder": decoder, "embedding": embedding}}
    check_config(tiny_settings(tmp_path, **tied), where="tied")

    tied["model"]["decoder"] = {**decoder, "output_size": 8}
    with pytest.raises(ConfigError, match=r"equal to decoder.output_size \(8\)"):
        check_config(tiny_settings(tmp_path, **tied), where="not tied")
