"""What the trainer is given: losses per token, greedy BLEU, on a part of the text, without disturbing anything."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest
import torch

from polyglot.core.errors import DataError
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.training.validation import ValidationResult, Validator
from tests.evaluation.tiny import TEXT, tiny_model, tiny_run


def translator(run: Run, model: torch.nn.Module) -> Translator:
    return Translator(
        model,
        vocabularies=run.vocabularies,
        normalisers=run.normalisers,
        search_config=run.config.search,
    )


def test_no_validation_text_no_function(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, data={"valid": []})
    assert Validator(run)(tiny_model(run)) is None


@pytest.mark.parametrize("sentences", [2, 500])
def test_losses_are_per_token_of_the_first_sentences(sentences: int, tmp_path: Path) -> None:
    smoothed = {"translation": {"label_smoothing": 0.1}, "bridge": {"weight": 5.0}}
    run = tiny_run(
        tmp_path, validation={"sentences": sentences}, losses=smoothed, batching={"size": 2}
    )
    model = tiny_model(run)
    losses = Validator(run)(model)().losses
    assert list(losses) == [task.name for task in run.config.tasks] and len(losses) == 4
    sources, targets = TEXT["de"][:sentences], TEXT["en"][:sentences]
    log_probabilities = translator(run, model).score(sources, targets, source="de", target="en")
    tokens = sum(len(line.split()) + 1 for line in targets)
    assert losses["de-en"] == pytest.approx(-sum(log_probabilities) / tokens, rel=1e-5)


def test_some_of_the_tasks_are_enough(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"tasks": 2})
    model = tiny_model(run)
    validate = Validator(run)(model)
    losses = validate().losses
    assert len(losses) == 2 and losses == validate().losses == Validator(run)(model)().losses
    (tmp_path / "all").mkdir()
    everything = Validator(tiny_run(tmp_path / "all"))(model)().losses
    assert len(everything) == 4 and losses.items() <= everything.items()


def test_bleu_is_that_of_greedy_translations_also_zero_shot(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"sentences": 3, "bleu_pairs": ["de-fr", "fr-en"]})
    model = tiny_model(run)
    with (
        torch.no_grad()
    ):  # a model that says the same words whatever it reads has some of them right
        chien = run.vocabularies["fr"].encode(["chien"])[0][0]
        model.decoders["fr"].output.bias[chien] += 20
    bleu = Validator(run)(model)().bleu
    hypotheses = translator(run, model).translate(TEXT["de"][:3], source="de", target="fr", beam=1)
    assert set(bleu) == {"de-fr", "fr-en"}
    assert (
        0
        < bleu["de-fr"]
        == Scorer(Measure("bleu"), target="fr").score(hypotheses, TEXT["fr"][:3]).value
    )


def test_capitals_count_only_for_a_run_that_writes_them(tmp_path: Path) -> None:
    def bleu(folder: str, **text: object) -> float:
        (tmp_path / folder).mkdir()
        run = tiny_run(
            tmp_path / folder, validation={"sentences": 1, "bleu_pairs": ["en-de"]}, **text
        )
        model = tiny_model(run)
        hund = "hund" if text else "Hund"
        with torch.no_grad():
            model.decoders["de"].output.bias[run.vocabularies["de"].encode([hund])[0][0]] += 20
        return Validator(run)(model)().bleu["en-de"]

    assert bleu("small", text={"steps": ["lowercase"]}) == bleu("cased") > 0


def test_text_that_lacks_is_left_out_with_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["de-fr", "de-en"]})
    (tmp_path / "valid.fr").unlink()
    with caplog.at_level(logging.WARNING, logger="polyglot"):
        result = Validator(run)(tiny_model(run))()
    assert set(result.losses) == {"en-de", "de-en"} and set(result.bleu) == {"de-en"}
    assert "validation of de-fr is left out: no text in fr" in caplog.text


def test_no_text_for_any_task_or_for_what_decides_is_an_error(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["de-fr"], "best_by": "bleu"})
    (tmp_path / "valid.fr").unlink()
    with pytest.raises(DataError, match="valid.fr: no such file"):
        Validator(run)(tiny_model(run))
    (tmp_path / "valid.en").unlink()
    (tmp_path / "valid.de").unlink()
    with pytest.raises(DataError, match="valid"):
        Validator(run)(tiny_model(run))


def test_it_leaves_no_trace(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["de-fr"]})
    model = tiny_model(run)
    validate = Validator(run)(model)
    state = torch.get_rng_state()
    first, second = validate(), validate()
    assert first == second
    assert torch.equal(torch.get_rng_state(), state)
    assert all(
        parameter.grad is None and parameter.requires_grad for parameter in model.parameters()
    )
    assert all(math.isfinite(loss) for loss in first.losses.values())


def test_the_value_is_the_mean_of_translations_not_of_copies() -> None:
    losses = {"de-en": 2.0, "en-de": 4.0, "en-en": 0.5}
    assert ValidationResult(losses, {"de-en": 10.0, "de-fr": 20.0}).value("bleu") == 15.0
    assert ValidationResult(losses).value("loss") == 3.0
    assert ValidationResult({"en-en": 0.5, "de-de": 1.5}).value("loss") == 1.0


def test_words_are_not_selected_while_training(tmp_path: Path) -> None:
    """No shortlist can have been counted yet."""
    given = {"validation": {"bleu_pairs": ["de-en"]}}
    found = []
    for name, search in (("plain", {}), ("few", {"select": 2, "select_by": "shortlist"})):
        (tmp_path / name).mkdir()
        run = tiny_run(tmp_path / name, **given, search=search)
        found.append(Validator(run)(tiny_model(run))().bleu)
    assert found[0] == found[1]
