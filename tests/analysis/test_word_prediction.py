"""Words that are predicted, selected and copied: numbers worked out by hand, and the whole page of a small run."""

from __future__ import annotations

import json

import pytest
import torch

from polyglot.analysis.copy_accuracy import copied
from polyglot.analysis.word_prediction import (
    _of_the_likeliest,
    _over_the_source,
    choose_pair,
    words_page,
)
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.memory import Memory
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from tests.builders.command_line import Program
from tests.builders.runs import tiny_run, train


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    options = {"options": {"decoder": [{"type": "word_prediction", "predict": "initial"}]}}
    given = {
        "schedule": {"type": "uniform", "pairs": ["de-en"]},
        "training": {"steps": 40},
        "optimizer": {"learning_rate": 0.02},
    }
    made = tiny_run(tmp_path_factory.mktemp("words"), model=options, **given)
    train(made)
    return made


def test_precision_and_recall_are_those_of_a_hand():
    """Words 4 to 9; the likeliest are 7, 5, 9 of the first sentence and 4, 6, 8 of the second."""
    scores = torch.zeros(2, 10)
    scores[0, [7, 5, 9]] = torch.tensor([3.0, 2.0, 1.0])
    scores[1, [4, 6, 8]] = torch.tensor([3.0, 2.0, 1.0])
    truth = torch.zeros(2, 10, dtype=torch.bool)
    truth[0, [5, 6]] = True
    truth[1, [4, 6, 8, 9]] = True
    precision, recall = _of_the_likeliest(scores, truth, 2)
    assert (precision, recall) == (pytest.approx(1 / 2 + 2 / 2), pytest.approx(1 / 2 + 2 / 4))


def test_attention_over_a_bridge_is_traced_back_to_the_source():
    shares = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]])
    traced = _over_the_source(
        torch.tensor([[0.4, 0.6]]), Memory(torch.zeros(1, 2, 4), weights=shares), 3
    )
    torch.testing.assert_close(traced, torch.tensor([[0.2, 0.35, 0.45]]))


def test_copies_are_counted_by_what_they_say():
    found = copied(
        ["12,158 cats of Tom Miller and the EU", "3 and 3 and 4"],
        ["12.158 Katzen von Tom Miller und die EU", "3 und 3 und 4"],
        ["12158 Katzen von Tom Müller und die EU", "3 und 4"],
        source="en",
        target="de",
    )
    assert {kind: (one.right, one.expected) for kind, one in found.items()} == {
        "number": (3, 4),
        "name": (0, 1),
        "acronym": (1, 1),
    }


def test_the_page_has_every_table_and_picture(run, monkeypatch, capsys):
    program = Program(monkeypatch, capsys)
    assert program("shortlist", run.path, "de-en").status == 0
    result = program("analyse", run.path, "words")
    assert result.status == 0 and "Search among few words" in result.output
    folder = run.path / "analysis" / "words-de-en"
    values = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert len(values["pictures"]) == 3 and all(
        (folder / file).read_bytes().startswith(b"\x89PNG") for file in values["pictures"].values()
    )
    found = values["values"]
    assert found["sentences"] == 10 and found["precision and recall"].keys() == {
        "prediction",
        "shortlist",
    }
    for sizes in found["precision and recall"].values():
        assert all(0 <= precision <= 1 and 0 <= recall <= 1 for precision, recall in sizes.values())
    whole, *few = found["quality"]
    assert (
        whole["chooser"] == "all"
        and whole["same"] == 1
        and {one["chooser"] for one in few} == {"prediction", "shortlist"}
    )
    assert all("tok:13a" in one["signature"] for one in found["quality"])
    assert all(sum(one["weights"]) == pytest.approx(1, abs=1e-4) for one in found["attention"])
    assert program("report", run.path).status == 0
    assert "Search among few words" in (run.path / "report.html").read_text(encoding="utf-8")


def test_recall_grows_with_the_number_of_words_and_all_of_them_have_it_all(run):
    page = words_page(run, Translator.load(run), LanguagePair("de", "en"), count=5, sizes=(2, 5, 10))
    for own in page.values["precision and recall"].values():
        recalls = [recall for _, recall in own.values()]
        assert recalls == sorted(recalls) and recalls[-1] > 0.8, (
            "12 words and the special tokens are all there are"
        )


def test_a_decoder_without_prediction_still_has_its_copies(tmp_path):
    made = tiny_run(tmp_path, training={"steps": 2})
    train(made)
    page = words_page(made, Translator.load(made, checkpoint="last"), LanguagePair("de", "en"), count=3)
    assert [table.title for table in page.tables] == [
        "Search among few words",
        "Numbers, names and acronyms that are copied",
    ]
    assert not page.pictures


def test_directions_that_are_not_there_are_said(run):
    assert choose_pair(run, None, None) == LanguagePair("de", "en")
    with pytest.raises(ConfigError, match="no trained direction into fr"):
        choose_pair(run, None, "fr")
    with pytest.raises(ConfigError, match="no decoder named 'fr'"):
        words_page(run, Translator.load(run), LanguagePair("de", "fr"), count=3)
    with pytest.raises(DataError, match="name no corpus"):
        bare = Run(
            run.path,
            run.config.model_copy(
                update={"data": run.config.data.model_copy(update={"valid": [], "test": []})}
            ),
        )
        words_page(bare, Translator.load(run), LanguagePair("de", "en"), count=3)
