"""Initial values of parameters."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig
from tests.builders.models import VOCABULARY, tiny_config, tiny_model


def lstms(model):
    return [module for module in model.modules() if isinstance(module, nn.LSTM)]


@torch.no_grad()
def test_new_lstms_keep_their_cell_by_the_forget_gate():
    """Without input, c₁ = σ(b_forget) · c₀ and h₁ = σ(b_output) · tanh(c₁), with biases 1 and 0."""
    recurrences = lstms(tiny_model(tiny_config()))
    assert len(recurrences) == 10  # two directions in two layers of two encoders; two decoders
    for lstm in recurrences:
        for name, parameter in lstm.named_parameters():
            if name.startswith("weight"):
                parameter.zero_()

        shape = (lstm.num_layers, 1, lstm.hidden_size)
        state = (torch.zeros(shape), torch.ones(shape))
        _, (hidden, cell) = lstm(torch.zeros(1, 1, lstm.input_size), state)
        one = torch.tensor(1.0)
        torch.testing.assert_close(cell, torch.sigmoid(one).expand(shape))
        torch.testing.assert_close(hidden, 0.5 * torch.tanh(torch.sigmoid(one)).expand(shape))


def test_initial_range_bounds_all_parameters_and_biases():
    model = tiny_model(tiny_config(initial_range=0.1))
    values = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    assert values.abs().max() <= 0.1
    assert values.abs().mean() == pytest.approx(0.05, rel=0.05)  # mean of a uniform distribution
    biases = [lstm.bias_ih_l0 for lstm in lstms(model)]
    assert all(bias.std() > 0 for bias in biases)


@torch.no_grad()
def test_initial_std_draws_matrices_from_a_normal_distribution():
    """Recurrent matrices stay orthogonal, and biases 0 (Weng et al. 2017, section 5.3)."""
    model = tiny_model(tiny_config("gru", "none", "rnnsearch", initial_std=0.01))
    drawn = []
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            assert (parameter == 0).all(), name
        elif "weight_hh" not in name:
            drawn.append(parameter.flatten())
    values = torch.cat(drawn)
    assert values.std().item() == pytest.approx(0.01, rel=0.1)
    assert (
        values.abs().max() > 0.03
    )  # a uniform distribution of this standard deviation ends at 0.017

    weight = model.decoders["en"].body.recurrence.weight_hh_l0
    for gate in weight.split(weight.shape[1]):
        torch.testing.assert_close(gate @ gate.T, torch.eye(len(gate)), atol=1e-5, rtol=0)


def test_initial_std_and_range_exclude_each_other():
    with pytest.raises(ValidationError, match="leave one of the two out"):
        tiny_config(initial_range=0.1, initial_std=0.01)


def test_embeddings_have_unit_length_and_pad_is_0():
    model = tiny_model(tiny_config(embedding={"size": 400}))
    weight = model.encoders["de"].embedding.table.weight
    assert (weight[0] == 0).all()
    assert weight[1:].norm(dim=1).mean().item() == pytest.approx(1, rel=0.02)


def test_recurrent_weights_of_every_gate_are_orthogonal():
    for recurrence in lstms(tiny_model(tiny_config())):
        for gate in recurrence.weight_hh_l0.split(recurrence.hidden_size):
            torch.testing.assert_close(gate @ gate.T, torch.eye(len(gate)), atol=1e-5, rtol=0)


def test_bodies_start_equal_and_embeddings_different_in_all_languages():
    model = tiny_model(tiny_config())
    for modules in (model.encoders, model.decoders):
        german = modules["de"]
        english = modules["en"]
        for first, second in zip(german.body.parameters(), english.body.parameters()):
            assert torch.equal(first, second)
        assert not torch.equal(german.embedding.table.weight, english.embedding.table.weight)
    assert not torch.equal(model.decoders["de"].output.weight, model.decoders["en"].output.weight)


@pytest.mark.parametrize("initial_range", [None, 0.1])
def test_independent_parameters_differ_in_all_languages(initial_range):
    config = tiny_config(initial_range=initial_range, initial_parameters="independent")
    model = tiny_model(config)
    for modules in (model.encoders, model.decoders):
        english = dict(modules["en"].named_parameters())
        for name, parameter in modules["de"].named_parameters():
            # Without a range, all biases start from the same constant.
            if parameter.dim() > 1 or initial_range is not None:
                assert not torch.equal(parameter, english[name]), name


def test_independent_parameters_do_not_change_the_bridge():
    same = tiny_model(tiny_config()).bridge
    independent = tiny_model(tiny_config(initial_parameters="independent")).bridge
    for name, parameter in same.named_parameters():
        assert torch.equal(parameter, independent.get_parameter(name)), name


def test_another_language_does_not_change_initial_values():
    two_languages = dict(tiny_model(tiny_config()).named_parameters())
    three_languages = dict(
        tiny_model(tiny_config(), ["fr-de", "de-en", "en-de"]).named_parameters()
    )
    for name, parameter in two_languages.items():
        assert torch.equal(parameter, three_languages[name]), name


def test_seeds_give_different_values():
    first = tiny_model(tiny_config(), seed=1).bridge.hidden.weight
    second = tiny_model(tiny_config(), seed=2).bridge.hidden.weight
    assert not torch.equal(first, second)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_embedding_is_scaled_by_the_root_of_its_size(shared, scale):
    """Also in a shared decoder, where a vector of the language replaces bos."""
    groups = {"west": ["de", "en"]} if shared else {}
    model = TranslationModel(
        tiny_config(embedding={"scale": scale}),
        vocabulary_sizes={"de": VOCABULARY, "en": VOCABULARY},
        pairs=[LanguagePair("de", "en"), LanguagePair("en", "de")],
        seed=1,
        sharing=SharingConfig(decoder=groups),
    )
    embedding = model.decoders["en"].embedding
    table = embedding.table.weight
    if shared:
        nn.init.normal_(embedding.language)
    bos_vector = embedding.language[0] if shared else table[1]

    embedded = embedding(torch.tensor([1, 7]))
    factor = 12**0.5 if scale else 1.0
    torch.testing.assert_close(embedded[0], bos_vector * factor)
    torch.testing.assert_close(embedded[1], table[7] * factor)
