"""What is minimised, against its formula written out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from polyglot.model.losses import Criterion, LossesConfig
from tests.models import random_batch, tiny_config, tiny_model

LAMBDA = 0.7


def by_hand(model, batch):
    """−log p(y given x) + λ · ‖A·Aᵀ − I‖²_F of each sentence (B)."""
    output = model(batch)
    scores = functional.linear(output.states, output.projection.weight, output.projection.bias)  # (B, T, V)
    words = functional.cross_entropy(scores.transpose(1, 2), batch.target_out, reduction="none")  # (B, T)
    attention = output.memory.weights  # (B, K, S)
    penalty = (attention @ attention.transpose(1, 2) - torch.eye(attention.shape[1])).square().sum(dim=(1, 2))
    return (words * batch.target_mask).sum(dim=1) + LAMBDA * penalty


@pytest.fixture(scope="module")
def model():
    return tiny_model(tiny_config(), ["de-en"]).eval()


def criterion(per):
    return Criterion(LossesConfig.model_validate({"per": per, "bridge": {"weight": LAMBDA}}))


@pytest.mark.parametrize("lengths", [[(5, 4), (1, 1), (9, 7)], [(3, 12)]])
@pytest.mark.parametrize("per", ["token", "sentence"])
def test_it_is_the_papers_formula(per, lengths, model):
    batch = random_batch(lengths=lengths)
    number = batch.target_tokens if per == "token" else len(lengths)
    assert criterion(per)(model(batch), batch).total.item() == pytest.approx(by_hand(model, batch).sum().item() / number, rel=1e-5)


@pytest.mark.parametrize("copies", [2, 5])
@pytest.mark.parametrize("per", ["token", "sentence"])
def test_a_batch_of_one_sentence_again_and_again_is_that_sentence(per, copies, model):
    one = random_batch(lengths=[(5, 4)])
    repeated = {name: getattr(one, name).repeat(copies, 1) for name in ("source", "source_mask", "target_in", "target_out", "target_mask")}
    many = replace(one, **repeated, target_tokens=one.target_tokens * copies)
    totals = [criterion(per)(model(batch), batch).total.item() for batch in (one, many)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-5)


def test_what_is_reported_is_for_a_token_either_way(model):
    """So that curves of runs compare, whatever is minimised."""
    batch = random_batch()
    terms = [criterion(per)(model(batch), batch).terms for per in ("token", "sentence")]
    assert {name: term.item() for name, term in terms[0].items()} == {name: term.item() for name, term in terms[1].items()}
    assert list(terms[0]) == ["translation", "bridge"]
