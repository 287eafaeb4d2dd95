"""A matched model has as many parameters as it should, and is one that can be built."""

from __future__ import annotations

import pytest

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.training.parameter_matching import match_parameters, count_model_parameters
from tests.builders.runs import tiny_settings

TRANSFORMER = {"type": "transformer", "size": 64, "heads": 8, "layers": 2, "feed_forward": 128}
MODELS = {
    "recurrent": {"embedding": {"size": 48}, "encoder": {"size": 64}, "decoder": {"size": 64}},
    "transformer": {
        "embedding": {"size": 64, "tie_output": True},
        "encoder": TRANSFORMER,
        "decoder": TRANSFORMER,
        "bridge": "perceiver",
    },
    "rotary": {
        "encoder": {**TRANSFORMER, "positions": "rotary", "heads": 4},
        "decoder": {**TRANSFORMER, "positions": "rotary"},
    },
    "own": {
        "encoder": {"size": 32},
        "decoder": {"size": 32},
        "languages": {"de": {"encoder": {"type": "cnn", "size": 40}}},
    },
    "stack": {
        "encoder": {"size": 64},
        "bridge": {"type": "stack", "bridges": ["attention", {"type": "transformer", "heads": 8}]},
    },
}
SIZES = dict.fromkeys(["en", "de", "fr"], 500)


def config(tmp_path, model):
    return check_config(tiny_settings(tmp_path, model=model), where="tiny")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("share", [0.6, 3.0])
def test_it_comes_within_one_percent(name, share, tmp_path):
    settings = config(tmp_path, MODELS[name])
    wanted = round(count_model_parameters(settings, settings.model, SIZES) * share)
    found = match_parameters(settings, SIZES, wanted)
    assert found.parameters == pytest.approx(wanted, rel=0.01)
    laid = settings.model.model_dump()
    for key, value in found.settings.items():
        *path, last = (int(part) if part.isdigit() else part for part in key.split(".")[1:])
        place = laid
        for part in path:
            place = place[part]
        place[last] = value
    assert (
        count_model_parameters(settings, type(settings.model).model_validate(laid), SIZES) == found.parameters
    )


def test_what_cannot_be_matched_is_said(tmp_path):
    with pytest.raises(
        ConfigError,
        match=r"no width has 10 parameters within 1%; the nearest has [\d,]+; change layers or vocabularies, too",
    ):
        match_parameters(config(tmp_path, MODELS["recurrent"]), SIZES, 10)
