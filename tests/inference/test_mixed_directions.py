"""Sentences in many directions, translated together as one by one."""

from __future__ import annotations

import pytest

from polyglot.core.errors import DataError
from polyglot.inference import mixed_directions
from polyglot.inference.mixed_directions import DirectedSentence, translate_mixed
from polyglot.inference.translator import Translator
from tests.builders.runs import WORDS, make_trainer, sample_sentences, tiny_run


@pytest.fixture(scope="module", params=["attention", "none"])
def translator(request, tmp_path_factory) -> Translator:
    bridge = {"type": request.param}
    if request.param == "attention":
        bridge |= {"heads": 3, "hidden_size": 8}
    folder = tmp_path_factory.mktemp(request.param)
    run = tiny_run(folder, model={"bridge": bridge}, training={"steps": 1})
    make_trainer(run).train()
    return Translator.load(run)


def mixed_sentences(translator: Translator) -> list[DirectedSentence]:
    """Sentences in all directions with one or two hypotheses; some are blank or repeated."""
    configs = [translator.search_config_with({"n_best": count}) for count in (1, 2)]
    sentences = []
    for source in WORDS:
        for target in WORDS:
            lines = ["", *sample_sentences(source, lines=2), "Zug", " "]
            for line in lines:
                config = configs[len(sentences) % 2]
                sentences.append(DirectedSentence(line, source, target, config))
    return sentences


def test_translations_are_those_of_each_direction(translator, cores):
    sentences = mixed_sentences(translator)
    translations = list(translate_mixed(translator, sentences))
    assert sorted(row for row, _ in translations) == list(range(len(sentences)))
    for row, hypotheses in translations:
        sentence = sentences[row]
        [expected] = translator.hypotheses(
            [sentence.line],
            source=sentence.source,
            target=sentence.target,
            n_best=sentence.config.n_best,
        )
        assert [item.text for item in hypotheses] == [item.text for item in expected]
        scores = [item.score for item in expected]
        assert [item.score for item in hypotheses] == pytest.approx(scores, rel=1e-4)


def test_a_batch_has_several_source_languages_and_each_sentence_is_encoded_once(
    translator, monkeypatch
):
    encoded = []
    encode = translator.encode_sources
    monkeypatch.setattr(
        translator,
        "encode_sources",
        lambda sentences: encoded.extend(sentences) or encode(sentences),
    )
    batches = []
    search = mixed_directions.search_hypotheses
    monkeypatch.setattr(
        mixed_directions,
        "search_hypotheses",
        lambda sources, *rest, **settings: (
            batches.append({sentence.language for sentence in sources[0].sentences})
            or search(sources, *rest, **settings)
        ),
    )
    config = translator.search_config
    sentences = []
    for source, target in [("en", "fr"), ("de", "fr"), ("de", "en"), ("de", "de")]:
        sentences.append(DirectedSentence("Hund singt", source, target, config))
    list(translate_mixed(translator, sentences))
    assert sorted(sentence.language for sentence in encoded) == ["de", "en"]
    assert sorted(map(sorted, batches)) == [["de"], ["de"], ["de", "en"]]


def test_no_sentences_and_invalid_text(translator):
    assert list(translate_mixed(translator, [])) == []
    broken = DirectedSentence("\ud800", "de", "fr", translator.search_config)
    with pytest.raises(DataError, match="surrogate"):
        list(translate_mixed(translator, [broken]))
