"""Validation during training: losses per token, greedy BLEU, and no side effects."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest
import torch

from polyglot.core.errors import DataError
from polyglot.evaluation import metrics, tokenizers
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.inference.translator import Translator
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.training.validation import ValidationResult, Validator
from tests.evaluation.tiny import TEXT, tiny_model, tiny_run


def make_translator(run: Run, model: torch.nn.Module) -> Translator:
    return Translator(
        model,
        vocabularies=run.vocabularies,
        normalisers=run.normalisers,
        search_config=run.config.search,
    )


def make_run(folder: Path, name: str, **sections: object) -> Run:
    """Run in a folder of its own."""
    (folder / name).mkdir()
    return tiny_run(folder / name, **sections)


def prefer_word(run: Run, model: TranslationModel, language: str, word: str) -> None:
    """Let the model write a word whatever it reads, so that some words are right."""
    [pieces] = run.vocabularies[language].encode([word])
    with torch.no_grad():
        model.decoders[language].output.bias[pieces[0]] += 20


def test_a_run_without_validation_text_has_no_validation(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, data={"valid": []})
    assert Validator(run)(tiny_model(run)) is None


@pytest.mark.parametrize("sentences", [2, 500])
def test_losses_are_per_token_of_the_first_sentences(sentences: int, tmp_path: Path) -> None:
    """Neither label smoothing nor the bridge penalty is part of the loss."""
    run = tiny_run(
        tmp_path,
        validation={"sentences": sentences},
        losses={"translation": {"label_smoothing": 0.1}, "bridge": {"weight": 5.0}},
        batching={"size": 2},
    )
    model = tiny_model(run)
    losses = Validator(run)(model)().losses
    assert list(losses) == [task.name for task in run.config.tasks]
    assert len(losses) == 4

    sources = TEXT["de"][:sentences]
    targets = TEXT["en"][:sentences]
    translator = make_translator(run, model)
    log_probabilities = translator.score(sources, targets, source="de", target="en")
    tokens = sum(len(target.split()) + 1 for target in targets)
    assert losses["de-en"] == pytest.approx(-sum(log_probabilities) / tokens, rel=1e-5)


def test_a_sample_of_tasks_is_the_same_in_every_pass(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"tasks": 2})
    model = tiny_model(run)
    validate = Validator(run)(model)
    losses = validate().losses
    assert len(losses) == 2
    assert validate().losses == losses
    assert Validator(run)(model)().losses == losses

    all_losses = Validator(make_run(tmp_path, "all"))(model)().losses
    assert len(all_losses) == 4
    assert losses.items() <= all_losses.items()


def test_bleu_is_that_of_greedy_translations_also_of_zero_shot_pairs(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"sentences": 3, "bleu_pairs": ["de-fr", "fr-en"]})
    model = tiny_model(run)
    prefer_word(run, model, "fr", "chien")
    bleu = Validator(run)(model)().bleu
    assert set(bleu) == {"de-fr", "fr-en"}

    translator = make_translator(run, model)
    hypotheses = translator.translate(TEXT["de"][:3], source="de", target="fr", beam=1)
    expected = Scorer(Measure("bleu"), target="fr").score(hypotheses, TEXT["fr"][:3]).value
    assert bleu["de-fr"] == expected > 0


def test_bleu_ignores_case_if_the_run_writes_lowercase(tmp_path: Path) -> None:
    validation = {"sentences": 1, "bleu_pairs": ["en-de"]}

    cased = make_run(tmp_path, "cased", validation=validation)
    cased_model = tiny_model(cased)
    prefer_word(cased, cased_model, "de", "Hund")
    cased_bleu = Validator(cased)(cased_model)().bleu["en-de"]

    lower = make_run(tmp_path, "lower", validation=validation, text={"steps": ["lowercase"]})
    lower_model = tiny_model(lower)
    prefer_word(lower, lower_model, "de", "hund")
    lower_bleu = Validator(lower)(lower_model)().bleu["en-de"]
    assert lower_bleu == cased_bleu > 0


def test_pairs_without_text_are_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["de-fr", "de-en"]})
    (tmp_path / "valid.fr").unlink()
    with caplog.at_level(logging.WARNING, logger="polyglot"):
        result = Validator(run)(tiny_model(run))()
    assert set(result.losses) == {"en-de", "de-en"}
    assert set(result.bleu) == {"de-en"}
    assert "validation of de-fr is left out: no text in fr" in caplog.text


def test_no_text_for_any_task_or_for_deciding_bleu_is_an_error(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["de-fr"], "best_by": "bleu"})
    (tmp_path / "valid.fr").unlink()
    with pytest.raises(DataError, match="valid.fr: no such file"):
        Validator(run)(tiny_model(run))

    (tmp_path / "valid.en").unlink()
    (tmp_path / "valid.de").unlink()
    with pytest.raises(DataError, match="valid"):
        Validator(run)(tiny_model(run))


def test_validation_changes_neither_random_numbers_nor_gradients(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["de-fr"]})
    model = tiny_model(run)
    validate = Validator(run)(model)
    random_state = torch.get_rng_state()
    result = validate()
    assert validate() == result
    assert torch.equal(torch.get_rng_state(), random_state)
    for parameter in model.parameters():
        assert parameter.grad is None
        assert parameter.requires_grad
    for loss in result.losses.values():
        assert math.isfinite(loss)


def test_the_value_is_a_mean_over_translation_tasks_without_copies() -> None:
    losses = {"de-en": 2.0, "en-de": 4.0, "en-en": 0.5}
    assert ValidationResult(losses).value("loss") == 3.0
    assert ValidationResult(losses, {"de-en": 10.0, "de-fr": 20.0}).value("bleu") == 15.0
    assert ValidationResult({"en-en": 0.5, "de-de": 1.5}).value("loss") == 1.0


def test_validation_uses_the_whole_vocabulary(tmp_path: Path) -> None:
    """A shortlist cannot have been learnt yet."""
    validation = {"bleu_pairs": ["de-en"]}
    plain = make_run(tmp_path, "plain", validation=validation)
    search = {"select": 2, "select_by": "shortlist"}
    selected = make_run(tmp_path, "selected", validation=validation, search=search)
    plain_bleu = Validator(plain)(tiny_model(plain))().bleu
    assert Validator(selected)(tiny_model(selected))().bleu == plain_bleu


def test_validation_scores_into_japanese_without_its_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fallback = tokenizers.Tokenizer("char", wanted="ja-mecab", reason="not installed")
    monkeypatch.setattr(metrics, "find_tokenizer", lambda name: fallback)
    monkeypatch.setitem(TEXT, "ja", TEXT["fr"])
    run = tiny_run(tmp_path, validation={"bleu_pairs": ["en-ja"]}, languages=["en", "ja"])
    bleu = Validator(run)(tiny_model(run))().bleu
    assert bleu["en-ja"] >= 0
