"""Losses compared with their formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
import torch
from torch.nn import functional

from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import AgreementLoss, BridgePenalty, Criterion, LossesConfig
from polyglot.model.memory import Memory
from polyglot.model.translation_model import Output
from tests.builders.models import random_batch, tiny_config, tiny_model

LAMBDA = 0.7


def expected_losses(model, batch):
    """−log p(y given x) + λ · ‖A·Aᵀ − I‖²_F of each sentence (B)."""
    output = model(batch)
    projection = output.projection
    logits = functional.linear(output.states, projection.weight, projection.bias)  # (B, T, V)
    cross_entropies = functional.cross_entropy(
        logits.transpose(1, 2), batch.target_out, reduction="none"
    )  # (B, T)

    attention = output.memory.weights  # (B, K, S)
    products = attention @ attention.transpose(1, 2)
    penalties = (products - torch.eye(attention.shape[1])).square().sum(dim=(1, 2))
    return (cross_entropies * batch.target_mask).sum(dim=1) + LAMBDA * penalties


@pytest.fixture(scope="module")
def model():
    return tiny_model(tiny_config(), ["de-en"]).eval()


def criterion(per):
    return Criterion(LossesConfig.model_validate({"per": per, "bridge": {"weight": LAMBDA}}))


@pytest.mark.parametrize("lengths", [[(5, 4), (1, 1), (9, 7)], [(3, 12)]])
@pytest.mark.parametrize("per", ["token", "sentence"])
def test_total_equals_the_formula_of_the_paper(per, lengths, model):
    batch = random_batch(lengths=lengths)
    divisor = batch.target_tokens if per == "token" else len(lengths)
    total = criterion(per)(model(batch), batch).total.item()
    assert total == pytest.approx(expected_losses(model, batch).sum().item() / divisor, rel=1e-5)


@pytest.mark.parametrize("copies", [2, 5])
@pytest.mark.parametrize("per", ["token", "sentence"])
def test_repeated_sentence_has_the_loss_of_the_sentence(per, copies, model):
    single = random_batch(lengths=[(5, 4)])
    repeated_tensors = {}
    for name in ("source", "source_mask", "target_in", "target_out", "target_mask"):
        repeated_tensors[name] = getattr(single, name).repeat(copies, 1)
    repeated = replace(single, **repeated_tensors, target_tokens=single.target_tokens * copies)

    loss_of_single = criterion(per)(model(single), single).total.item()
    loss_of_repeated = criterion(per)(model(repeated), repeated).total.item()
    assert loss_of_single == pytest.approx(loss_of_repeated, rel=1e-5)


def test_reported_terms_are_per_token_for_both_divisors(model):
    """So the curves of runs with different divisors can be compared."""
    batch = random_batch()
    per_token = criterion("token")(model(batch), batch).terms
    per_sentence = criterion("sentence")(model(batch), batch).terms
    assert list(per_token) == list(per_sentence) == ["translation", "bridge"]
    for name, term in per_token.items():
        assert term.item() == per_sentence[name].item()


@pytest.mark.parametrize("smoothing", [0.1, 0.4])
def test_label_smoothing_equals_torch_in_training_and_is_off_without_gradients(smoothing, model):
    batch = random_batch()
    losses = Criterion(LossesConfig.model_validate({"translation": {"label_smoothing": smoothing}}))
    output = model(batch)
    real_states = output.states[batch.target_mask]
    logits = functional.linear(real_states, output.projection.weight, output.projection.bias)
    targets = batch.target_out[batch.target_mask]

    smoothed = functional.cross_entropy(logits, targets, label_smoothing=smoothing)
    torch.testing.assert_close(losses(output, batch).terms["translation"], smoothed)
    with torch.no_grad():
        plain = functional.cross_entropy(logits, targets)
        torch.testing.assert_close(losses(output, batch).terms["translation"], plain)


# Agreement


def agreement_loss(output, batch):
    """Agreement loss per sentence."""
    loss = AgreementLoss(AgreementLoss.Config(weight=1.0))(output, batch)
    return loss * batch.target_tokens / batch.sentences


def agreement_of_memories(source, target):
    """Agreement loss per sentence of two memories, in a batch of any sentences."""
    batch = random_batch(lengths=[(3, 3)] * len(source.states))
    return agreement_loss(
        Output(None, None, source, inner=None, encode_target=lambda tokens, mask: target), batch
    )


def random_rows(seed, rows=4):
    return torch.randn(5, rows, 6, generator=torch.Generator().manual_seed(seed))


def test_agreement_and_its_gradient_equal_the_formula():
    """1 − cos of the rows after subtracting the batch mean, which depends on every row."""
    source = random_rows(0).requires_grad_()
    target = random_rows(1)
    loss = agreement_of_memories(Memory(source), Memory(target))
    (gradient,) = torch.autograd.grad(loss, source)

    cosines = functional.cosine_similarity(
        source - source.mean(dim=0), target - target.mean(dim=0), dim=2
    )
    expected = (1 - cosines).mean()
    (expected_gradient,) = torch.autograd.grad(expected, source)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient, expected_gradient)


def test_gradient_of_agreement_does_not_move_the_mean_of_the_batch():
    """The loss does not change if the same vector is added to all sentences."""
    source = random_rows(0).requires_grad_()
    loss = agreement_of_memories(Memory(source), Memory(random_rows(1)))
    (gradient,) = torch.autograd.grad(loss, source)
    assert gradient.abs().max() > 0.01
    torch.testing.assert_close(gradient.sum(dim=0), torch.zeros(4, 6))


def test_agreement_ignores_scale_and_origin_of_a_language():
    rows = random_rows(0)
    moved_rows = 3 * rows + random_rows(1)[:1]
    same = agreement_of_memories(Memory(rows), Memory(moved_rows))
    opposite = agreement_of_memories(Memory(rows), Memory(-rows))
    unrelated = agreement_of_memories(Memory(rows), Memory(random_rows(1)))
    assert same.item() == pytest.approx(0, abs=1e-5)
    assert opposite.item() == pytest.approx(2, abs=1e-5)
    assert 0.5 < unrelated.item() < 1.5


def test_agreement_compares_rows_of_the_same_number():
    rows = random_rows(0)
    assert agreement_of_memories(Memory(rows), Memory(rows[:, [1, 0, 2, 3]])) > 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equal_sentences_do_not_agree_by_rounding_errors(dtype):
    """Rounding errors are not a direction; a difference of a tenth of the mean is one."""
    equal_rows = random_rows(0)[:1].expand(5, -1, -1)
    rounding = torch.tensor([0.0, 1.0, 0.0, 0.0, 1.0]).reshape(5, 1, 1)
    rows = (equal_rows * (1 + torch.finfo(dtype).eps * rounding)).to(dtype)
    rows_in_float32 = rows.float()
    loss = agreement_of_memories(Memory(rows_in_float32), Memory(rows_in_float32)).item()
    assert loss > 0.7
    assert agreement_of_memories(Memory(rows), Memory(rows)).item() == pytest.approx(loss)

    lengths = equal_rows.norm(dim=2, keepdim=True)
    directions = functional.normalize(random_rows(1), dim=2)
    different_rows = (equal_rows + 0.1 * lengths * directions).to(dtype)
    assert agreement_of_memories(Memory(different_rows), Memory(different_rows)) < 0.05


@pytest.mark.parametrize(
    "encoder", [name for name in ENCODERS.names() if not name.startswith("onmt_")]
)
def test_empty_targets_have_no_agreement_loss(encoder):
    """A filter may keep empty sentences, and bucketing by length puts them into one batch."""
    model = tiny_model(tiny_config(encoder))
    only_empty = random_batch(lengths=[(3, 0), (2, 0)])
    partly_empty = random_batch(lengths=[(3, 0), (2, 2)])
    loss = AgreementLoss(AgreementLoss.Config(weight=1.0))
    assert loss(model(only_empty), only_empty) is None
    assert loss(model(partly_empty), partly_empty).isfinite()


def test_memories_without_fixed_size_are_compared_by_their_means():
    states = random_rows(0, rows=9)
    mask = torch.ones(5, 9, dtype=torch.bool)
    two_equal_rows = states.mean(dim=1, keepdim=True).expand(-1, 2, -1)
    pooled = Memory(two_equal_rows, torch.ones(5, 2, dtype=torch.bool))
    loss = agreement_of_memories(Memory(states, mask), pooled)
    assert loss.item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("bridge", ["attention", "none"])
def test_agreement_trains_only_the_source_side(bridge):
    """The encoder of the target language does not belong to the task."""
    model = tiny_model(tiny_config(bridge=bridge))
    batch = random_batch("de-en")
    agreement_loss(model(batch), batch).backward()

    trained = set()
    for component, parameters in model.component_parameters().items():
        if any(parameter.grad is not None for parameter in parameters.values()):
            trained.add(component)
    assert trained == ({"encoder.de", "bridge"} if bridge == "attention" else {"encoder.de"})


def test_training_reduces_the_agreement_loss():
    model = tiny_model(tiny_config())
    batch = random_batch("de-en")
    parameters = [*model.encoders["de"].parameters(), *model.bridge.parameters()]
    optimizer = torch.optim.Adam(parameters, 0.01)
    before = agreement_loss(model(batch), batch).item()
    for _ in range(30):
        optimizer.zero_grad()
        agreement_loss(model(batch), batch).backward()
        optimizer.step()
    assert agreement_loss(model(batch), batch).item() < before / 2


@pytest.mark.parametrize(("pairs", "pair"), [(["de-en", "de-de"], "de-de"), (["de-en"], "de-en")])
def test_copies_and_targets_without_encoder_have_no_agreement_loss(pairs, pair):
    model = tiny_model(tiny_config(), pairs)
    batch = random_batch(pair)
    assert AgreementLoss(AgreementLoss.Config(weight=1.0))(model(batch), batch) is None


# Penalty of the published program


def program_penalty(attention, *, target_length):
    """Mean over the sentences of ‖A·Aᵀ − I‖_F, once for each shard of 32 target positions.

    Divided by the number of sentences.
    """
    differences = attention @ attention.transpose(0, 2, 1) - numpy.eye(attention.shape[1])
    norms = numpy.sqrt((differences**2).sum(axis=(1, 2)))
    shard_count = -(-target_length // 32)
    return shard_count * norms.mean() / len(attention)


@pytest.mark.parametrize(("words", "shards"), [(4, 1), (31, 1), (32, 2), (63, 2), (64, 3)])
def test_sharded_penalty_is_added_once_for_each_shard(words, shards, model):
    """A target has one position more than words: the end of the sentence. The longest counts."""
    batch = random_batch(lengths=[(5, words), (2, 1), (9, 3)])
    losses = LossesConfig.model_validate(
        {"per": "sentence", "bridge": {"weight": LAMBDA, "form": "sharded"}}
    )
    output = model(batch)
    result = Criterion(losses)(output, batch)

    attention = output.memory.weights.detach().numpy()
    expected = program_penalty(attention, target_length=words + 1)
    assert expected == pytest.approx(shards * program_penalty(attention, target_length=1))

    translation = result.terms["translation"].item() * batch.target_tokens / batch.sentences
    assert result.total.item() - translation == pytest.approx(LAMBDA * expected, rel=1e-4)


def test_sharded_penalty_has_a_finite_gradient_where_it_is_zero():
    attention = torch.eye(3, 5).repeat(2, 1, 1).requires_grad_()
    batch = random_batch(lengths=[(5, 4)] * 2)
    output = Output(None, None, Memory(torch.zeros(2, 3, 6), weights=attention), inner=None)
    loss = BridgePenalty(BridgePenalty.Config(form="sharded"))(output, batch)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-5)
    assert attention.grad.isfinite().all()
