"""A run inside a real SentenceTransformer: the same vectors, and evaluators that know nothing of us."""

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


@pytest.mark.parametrize("way", [{}, {"pooling": "mean"}, {"layer": "states", "pooling": "max"}])
def test_the_vectors_are_ours(run, way):
    theirs, ours = sentence_transformer(run, language="en", **way), polyglot.load(run)
    sentences = [*TEXT["en"], ""]
    numpy.testing.assert_allclose(
        theirs.encode(sentences, batch_size=2),
        ours.encode(sentences, language="en", **way),
        atol=1e-6,
    )
    assert (
        theirs.encode("it rains").shape
        == ours.encode("it rains", language="en", **way).shape
        == (theirs.get_embedding_dimension(),)
    )


def test_a_sentence_may_name_its_language(run, model):
    ours = polyglot.load(run)
    expected = ours.encode(TEXT["de"], language="de")
    assert tagged(["es regnet"], "de") == ["<de> es regnet"]
    for found in (
        model.encode(tagged(TEXT["de"], "de")),
        model.encode(TEXT["de"], prompt_name="de"),
    ):
        numpy.testing.assert_allclose(found, expected, atol=1e-6)
    with pytest.warns(UserWarning, match="<xx>"):
        mixed = model.encode([*tagged(TEXT["de"], "de"), *TEXT["en"], "<xx> it rains"])
    numpy.testing.assert_allclose(
        mixed,
        numpy.concatenate([expected, ours.encode([*TEXT["en"], "<xx> it rains"], language="en")]),
        atol=1e-6,
    )


def test_what_looks_like_another_language_is_warned_of(model):
    for text, tag in {
        "<ge> es regnet": "<ge>",
        "<de-CH> es regnet": "<de-CH>",
        "<DE>es regnet": "<DE>",
    }.items():
        with pytest.warns(
            UserWarning,
            match=rf"^the tag {tag} is no language with an encoder in .* \(en, de, fr\): the sentence is encoded as text in en$",
        ):
            model[0].preprocess([text])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model[0].preprocess(["<de> es regnet", "it <xx> rains", "<strong> it rains", "< 3", ""])


def test_names_and_shapes_of_ours_are_theirs(run, model):
    ours, sentences = polyglot.load(run), TEXT["en"]
    one, other = model.encode(sentences), model.encode(sentences[:2])
    torch.testing.assert_close(ours.similarity(one, other), model.similarity(one, other))
    torch.testing.assert_close(
        ours.similarity_pairwise(one[:2], other), model.similarity_pairwise(one[:2], other)
    )
    for given in (
        {},
        {"convert_to_numpy": False},
        {"convert_to_tensor": True},
        {"normalize_embeddings": True},
    ):
        for text in (sentences, sentences[0]):
            a = ours.encode(text, language="en", batch_size=2, show_progress_bar=False, **given)
            b = model.encode(text, batch_size=2, **given)
            assert type(a) is type(b) and len(a) == len(b)
            numpy.testing.assert_allclose(numpy.asarray(a), numpy.asarray(b), atol=1e-6)


def test_their_evaluators_run_on_our_model(model):
    from sentence_transformers.sentence_transformer.evaluation import (
        EmbeddingSimilarityEvaluator,
        TranslationEvaluator,
    )

    german = tagged(TEXT["de"], "de")
    found = TranslationEvaluator(TEXT["en"], TEXT["en"], batch_size=2)(model)
    assert found["mean_accuracy"] == 1
    assert TranslationEvaluator(TEXT["en"], german)(model).keys() == found.keys()
    ranks = model.similarity_pairwise(model.encode(TEXT["en"]), model.encode(german)).tolist()
    assert EmbeddingSimilarityEvaluator(TEXT["en"], german, ranks)(model)[
        "spearman_cosine"
    ] == pytest.approx(1)


def test_it_can_be_trained_on_saved_and_loaded(model, tmp_path):
    features = model.preprocess(["it rains", "<de> es regnet", ""])
    model(features)["sentence_embedding"].square().sum().backward()
    assert all(
        encoder.embedding.table.weight.grad.any()
        for encoder in (model[0].model.encoders["en"], model[0].model.encoders["de"])
    )
    model.zero_grad()
    with torch.no_grad():
        model[0].model.bridge.heads.weight.mul_(1.5)
    model.save(str(tmp_path / "saved"))
    again = library.SentenceTransformer(
        str(tmp_path / "saved"), trust_remote_code=True, device="cpu"
    )
    numpy.testing.assert_array_equal(again.encode(TEXT["en"]), model.encode(TEXT["en"]))
    with torch.no_grad():
        model[0].model.bridge.heads.weight.div_(1.5)


def test_a_language_without_an_encoder(run):
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        sentence_transformer(run, language="xx")


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.delitem(sys.modules, "polyglot.interop.sentence_transformers")
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[sentence-transformers\]'"):
        import polyglot.interop.sentence_transformers  # noqa: F401
