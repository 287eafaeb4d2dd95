"""Variants of the graph convolution equal their formulas, recomputed in NumPy; control graphs."""

from __future__ import annotations

import itertools

import numpy
import pytest
import torch

from polyglot.model.encoders import ENCODERS
from polyglot.model.options import LatentGraph
from tests.model.decoders.recomputed import gradients
from tests.model.options import recomputed

WORD_SIZE = 3
SIZE = 4
TOLERANCE = 1e-6
VARIANTS = list(
    itertools.product(
        ["latent", "uniform", "none"],
        ["separate", "shared"],
        ["heads", "both"],
        [False, True],
    )
)


def random_numbers(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def fill(module):
    """The module in float64, with numbers between −1 and 1."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-1, 1, generator=generator)
    return module.double().eval()


def build_option(**settings):
    config = LatentGraph.Config(hidden_size=2, head_size=2, dropout=0.0, **settings)
    return fill(LatentGraph(config, input_size=WORD_SIZE, size=SIZE))


def arrays(module):
    return {
        name: parameter.detach().numpy().copy() for name, parameter in module.named_parameters()
    }


def count(option):
    return sum(parameter.numel() for parameter in option.parameters())


def assert_equal(module, outputs, directions, function):
    """Compare outputs (·, D) and the gradients of Σ directions · outputs with a NumPy function."""
    (outputs * directions).sum().backward()
    parameters = arrays(module)
    assert numpy.abs(outputs.detach().numpy() - function(parameters)).max() < TOLERANCE
    expected = gradients(
        lambda changed: float((function(changed) * directions.numpy()).sum()), parameters
    )
    for name, parameter in module.named_parameters():
        assert numpy.abs(parameter.grad.numpy() - expected[name]).max() < TOLERANCE, name


@pytest.mark.parametrize(("edges", "weights", "directions", "gates"), VARIANTS)
def test_outputs_and_gradients_equal_the_recomputation(edges, weights, directions, gates):
    settings = {"weights": weights, "directions": directions, "gates": gates}
    option = build_option(edges=edges, **settings)
    words = random_numbers(1, 4, WORD_SIZE, seed=1)
    states = random_numbers(1, 4, SIZE, seed=2)
    mask = torch.ones(1, 4, dtype=torch.bool)

    def expected(parameters):
        graph = None
        if edges == "latent":
            graph = recomputed.latent_heads(parameters, words[0].numpy(), 2.0)
        elif edges == "uniform":
            graph = recomputed.uniform_heads(4)
        return recomputed.convolve(parameters, states[0].numpy(), graph, **settings)

    outputs = option(states, words, mask)[0]
    assert_equal(option, outputs, random_numbers(4, SIZE, seed=3), expected)


def test_shared_weights_make_the_baseline_equal_in_parameters():
    """Footnote 5: equal numbers for the translation component, which is all but the graph."""
    baseline = count(build_option(edges="none"))
    assert baseline == SIZE * SIZE + SIZE
    assert count(build_option(edges="uniform", weights="shared")) == baseline
    assert count(build_option(edges="uniform", weights="separate")) == baseline + SIZE * SIZE


def test_two_layers_without_edges_match_the_translation_component_but_for_a_bias():
    matched = count(build_option(edges="none", layers=2))
    assert matched == count(build_option(edges="uniform")) + SIZE


@pytest.mark.parametrize("edges", ["uniform", "random"])
def test_a_control_graph_has_no_parameters_and_depends_on_no_word(edges):
    option = build_option(edges=edges)
    mask = torch.arange(6) < torch.tensor([6, 4, 1]).unsqueeze(1)
    graph = option.graph(random_numbers(3, 6, WORD_SIZE, seed=1), mask)
    assert torch.equal(graph, option.graph(random_numbers(3, 6, WORD_SIZE, seed=2), mask))
    assert set(arrays(option)) == {"selves.0.weight", "selves.0.bias", "neighbours.0.weight"}
    assert torch.equal(graph.sum(-1)[:2], mask[:2].to(graph.dtype))
    assert (graph.diagonal(dim1=1, dim2=2) == 0).all()
    assert (graph[2] == 0).all()


def test_random_heads_are_those_of_the_fixed_function():
    graph = build_option(edges="random").graph(None, torch.ones(1, 9, dtype=torch.bool))[0]
    assert graph.argmax(-1).tolist() == [largest_head(word, 9) for word in range(9)]
    assert len(set(graph.argmax(-1).tolist())) > 3


def largest_head(word, length):
    """Head of a word, in Python's whole numbers."""

    def number(head):
        value = word * 73_856_093 + head * 19_349_663
        for shift in (13, 16):
            value %= 2**32
            value = (value ^ (value >> shift)) * 1_274_126_177
        return value % 2**32

    return max((head for head in range(length) if head != word), key=number)


@pytest.mark.parametrize("form", ["tanh", "tanh_sum"])
def test_convolutional_encoder_equals_the_recomputation(form):
    config = ENCODERS.configure("cnn", size=3, layers=2, width=3, form=form, dropout=0.0)
    encoder = fill(ENCODERS.build(config, input_size=3))
    words = random_numbers(1, 5, 3, seed=1)
    mask = torch.ones(1, 5, dtype=torch.bool)
    with_positions = encoder.positions(words)[0].numpy()

    def expected(parameters):
        return recomputed.convolutional_encoder(parameters, with_positions, form=form, width=3)

    outputs = encoder(words, mask)[0]
    assert_equal(encoder, outputs, random_numbers(5, 3, seed=2), expected)
