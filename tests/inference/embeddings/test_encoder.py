"""Sentence embeddings: independent of other sentences, in order, in the shapes of the library."""

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
    language_batches,
    split_chunks,
)
from polyglot.inference.embeddings.pooling import LAYERS, POOLINGS, cast
from polyglot.model.bridges import BRIDGES
from polyglot.model.encoders import ENCODERS
from tests.builders.models import VOCABULARY, if_available
from tests.inference.embeddings.number_encoder import number_encoder, number_sentences

K, D, E = 4, 16, 12  # of the tiny model
SENTENCES = number_sentences(50)
LAYERS_AND_POOLINGS = []
for layer_name in LAYERS:
    for pooling_name in POOLINGS:
        if pooling_name != "flat" or layer_name == "bridge":
            LAYERS_AND_POOLINGS.append((layer_name, pooling_name))
COMBINATIONS = []
"""encoder, bridge, layer and pooling: every encoder, and every pooling of every bridge"""
for encoder_name in ENCODERS.names():
    COMBINATIONS.append(if_available(encoder_name, "none", "states", "mean"))
for layer_name, pooling_name in LAYERS_AND_POOLINGS:
    # The layers before the bridge do not depend on it.
    for bridge_name in BRIDGES.names() if layer_name == "bridge" else ["none"]:
        if (layer_name, pooling_name) != ("states", "mean"):
            COMBINATIONS.append(if_available("lstm", bridge_name, layer_name, pooling_name))


@pytest.fixture(scope="module")
def encoder():
    return number_encoder()


def relative_difference(vectors, expected) -> float:
    """Largest difference relative to the largest number of each vector, if that is above 1."""
    differences = numpy.abs(vectors - expected).max(axis=-1)
    scales = numpy.maximum(1, numpy.abs(expected).max(axis=-1))
    return float((differences / scales).max())


# Independence of other sentences


@pytest.mark.parametrize(("kind", "bridge", "layer", "pooling"), COMBINATIONS)
def test_a_vector_does_not_depend_on_other_sentences_padding_or_order(kind, bridge, layer, pooling):
    encoder = number_encoder(encoder=kind, bridge=bridge)
    settings = {"language": "de", "layer": layer, "pooling": pooling}
    if pooling == "flat" and not encoder.model.bridge.fixed_size:
        with pytest.raises(ConfigError, match="use mean or max"):
            encoder.encode(SENTENCES, **settings)
        return
    together = encoder.encode(SENTENCES, **settings)
    backwards = encoder.encode(SENTENCES[::-1], batch_size=7, **settings)[::-1]
    for row in range(0, 50, 3):
        assert relative_difference(together[row], encoder.encode(SENTENCES[row], **settings)) < 1e-6
    assert relative_difference(together, backwards) < 1e-6
    # 5 blank sentences have the same vector, few others have.
    assert len(numpy.unique(together.round(4), axis=0)) > 40


@pytest.mark.parametrize(("layer", "pooling"), LAYERS_AND_POOLINGS)
def test_vectors_of_a_bfloat16_model_differ_by_at_most_two_percent(layer, pooling):
    encoder = number_encoder()
    settings = {"language": "de", "layer": layer, "pooling": pooling}
    exact = encoder.encode(SENTENCES, **settings)
    encoder.model.bfloat16()
    together = encoder.encode(SENTENCES, **settings)
    assert together.dtype == numpy.float32
    for row in range(0, 50, 10):
        assert relative_difference(together[row], encoder.encode(SENTENCES[row], **settings)) < 0.02
    assert relative_difference(together, exact) < 0.02


# Shapes and types


@pytest.mark.parametrize(("layer", "pooling"), LAYERS_AND_POOLINGS)
def test_shapes_for_many_sentences_one_string_and_no_sentences(encoder, layer, pooling):
    if pooling == "flat":
        size = K * D
    else:
        size = E if layer == "words" else D
    settings = {"language": "de", "layer": layer, "pooling": pooling}
    assert encoder.encode(SENTENCES, **settings).shape == (50, size)
    assert encoder.encode(SENTENCES[0], **settings).shape == (size,)
    assert encoder.encode([], **settings).shape == (0, size)
    assert encoder.vector_size(layer=layer, pooling=pooling) == size


def test_the_result_is_an_array_a_tensor_or_a_list_of_tensors(encoder):
    array = encoder.encode(SENTENCES, language="de")
    tensor = encoder.encode(SENTENCES, language="de", convert_to_tensor=True)
    tensors = encoder.encode(SENTENCES, language="de", convert_to_numpy=False)
    assert isinstance(array, numpy.ndarray)
    assert isinstance(tensor, torch.Tensor)
    assert isinstance(tensors, list)
    numpy.testing.assert_array_equal(array, tensor.numpy())
    numpy.testing.assert_array_equal(array, torch.stack(tensors).numpy())
    tensor.requires_grad_()  # an inference tensor would refuse


def test_normalised_vectors_have_length_one_and_blank_sentences_zeros(encoder):
    vectors = encoder.encode(SENTENCES, language="de", normalize_embeddings=True)
    lengths = numpy.linalg.norm(vectors, axis=1)
    is_blank = numpy.array([not sentence for sentence in SENTENCES])
    assert is_blank.sum() == 5
    numpy.testing.assert_allclose(lengths[~is_blank], 1, rtol=1e-6)
    assert (lengths[is_blank] == 0).all()


def test_vectors_are_normalised_before_they_are_cast():
    """In float16, numbers above 65504 would become infinite before the division."""
    encoder = number_encoder()
    settings = {"language": "de", "layer": "words", "pooling": "mean"}
    with torch.no_grad():
        encoder.model.encoders["de"].embedding.table.weight.mul_(1e6)
    exact = encoder.encode(["4 5", "6"], **settings)
    assert numpy.abs(exact).max() > 65504
    expected = exact / numpy.linalg.norm(exact, axis=1, keepdims=True)
    half = encoder.encode(["4 5", "6"], **settings, normalize_embeddings=True, precision="float16")
    assert half.dtype == numpy.float16
    numpy.testing.assert_allclose(half, expected, atol=1e-3)


@pytest.mark.parametrize("blank", ["", " \t", "\u00a0"])
def test_the_vector_of_a_blank_sentence_is_all_zeros(encoder, blank):
    assert not encoder.encode([blank], language="de").any()
    assert not encoder.encode(["4 5", blank], language="de")[1].any()


@pytest.mark.parametrize(
    ("precision", "closeness"), [("float32", 1.0), ("float16", 0.999999), ("int8", 0.999)]
)
def test_smaller_types_keep_the_direction(encoder, precision, closeness):
    exact = encoder.encode(SENTENCES[:9], language="de")
    stored = encoder.encode(SENTENCES[:9], language="de", precision=precision)
    assert stored.dtype == precision
    assert encoder.similarity_pairwise(exact, stored).min() >= closeness - 1e-6
    numpy.testing.assert_array_equal(stored, cast(torch.from_numpy(exact), precision).numpy())


def test_no_sentences_have_the_requested_type(encoder):
    assert encoder.encode([], language="de", precision="int8").dtype == numpy.int8


def test_each_sentence_may_have_its_own_language(encoder):
    languages = ["de", "en"] * 25
    mixed = encoder.encode(SENTENCES, language=languages)
    for first, language in enumerate(("de", "en")):
        expected = encoder.encode(SENTENCES, language=language)
        assert relative_difference(mixed[first::2], expected[first::2]) < 1e-6
    assert relative_difference(mixed, encoder.encode(SENTENCES, language="de")) > 0.01


def test_the_progress_bar_does_not_change_the_result(encoder):
    expected = encoder.encode(SENTENCES, language="de")
    vectors = encoder.encode(SENTENCES, language="de", show_progress_bar=True)
    numpy.testing.assert_array_equal(vectors, expected)


# Many sentences


def test_the_order_is_kept_over_several_chunks(encoder):
    sentences = number_sentences(FIRST_CHUNK_SIZE + CHUNK_SIZE, longest=3)
    vectors = encoder.encode(sentences, language="de")
    last_chunk = 3 * FIRST_CHUNK_SIZE
    for row in (0, FIRST_CHUNK_SIZE - 2, FIRST_CHUNK_SIZE, last_chunk + 1, len(sentences) - 2):
        expected = encoder.encode(sentences[row], language="de")
        assert relative_difference(vectors[row], expected) < 1e-6


def test_the_number_of_threads_does_not_change_the_result(encoder, cores):
    sentences = number_sentences(300, seed=1)
    languages = ["de", "en", "de"] * 100
    chunks = []
    for place in (slice(200), slice(9, 10), slice(0), slice(200, None)):
        chunks.append(SentenceChunk(sentences[place], languages[place]))
    assert chunks[1].sentences == [""]

    encoded = list(encoder.encode_chunks(iter(chunks), batch_size=20))
    assert [chunk for chunk, _ in encoded] == chunks
    assert torch.get_num_threads() == cores
    torch.set_num_threads(1)
    with_one_thread = encoder.encode_chunks(iter(chunks), batch_size=20)
    for (_, vectors), (_, expected) in zip(encoded, with_one_thread, strict=True):
        torch.testing.assert_close(vectors, expected, rtol=0, atol=1e-6)


def test_an_error_in_a_thread_is_raised_and_all_threads_end(encoder, cores):
    threads = threading.active_count()
    without_embedding = str(VOCABULARY)
    with pytest.raises(IndexError):
        encoder.encode([*SENTENCES, without_embedding], language="de", batch_size=4)
    assert threading.active_count() == threads
    assert torch.get_num_threads() == cores


def test_the_first_chunk_is_short_and_chunks_contain_all_items():
    end = 5 * CHUNK_SIZE
    blocks = [range(300), range(300, 300), range(300, end), range(end, end + 3)]
    chunks = list(split_chunks(blocks))
    assert [number for chunk in chunks for number in chunk] == list(range(end + 3))
    sizes = [len(chunk) for chunk in chunks]
    assert sizes[:3] == [FIRST_CHUNK_SIZE, 300 - FIRST_CHUNK_SIZE, 4 * FIRST_CHUNK_SIZE]
    assert max(sizes) == CHUNK_SIZE
    assert sizes[-3] == CHUNK_SIZE
    assert list(split_chunks([range(0)])) == []


def test_chunks_are_read_only_as_they_are_needed(encoder, cores):
    started = []

    def chunks():
        for number in range(100):
            started.append(number)
            yield SentenceChunk(["4 5"] * 3, ["de"] * 3)

    encoded = encoder.encode_chunks(chunks())
    next(encoded)
    assert len(started) < 6 + 2 * cores  # a chunk is one batch here
    encoded.close()
    assert len(started) < 8 + 2 * cores


@pytest.fixture
def quick_garbage_collection():
    """Exclude all objects that exist before the test from `gc.collect`."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_garbage_collection")
def test_finished_chunks_are_not_kept_in_memory(encoder, cores):
    class Sentences(list):
        """A list that can be watched."""

    references: list[weakref.ref] = []

    def chunks():
        for _ in range(40):
            sentences = Sentences(["4 5 6"] * 200)
            references.append(weakref.ref(sentences))
            yield SentenceChunk(sentences, ["de"] * 200)

    for _, vectors in encoder.encode_chunks(chunks()):
        references.append(weakref.ref(vectors))
        gc.collect()
        alive = [reference for reference in references if reference() is not None]
        assert len(alive) < 8 + 2 * cores


def test_batches_have_at_most_so_many_positions(monkeypatch):
    monkeypatch.setattr(encoder_module, "MAX_POSITIONS", 20)
    batches = embedding_batches([3, 0, 9, 50, 8, 3, 1], size=2)
    assert list(batches) == [[3], [2, 4], [0, 5], [6]]


def test_a_batch_has_one_language_and_no_blank_sentences():
    languages = ["de", "en", "de", "en", "de"]
    pieces = [[4], [5, 6], [7, 8, 9], [], [4, 4]]
    batches = list(language_batches(languages, pieces, size=2))
    assert batches == [("de", [2, 4]), ("de", [0]), ("en", [1])]


@pytest.mark.parametrize(("batch_size", "expected"), [(None, 64), (7, 7)])
def test_the_batch_size_on_a_cpu_is_64_or_the_callers(batch_size, expected, monkeypatch):
    encoder = number_encoder()
    sizes = []
    embed_batch = encoder._embed_batch

    def count(batch, **settings):
        sizes.append(len(batch.rows))
        return embed_batch(batch, **settings)

    monkeypatch.setattr(encoder, "_embed_batch", count)
    encoder.encode(["4 5"] * 200, language="de", batch_size=batch_size)
    assert max(sizes) == expected
    assert sum(sizes) == 200


def test_an_error_while_tokenising_is_raised(encoder):
    with pytest.raises(ValueError, match="invalid literal"):
        encoder.encode(["4", "no number"], language="de")


# Invalid input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language": "xx"}, "language: no encoder named 'xx'. Known: de, en"),
        ({"language": ["de", "dee"]}, "language: no encoder named 'dee'. Did you mean 'de'?"),
        ({"language": "de", "pooling": "median"}, "pooling: no pooling named 'median'"),
        ({"language": "de", "layer": "brigde"}, "layer: no layer named 'brigde'. Did you mean"),
        ({"language": "de", "precision": "int4"}, "precision: no precision named 'int4'. Did you"),
        ({"language": "de", "layer": "states"}, "pooling: 'flat' needs the same number of rows"),
        ({"language": "de", "batch_size": 0}, "batch_size: found 0; expected at least 1"),
    ],
)
def test_an_invalid_setting_is_an_error(encoder, settings, message):
    with pytest.raises(ConfigError) as error:
        encoder.encode(["4", "5"], **settings)
    assert str(error.value).startswith(message)


def test_words_of_different_sizes_have_no_common_embedding():
    encoder = number_encoder(languages={"de": {"embedding": {"size": 10}}})
    assert encoder.encode(SENTENCES, language="de").shape == (50, K * D)
    with pytest.raises(ConfigError, match="'words' needs word embeddings of the same size"):
        encoder.encode(SENTENCES, language="de", layer="words", pooling="mean")


@pytest.mark.parametrize("convert", [iter, tuple, numpy.array])
def test_sentences_may_be_any_iterable(encoder, convert):
    expected = encoder.encode(SENTENCES, language="de")
    vectors = encoder.encode(convert(SENTENCES), language="de")
    numpy.testing.assert_array_equal(vectors, expected)


def test_sentences_that_are_not_iterable_are_an_error(encoder):
    with pytest.raises(DataError, match="a string or a list of strings is expected, found 5"):
        encoder.encode(5, language="de")


def test_different_numbers_of_sentences_and_languages_are_an_error(encoder):
    with pytest.raises(DataError, match="2 sentences and 3 languages; give one language for all"):
        encoder.encode(["4", "5"], language=["de"] * 3)
