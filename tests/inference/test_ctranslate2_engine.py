"""Engine CTranslate2: the translations and scores of our own search."""

from __future__ import annotations

import sys

import pytest

import polyglot
from polyglot.core.errors import ConfigError
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.inference.ctranslate2_engine import _is_certain
from polyglot.inference.mixed_directions import DirectedSentence, translate_mixed
from polyglot.inference.translator import Translator
from polyglot.tasks.batch import BOS, PAD
from tests.builders.runs import sample_sentences, tiny_run, train

pytest.importorskip("ctranslate2", reason="the extra `ctranslate2` is not installed")

LAYERS = {"type": "transformer", "size": 32, "layers": 2, "heads": 4, "feed_forward": 48}
MODEL = {"embedding": {"size": 32}, "encoder": LAYERS, "decoder": LAYERS, "bridge": "none"}
DIRECTION = {"source": "de", "target": "en"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tiny_run(
        tmp_path_factory.mktemp("engine"),
        schedule={"pairs": ["de-en", "en-de"], "tasks_per_update": 2, "type": "round_robin"},
        training={"steps": 60, "log_every": 30},
        optimizer={"learning_rate": 0.01},
        model=MODEL,
    )
    train(run)
    return run


@pytest.fixture(scope="module")
def own(run):
    return Translator.load(run)


@pytest.fixture
def engine(run):
    return Translator.load(run, engine="ctranslate2")


@pytest.fixture(scope="module")
def sentences():
    return sample_sentences("de", seed=7, lines=60)


@pytest.mark.parametrize(
    "settings",
    [
        {"beam": 1},
        {"beam": 4, "n_best": 3},
        {"beam": 4, "n_best": 2, "length_penalty": 0.0},
        {"beam": 3, "length_penalty": 0.4},
        {"beam": 3, "max_length_ratio": 0.0, "max_length_extra": 6},
        {"beam": 1, "max_length_ratio": 0.0, "max_length_extra": 4},
        {"beam": 1, "max_length_ratio": 0.3, "max_length_extra": 1},
        {"beam": 1, "max_length": 1, "length_penalty": 0.4},
    ],
    ids=str,
)
def test_hypotheses_and_scores_are_those_of_our_search(settings, own, engine, sentences):
    expected = own.hypotheses(sentences, **DIRECTION, **settings)
    translations = engine.hypotheses(sentences, **DIRECTION, **settings)
    different = 0
    for expected_best, best in zip(expected, translations):
        if [item.text for item in expected_best] != [item.text for item in best]:
            different += 1
            continue
        for expected_item, item in zip(expected_best, best):
            assert item.score == pytest.approx(expected_item.score, abs=1e-5)
            assert item.log_probability == pytest.approx(expected_item.log_probability, abs=1e-4)
            assert item.is_cut == expected_item.is_cut
    # Rounding decides between hypotheses of nearly equal probability.
    assert different <= 1


def test_blank_and_very_long_sentences_are_translated(own, engine, sentences):
    lines = ["", "  ", " ".join(sentences[:40] * 5), sentences[0]]
    settings = {"beam": 2, "max_length": 20}
    expected = own.translate(lines, **DIRECTION, **settings)
    assert engine.translate(lines, **DIRECTION, **settings) == expected


def test_int8_gives_nearly_the_same_scores(run, own, sentences):
    engine = Translator.load(run, engine="ctranslate2", precision="int8")
    assert engine.description["precision"] == "int8"
    expected = own.hypotheses(sentences, **DIRECTION, beam=1)
    translations = engine.hypotheses(sentences, **DIRECTION, beam=1)
    differences = []
    for [expected_item], [item] in zip(expected, translations):
        if item.text == expected_item.text:
            differences.append(abs(item.score - expected_item.score))
    assert len(differences) > 40
    assert 0 < max(differences) < 0.2


@pytest.mark.parametrize("tokens", [(5, PAD), (BOS, 5)])
@pytest.mark.parametrize("beam", [1, 2])
def test_hypotheses_that_our_search_would_not_find_are_searched_again(tokens, beam):
    certain = Hypothesis(0.0, 0.0, (5, 6))
    assert _is_certain([certain], 3, beam)
    assert not _is_certain([certain, Hypothesis(0.0, 0.0, tokens)], 3, beam)


def test_hypotheses_at_the_limit_are_searched_again_with_a_beam():
    long = Hypothesis(0.0, 0.0, (5, 6, 7))
    assert not _is_certain([long], 3, beam=2)
    assert _is_certain([long], 3, beam=1)  # already cut


def test_long_greedy_translations_are_cut_without_another_search(own, engine, sentences):
    def refuse(uncertain, target, config):
        pytest.fail(f"searched again: {len(uncertain)} sentences")

    engine.engine.own_search = refuse
    settings = {"beam": 1, "max_length_ratio": 0.0, "max_length_extra": 4}
    expected = own.translate(sentences, **DIRECTION, **settings)
    assert engine.translate(sentences, **DIRECTION, **settings) == expected


def test_uncertain_sentences_get_the_hypotheses_of_our_search(own, engine, sentences):
    asked = []
    own_search = engine.engine.own_search

    def remember(uncertain, target, config):
        asked.extend(sentence.line for sentence in uncertain)
        return own_search(uncertain, target, config)

    engine.engine.own_search = remember
    settings = {"beam": 2, "max_length_ratio": 0.0, "max_length_extra": 4}
    assert engine.translate(sentences, **DIRECTION, **settings) == own.translate(
        sentences, **DIRECTION, **settings
    )
    assert 0 < len(asked) < len(sentences)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"select": 10, "select_by": "shortlist"}, "search.select: CTranslate2 cannot select"),
        ({"like": "opennmt"}, "search.like: CTranslate2 does not search as opennmt"),
        ({"length_normalisation": "gnmt"}, "search.length_normalisation: CTranslate2 has only"),
    ],
)
def test_settings_that_it_does_not_have_are_refused(settings, message, engine, sentences):
    with pytest.raises(ConfigError, match=message):
        engine.translate(sentences[:1], **DIRECTION, **settings)


def test_length_normalisation_without_a_penalty_changes_nothing(own, engine, sentences):
    settings = {"length_penalty": 0.0, "length_normalisation": "gnmt", "beam": 2}
    expected = own.translate(sentences[:5], **DIRECTION, **settings)
    assert engine.translate(sentences[:5], **DIRECTION, **settings) == expected


def test_bridge_is_refused(tmp_path):
    run = tiny_run(
        tmp_path,
        schedule={"pairs": ["de-en"], "type": "uniform"},
        training={"steps": 1},
        model={**MODEL, "bridge": {"type": "attention", "heads": 2}},
    )
    train(run)
    with pytest.raises(ConfigError, match="CTranslate2 cannot compute the bridge 'attention'"):
        polyglot.load(run.path, engine="ctranslate2")


def test_unknown_engine_missing_package_and_ensemble_are_refused(run, monkeypatch):
    with pytest.raises(ConfigError, match="engine: .*ctranslate'.*polyglot"):
        polyglot.load(run.path, engine="ctranslate")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[ctranslate2\]'"):
        polyglot.load(run.path, engine="ctranslate2")


def test_engine_belongs_to_the_description_of_scores(own, engine):
    assert engine.description == {**own.description, "engine": "ctranslate2"}


def test_several_source_languages_in_one_batch(run, own, engine):
    """An evaluation decodes sentences of all source languages together."""
    by_language = {"de": sample_sentences("de", seed=3, lines=4)}
    by_language["en"] = sample_sentences("en", seed=3, lines=4)
    sentences = []
    for language, lines in by_language.items():
        sentences += own.sentences(lines, language)
    config = SearchConfig(beam=2)
    found = engine.engine.search(sentences, "en", config)
    for language, lines in by_language.items():
        expected = own.translate(lines, source=language, target="en", beam=2)
        rows = [row for row, item in enumerate(sentences) if item.language == language]
        texts = []
        for row in rows:
            [translation] = engine.to_translations([found[row]], [sentences[row]], "en")
            texts.append(translation[0].text)
        assert texts == expected


def test_sentences_in_mixed_directions(own, engine, sentences):
    """The engine translates a mixed batch, as for the server, like each direction alone."""
    mixed = []
    for number, line in enumerate(sentences[:12]):
        source, target = ("de", "en") if number % 2 else ("en", "de")
        mixed.append(DirectedSentence(line, source, target, own.search_config))
    for row, [best] in translate_mixed(engine, mixed):
        sentence = mixed[row]
        direction = {"source": sentence.source, "target": sentence.target}
        assert best.text == engine.translate(sentence.line, **direction)


@pytest.mark.parametrize(
    ("sentences", "beam", "threads", "size"),
    [(1, 1, 2, 1), (100, 1, 2, 50), (1000, 1, 2, 128), (1000, 5, 2, 64), (5, 5, 1, 5)],
)
def test_batches_leave_no_thread_idle(sentences, beam, threads, size, engine):
    engine.engine.threads = threads
    assert engine.engine._batch_size(sentences, beam) == size
