"""Latent graph: formulas of Bastings et al., section 2, and properties of the sampled graph."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional, init

from polyglot.model.encoders import ENCODERS
from polyglot.model.options import LatentGraph
from tests.builders.models import allclose, if_available, random_batch, tiny_config, tiny_model

SIZE = 8
STATES_SIZE = 6


def build_option(**settings):
    torch.manual_seed(0)
    config = LatentGraph.Config(head_size=4, **({"dropout": 0.0} | settings))
    option = LatentGraph(config, input_size=SIZE, size=STATES_SIZE).eval()
    for parameter in option.parameters():
        init.normal_(parameter)
    return option


def sentences(*lengths):
    """Embedded words (B, S, E) of sentences of these lengths, and their mask."""
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), SIZE) * mask.unsqueeze(-1), mask


def random_states(mask):
    return torch.randn(*mask.shape, STATES_SIZE) * mask.unsqueeze(-1)


@pytest.mark.parametrize("temperature", [2.0, 0.7])  # 2 is the initial value
def test_graph_equals_the_formula(temperature):
    option = build_option()
    assert option.annealed.temperature == 2
    option.annealed.temperature.fill_(temperature)
    embedded, mask = sentences(5)

    words = option.words(embedded, mask)[0]
    keys = words @ option.keys.weight.T
    queries = words @ option.queries.weight.T
    potentials = (queries @ keys.T / 4**0.5).fill_diagonal_(-torch.inf)
    expected = torch.softmax(potentials / temperature, dim=-1)
    assert allclose(option.graph(embedded, mask)[0], expected)


@pytest.mark.parametrize("layers", [1, 2])
def test_convolution_equals_the_formula(layers):
    option = build_option(layers=layers)
    embedded, mask = sentences(4)
    states = random_states(mask)
    graph = option.graph(embedded, mask)[0]
    expected = states[0]
    for self_loop, neighbours in zip(option.selves, option.neighbours):
        own_part = expected @ self_loop.weight.T + self_loop.bias
        neighbour_part = graph @ expected @ neighbours.weight.T
        expected = expected + torch.relu(own_part + neighbour_part)
    assert allclose(option(states, embedded, mask)[0], expected)


def test_baseline_has_only_self_loops():
    option = build_option(edges="none")
    embedded, mask = sentences(4)
    states = random_states(mask)
    expected = states + torch.relu(option.selves[0](states))
    assert allclose(option(states, embedded, mask), expected)
    assert set(option.state_dict()) == {"selves.0.weight", "selves.0.bias"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("temperature", [2.0, 0.5, 1e-6, 2e-38])
@pytest.mark.parametrize("training", [True, False])
def test_rows_sum_to_1_and_are_exactly_0_on_impossible_heads(dtype, temperature, training):
    option = build_option().train(training)
    option.annealed.temperature.fill_(temperature)
    embedded, mask = sentences(6, 2, 1, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        graph = option.graph(embedded, mask)

    has_candidates = mask & (mask.sum(1, keepdim=True) > 1)
    row_sums = graph.sum(-1)[has_candidates]
    assert graph.isfinite().all()
    assert allclose(row_sums, torch.ones_like(row_sums))
    assert (graph.diagonal(dim1=1, dim2=2) == 0).all()
    assert (graph[~mask] == 0).all()
    assert (graph.transpose(1, 2)[~mask] == 0).all()
    assert (graph[2] == 0).all()  # a sentence of one word


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_is_applied_to_the_bilstm_and_to_every_update(layers):
    option = build_option(dropout=0.5, layers=layers).train()
    embedded, mask = sentences(9, 9)
    inputs = []
    outputs = []

    def record(module, arguments, output):
        inputs.append(arguments[0])
        outputs.append(output)

    option.dropout.register_forward_hook(record)
    states = random_states(mask)
    new_states = option(states, embedded, mask)

    assert len(outputs) == 1 + layers
    assert torch.equal(inputs[0], option.words(embedded, mask))
    for output in outputs:
        assert 0.2 < (output == 0).float().mean() < 0.9
    assert allclose(new_states, states + sum(outputs[1:]))


def test_one_word_sentences_have_finite_gradients():
    option = build_option().train()
    embedded, mask = sentences(1, 1)
    states = random_states(mask).requires_grad_()
    option(states, embedded, mask).square().sum().backward()
    assert states.grad.isfinite().all()
    for parameter in option.parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all()


def test_near_temperature_0_every_word_has_one_head():
    option = build_option()
    option.annealed.temperature.fill_(1e-6)
    embedded, mask = sentences(7)
    assert allclose(option.graph(embedded, mask).max(-1).values, torch.ones(1, 7))


def test_largest_entry_of_a_sample_follows_the_softmax():
    """It does so at any temperature (Maddison et al. 2017, proposition 1b)."""
    option = build_option().train()
    for parameter in (option.keys.weight, option.queries.weight):
        init.normal_(parameter, std=0.3)
    embedded, mask = sentences(4)
    samples = option.graph(embedded.expand(4000, 4, SIZE), mask.expand(4000, 4))
    frequencies = functional.one_hot(samples.argmax(-1), 4).float().mean(0)

    option.annealed.temperature.fill_(1.0)
    probabilities = option.eval().graph(embedded, mask)[0]
    assert allclose(frequencies, probabilities, 0.04)


@pytest.fixture(scope="module", params=[if_available(name) for name in ENCODERS.names()])
def encoder(request):
    option = {"type": "latent_graph", "head_size": 4, "dropout": 0.0}
    model = tiny_model(tiny_config(request.param, options={"encoder": [option]}))
    return model.encoders["de"]


def encode(encoder):
    batch = random_batch()
    return encoder(batch.source, batch.source_mask)


def test_states_are_deterministic_in_evaluation(encoder):
    encoder.eval()
    assert torch.equal(encode(encoder), encode(encoder))


def test_seed_determines_the_sample_in_training(encoder):
    encoder.train()
    torch.manual_seed(5)
    first = encode(encoder)
    second = encode(encoder)
    torch.manual_seed(5)
    assert torch.equal(encode(encoder), first)
    assert not torch.equal(second, first)


def test_keys_and_queries_have_gradients_only_through_the_graph(encoder, monkeypatch):
    option = encoder.options["latent_graph"]
    graph_parameters = [
        *option.words.parameters(),
        option.keys.weight,
        option.queries.weight,
    ]
    encoder.zero_grad(set_to_none=True)
    encode(encoder).square().sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in graph_parameters)

    encoder.zero_grad(set_to_none=True)
    graph = LatentGraph.graph
    monkeypatch.setattr(LatentGraph, "graph", lambda *arguments: graph(*arguments).detach())
    encode(encoder).square().sum().backward()
    assert all(parameter.grad is None for parameter in graph_parameters)
