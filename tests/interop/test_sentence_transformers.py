"""A run as a SentenceTransformer: the same vectors, and evaluators of the library."""

from __future__ import annotations

import sys
import warnings

import numpy
import pytest
import torch

import polyglot
from polyglot.core.errors import ConfigError
from tests.builders.runs import train
from tests.evaluation.tiny import TEXT, tiny_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    library = pytest.importorskip(
        "sentence_transformers", reason="the extra `sentence-transformers` is not installed"
    )

from polyglot.interop.sentence_transformers import sentence_transformer, tagged  # noqa: E402


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tiny_run(tmp_path_factory.mktemp("library"))
    train(run)
    return str(run.path)


@pytest.fixture(scope="module")
def model(run):
    return sentence_transformer(run, language="en")


@pytest.fixture(scope="module")
def translator(run):
    return polyglot.load(run)


def assert_close(vectors, expected):
    numpy.testing.assert_allclose(numpy.asarray(vectors), numpy.asarray(expected), atol=1e-6)


# Vectors


@pytest.mark.parametrize(
    "settings", [{}, {"pooling": "mean"}, {"layer": "states", "pooling": "max"}]
)
def test_the_vectors_are_those_of_the_translator(settings, run, translator):
    model = sentence_transformer(run, language="en", **settings)
    sentences = [*TEXT["en"], ""]
    expected = translator.encode(sentences, language="en", **settings)
    assert_close(model.encode(sentences, batch_size=2), expected)

    vector = translator.encode("it rains", language="en", **settings)
    assert model.encode("it rains").shape == vector.shape
    assert vector.shape == (model.get_embedding_dimension(),)


def test_a_tag_or_a_prompt_names_the_language_of_a_sentence(translator, model):
    german = TEXT["de"]
    expected = translator.encode(german, language="de")
    assert tagged(["es regnet"], "de") == ["<de> es regnet"]
    assert_close(model.encode(tagged(german, "de")), expected)
    assert_close(model.encode(german, prompt_name="de"), expected)


def test_sentences_of_several_languages_are_encoded_together(translator, model):
    german = TEXT["de"]
    english = [*TEXT["en"], "<xx> it rains"]
    with pytest.warns(UserWarning, match="<xx>"):
        mixed = model.encode([*tagged(german, "de"), *english])
    expected = [
        translator.encode(german, language="de"),
        translator.encode(english, language="en"),
    ]
    assert_close(mixed, numpy.concatenate(expected))


@pytest.mark.parametrize(
    ("text", "tag"),
    [("<ge> es regnet", "<ge>"), ("<de-CH> es regnet", "<de-CH>"), ("<DE>es regnet", "<DE>")],
)
def test_a_tag_that_looks_like_another_language_causes_a_warning(text, tag, model):
    message = (
        rf"^the tag {tag} is no language with an encoder in .* \(en, de, fr\): "
        "the sentence is encoded as text in en$"
    )
    with pytest.warns(UserWarning, match=message):
        model[0].preprocess([text])


def test_other_text_in_angle_brackets_causes_no_warning(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model[0].preprocess(["<de> es regnet", "it <xx> rains", "<strong> it rains", "< 3", ""])


# Interface of the library


def test_similarities_are_those_of_the_library(translator, model):
    vectors = model.encode(TEXT["en"])
    first_vectors = vectors[:2]
    torch.testing.assert_close(
        translator.similarity(vectors, first_vectors), model.similarity(vectors, first_vectors)
    )
    torch.testing.assert_close(
        translator.similarity_pairwise(first_vectors, first_vectors[::-1].copy()),
        model.similarity_pairwise(first_vectors, first_vectors[::-1].copy()),
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"convert_to_numpy": False},
        {"convert_to_tensor": True},
        {"normalize_embeddings": True},
    ],
)
@pytest.mark.parametrize("text", [TEXT["en"], TEXT["en"][0]], ids=["list", "string"])
def test_encode_returns_the_types_of_the_library(text, options, translator, model):
    vectors = translator.encode(
        text, language="en", batch_size=2, show_progress_bar=False, **options
    )
    expected = model.encode(text, batch_size=2, **options)
    assert type(vectors) is type(expected)
    assert len(vectors) == len(expected)
    assert_close(vectors, expected)


def test_evaluators_of_the_library_run(model):
    from sentence_transformers.sentence_transformer.evaluation import (
        EmbeddingSimilarityEvaluator,
        TranslationEvaluator,
    )

    english = TEXT["en"]
    german = tagged(TEXT["de"], "de")
    scores = TranslationEvaluator(english, english, batch_size=2)(model)
    assert scores["mean_accuracy"] == 1
    assert TranslationEvaluator(english, german)(model).keys() == scores.keys()
    similarities = model.similarity_pairwise(model.encode(english), model.encode(german))
    evaluator = EmbeddingSimilarityEvaluator(english, german, similarities.tolist())
    assert evaluator(model)["spearman_cosine"] == pytest.approx(1)


def test_the_module_can_be_trained(model):
    features = model.preprocess(["it rains", "<de> es regnet", ""])
    model(features)["sentence_embedding"].square().sum().backward()
    for language in ("en", "de"):
        encoder = model[0].model.encoders[language]
        assert encoder.embedding.table.weight.grad.any()
    model.zero_grad()


def test_a_changed_model_can_be_saved_and_loaded(run, tmp_path):
    model = sentence_transformer(run, language="en")
    with torch.no_grad():
        model[0].model.bridge.heads.weight.mul_(1.5)
    path = str(tmp_path / "saved")
    model.save(path)
    loaded = library.SentenceTransformer(path, trust_remote_code=True, device="cpu")
    numpy.testing.assert_array_equal(loaded.encode(TEXT["en"]), model.encode(TEXT["en"]))


# Errors


def test_a_language_without_an_encoder_is_an_error(run):
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        sentence_transformer(run, language="xx")


def test_the_message_without_the_library_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.delitem(sys.modules, "polyglot.interop.sentence_transformers")
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[sentence-transformers\]'"):
        import polyglot.interop.sentence_transformers  # noqa: F401
