"""What is minimised, against its formula written out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import AgreementLoss, Criterion, LossesConfig
from polyglot.model.memory import Memory
from polyglot.model.translation_model import Output
from tests.builders.models import random_batch, tiny_config, tiny_model

LAMBDA = 0.7


def by_hand(model, batch):
    """−log p(y given x) + λ · ‖A·Aᵀ − I‖²_F of each sentence (B)."""
    output = model(batch)
    scores = functional.linear(
        output.states, output.projection.weight, output.projection.bias
    )  # (B, T, V)
    words = functional.cross_entropy(
        scores.transpose(1, 2), batch.target_out, reduction="none"
    )  # (B, T)
    attention = output.memory.weights  # (B, K, S)
    penalty = (
        (attention @ attention.transpose(1, 2) - torch.eye(attention.shape[1]))
        .square()
        .sum(dim=(1, 2))
    )
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
    assert criterion(per)(model(batch), batch).total.item() == pytest.approx(
        by_hand(model, batch).sum().item() / number, rel=1e-5
    )


@pytest.mark.parametrize("copies", [2, 5])
@pytest.mark.parametrize("per", ["token", "sentence"])
def test_a_batch_of_one_sentence_again_and_again_is_that_sentence(per, copies, model):
    one = random_batch(lengths=[(5, 4)])
    repeated = {
        name: getattr(one, name).repeat(copies, 1)
        for name in ("source", "source_mask", "target_in", "target_out", "target_mask")
    }
    many = replace(one, **repeated, target_tokens=one.target_tokens * copies)
    totals = [criterion(per)(model(batch), batch).total.item() for batch in (one, many)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-5)


def test_what_is_reported_is_for_a_token_either_way(model):
    """So that curves of runs compare, whatever is minimised."""
    batch = random_batch()
    terms = [criterion(per)(model(batch), batch).terms for per in ("token", "sentence")]
    assert {name: term.item() for name, term in terms[0].items()} == {
        name: term.item() for name, term in terms[1].items()
    }
    assert list(terms[0]) == ["translation", "bridge"]


# Agreement -----------------------------------------------------------------------------------------------------------------


def agreement(output, batch):
    return (
        AgreementLoss(AgreementLoss.Config(weight=1.0))(output, batch)
        * batch.target_tokens
        / batch.sentences
    )


def beside(rows, translated):
    """The loss of a sentence between these bridge matrices (B, K, D), whatever the batch; masks where they are states."""
    batch = random_batch(lengths=[(3, 3)] * len(rows.states))
    return agreement(Output(None, None, rows, lambda tokens, mask: translated), batch).item()


def matrices(seed, rows=4):
    return torch.randn(5, rows, 6, generator=torch.Generator().manual_seed(seed))


def test_rows_that_agree_up_to_size_and_place_cost_nothing():
    """In each language they may have a length and an origin of their own."""
    assert beside(Memory(matrices(0)), Memory(3 * matrices(0) + matrices(1)[:1])) == pytest.approx(
        0, abs=1e-5
    )
    assert beside(Memory(matrices(0)), Memory(-matrices(0))) == pytest.approx(2, abs=1e-5)
    assert 0.5 < beside(Memory(matrices(0)), Memory(matrices(1))) < 1.5


def test_each_row_has_its_counterpart():
    assert beside(Memory(matrices(0)), Memory(matrices(0)[:, [1, 0, 2, 3]])) > 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_alike_in_all_sentences_does_not_agree(dtype):
    """Nor does the rounding by which it differs give it a direction; but a tenth of what is alike is one."""
    alike = matrices(0)[:1].expand(5, -1, -1)
    rows = (
        alike
        * (1 + torch.finfo(dtype).eps * torch.tensor([0.0, 1.0, 0.0, 0.0, 1.0]).reshape(5, 1, 1))
    ).to(dtype)
    states = rows.float().requires_grad_()
    loss = beside(Memory(states), Memory(states))
    assert loss > 0.7
    assert beside(Memory(rows), Memory(rows)) == pytest.approx(loss)
    different = (
        alike + 0.1 * alike.norm(dim=2, keepdim=True) * functional.normalize(matrices(1), dim=2)
    ).to(dtype)
    assert beside(Memory(different), Memory(different)) < 0.05


@pytest.mark.parametrize(
    "encoder", [name for name in ENCODERS.names() if not name.startswith("onmt_")]
)
def test_sentences_without_words_have_none_of_it(encoder):
    """A filter may let them through, and those of one length come together."""
    model, batch = tiny_model(tiny_config(encoder)), random_batch(lengths=[(3, 0), (2, 0)])
    assert AgreementLoss(AgreementLoss.Config(weight=1.0))(model(batch), batch) is None
    some = random_batch(lengths=[(3, 0), (2, 2)])
    assert agreement(model(some), some).isfinite()


def test_states_of_different_number_are_compared_by_their_means():
    mask = torch.ones(5, 9, dtype=torch.bool)
    states = matrices(0, rows=9)
    pooled = Memory(
        states.mean(dim=1, keepdim=True).expand(-1, 2, -1), torch.ones(5, 2, dtype=torch.bool)
    )
    assert beside(Memory(states, mask), pooled) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("bridge", ["attention", "none"])
def test_it_trains_the_sources_side_alone(bridge):
    """The translation is what the source shall come to; its encoder is not the task's."""
    model, batch = tiny_model(tiny_config(bridge=bridge)), random_batch("de-en")
    agreement(model(batch), batch).backward()
    trained = {
        name
        for name, own in model.component_parameters().items()
        if any(one.grad is not None for one in own.values())
    }
    assert trained == {"encoder.de", *({"bridge"} if bridge == "attention" else ())}
    before = agreement(model(batch), batch).item()
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.grad is not None], 0.01)
    for _ in range(30):
        optimizer.zero_grad()
        agreement(model(batch), batch).backward()
        optimizer.step()
    assert agreement(model(batch), batch).item() < before / 2


@pytest.mark.parametrize(("pairs", "pair"), [(["de-en", "de-de"], "de-de"), (["de-en"], "de-en")])
def test_copies_and_languages_nothing_is_translated_from_have_none(pairs, pair):
    model, batch = tiny_model(tiny_config(), pairs), random_batch(pair)
    assert AgreementLoss(AgreementLoss.Config(weight=1.0))(model(batch), batch) is None
