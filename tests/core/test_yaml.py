"""YAML scalars: the core schema of version 1.2, in files and after `key=`."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from polyglot.config.loading import configure
from polyglot.core.errors import ConfigError
from polyglot.core.yaml import dump_yaml, parse_value, read_yaml

CORE_SCHEMA = [
    # null
    *[(text, None) for text in ("null", "Null", "NULL", "~", "")],
    # booleans
    *[(text, True) for text in ("true", "True", "TRUE")],
    *[(text, False) for text in ("false", "False", "FALSE")],
    # whole numbers
    ("0", 0),
    ("-0", 0),
    ("010", 10),
    ("008", 8),
    ("0100", 100),
    ("-010", -10),
    ("+7", 7),
    ("0o17", 15),
    ("0x1F", 31),
    ("0xff", 255),
    # floats
    ("1.", 1.0),
    ("1.0", 1.0),
    ("010.5", 10.5),
    (".5", 0.5),
    ("-.5", -0.5),
    ("1e3", 1000.0),
    ("1E3", 1000.0),
    ("1e+3", 1000.0),
    ("1e-3", 0.001),
    ("1.e3", 1000.0),
    ("01e03", 1000.0),
    *[(text, math.inf) for text in (".inf", ".Inf", ".INF", "+.inf")],
    ("-.inf", -math.inf),
    # text in the core schema, but not in YAML 1.1
    *[(text, text) for text in ("yes", "no", "on", "off", "y", "n", "Yes", "NO", "tRue", "nUll")],
    *[(text, text) for text in ("1:30", "190:20:30", "1:30.5", "2024-01-01", "2024-1-1")],
    *[(text, text) for text in ("2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43")],
    *[(text, text) for text in ("1_000", "1_000.5", "0b11", "-0x1F", "+0o17", "0o8", "0x", "0xg")],
    *[(text, text) for text in ("=", "<<", ".", "e5", "1e", "1.2.3", "inf", "nan", "-.nan", "1,5")],
    # explicit tags
    ("!!int 010", 10),
    ("!!float 1", 1.0),
    ("!!str 010", "010"),
    ("'010'", "010"),
    ('"true"', "true"),
]


@pytest.mark.parametrize(("text", "value"), CORE_SCHEMA)
def test_scalar_of_the_core_schema(text, value, tmp_path):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)
    file = tmp_path / "scalar.yaml"
    file.write_text(f"key: {text}\nlist:\n- {text}\n", encoding="utf-8")
    assert read_yaml(file) == {"key": value, "list": [value]}


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number(text):
    assert math.isnan(parse_value(text))


@pytest.mark.parametrize(
    "text",
    ["!!int 1:30", "!!int 1_000", "!!bool yes", "!!float 1:30.5", "!!null none", "9" * 5000],
)
def test_refused_scalars(text):
    with pytest.raises(ConfigError, match="no valid YAML"):
        parse_value(text)


@pytest.mark.parametrize(
    "text", ["{1: a, 01: b}", "{1: a, 1.0: b}", "{true: a, True: b}", "{~: a, null: b}"]
)
def test_two_spellings_of_a_key_are_the_key_twice(text, tmp_path):
    file = tmp_path / "twice.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="line 1: no valid YAML: the key .* is given twice"):
        read_yaml(file)


@given(st.integers(-(10**30), 10**30), st.sampled_from(["", "0", "000"]))
def test_decimal_numbers_may_begin_with_zeros(number, zeros):
    sign = "-" if number < 0 else ""
    assert parse_value(f"{sign}{zeros}{abs(number)}") == number


@given(st.integers(0, 10**30))
def test_octal_and_hexadecimal_numbers(number):
    assert parse_value(f"0o{number:o}") == number
    assert parse_value(f"0x{number:x}") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_as_python_writes_them(number):
    assert parse_value(repr(number)) == number
    assert parse_value(f"{number:e}") == float(f"{number:e}")


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.from_regex(r"[-+]?[0-9:_.]{1,6}(e[-+]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"0[box][0-9a-fA-F]{1,4}", fullmatch=True),
    st.sampled_from([text for text, _ in CORE_SCHEMA]),
)
VALUES = st.recursive(
    SCALARS,
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(), items, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=3))
def test_what_is_written_is_read_as_the_same_values(values):
    assert repr(parse_value(dump_yaml(values))) == repr(values)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text(max_size=8)))
def test_readers_of_yaml_1_1_read_text_as_text_too(values):
    assert yaml.safe_load(dump_yaml(values)) == values


def test_a_change_of_the_values_does_not_change_what_is_read_again(tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text("languages: [en, de]\nmodel: {encoder: {size: 8}}\n")
    values = read_yaml(file)
    values["languages"].append("fr")
    values["model"]["encoder"]["size"] = 16
    assert read_yaml(file) == {"languages": ["en", "de"], "model": {"encoder": {"size": 8}}}


# Whole numbers -----------------------------------------------------------------------------------


def configured(*overrides):
    values = {
        "languages": ["en", "de"],
        "data": {"train": [{"type": "text", "path": "train.{language}"}]},
        "training": {"steps": 1},
    }
    return configure(values, overrides, run="runs/test", where="test")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1e3", 1000),
        ("1E3", 1000),
        ("1.5e3", 1500),
        ("1000.0", 1000),
        ("0100", 100),
        ("0o100", 64),
        ("0x10", 16),
    ],
)
def test_whole_numbers_in_other_forms(text, steps):
    found = configured(f"training.steps={text}").training.steps
    assert found == steps
    assert type(found) is int


@pytest.mark.parametrize("text", ["1:30", "2024-01-01", "1_000", "1.5", "1.5e0", "True", ".inf"])
def test_other_scalars_are_no_whole_numbers(text):
    with pytest.raises(ConfigError, match=r"training\.steps: found .*; expected a whole number"):
        configured(f"training.steps={text}")


def test_whole_numbers_of_components_lists_and_optional_settings():
    config = configured(
        "model.encoder.size=64e0",
        "vocabulary.languages.de.size=8e3",
        "validation.sentences=5e2",
        "parallel.verify=1e2",
        "vocabulary.byte_fallback=False",
        "initialize={bridge: {run: other, checkpoint: 1e3}}",
    )
    assert config.model.encoder.size == 64
    assert config.vocabulary.for_language("de").size == 8000
    assert config.validation.sentences == 500
    assert config.parallel.verify == 100
    assert config.vocabulary.byte_fallback is False
    assert config.initialize["bridge"].checkpoint == 1000


def test_a_float_stays_a_float():
    config = configured("optimizer.learning_rate=1e0")
    assert type(config.optimizer.learning_rate) is float


def test_a_file_has_a_largest_size(tmp_path, monkeypatch):
    path = tmp_path / "config.yaml"
    path.write_text("seed: 1\n")
    monkeypatch.setattr("polyglot.core.yaml.LARGEST_FILE", 8)
    assert read_yaml(path) == {"seed": 1}
    path.write_text("seed: 12\n")
    with pytest.raises(ConfigError, match="config.yaml: more than .* too large for a YAML file"):
        read_yaml(path)


def test_no_more_than_the_largest_size_is_read():
    with pytest.raises(ConfigError, match="/dev/zero: more than 8 MiB"):
        read_yaml(Path("/dev/zero"))
