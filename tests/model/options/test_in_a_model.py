"""Options in a configuration and in a model: which side, which language, who shares them, and where first values come from."""

from __future__ import annotations

import pytest
import torch

from polyglot.config import check_config
from polyglot.errors import ConfigError
from polyglot.model.model import TranslationModel
from polyglot.sharing import SharingConfig
from polyglot.task import LanguagePair
from tests.models import VOCABULARY, tiny_config, tiny_model
from tests.runs import tiny_settings

ROLES = {"type": "roles", "roles": 4, "context_size": 6}


def test_one_language_may_have_others():
    own = {"de": {"options": {"encoder": ["latent_graph"]}}, "en": {"options": {"decoder": []}}}
    model = tiny_model(tiny_config(options={"encoder": [ROLES], "decoder": [ROLES]}, languages=own))
    assert {name: list(one.options) for name, one in model.encoders.items()} == {"de": ["latent_graph"], "en": ["roles"]}
    assert {name: list(one.options) for name, one in model.decoders.items()} == {"de": ["roles"], "en": []}


def test_options_belong_to_the_component_of_their_language():
    names = tiny_model(tiny_config(options={"encoder": [ROLES], "decoder": ["context_gate"]})).component_parameters()
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


def test_every_parameter_gets_its_first_value_once():
    """From the seed; where a checkpoint will fill them, nothing is drawn."""
    config = tiny_config(options={"encoder": [ROLES, "context_gate", {"type": "latent_graph"}], "decoder": [{**ROLES, "context": "cnn"}]})
    torch.use_deterministic_algorithms(True)  # then memory that nothing has been written to is NaN
    try:
        model, unfilled = (tiny_model(config, seed=seed) for seed in (1, None))
    finally:
        torch.use_deterministic_algorithms(False)
    assert [name for name, parameter in model.named_parameters() if not parameter.isfinite().all()] == []
    matrices = {name: one for name, one in unfilled.named_parameters() if one.dim() > 1 and ".options." in name}
    assert matrices and [name for name, parameter in matrices.items() if parameter.isfinite().any()] == []


def test_each_role_begins_as_a_matrix_of_its_own_size_does():
    """Glorot's bound of one h×h matrix, not of all of them below each other."""
    matrices = tiny_model(tiny_config(options={"encoder": [ROLES]})).encoders["de"].options["roles"].matrices
    size = matrices.shape[1]
    assert 0.9 < matrices.abs().max() / (6 / (2 * size)) ** 0.5 <= 1


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"options": {"encoder": ["rolls"]}}, "no type named 'rolls'. Did you mean 'roles'?"),
        ({"options": {"decoder": ["latent_graph"]}}, "decoder: latent_graph cannot be put on a decoder, only on the other side"),
        ({"options": {"encoder": [ROLES, ROLES]}}, "encoder: roles named twice; once is enough"),
        (
            {"options": {"encoder": [{"type": "roles", "context_size": 7}]}},
            "context_size 7 cannot be shared by two directions; use an even number",
        ),
        ({"options": {"encoder": [{"type": "roles", "width": 4}]}}, "width 4 has no middle word; use an odd number"),
        ({"options": {"encoder": [{"type": "latent_graph", "hidden_size": 7}]}}, "hidden_size 7 cannot be shared by two directions"),
    ],
)
def test_mistakes_are_sentences(tmp_path, model, sentence):
    with pytest.raises(ConfigError) as caught:
        check_config(tiny_settings(tmp_path, model=model), where="tiny")
    assert sentence in str(caught.value)


def test_languages_cannot_share_what_has_different_options(tmp_path):
    settings = tiny_settings(
        tmp_path, model={"languages": {"de": {"options": {"encoder": [ROLES]}}}}, sharing={"encoder": {"west": ["de", "en"]}}
    )
    with pytest.raises(ConfigError, match="sharing.encoder: en and de cannot share while model.options.encoder differs between them"):
        check_config(settings, where="tiny")
