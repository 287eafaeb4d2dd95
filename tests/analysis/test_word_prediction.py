"""Predicted words and vocabulary selection: numbers by hand, and the page of a small run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from polyglot.analysis.predicted_words import (
    count_correct,
    first_step_scores,
    trace_to_source,
)
from polyglot.analysis.word_prediction import choose_pair, words_page
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.memory import Memory
from polyglot.runs.run import Run
from polyglot.tasks.batch import BOS
from polyglot.tasks.pairs import LanguagePair
from tests.builders.command_line import Program
from tests.builders.runs import tiny_run, train

GERMAN_ENGLISH = LanguagePair("de", "en")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    prediction = {"type": "word_prediction", "predict": "initial"}
    run = tiny_run(
        tmp_path_factory.mktemp("words"),
        model={"options": {"decoder": [prediction]}},
        schedule={"type": "uniform", "pairs": ["de-en"]},
        training={"steps": 40},
        optimizer={"learning_rate": 0.02},
    )
    train(run)
    return run


@pytest.fixture(scope="module")
def translator(run: Run) -> Translator:
    return Translator.load(run)


# Numbers


@pytest.mark.parametrize(
    ("size", "precision", "recall"),
    [(1, 0 / 1 + 1 / 1, 0 / 2 + 1 / 4), (2, 1 / 2 + 2 / 2, 1 / 2 + 2 / 4), (3, 4 / 3, 5 / 4)],
)
def test_precision_and_recall(size: int, precision: float, recall: float) -> None:
    """The most probable words are 7, 5, 9 for the first sentence, 4, 6, 8 for the second."""
    scores = torch.zeros(2, 10)
    scores[0, [7, 5, 9]] = torch.tensor([3.0, 2.0, 1.0])
    scores[1, [4, 6, 8]] = torch.tensor([3.0, 2.0, 1.0])
    is_reference = torch.zeros(2, 10, dtype=torch.bool)
    is_reference[0, [5, 6]] = True
    is_reference[1, [4, 6, 8, 9]] = True
    result = count_correct(scores, is_reference, size)
    assert result == (pytest.approx(precision), pytest.approx(recall))


def test_attention_over_a_bridge_is_traced_back_to_the_source() -> None:
    bridge_weights = torch.tensor([[[0.5, 0.5, 0.0, 0.0], [0.0, 0.25, 0.75, 0.0]]])
    memory = Memory(torch.zeros(1, 2, 4), weights=bridge_weights)
    traced = trace_to_source(torch.tensor([[0.4, 0.6]]), memory, 3)
    torch.testing.assert_close(traced, torch.tensor([[0.2, 0.35, 0.45]]))


def test_attention_over_rows_without_weights_stays_as_it_is() -> None:
    weights = torch.tensor([[0.4, 0.6]])
    assert trace_to_source(weights, Memory(torch.zeros(1, 2, 4)), 3) is weights


# Pages


def test_the_page_has_every_table_and_figure(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Program(monkeypatch, capsys)
    assert program("shortlist", run.path, "de-en").status == 0
    result = program("analyse", run.path, "words")
    assert result.status == 0
    assert "Search with vocabulary selection" in result.output

    folder = run.path / "analysis" / "words-de-en"
    content = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert len(content["pictures"]) == 3
    for file in content["pictures"].values():
        assert (folder / file).read_bytes().startswith(b"\x89PNG")
    _check_values(content["values"])

    assert program("report", run.path).status == 0
    report = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Search with vocabulary selection" in report


def _check_values(values: dict) -> None:
    assert values["sentences"] == 10
    assert values["precision and recall"].keys() == {"prediction", "shortlist"}
    for by_size in values["precision and recall"].values():
        for precision, recall in by_size.values():
            assert 0 <= precision <= 1
            assert 0 <= recall <= 1

    all_words, *selections = values["quality"]
    assert all_words["chooser"] == "all"
    assert all_words["same"] == 1
    assert {row["chooser"] for row in selections} == {"prediction", "shortlist"}
    for row in values["quality"]:
        assert "tok:13a" in row["signature"]
    for example in values["attention"]:
        assert sum(example["weights"]) == pytest.approx(1, abs=1e-4)


def test_recall_grows_with_the_number_of_words(run: Run, translator: Translator) -> None:
    """The vocabulary has 12 words besides the special tokens."""
    page = words_page(run, translator, GERMAN_ENGLISH, count=5, sizes=(2, 5, 10))
    for by_size in page.values["precision and recall"].values():
        recalls = [recall for _, recall in by_size.values()]
        assert recalls == sorted(recalls)
        assert recalls[-1] > 0.8


def test_without_a_predictor_there_are_translations_and_copies(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, training={"steps": 2})
    train(run)
    translator = Translator.load(run, checkpoint="last")
    page = words_page(run, translator, GERMAN_ENGLISH, count=3)
    titles = [table.title for table in page.tables]
    assert titles == [
        "Precision and recall of the most probable words",
        "Search with vocabulary selection",
        "Copied numbers, names and acronyms",
    ]
    assert page.tables[0].head[1:] == [
        "first step of the decoder: precision",
        "first step of the decoder: recall",
    ]
    assert not page.pictures


def test_words_of_the_first_step_are_those_after_bos(tmp_path: Path) -> None:
    """Column baseNMT of Table 5: a run without word prediction predicts words too."""
    run = tiny_run(tmp_path, training={"steps": 2})
    train(run)
    translator = Translator.load(run, checkpoint="last")
    sentences = translator.sentences(["ein Hund", "zwei Katze singt"], "de")
    memory = translator.encode_sources(sentences).memory
    model = translator.model
    with torch.inference_mode():
        scores = first_step_scores(translator, memory, "en")
        decoder = model.decoders["en"]
        tokens = torch.full((2, 1), BOS)
        states = decoder(tokens, torch.ones_like(tokens, dtype=torch.bool), memory)
        expected = decoder.output(states)[:, 0]
    torch.testing.assert_close(scores, expected, atol=1e-5, rtol=0)


# Errors


def test_the_first_trained_direction_is_the_default(run: Run) -> None:
    assert choose_pair(run, None, None) == GERMAN_ENGLISH
    assert choose_pair(run, "fr", "de") == LanguagePair("fr", "de")
    with pytest.raises(ConfigError, match="no trained direction into fr"):
        choose_pair(run, None, "fr")
    with pytest.raises(ConfigError, match="no trained direction from en"):
        choose_pair(run, "en", None)


def test_a_direction_without_a_decoder_is_refused(run: Run, translator: Translator) -> None:
    with pytest.raises(ConfigError, match="no decoder named 'fr'"):
        words_page(run, translator, LanguagePair("de", "fr"), count=3)


def test_a_run_without_held_out_text_is_refused(run: Run, translator: Translator) -> None:
    data = run.config.data.model_copy(update={"valid": [], "test": []})
    without_text = Run(run.path, run.config.model_copy(update={"data": data}))
    with pytest.raises(DataError, match="name no corpus"):
        words_page(without_text, translator, GERMAN_ENGLISH, count=3)
