"""Many directions at once give what each gives by itself, in whatever portions and batches."""

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
from polyglot.evaluation.batched_translation import SourceText, translate_directions
from polyglot.inference import generation
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.model.memory import Memory
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.build import build_model
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator

TEXTS = {
    "en": SourceText("en", ["", *TEXT["en"], "a dog"]),
    "de": SourceText("de", [*TEXT["de"], "  ", *reversed(TEXT["de"])]),
    "more": SourceText("de", ["ein Hund sieht einen Vogel", "es"]),
}
WANTED = [("en", "de"), ("en", "fr"), ("de", "fr"), ("de", "en"), ("more", "fr")]


@pytest.mark.parametrize(
    "bridge", ["attention", "none"]
)  # the second has as many rows as a sentence has pieces
@pytest.mark.parametrize(("portion", "batch"), [(4096, 1280), (5, 4), (1, 1)])
@pytest.mark.parametrize("beam", [1, 3])
def test_each_direction_is_as_if_it_were_alone(
    bridge: str,
    portion: int,
    batch: int,
    beam: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator = tiny_translator(tiny_run(tmp_path, model={"bridge": {"type": bridge}}))
    alone = {
        (text, target): translator.translate(
            TEXTS[text].lines, source=TEXTS[text].language, target=target, beam=beam
        )
        for text, target in WANTED
    }
    assert len({line for lines in alone.values() for line in lines}) > 8, (
        "nothing could be taken for another"
    )
    monkeypatch.setattr(batched_translation, "PORTION", portion)
    monkeypatch.setattr(generation, "MAX_HYPOTHESES", batch)
    told: dict[str, int] = {}

    def advance(target: str, sentences: int) -> None:
        told[target] = told.get(target, 0) + sentences

    found = list(
        translate_directions(
            translator, TEXTS, WANTED, config=SearchConfig(beam=beam), advance=advance
        )
    )
    assert {direction: lines for direction, lines, _ in found} == alone and len(found) == len(
        WANTED
    )
    assert told == {"de": 7, "fr": 20, "en": 11} and all(seconds > 0 for *_, seconds in found)


def test_a_text_is_read_once_whatever_its_targets(tmp_path: Path) -> None:
    translator = tiny_translator(tiny_run(tmp_path))
    encode_sources = translator.encode_sources
    generate = translator.generate
    calls = []
    targets = []

    def counting_encode_sources(sentences):
        calls.append((sentences[0].language, len(sentences)))
        return encode_sources(sentences)

    def counting_generate(sources, target, config):
        targets.append((target, len(sources[0].sentences)))
        return generate(sources, target, config)

    translator.encode_sources = counting_encode_sources
    translator.generate = counting_generate
    list(translate_directions(translator, TEXTS, WANTED, config=SearchConfig(beam=1)))
    assert calls == [("de", 12), ("en", 6)] and targets == [("de", 6), ("fr", 18), ("en", 10)]


def many(
    translator: Translator | EnsembleTranslator, texts: Mapping[str, SourceText], **settings: Any
) -> dict[tuple[str, str], list[str]]:
    found = translate_directions(translator, texts, WANTED, config=SearchConfig(**settings))
    return {direction: lines for direction, lines, _ in found}


def one_by_one(
    translator: Translator | EnsembleTranslator, texts: Mapping[str, SourceText], **settings: Any
) -> dict[tuple[str, str], list[str]]:
    given = [(text, texts[text].language, texts[text].lines, target) for text, target in WANTED]
    return {
        (text, target): translator.translate(lines, source=language, target=target, **settings)
        for text, language, lines, target in given
    }


def test_several_models_write_many_directions_as_they_write_each(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    one, other = tiny_translator(run), tiny_translator(run)
    other.model = build_model(run.config, run.vocabularies, seed=2).eval()
    both = EnsembleTranslator([one, other])
    assert many(both, TEXTS, beam=2) == one_by_one(both, TEXTS, beam=2)
    assert len({str(one_by_one(each, TEXTS, beam=2)) for each in (one, other, both)}) == 3


def test_words_are_selected_by_what_each_language_says(tmp_path: Path) -> None:
    translator = tiny_translator(tiny_run(tmp_path))
    pieces = {
        language: [numpy.array(own) for own in translator.encode_text(TEXT[language], language)]
        for language in TEXT
    }
    sizes = {language: len(vocabulary) for language, vocabulary in translator.vocabularies.items()}

    def counted(pair: LanguagePair) -> Shortlist:
        return Shortlist.learn(
            pieces[pair.source], pieces[pair.target], (sizes[pair.source], sizes[pair.target])
        )

    translator.shortlists = counted
    settings = {"beam": 2, "select": 2, "select_by": "shortlist"}
    found = many(translator, TEXTS, **settings)
    assert (
        found == one_by_one(translator, TEXTS, **settings) != one_by_one(translator, TEXTS, beam=2)
    )


def test_symbols_stand_for_what_their_own_sentences_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = tiny_translator(tiny_run(tmp_path, text={"symbols": {}}))

    def written(
        decoder: object, memory: Memory, lengths: Tensor, config: SearchConfig
    ) -> list[list[Hypothesis]]:
        language = next(name for name, own in translator.model.decoders.items() if own is decoder)
        [tokens] = translator.vocabularies[language].encode(["⟨number1⟩"])
        return [[Hypothesis(-1.0, -1.0, tuple(tokens))]] * len(lengths)

    monkeypatch.setattr(generation, "search", written)
    texts = {
        "en": SourceText("en", ["1,234.5 dogs", "a dog", "3 cats"]),
        "de": SourceText("de", ["7.654,5 Hunde", "ein Hund"]),
        "more": SourceText("de", ["9 Hunde"]),
    }
    found = many(translator, texts)
    assert translator.symbols_without_rule == 4, (
        "in a dog into de and fr, in ein Hund into fr and en"
    )
    assert found == one_by_one(translator, texts)
    assert found["en", "de"] == ["1.234,5", "", "3"] and found["de", "en"] == ["7,654.5", ""]
    assert found["de", "fr"][0].endswith("654,5") and found["more", "fr"] == ["9"]
