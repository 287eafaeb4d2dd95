"""Parameter matching: a matched model has the wanted number of parameters and can be built."""

from __future__ import annotations

import pytest

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.training.parameter_matching import (
    count_model_parameters,
    match_parameters,
    parse_parameter_count,
)
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
    "one language with another encoder": {
        "encoder": {"size": 32},
        "decoder": {"size": 32},
        "languages": {"de": {"encoder": {"type": "cnn", "size": 40}}},
    },
    "latent graph": {
        "encoder": {"size": 32},
        "options": {"encoder": [{"type": "latent_graph", "hidden_size": 30}]},
    },
    "stack": {
        "encoder": {"size": 64},
        "bridge": {"type": "stack", "bridges": ["attention", {"type": "transformer", "heads": 8}]},
    },
}
SIZES = dict.fromkeys(["en", "de", "fr"], 500)


def model_config(folder, model):
    return check_config(tiny_settings(folder, model=model), where="tiny")


def replace_setting(settings, key, value):
    """Replace a value of nested settings; key: `model.bridge.bridges.0.size`."""
    *path, last = key.split(".")[1:]
    for part in path:
        settings = settings[int(part) if part.isdigit() else part]
    settings[last] = value


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("factor", [0.6, 3.0])
def test_a_matched_model_has_the_wanted_number_of_parameters(name, factor, tmp_path):
    config = model_config(tmp_path, MODELS[name])
    goal = round(count_model_parameters(config, config.model, SIZES) * factor)
    matched = match_parameters(config, SIZES, goal)
    assert matched.parameters == pytest.approx(goal, rel=0.01)

    settings = config.model.model_dump()
    for key, value in matched.settings.items():
        replace_setting(settings, key, value)
    model = type(config.model).model_validate(settings)
    assert count_model_parameters(config, model, SIZES) == matched.parameters


def test_a_number_that_no_width_gives_is_an_error(tmp_path):
    message = (
        r"no choice of widths gives 10 parameters within 1%; the nearest has [\d,]+; "
        "change layers or vocabularies, too"
    )
    with pytest.raises(ConfigError, match=message):
        match_parameters(model_config(tmp_path, MODELS["recurrent"]), SIZES, 10)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12M", 12_000_000),
        ("1.5b", 1_500_000_000),
        ("800k", 800_000),
        ("5_000_000", 5_000_000),
        ("5,000,000", 5_000_000),
        ("0.5 M", 500_000),
    ],
)
def test_numbers_of_parameters_as_people_write_them(text, number):
    assert parse_parameter_count(text) == number


@pytest.mark.parametrize("text", ["many", "", "-5M", "12MB", "1e6", "M", "1.2.3"])
def test_texts_that_are_no_number_of_parameters(text):
    with pytest.raises(ConfigError, match="--parameters: found .*; write a number, such as 12M"):
        parse_parameter_count(text)
