"""One vector for each sentence: in order, in the shapes of sentence-transformers, and the same whatever else is embedded with it."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy
import pytest
import torch

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings import encoder as encoder_module
from polyglot.inference.embeddings.encoder import (
    CHUNK_SIZE,
    FIRST_CHUNK_SIZE,
    SentenceChunk,
    embedding_batches,
    split_chunks,
)
from polyglot.inference.embeddings.pooling import LAYERS, POOLINGS, cast, pool
from polyglot.model.bridges import BRIDGES
from polyglot.model.encoders import ENCODERS
from polyglot.model.memory import Memory
from tests.builders.models import VOCABULARY, if_available
from tests.inference.embeddings.number_encoder import number_encoder, number_sentences

K, D, E = 4, 16, 12  # of tests.models
WAYS = [
    (layer, pooling)
    for layer in LAYERS
    for pooling in POOLINGS
    if pooling != "flat" or layer == "bridge"
]
THROUGH = [
    (*way, bridge)
    for way in WAYS
    for bridge in (BRIDGES.names() if way[0] == "bridge" else ["none"])
]
"""Layers, poolings and bridges: what comes before a bridge is the same with every one."""
SENTENCES = number_sentences(50)


@pytest.fixture(scope="module")
def model():
    return number_encoder()


def relative(one, other) -> float:
    """The largest difference in parts of the largest number of the vector."""
    return float(
        (
            numpy.abs(one - other).max(axis=-1) / numpy.maximum(1, numpy.abs(other).max(axis=-1))
        ).max()
    )


# Independent of the batch ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layer", "pooling", "bridge"), THROUGH)
@pytest.mark.parametrize("kind", [if_available(name) for name in ENCODERS.names()])
def test_a_vector_is_the_same_alone_with_others_padded_and_in_any_order(
    kind, bridge, layer, pooling
):
    model = number_encoder(encoder=kind, bridge=bridge)
    way = {"language": "de", "layer": layer, "pooling": pooling}
    if pooling == "flat" and not model.model.bridge.fixed_size:
        with pytest.raises(ConfigError, match="use mean or max"):
            model.encode(SENTENCES, **way)
        return
    together = model.encode(SENTENCES, **way)
    alone = numpy.stack([model.encode(sentence, **way) for sentence in SENTENCES])
    backwards = model.encode(SENTENCES[::-1], batch_size=7, **way)[::-1]
    assert relative(together, alone) < 1e-6 and relative(together, backwards) < 1e-6
    assert (
        len(numpy.unique(together.round(4), axis=0)) > 40
    )  # 5 blank ones are alike, and few others


@pytest.mark.parametrize(("layer", "pooling"), WAYS)
def test_in_bfloat16_to_one_part_in_fifty(layer, pooling):
    model = number_encoder()
    exact = model.encode(SENTENCES, language="de", layer=layer, pooling=pooling)
    model.model.bfloat16()
    together = model.encode(SENTENCES, language="de", layer=layer, pooling=pooling)
    alone = numpy.stack(
        [
            model.encode(sentence, language="de", layer=layer, pooling=pooling)
            for sentence in SENTENCES
        ]
    )
    assert together.dtype == numpy.float32
    assert relative(together, alone) < 0.02 and relative(together, exact) < 0.02


def test_what_a_pooling_is():
    states, mask = (
        torch.tensor([[[1.0, -2.0], [3.0, -4.0], [9.0, 9.0]]]),
        torch.tensor([[True, True, False]]),
    )
    assert pool(Memory(states), "flat").tolist() == [[1, -2, 3, -4, 9, 9]]
    assert pool(Memory(states, mask), "mean").tolist() == [[2, -3]]
    assert pool(Memory(states, mask), "max").tolist() == [[3, -2]]


# Shapes ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layer", "pooling"), WAYS)
def test_shapes_of_one_of_many_and_of_none(model, layer, pooling):
    size = K * D if pooling == "flat" else E if layer == "words" else D
    way = {"language": "de", "layer": layer, "pooling": pooling}
    assert model.encode(SENTENCES, **way).shape == (50, size)
    assert model.encode(SENTENCES[0], **way).shape == (size,)
    assert model.encode([], **way).shape == (0, size)
    assert model.vector_size(layer=layer, pooling=pooling) == size


def test_kinds_of_result(model):
    array = model.encode(SENTENCES, language="de")
    tensor = model.encode(SENTENCES, language="de", convert_to_tensor=True)
    many = model.encode(SENTENCES, language="de", convert_to_numpy=False)
    assert (
        isinstance(array, numpy.ndarray)
        and isinstance(tensor, torch.Tensor)
        and isinstance(many, list)
    )
    assert numpy.array_equal(array, tensor.numpy()) and numpy.array_equal(
        array, torch.stack(many).numpy()
    )
    tensor.requires_grad_()  # a plain tensor, not one of inference mode


def test_normalized_vectors_have_length_one_and_blank_sentences_zeros(model):
    lengths = numpy.linalg.norm(
        model.encode(SENTENCES, language="de", normalize_embeddings=True), axis=1
    )
    blank = numpy.array([not sentence for sentence in SENTENCES])
    assert blank.sum() == 5 and numpy.allclose(lengths[~blank], 1) and (lengths[blank] == 0).all()
    assert not model.encode(["", " \t", "\u00a0"], language="de").any()


@pytest.mark.parametrize(
    ("precision", "closeness"), [("float32", 1.0), ("float16", 0.999999), ("int8", 0.999)]
)
def test_precisions_keep_directions(model, precision, closeness):
    exact, stored = (
        model.encode(SENTENCES[:9], language="de", precision=one) for one in ("float32", precision)
    )
    assert stored.dtype == precision
    assert model.similarity_pairwise(exact, stored).min() >= closeness - 1e-6


def test_int8_uses_its_whole_range_and_keeps_zeros():
    assert cast(torch.tensor([[0.5, -1.0, 0.0], [0.0, 0.0, 0.0]]), "int8").tolist() == [
        [64, -127, 0],
        [0, 0, 0],
    ]


def test_each_sentence_may_have_its_own_language(model):
    languages = ["de", "en"] * 25
    mixed = model.encode(SENTENCES, language=languages)
    for language in ("de", "en"):
        rows = [row for row, one in enumerate(languages) if one == language]
        assert relative(mixed[rows], model.encode(SENTENCES, language=language)[rows]) < 1e-6
    assert relative(mixed, model.encode(SENTENCES, language="de")) > 0.01


# Any number --------------------------------------------------------------------------------------------------------------


def test_order_is_kept_over_many_portions(model):
    sentences = number_sentences(2 * CHUNK_SIZE + 100, longest=3)
    found = model.encode(sentences, language="de")
    for row in (0, CHUNK_SIZE - 2, CHUNK_SIZE, 2 * CHUNK_SIZE + 1, len(sentences) - 2):
        assert relative(found[row], model.encode(sentences[row], language="de")) < 1e-6


def test_any_number_of_threads_gives_the_same_in_the_same_order(model, cores):
    sentences, languages = number_sentences(300, seed=1), ["de", "en", "de"] * 100
    portions = [
        SentenceChunk(sentences[place], languages[place])
        for place in (slice(200), slice(9, 10), slice(0), slice(200, None))
    ]
    assert portions[1].sentences == [""]
    found = list(model.encode_chunks(iter(portions), batch_size=20))
    assert [portion for portion, _ in found] == portions and torch.get_num_threads() == cores
    torch.set_num_threads(1)
    for (_, vectors), (_, alone) in zip(
        found, model.encode_chunks(iter(portions), batch_size=20), strict=True
    ):
        assert vectors.shape == alone.shape and torch.allclose(vectors, alone, rtol=0, atol=1e-6)


def test_an_error_in_one_thread_is_raised_and_no_thread_is_left(model, cores):
    if_available = threading.active_count()
    with pytest.raises(IndexError):
        model.encode(
            [*SENTENCES, str(VOCABULARY)], language="de", batch_size=4
        )  # a piece that has no embedding
    assert threading.active_count() == if_available and torch.get_num_threads() == cores


def test_portions_are_short_at_first_and_hold_everything():
    blocks = [
        range(300),
        range(300, 300),
        range(300, 5 * CHUNK_SIZE),
        range(5 * CHUNK_SIZE, 5 * CHUNK_SIZE + 3),
    ]
    parts = list(split_chunks(blocks))
    assert [number for part in parts for number in part] == list(range(5 * CHUNK_SIZE + 3))
    assert [len(part) for part in parts[:3]] == [FIRST_CHUNK_SIZE, 300 - FIRST_CHUNK_SIZE, 4 * FIRST_CHUNK_SIZE] and max(
        map(len, parts)
    ) == CHUNK_SIZE == len(parts[-3])
    assert list(split_chunks([range(0)])) == []


def test_portions_come_as_they_are_ready_and_no_more_is_read_than_needed(model, cores):
    read = []

    def portions():
        for number in range(100):
            read.append(number)
            yield SentenceChunk(["4 5"] * 3, ["de"] * 3)

    found = model.encode_chunks(portions())
    next(found)
    assert len(read) < 6 + 2 * cores  # one a portion, each of one batch
    found.close()
    assert len(read) < 8 + 2 * cores


@pytest.fixture
def few_to_collect():
    """A quick `gc.collect`: what was there before the test is not looked at."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_to_collect")
def test_nothing_is_kept_of_portions_that_are_through(model, cores):
    class Sentences(list):
        """One that can be watched."""

    watched: list[weakref.ref] = []

    def portions():
        for _ in range(40):
            sentences = Sentences(["4 5 6"] * 200)
            watched.append(weakref.ref(sentences))
            yield SentenceChunk(sentences, ["de"] * 200)

    for _, vectors in model.encode_chunks(portions()):
        watched.append(weakref.ref(vectors))
        gc.collect()  # what waits for that is not kept
        assert sum(each() is not None for each in watched) < 8 + 2 * cores


def test_batches_hold_similar_lengths_and_no_sentence_without_end(monkeypatch):
    monkeypatch.setattr(encoder_module, "MAX_POSITIONS", 20)
    assert list(embedding_batches([3, 0, 9, 50, 8, 3, 1], size=2)) == [[3], [2, 4], [0, 5], [6]]
    assert sorted(
        place for batch in embedding_batches([3, 0, 9, 50, 8, 3, 1], size=100) for place in batch
    ) == [0, 2, 3, 4, 5, 6]


def test_what_tokenising_raises_is_raised(model):
    with pytest.raises(ValueError, match="invalid literal"):
        model.encode(["4", "no number"], language="de")


# What cannot be meant ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"language": "xx"}, "language: no encoder named 'xx'. Known: de, en"),
        ({"language": ["de", "dee"]}, "language: no encoder named 'dee'. Did you mean 'de'?"),
        ({"language": "de", "pooling": "median"}, "pooling: no pooling named 'median'"),
        (
            {"language": "de", "layer": "brigde"},
            "layer: no layer named 'brigde'. Did you mean 'bridge'?",
        ),
        (
            {"language": "de", "precision": "int4"},
            "precision: no precision named 'int4'. Did you mean 'int8'?",
        ),
        (
            {"language": "de", "layer": "states"},
            "pooling: 'flat' needs the same number of rows for every sentence, but states have",
        ),
        ({"language": "de", "batch_size": 0}, "batch_size: found 0; expected at least 1"),
    ],
)
def test_settings_that_are_none(model, given, sentence):
    with pytest.raises(ConfigError) as error:
        model.encode(["4", "5"], **given)
    assert sentence in str(error.value)


def test_words_of_different_sizes_cannot_be_compared():
    model = number_encoder(languages={"de": {"embedding": {"size": 10}}})
    assert model.encode(SENTENCES, language="de").shape == (50, K * D)
    with pytest.raises(
        ConfigError, match="'words' needs word embeddings of the same size in all languages"
    ):
        model.encode(SENTENCES, language="de", layer="words", pooling="mean")


def test_anything_that_gives_sentences_will_do(model):
    expected = model.encode(SENTENCES, language="de")
    for given in (iter(SENTENCES), tuple(SENTENCES), numpy.array(SENTENCES)):
        assert numpy.array_equal(model.encode(given, language="de"), expected)
    with pytest.raises(DataError, match="a string or a list of strings is expected, found 5"):
        model.encode(5, language="de")


def test_a_language_for_each_or_one_for_all(model):
    with pytest.raises(DataError, match="2 sentences and 3 languages"):
        model.encode(["4", "5"], language=["de"] * 3)
