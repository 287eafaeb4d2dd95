"""Search, scores, embeddings and validation on the meta device."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from polyglot.decoding import base
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.vocabulary_selection import (
    RestrictedVocabularyDecoder,
    most_probable_words,
    union_of_words,
)
from polyglot.inference.embeddings.pooling import cast, layer_rows, normalized, pool
from polyglot.inference.scoring import score_batch
from polyglot.inference.translator import Translator
from polyglot.inference.types import SourceSentence
from polyglot.training import validation
from polyglot.training.validation import Validator
from tests.builders.models import VOCABULARY, random_batch
from tests.device.builders import meta_model, on_meta
from tests.device.cases import CASES, case_name
from tests.device.rules import META, GpuRules

LENGTHS = torch.tensor([2, 1])
SEARCHES = [
    SearchConfig(beam=5, max_length_ratio=1.0, max_length_extra=2),
    SearchConfig(beam=1, max_length_ratio=1.0, max_length_extra=1),
    SearchConfig(beam=2, max_length_ratio=1.0, max_length_extra=1, like="opennmt"),
]


class CountedSteps:
    """A decoder that counts its steps."""

    def __init__(self, decoder) -> None:
        self.start = decoder.start
        self.reorder = decoder.reorder
        self.decoder = decoder
        self.count = 0

    def step(self, tokens, state, memory):
        self.count += 1
        return self.decoder.step(tokens, state, memory)


def encode(model):
    batch = on_meta(random_batch("de-en", lengths=[(2, 1), (1, 1)]))
    return model.encode("de", batch.source, batch.source_mask)


@torch.inference_mode()
def check_search(model, config: SearchConfig, transfers) -> None:
    with GpuRules():
        decoder = CountedSteps(model.decoders["en"])
        before = transfers.count
        search(decoder, encode(model), LENGTHS, config)
    assert decoder.count > 1
    assert transfers.count - before == decoder.count


@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_name, CASES))
def test_a_step_of_search_waits_for_the_device_once(number, transfers):
    config = SEARCHES[number % len(SEARCHES)]
    check_search(meta_model(**CASES[number]).eval(), config, transfers)


@pytest.mark.parametrize("config", SEARCHES)
@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_all_searches_of_a_model_wait_once_a_step(config, kind, transfers):
    check_search(meta_model(kind, "attention", kind).eval(), config, transfers)


@torch.inference_mode()
@pytest.mark.parametrize("keep", [3, 30])
@pytest.mark.parametrize("select_for", ["sentence", "batch"])
def test_vocabulary_selection_waits_once_a_step(keep, select_for, transfers):
    model = meta_model("lstm", "attention", "lstm").eval()
    with GpuRules():
        words = most_probable_words(torch.empty(2, VOCABULARY, device=META), keep)
        assert words.shape == (2, keep + 4)
        if select_for == "batch":
            assert union_of_words(words).device == META
            words = torch.arange(keep + 4, device=META)
        decoder = CountedSteps(RestrictedVocabularyDecoder(model.decoders["en"], words))
        before = transfers.count
        search(decoder, encode(model), LENGTHS, SEARCHES[0])
    assert transfers.count - before == decoder.count > 1


def meta_translator(model) -> Translator:
    return Translator(model, vocabularies={}, normalisers={})


@pytest.mark.parametrize("kind", ["lstm", "transformer", "cnn"])
def test_scores_of_a_batch_wait_once(kind, transfers):
    decoder = "lstm" if kind == "cnn" else kind
    model = meta_model(kind, "attention", decoder).eval()
    with GpuRules():
        scores = score_batch(model, random_batch("de-en"))
    assert len(scores) == 3
    assert transfers.count == 1


@torch.inference_mode()
@pytest.mark.parametrize("bridge", ["attention", "none", "perceiver"])
def test_sentences_are_encoded_and_embedded_without_a_wait(bridge, transfers):
    model = meta_model("transformer", bridge, "transformer").eval()
    sentences = [SourceSentence("de", "", [5, 6, 7]), SourceSentence("de", "", [5])]
    batch = on_meta(random_batch("de-en"))
    with GpuRules():
        memory = meta_translator(model).encode_sources(sentences).memory
        assert memory.states.device == META
        for layer in ("words", "encoder", "bridge"):
            rows = layer_rows(model, "de", batch.source, batch.source_mask, layer=layer)
            for pooling in ("mean", "max"):
                for precision in ("float32", "float16", "int8"):
                    cast(normalized(pool(rows, pooling)), precision)
    assert transfers.count == 0


def test_the_validation_of_a_pair_waits_once(run, transfers, monkeypatch):
    batches = [random_batch("de-en", seed=seed) for seed in range(3)]
    monkeypatch.setattr(validation, "ordered_batches", lambda dataset, config: iter(batches))
    model = meta_model("gru", "attention", "gru").eval()
    with GpuRules():
        Validator._loss(SimpleNamespace(run=run), model, dataset=None)
    assert transfers.count == 1


def test_limits_of_lengths_on_a_device_are_read_once(transfers):
    limits = SearchConfig().limits(torch.empty(3, dtype=torch.int64, device=META))
    assert limits.device.type == "cpu"
    assert base.to_host is transfers
    assert transfers.count == 1
