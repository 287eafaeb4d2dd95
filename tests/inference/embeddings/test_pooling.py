"""Pooling of the rows of a sentence, and the types of the result."""

from __future__ import annotations

import numpy
import pytest
import torch

from polyglot.core.errors import ConfigError
from polyglot.inference.embeddings.pooling import (
    cast,
    check_pooling,
    layer_rows,
    normalized,
    pool,
    unsupported_pooling,
    vector_size,
)
from polyglot.model.memory import Memory
from tests.builders.models import tiny_config, tiny_model

STATES = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [9.0, 9.0]]])
MASK = torch.tensor([[True, True, False]])
TOKENS = torch.tensor([[5, 6, 7], [8, 0, 0]])
TOKEN_MASK = torch.tensor([[True, True, True], [True, False, False]])


@pytest.fixture(scope="module")
def model():
    return tiny_model(tiny_config()).eval()


@pytest.mark.parametrize(
    ("memory", "pooling", "vector"),
    [
        (Memory(STATES), "flat", [1, -2, 3, -4, 9, 9]),
        (Memory(STATES), "mean", [13 / 3, 1]),
        (Memory(STATES), "max", [9, 9]),
        (Memory(STATES, MASK), "mean", [2, -3]),
        (Memory(STATES, MASK), "max", [3, -2]),
        (Memory(-STATES.abs(), MASK), "max", [-1, -2]),
    ],
)
def test_pooling_uses_only_real_rows(memory, pooling, vector):
    torch.testing.assert_close(pool(memory, pooling), torch.tensor([vector], dtype=torch.float32))


@pytest.mark.parametrize("pooling", ["flat", "mean", "max"])
def test_vectors_are_float32_for_a_model_in_bfloat16(pooling):
    vectors = pool(Memory(STATES.bfloat16(), None), pooling)
    assert vectors.dtype == torch.float32


def test_layers_are_embeddings_states_and_memory(model):
    encoder = model.encoders["de"]
    words = layer_rows(model, "de", TOKENS, TOKEN_MASK, layer="words")
    states = layer_rows(model, "de", TOKENS, TOKEN_MASK, layer="states")
    bridge = layer_rows(model, "de", TOKENS, TOKEN_MASK, layer="bridge")
    torch.testing.assert_close(words.states, encoder.embedding(TOKENS))
    torch.testing.assert_close(states.states, encoder(TOKENS, TOKEN_MASK))
    torch.testing.assert_close(bridge.states, model.encode("de", TOKENS, TOKEN_MASK).states)
    for rows in (words, states):
        assert torch.equal(rows.mask, TOKEN_MASK)


def test_vector_size_is_the_size_of_a_pooled_vector(model):
    # 4 bridge rows of 16 numbers; word embeddings of 12 numbers
    assert vector_size(model, "de", layer="bridge", pooling="flat") == 64
    assert vector_size(model, "de", layer="bridge", pooling="mean") == 16
    assert vector_size(model, "de", layer="words", pooling="max") == 12


def test_normalized_vectors_have_length_one_and_zeros_stay():
    vectors = normalized(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    torch.testing.assert_close(vectors, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_int8_uses_its_whole_range_and_keeps_zeros():
    vectors = cast(torch.tensor([[0.5, -1.0, 0.0], [0.0, 0.0, 0.0], [2e-3, 1e-3, 0.0]]), "int8")
    assert vectors.dtype == torch.int8
    assert vectors.tolist() == [[64, -127, 0], [0, 0, 0], [127, 64, 0]]


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_floats_are_rounded_to_the_nearest_number(precision):
    numbers = [[0.1, -2.5, 1e-3]]
    vectors = cast(torch.tensor(numbers), precision)
    numpy.testing.assert_array_equal(vectors.numpy(), numpy.array(numbers, dtype=precision))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pooling": "median"}, "pooling: no pooling named 'median'. Did you mean 'mean'?"),
        ({"layer": "brigde"}, "layer: no layer named 'brigde'. Did you mean 'bridge'?"),
        ({"precision": "int4"}, "precision: no precision named 'int4'. Did you mean 'int8'?"),
        (
            {"layer": "states"},
            "pooling: 'flat' needs the same number of rows for every sentence, "
            "but states have one row for each position; use mean or max",
        ),
    ],
)
def test_an_invalid_setting_is_an_error(model, settings, message):
    valid = {"layer": "bridge", "pooling": "flat", "precision": "float32"}
    check_pooling(model, **valid)
    with pytest.raises(ConfigError) as error:
        check_pooling(model, **valid | settings)
    assert str(error.value).startswith(message)


def test_flat_pooling_needs_a_bridge_of_fixed_size():
    model = tiny_model(tiny_config(bridge="none"))
    reason = unsupported_pooling(model, layer="bridge", pooling="flat")
    assert reason == (
        "pooling: 'flat' needs the same number of rows for every sentence, "
        "but this run's bridge has one row for each position; use mean or max"
    )
    assert unsupported_pooling(model, layer="bridge", pooling="mean") is None


def test_word_embeddings_of_different_sizes_are_not_supported():
    model = tiny_model(tiny_config(languages={"de": {"embedding": {"size": 10}}}))
    reason = unsupported_pooling(model, layer="words", pooling="mean")
    assert reason == (
        "layer: 'words' needs word embeddings of the same size in all languages, "
        "but the sizes of this run are {'de': 10, 'en': 12}; use bridge or states"
    )
    assert unsupported_pooling(model, layer="states", pooling="mean") is None
