"""Options in a configuration and in a model: sides, languages, sharing and initial values."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.model.options import OPTIONS
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.sharing import SharingConfig
from polyglot.training.warm_start import freeze
from tests.builders.models import (
    VOCABULARY,
    setting_combinations,
    setting_pairs,
    tiny_component,
    tiny_config,
    tiny_model,
)
from tests.builders.runs import tiny_settings

ROLES = {"type": "roles", "roles": 4, "context_size": 6}
PAIRS = [LanguagePair("de", "en"), LanguagePair("en", "de")]


def model_with_sharing(config, **groups):
    return TranslationModel(
        config,
        vocabulary_sizes={"de": VOCABULARY, "en": VOCABULARY},
        pairs=PAIRS,
        seed=1,
        sharing=SharingConfig(**groups),
    )


def option_names(modules):
    return {language: list(module.options) for language, module in modules.items()}


def test_a_language_can_have_other_options():
    languages = {
        "de": {"options": {"encoder": ["latent_graph"]}},
        "en": {"options": {"decoder": []}},
    }
    options = {"encoder": [ROLES], "decoder": [ROLES]}
    model = tiny_model(tiny_config(options=options, languages=languages))
    assert option_names(model.encoders) == {"de": ["latent_graph"], "en": ["roles"]}
    assert option_names(model.decoders) == {"de": ["roles"], "en": []}


def test_options_belong_to_the_component_of_their_language():
    model = tiny_model(tiny_config(options={"encoder": [ROLES], "decoder": ["context_gate"]}))
    parameters = model.component_parameters()
    assert any(key.startswith("options.roles.") for key in parameters["encoder.de"])
    assert any(key.startswith("options.context_gate.") for key in parameters["decoder.en"])


def test_languages_with_a_shared_encoder_share_its_options():
    config = tiny_config(options={"encoder": [ROLES]})
    model = model_with_sharing(config, encoder={"west": ["de", "en"]})
    assert model.encoders["de"].options is model.encoders["en"].options
    parameters = model.component_parameters()
    assert any(key.startswith("options.") for key in parameters["encoder.west"])
    assert list(parameters["encoder.de"]) == ["embedding.table.weight"]


VARIANTS = [setting_pairs, pytest.param(setting_combinations, marks=pytest.mark.slow)]
"""Functions that return settings of an option: any two alternatives together, or all of them."""


def models_with_variants(name, variants):
    """Models with variants of an option, on both sides where both can have it."""
    for settings in variants(OPTIONS, name):
        option = {**tiny_component(OPTIONS, name), **settings}
        options = {side: [option] for side in OPTIONS.get(name).sides}
        yield tiny_model(tiny_config(options=options))


def options_of(model, language):
    """Options of the encoder and of the decoder of a language."""
    encoder = model.encoders[language]
    decoder = model.decoders[language]
    return [*encoder.options.values(), *decoder.options.values()]


@pytest.mark.parametrize("variants", VARIANTS)
@pytest.mark.parametrize("name", OPTIONS.names())
def test_languages_start_with_equal_values_except_in_vocabulary_matrices(name, variants):
    for model in models_with_variants(name, variants):
        for german, english in zip(options_of(model, "de"), options_of(model, "en")):
            vocabulary_ids = {id(parameter) for parameter in german.vocabulary_parameters()}
            english_parameters = dict(english.named_parameters())
            for key, parameter in german.named_parameters():
                is_vocabulary_matrix = id(parameter) in vocabulary_ids and parameter.dim() > 1
                is_equal = torch.equal(parameter, english_parameters[key])
                assert is_equal != is_vocabulary_matrix, key


@pytest.mark.parametrize("variants", VARIANTS)
@pytest.mark.parametrize("name", OPTIONS.names())
def test_vocabulary_parameters_are_those_with_a_row_for_each_word(name, variants):
    for model in models_with_variants(name, variants):
        for option in options_of(model, "de"):
            vocabulary_ids = {id(parameter) for parameter in option.vocabulary_parameters()}
            for parameter in option.parameters():
                assert (len(parameter) == VOCABULARY) == (id(parameter) in vocabulary_ids)


WEST = {"encoder": {"west": ["de", "en"]}}


@pytest.mark.parametrize(
    ("sharing", "tied", "frozen", "annealed"),
    [
        ({}, False, ["encoder.de"], ["encoder.en.latent_graph"]),
        ({}, True, ["encoder.de"], ["encoder.en.latent_graph"]),
        (WEST, False, ["encoder.west"], []),
        (WEST, True, ["encoder.*"], []),
        (WEST, True, ["embedding.*"], ["encoder.west.latent_graph"]),
    ],
)
def test_frozen_options_are_not_annealed_even_if_their_embeddings_train(
    sharing, tied, frozen, annealed
):
    config = tiny_config(options={"encoder": ["latent_graph"]}, embedding={"tie_sides": tied})
    model = model_with_sharing(config, **sharing)
    freeze(model, frozen, [Task(pair) for pair in PAIRS])
    assert list(model.annealed()) == annealed


@contextmanager
def uninitialised_memory_is_nan():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


CONFIG_WITH_OPTIONS = {
    "encoder": [ROLES, "context_gate", {"type": "latent_graph"}],
    "decoder": [{**ROLES, "context": "cnn"}],
}


def test_every_parameter_of_options_is_drawn_from_the_seed():
    with uninitialised_memory_is_nan():
        model = tiny_model(tiny_config(options=CONFIG_WITH_OPTIONS), seed=1)
    for name, parameter in model.named_parameters():
        assert parameter.isfinite().all(), name


def test_nothing_is_drawn_for_a_model_that_a_checkpoint_fills():
    with uninitialised_memory_is_nan():
        model = tiny_model(tiny_config(options=CONFIG_WITH_OPTIONS), seed=None)
    matrices = 0
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and ".options." in name:
            assert not parameter.isfinite().any(), name
            matrices += 1
    assert matrices > 10


def test_role_matrices_are_drawn_with_glorot_bounds_of_a_single_matrix():
    model = tiny_model(tiny_config(options={"encoder": [ROLES]}))
    matrices = model.encoders["de"].options["roles"].matrices
    size = matrices.shape[1]
    bound = (6 / (2 * size)) ** 0.5
    assert 0.9 < matrices.abs().max() / bound <= 1


@pytest.mark.parametrize(
    ("side", "options", "message"),
    [
        ("encoder", ["rolls"], "no type named 'rolls'. Did you mean 'roles'?"),
        (
            "decoder",
            ["latent_graph"],
            "model.options.decoder: latent_graph cannot be added to a decoder, only to an encoder",
        ),
        (
            "encoder",
            ["word_prediction"],
            "model.options.encoder: word_prediction cannot be added to an encoder, "
            "only to a decoder",
        ),
        (
            "encoder",
            [ROLES, ROLES],
            "model.options.encoder: roles named twice; once is enough",
        ),
        (
            "encoder",
            [{"type": "roles", "context_size": 7}],
            "context_size 7 cannot be shared by two directions; use an even number",
        ),
        (
            "encoder",
            [{"type": "roles", "width": 4}],
            "width 4 has no middle word; use an odd number",
        ),
        (
            "encoder",
            [{"type": "latent_graph", "hidden_size": 7}],
            "hidden_size 7 cannot be shared by two directions; use an even number",
        ),
    ],
)
def test_invalid_options_are_reported(tmp_path, side, options, message):
    settings = tiny_settings(tmp_path, model={"options": {side: options}})
    with pytest.raises(ConfigError) as caught:
        check_config(settings, where="tiny")
    assert message in str(caught.value)


def test_languages_with_different_options_cannot_share_an_encoder(tmp_path):
    settings = tiny_settings(
        tmp_path,
        model={"languages": {"de": {"options": {"encoder": [ROLES]}}}},
        sharing=WEST,
    )
    message = (
        "sharing.encoder: en and de cannot share while model.options.encoder differs between them"
    )
    with pytest.raises(ConfigError, match=message):
        check_config(settings, where="tiny")
