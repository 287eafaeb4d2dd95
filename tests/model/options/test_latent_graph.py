"""The latent graph: the formulas of Bastings et al., section 2, and what they promise."""

from __future__ import annotations

import pytest
import torch

from polyglot.model.encoders import ENCODERS
from polyglot.model.options import LatentGraph
from tests.builders.models import allclose, if_available, random_batch, tiny_config, tiny_model

SIZE, STATES = 8, 6


def option(**settings):
    torch.manual_seed(0)
    built = LatentGraph(
        LatentGraph.Config(head_size=4, **({"dropout": 0.0} | settings)),
        input_size=SIZE,
        size=STATES,
    ).eval()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter)
    return built


def words(*lengths):
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), SIZE) * mask.unsqueeze(-1), mask


def states(mask):
    return torch.randn(*mask.shape, STATES) * mask.unsqueeze(-1)


def test_the_graph_is_the_formula():
    latent, (embedded, mask) = option(), words(5)
    encoded = latent.words(embedded, mask)[0]
    keys, queries = encoded @ latent.keys.weight.T, encoded @ latent.queries.weight.T
    potentials = (queries @ keys.T / 4**0.5).fill_diagonal_(-torch.inf)
    assert allclose(
        latent.graph(embedded, mask)[0], torch.softmax(potentials / 2.0, dim=-1)
    )  # τ₀ is 2


@pytest.mark.parametrize("layers", [1, 2])
def test_the_convolution_is_the_formula(layers):
    latent, (embedded, mask) = option(layers=layers), words(4)
    given = states(mask)
    graph, expected = latent.graph(embedded, mask)[0], given[0]
    for own, neighbours in zip(latent.selves, latent.neighbours):
        expected = expected + torch.relu(
            expected @ own.weight.T + graph @ expected @ neighbours.weight.T + own.bias
        )
    assert allclose(latent(given, embedded, mask)[0], expected)


def test_the_baseline_is_the_formula_with_self_loops_only():
    alone, (embedded, mask) = option(edges="none"), words(4)
    given = states(mask)
    assert allclose(alone(given, embedded, mask), given + torch.relu(alone.selves[0](given)))
    assert {key for key, _ in alone.named_parameters()} == {
        "selves.0.weight",
        "selves.0.bias",
    } and not list(alone.buffers())


@pytest.mark.parametrize("precise", [True, False], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("temperature", [2.0, 0.5, 1e-6, 2e-38])
@pytest.mark.parametrize("training", [True, False])
def test_rows_sum_to_1_and_what_cannot_be_a_head_is_exactly_0(precise, temperature, training):
    latent, (embedded, mask) = option().train(training), words(6, 2, 1, 4)
    latent.annealed.temperature.fill_(temperature)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not precise):
        graph = latent.graph(embedded, mask)
    several = mask & (mask.sum(1, keepdim=True) > 1)
    assert graph.isfinite().all()
    assert allclose(graph.sum(-1)[several], torch.ones(int(several.sum())))
    assert (graph.diagonal(dim1=1, dim2=2) == 0).all()
    assert (graph[~mask] == 0).all() and (graph.transpose(1, 2)[~mask] == 0).all()
    assert (graph[2] == 0).all()  # one word: nobody to depend on


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_is_on_the_words_of_the_graph_and_on_every_change(layers):
    latent, (embedded, mask) = option(dropout=0.5, layers=layers).train(), words(9, 9)
    seen = []
    latent.dropout.register_forward_hook(
        lambda module, given, found: seen.append((given[0], found))
    )
    given = states(mask)
    found = latent(given, embedded, mask)
    (spoken, heard), *changes = seen
    assert torch.equal(spoken, latent.words(embedded, mask)) and len(changes) == layers
    assert all(0.2 < (after == 0).float().mean() < 0.9 for _, after in seen)
    assert allclose(found, given + sum(after for _, after in changes))


def test_one_word_goes_through_with_gradients():
    latent, (embedded, mask) = option().train(), words(1, 1)
    given = states(mask).requires_grad_()
    latent(given, embedded, mask).square().sum().backward()
    assert (
        all(one.grad is None or one.grad.isfinite().all() for one in latent.parameters())
        and given.grad.isfinite().all()
    )


def test_near_temperature_0_every_word_has_one_head():
    latent, (embedded, mask) = option(), words(7)
    latent.annealed.temperature.fill_(1e-6)
    assert allclose(latent.graph(embedded, mask).max(-1).values, torch.ones(1, 7))


def test_samples_follow_the_potentials():
    """Of a Concrete sample the largest entry is the choice, with the probability of the softmax, at any temperature (Maddison et al.,
    prop. 1b)."""
    latent, (embedded, mask) = option().train(), words(4)
    for parameter in (latent.keys.weight, latent.queries.weight):
        torch.nn.init.normal_(parameter, std=0.3)
    many = embedded.expand(4000, 4, SIZE), mask.expand(4000, 4)
    chosen = torch.nn.functional.one_hot(latent.graph(*many).argmax(-1), 4).float().mean(0)
    latent.annealed.temperature.fill_(1.0)
    assert allclose(chosen, latent.eval().graph(embedded, mask)[0], 0.04)


@pytest.mark.parametrize("encoder", [if_available(name) for name in ENCODERS.names()])
class TestOnEveryEncoder:
    def model(self, encoder):
        return tiny_model(
            tiny_config(
                encoder,
                options={"encoder": [{"type": "latent_graph", "head_size": 4, "dropout": 0.0}]},
            )
        )

    def test_at_test_the_output_is_deterministic_and_in_training_a_seed_fixes_it(self, encoder):
        own, batch = self.model(encoder).encoders["de"], random_batch()
        run = lambda: own(batch.source, batch.source_mask)  # noqa: E731
        own.eval()
        assert torch.equal(run(), run())
        own.train()
        torch.manual_seed(5)
        first, other = run(), run()
        torch.manual_seed(5)
        assert torch.equal(run(), first) and not torch.equal(other, first)

    def test_gradients_reach_the_graph_encoder_only_through_the_graph(self, encoder, monkeypatch):
        own, batch = self.model(encoder).encoders["de"], random_batch()
        latent, graph = own.options["latent_graph"], LatentGraph.graph
        of_graph = [*latent.words.parameters(), latent.keys.weight, latent.queries.weight]
        own(batch.source, batch.source_mask).square().sum().backward()
        assert all(one.grad.abs().sum() > 0 for one in of_graph)
        own.zero_grad(set_to_none=True)
        monkeypatch.setattr(LatentGraph, "graph", lambda *given: graph(*given).detach())
        own(batch.source, batch.source_mask).square().sum().backward()
        assert all(one.grad is None for one in of_graph)
