"""Translation of many directions together: the same translations as each direction alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
from torch import Tensor

from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.decoding.shortlist import Shortlist
from polyglot.evaluation import batched_translation
from polyglot.evaluation.batched_translation import Direction, SourceText, translate_directions
from polyglot.inference import generation
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.model.memory import Memory
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.build import build_model
from tests.evaluation.tiny import SHORT_TRANSLATIONS, TEXT, tiny_run, tiny_translator

AnyTranslator = Translator | EnsembleTranslator
Texts = Mapping[str, SourceText]

TEXTS = {
    "en": SourceText("en", ["", *TEXT["en"], "a dog"]),
    "de": SourceText("de", [*TEXT["de"], "  ", *reversed(TEXT["de"])]),
    "more": SourceText("de", ["ein Hund sieht einen Vogel", "es"]),
}
DIRECTIONS = [("en", "de"), ("en", "fr"), ("de", "fr"), ("de", "en"), ("more", "fr")]


def translate_together(
    translator: AnyTranslator, texts: Texts, **settings: Any
) -> dict[Direction, list[str]]:
    config = SearchConfig(**SHORT_TRANSLATIONS, **settings)
    results = translate_directions(translator, texts, DIRECTIONS, config=config)
    return {direction: lines for direction, lines, _ in results}


def translate_separately(
    translator: AnyTranslator, texts: Texts, **settings: Any
) -> dict[Direction, list[str]]:
    translations = {}
    for name, target in DIRECTIONS:
        text = texts[name]
        translations[name, target] = translator.translate(
            text.lines, source=text.language, target=target, **settings
        )
    return translations


BATCHES = [
    ("attention", 4096, 1280, 1),
    ("none", 4096, 1280, 3),
    ("attention", 5, 4, 3),
    ("none", 5, 4, 1),
    ("attention", 1, 1, 3),
    ("none", 1, 1, 1),
]
"""Bridges with and without a fixed number of rows, sizes of portions and batches, and beams; any
two values occur together."""
OTHER_BATCHES = [
    ("none", 4096, 1280, 1),
    ("attention", 4096, 1280, 3),
    ("none", 5, 4, 3),
    ("attention", 5, 4, 1),
    ("none", 1, 1, 3),
    ("attention", 1, 1, 1),
]
"""All other combinations."""
SLOW_BATCHES = [pytest.param(*values, marks=pytest.mark.slow) for values in OTHER_BATCHES]


@pytest.mark.parametrize(("bridge", "portion", "batch", "beam"), [*BATCHES, *SLOW_BATCHES])
def test_each_direction_is_translated_as_if_it_were_alone(
    bridge: str,
    portion: int,
    batch: int,
    beam: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator = tiny_translator(tiny_run(tmp_path, model={"bridge": {"type": bridge}}))
    expected = translate_separately(translator, TEXTS, beam=beam)
    different_lines = {line for lines in expected.values() for line in lines}
    assert len(different_lines) > 8, "otherwise a mixed-up order would not be noticed"

    monkeypatch.setattr(batched_translation, "PORTION", portion)
    monkeypatch.setattr(generation, "MAX_HYPOTHESES", batch)
    progress: dict[str, int] = {}

    def advance(target: str, sentences: int) -> None:
        progress[target] = progress.get(target, 0) + sentences

    results = list(
        translate_directions(
            translator,
            TEXTS,
            DIRECTIONS,
            config=SearchConfig(beam=beam, **SHORT_TRANSLATIONS),
            advance=advance,
        )
    )
    assert len(results) == len(DIRECTIONS)
    assert {direction: lines for direction, lines, _ in results} == expected
    assert all(seconds > 0 for _, _, seconds in results)
    assert progress == {"de": 7, "fr": 20, "en": 11}


def test_a_text_is_encoded_once_for_all_target_languages(tmp_path: Path) -> None:
    translator = tiny_translator(tiny_run(tmp_path))
    encode_sources = translator.encode_sources
    generate = translator.generate
    encoded = []
    decoded = []

    def record_encoding(sentences):
        encoded.append((sentences[0].language, len(sentences)))
        return encode_sources(sentences)

    def record_decoding(sources, target, config):
        decoded.append((target, len(sources[0].sentences)))
        return generate(sources, target, config)

    translator.encode_sources = record_encoding
    translator.generate = record_decoding
    translate_together(translator, TEXTS, beam=1)
    assert encoded == [("de", 12), ("en", 6)]
    assert decoded == [("de", 6), ("fr", 18), ("en", 10)]


def test_an_ensemble_translates_as_for_each_direction_alone(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    first = tiny_translator(run)
    second = tiny_translator(run)
    second.model = build_model(run.config, run.vocabularies, seed=2).eval()
    both = EnsembleTranslator([first, second])
    expected = translate_separately(both, TEXTS, beam=2)
    assert translate_together(both, TEXTS, beam=2) == expected
    assert translate_separately(first, TEXTS, beam=2) != expected
    assert translate_separately(second, TEXTS, beam=2) != expected


def test_a_shortlist_selects_words_by_source_language(tmp_path: Path) -> None:
    translator = tiny_translator(tiny_run(tmp_path))
    pieces = {}
    for language, lines in TEXT.items():
        pieces[language] = [numpy.array(ids) for ids in translator.encode_text(lines, language)]

    def learn_shortlist(pair: LanguagePair) -> Shortlist:
        source_size = len(translator.vocabularies[pair.source])
        target_size = len(translator.vocabularies[pair.target])
        return Shortlist.learn(pieces[pair.source], pieces[pair.target], (source_size, target_size))

    translator.shortlists = learn_shortlist
    settings = {"beam": 2, "select": 2, "select_by": "shortlist"}
    translations = translate_together(translator, TEXTS, **settings)
    assert translations == translate_separately(translator, TEXTS, **settings)
    assert translations != translate_separately(translator, TEXTS, beam=2)


def test_symbols_are_replaced_by_those_of_their_own_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = tiny_translator(tiny_run(tmp_path, text={"symbols": {}}))
    language_of_decoder = {
        decoder: language for language, decoder in translator.model.decoders.items()
    }

    def search(
        decoder: Any, memory: Memory, lengths: Tensor, config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """Translate every sentence as one number symbol."""
        vocabulary = translator.vocabularies[language_of_decoder[decoder]]
        [tokens] = vocabulary.encode(["⟨number1⟩"])
        return [[Hypothesis(-1.0, -1.0, tuple(tokens))]] * len(lengths)

    monkeypatch.setattr(generation, "search", search)
    texts = {
        "en": SourceText("en", ["1,234.5 dogs", "a dog", "3 cats"]),
        "de": SourceText("de", ["7.654,5 Hunde", "ein Hund"]),
        "more": SourceText("de", ["9 Hunde"]),
    }
    translations = translate_together(translator, texts)
    lost = "in 'a dog' into de and fr, in 'ein Hund' into fr and en"
    assert translator.symbols_without_rule == 4, lost
    assert translations == translate_separately(translator, texts)
    assert translations["en", "de"] == ["1.234,5", "", "3"]
    assert translations["de", "en"] == ["7,654.5", ""]
    assert translations["de", "fr"][0].endswith("654,5")
    assert translations["more", "fr"] == ["9"]
