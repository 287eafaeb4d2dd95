"""Options in a configuration and in a model: which side, which language, who shares them, and where first values come from."""

from __future__ import annotations

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
    tiny_component,
    tiny_config,
    tiny_model,
)
from tests.builders.runs import tiny_settings

ROLES = {"type": "roles", "roles": 4, "context_size": 6}


def test_one_language_may_have_others():
    own = {"de": {"options": {"encoder": ["latent_graph"]}}, "en": {"options": {"decoder": []}}}
    model = tiny_model(tiny_config(options={"encoder": [ROLES], "decoder": [ROLES]}, languages=own))
    assert {name: list(one.options) for name, one in model.encoders.items()} == {
        "de": ["latent_graph"],
        "en": ["roles"],
    }
    assert {name: list(one.options) for name, one in model.decoders.items()} == {
        "de": ["roles"],
        "en": [],
    }


def test_options_belong_to_the_component_of_their_language():
    names = tiny_model(
        tiny_config(options={"encoder": [ROLES], "decoder": ["context_gate"]})
    ).component_parameters()
    assert any(key.startswith("options.roles.") for key in names["encoder.de"])
    assert any(key.startswith("options.context_gate.") for key in names["decoder.en"])


def test_languages_that_share_an_encoder_share_its_options():
    sharing = SharingConfig(encoder={"west": ["de", "en"]})
    pairs = [LanguagePair("de", "en"), LanguagePair("en", "de")]
    model = TranslationModel(
        tiny_config(options={"encoder": [ROLES]}),
        vocabulary_sizes={"de": VOCABULARY, "en": VOCABULARY},
        pairs=pairs,
        seed=1,
        sharing=sharing,
    )
    assert model.encoders["de"].options is model.encoders["en"].options
    names = model.component_parameters()
    assert any(key.startswith("options.") for key in names["encoder.west"])
    assert list(names["encoder.de"]) == ["embedding.table.weight"]


def put_on_both_sides(name):
    """Every variant of an option, on the side that has it."""
    side = "encoder" if OPTIONS.get(name).place != "decoder" else "decoder"
    for chosen in setting_combinations(OPTIONS, name):
        own = {**tiny_component(OPTIONS, name), **chosen}
        yield {side: [own]} | ({"decoder": [own]} if OPTIONS.get(name).place == "embedding" else {})


@pytest.mark.parametrize("name", OPTIONS.names())
def test_languages_start_alike_in_all_but_what_belongs_to_words(name):
    for options in put_on_both_sides(name):
        model = tiny_model(tiny_config(options=options))
        for part in (model.encoders, model.decoders):
            one, other = (part[language].options for language in ("de", "en"))
            own = {
                id(parameter)
                for option in one.values()
                for parameter in option.vocabulary_parameters()
            }
            for (key, mine), theirs in zip(one.named_parameters(), other.parameters()):
                assert torch.equal(mine, theirs) != (id(mine) in own and mine.dim() > 1), (
                    options,
                    key,
                )
            assert all(
                len(parameter) == VOCABULARY
                for option in one.values()
                for parameter in option.vocabulary_parameters()
            )
    assert len(own) == (4 if name == "word_prediction" else 0)


def test_only_a_decoder_s_words_belong_to_its_vocabulary():
    """Nothing else has a row for each word, so nothing else starts differently."""
    for name in OPTIONS.names():
        for options in put_on_both_sides(name):
            model = tiny_model(tiny_config(options=options))
            for option in (
                option
                for part in (model.encoders, model.decoders)
                for option in part["de"].options.values()
            ):
                rows = {id(one) for one in option.parameters() if len(one) == VOCABULARY}
                assert rows == {id(one) for one in option.vocabulary_parameters()}


@pytest.mark.parametrize(
    ("sharing", "tied", "frozen", "learning"),
    [
        ({}, False, ["encoder.de"], ["encoder.en.latent_graph"]),
        ({}, True, ["encoder.de"], ["encoder.en.latent_graph"]),
        ({"encoder": {"west": ["de", "en"]}}, False, ["encoder.west"], []),
        ({"encoder": {"west": ["de", "en"]}}, True, ["encoder.*"], []),
        ({"encoder": {"west": ["de", "en"]}}, True, ["embedding.*"], ["encoder.west.latent_graph"]),
    ],
)
def test_what_is_frozen_is_not_annealed_though_its_embeddings_learn(
    sharing, tied, frozen, learning
):
    pairs = [LanguagePair("de", "en"), LanguagePair("en", "de")]
    config = tiny_config(
        options={"encoder": [{"type": "latent_graph"}]}, embedding={"tie_sides": tied}
    )
    sizes = dict.fromkeys(("de", "en"), VOCABULARY)
    model = TranslationModel(
        config, vocabulary_sizes=sizes, pairs=pairs, seed=1, sharing=SharingConfig(**sharing)
    )
    freeze(model, frozen, [Task(pair) for pair in pairs])
    assert list(model.annealed()) == learning


def test_every_parameter_gets_its_first_value_once():
    """From the seed; where a checkpoint will fill them, nothing is drawn."""
    config = tiny_config(
        options={
            "encoder": [ROLES, "context_gate", {"type": "latent_graph"}],
            "decoder": [{**ROLES, "context": "cnn"}],
        }
    )
    torch.use_deterministic_algorithms(True)  # then memory that nothing has been written to is NaN
    try:
        model, unfilled = (tiny_model(config, seed=seed) for seed in (1, None))
    finally:
        torch.use_deterministic_algorithms(False)
    assert [
        name for name, parameter in model.named_parameters() if not parameter.isfinite().all()
    ] == []
    matrices = {
        name: one
        for name, one in unfilled.named_parameters()
        if one.dim() > 1 and ".options." in name
    }
    assert (
        matrices
        and [name for name, parameter in matrices.items() if parameter.isfinite().any()] == []
    )


def test_each_role_begins_as_a_matrix_of_its_own_size_does():
    """Glorot's bound of one h×h matrix, not of all of them below each other."""
    matrices = (
        tiny_model(tiny_config(options={"encoder": [ROLES]}))
        .encoders["de"]
        .options["roles"]
        .matrices
    )
    size = matrices.shape[1]
    assert 0.9 < matrices.abs().max() / (6 / (2 * size)) ** 0.5 <= 1


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"options": {"encoder": ["rolls"]}}, "no type named 'rolls'. Did you mean 'roles'?"),
        (
            {"options": {"decoder": ["latent_graph"]}},
            "decoder: latent_graph cannot be added to a decoder, only to the other side",
        ),
        ({"options": {"encoder": [ROLES, ROLES]}}, "encoder: roles named twice; once is enough"),
        (
            {"options": {"encoder": [{"type": "roles", "context_size": 7}]}},
            "context_size 7 cannot be shared by two directions; use an even number",
        ),
        (
            {"options": {"encoder": [{"type": "roles", "width": 4}]}},
            "width 4 has no middle word; use an odd number",
        ),
        (
            {"options": {"encoder": [{"type": "latent_graph", "hidden_size": 7}]}},
            "hidden_size 7 cannot be shared by two directions",
        ),
    ],
)
def test_mistakes_are_sentences(tmp_path, model, sentence):
    with pytest.raises(ConfigError) as caught:
        check_config(tiny_settings(tmp_path, model=model), where="tiny")
    assert sentence in str(caught.value)


def test_languages_cannot_share_what_has_different_options(tmp_path):
    settings = tiny_settings(
        tmp_path,
        model={"languages": {"de": {"options": {"encoder": [ROLES]}}}},
        sharing={"encoder": {"west": ["de", "en"]}},
    )
    with pytest.raises(
        ConfigError,
        match="sharing.encoder: en and de cannot share while model.options.encoder differs between them",
    ):
        check_config(settings, where="tiny")
