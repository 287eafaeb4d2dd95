"""Symbols in a run: learnt from its training text, whole in its vocabularies, put back in its
translations.
"""

from __future__ import annotations

import pytest

from polyglot.core.errors import CheckpointError
from polyglot.data.corpora import Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.decoding.base import Hypothesis
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.inference import generation
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.symbols import Dictionary
from tests.builders.runs import tiny_run, train, write_corpus

PAIRS = {
    "de": [
        "der Hund von Tom Miller hat 12.158 Häuser",
        "das Haus 137Kg",
        "der FMI sieht 3 Katzen",
        "zwei Katzen hier",
    ]
    * 5,
    "en": [
        "the dog of Tom Miller has 12,158 houses",
        "the house 137 Kg",
        "the IMF sees 3 cats",
        "2 cats here",
    ]
    * 5,
}


@pytest.fixture(scope="module", params=["word", "unigram", "bpe", "char"])
def run(request, tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("symbols")
    write_corpus(folder)
    for part in ("train", "valid"):
        for language, lines in PAIRS.items():
            (folder / f"{part}.{language}").write_text(
                "".join(f"{line}\n" for line in lines), encoding="utf-8"
            )
    size = {"word": 100, "unigram": 52, "bpe": 80, "char": 100}[request.param]
    sections = {
        "languages": ["en", "de"],
        "text": {"symbols": {}},
        "vocabulary": {"type": request.param, "size": size, "byte_fallback": False},
    }
    new = tiny_run(
        folder,
        **sections,
        schedule={"type": "uniform", "pairs": ["de-en", "en-de"]},
        training={"steps": 2},
    )
    train(new)
    return Run.open(new.path)


def test_a_vocabulary_keeps_every_symbol_whole(run):
    for language in ("en", "de"):
        vocabulary = run.vocabularies[language]
        [pieces] = vocabulary.encode(["⟨number1⟩ x ⟨name9⟩ ^^ ⟨acronym2⟩"])
        written = vocabulary.pieces(pieces)
        assert {"▁⟨number1⟩", "▁⟨name9⟩", "▁⟨acronym2⟩"} <= set(written)
    [marked] = run.vocabularies["de"].encode(["⟨number1⟩ ^^Kg"])
    assert run.vocabularies["de"].decode([marked]) == ["⟨number1⟩ ^^Kg"]


def test_both_sides_are_trained_with_the_same_symbols(run):
    corpora = Corpora(run.config.data.train, folder=run.path.parent, languages=run.config.languages)
    dataset = TaskDataset(
        Task(LanguagePair("de", "en")),
        corpora,
        run.vocabularies,
        run.normalisers,
        filters=None,
        seed=1,
    )
    texts = []
    for language, part in (("de", dataset._corpora[0].source), ("en", dataset._corpora[0].target)):
        texts.append(run.vocabularies[language].decode([part[row] for row in range(4)]))
    assert texts == [
        [
            "der Hund von ⟨name1⟩ hat ⟨number1⟩ Häuser",
            "das Haus ⟨number1⟩ ^^Kg",
            "der ⟨acronym1⟩ sieht ⟨number1⟩ Katzen",
            "zwei Katzen hier",
        ],
        [
            "the dog of ⟨name1⟩ has ⟨number1⟩ houses",
            "the house ⟨number1⟩ Kg",
            "the ⟨acronym1⟩ sees ⟨number1⟩ cats",
            "2 cats here",
        ],
    ]


def test_the_dictionary_is_in_the_run_directory(run):
    dictionary = Dictionary.load(run.symbols_file)
    assert dictionary.names == {"de": {"Tom Miller"}, "en": {"Tom Miller"}}
    assert dictionary.acronym("FMI", "de", "en") == "IMF"


def test_words_come_back_in_translations_and_what_has_no_rule_is_counted(run, monkeypatch):
    translator = Translator.load(run, checkpoint="last")
    english = translator.vocabularies["en"]

    def written(decoder, memory, lengths, config):
        [tokens] = english.encode(["the ⟨acronym1⟩ of ⟨name1⟩ has ⟨number2⟩ houses"])
        return [[Hypothesis(-1.0, -1.0, tuple(tokens))]] * len(lengths)

    monkeypatch.setattr(generation, "search", written)
    sentences = ["der FMI von Tom Miller hat 3 Hunde , 12.158 Häuser", "der Hund"]
    whole, nothing = translator.translate(sentences, source="de", target="en")
    assert whole == "the IMF of Tom Miller has 12,158 houses"
    assert "⟨" not in nothing and translator.symbols_without_rule == 3
    assert (
        translator.translate([sentences[0]], source="de", target="en") == [whole]
        and translator.symbols_without_rule == 3
    )


def test_an_evaluation_says_what_had_no_rule(run, monkeypatch, caplog, tmp_path):
    translator = Translator.load(run, checkpoint="last")
    english = translator.vocabularies["en"]
    monkeypatch.setattr(
        generation,
        "search",
        lambda decoder, memory, lengths, config: (
            [[Hypothesis(-1.0, -1.0, tuple(english.encode(["⟨acronym9⟩ x"])[0]))]] * len(lengths)
        ),
    )
    test = [{"type": "text", "path": str(run.path.parent / "valid.{language}")}]
    protocol = Protocol(test=test, pairs=["de-en"], metrics=["bleu"], resamples=0)
    with caplog.at_level("INFO"):
        evaluate(run, translator, protocol, folder=tmp_path)
    assert "symbols had no rule in the source" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO"):
        evaluate(run, translator, protocol, folder=tmp_path)
    assert "no rule" not in caplog.text, "nothing was translated again"


def test_a_pair_is_scored_with_the_symbols_of_both_sides(run):
    translator = Translator.load(run, checkpoint="last")
    one, other = translator.score(
        ["das Haus 7 Kg", "das Haus 8 Kg"],
        ["the house 7 Kg", "the house 8 Kg"],
        source="de",
        target="en",
    )
    assert one == pytest.approx(other), "what differs stands behind the same symbol"
    [stranger] = translator.score(["das Haus 7 Kg"], ["the house 8 Kg"], source="de", target="en")
    assert stranger != pytest.approx(one)


def test_a_checkpoint_goes_only_with_the_dictionary_it_was_trained_with(run):
    kept = run.symbols_file.read_text(encoding="utf-8")
    run.symbols_file.unlink()
    try:
        with pytest.raises(CheckpointError, match="vocabularies"):
            Translator.load(Run.open(run.path), checkpoint="last")
    finally:
        run.symbols_file.write_text(kept, encoding="utf-8")
