"""Losses that compare two passes of the decoder: R-Drop and CrossConST."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import ConsistencyLoss, ReferenceConsistencyLoss
from tests.builders.models import random_batch, tiny_config, tiny_model

consistency = ConsistencyLoss(ConsistencyLoss.Config(weight=1.0))
reference_consistency = ReferenceConsistencyLoss(ReferenceConsistencyLoss.Config(weight=1.0))
DROPOUT = {"type": "gru", "size": 16, "layers": 2, "dropout": 0.5}


def log_probabilities(model, language, states):
    output = model.decoders[language].output
    return functional.linear(states, output.weight, output.bias).log_softmax(dim=2)


def divergence(log_p, log_q, mask):
    """KL(p ‖ q) of each position, summed over the real ones."""
    each = (log_p.exp() * (log_p - log_q)).sum(dim=2)
    return (each * mask).sum()


def trained_components(model):
    trained = set()
    for component, parameters in model.component_parameters().items():
        if any(parameter.grad is not None for parameter in parameters.values()):
            trained.add(component)
    return trained


def test_consistency_equals_the_formula_for_two_passes_with_dropout():
    model = tiny_model(tiny_config(DROPOUT, "attention", DROPOUT)).train()
    batch = random_batch("de-en", lengths=[(5, 4), (3, 2)])
    torch.manual_seed(3)
    loss = consistency(model(batch), batch)

    torch.manual_seed(3)
    log_p = log_probabilities(model, "en", model(batch).states)
    log_q = log_probabilities(model, "en", model(batch).states)
    mask = batch.target_mask
    expected = (divergence(log_p, log_q, mask) + divergence(log_q, log_p, mask)) / 2
    assert loss.item() > 1e-4
    torch.testing.assert_close(loss, expected / batch.target_tokens, rtol=1e-4, atol=1e-6)


def test_without_dropout_and_in_validation_there_is_nothing_to_compare():
    model = tiny_model(tiny_config()).eval()
    batch = random_batch("de-en")
    assert consistency(model(batch), batch).item() == pytest.approx(0, abs=1e-6)
    with torch.no_grad():
        assert consistency(model(batch), batch) is None


def test_reference_consistency_compares_with_a_copy_of_the_reference():
    """q is the distribution of the task en-en with the target as its source."""
    model = tiny_model(tiny_config(), ["de-en", "en-en"]).eval()
    batch = random_batch("de-en", lengths=[(5, 4), (3, 4)])
    loss = reference_consistency(model(batch), batch)

    words = batch.target_in[:, 1:]
    copies = replace(
        random_batch("en-en", lengths=[(4, 4), (4, 4)]),
        source=words,
        source_mask=torch.ones_like(words, dtype=torch.bool),
        target_in=batch.target_in,
        target_out=batch.target_out,
        target_mask=batch.target_mask,
    )
    log_p = log_probabilities(model, "en", model(batch).states)
    log_q = log_probabilities(model, "en", model(copies).states)
    expected = divergence(log_p, log_q, batch.target_mask) / batch.target_tokens
    assert loss.item() > 1e-5
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("loss", [consistency, reference_consistency])
def test_only_the_components_of_the_task_are_trained(loss):
    model = tiny_model(tiny_config(DROPOUT, "attention", DROPOUT)).train()
    batch = random_batch("de-en")
    loss(model(batch), batch).backward()
    assert trained_components(model) == {"encoder.de", "bridge", "decoder.en"}


def test_training_reduces_the_distance_to_the_copy():
    model = tiny_model(tiny_config())
    batch = random_batch("de-en")
    parameters = [*model.encoders["de"].parameters(), *model.decoders["en"].parameters()]
    optimizer = torch.optim.Adam(parameters, 0.01)
    before = reference_consistency(model(batch), batch).item()
    for _ in range(30):
        optimizer.zero_grad()
        reference_consistency(model(batch), batch).backward()
        optimizer.step()
    assert reference_consistency(model(batch), batch).item() < before / 2


@pytest.mark.parametrize(("pairs", "pair"), [(["de-en", "de-de"], "de-de"), (["de-en"], "de-en")])
def test_copies_and_targets_without_encoder_have_no_reference_consistency(pairs, pair):
    model = tiny_model(tiny_config(), pairs)
    batch = random_batch(pair)
    assert reference_consistency(model(batch), batch) is None


@pytest.mark.parametrize(
    "encoder", [name for name in ENCODERS.names() if not name.startswith("onmt_")]
)
def test_empty_targets(encoder):
    model = tiny_model(tiny_config(encoder))
    only_empty = random_batch(lengths=[(3, 0), (2, 0)])
    partly_empty = random_batch(lengths=[(3, 0), (2, 2)])
    assert reference_consistency(model(only_empty), only_empty) is None
    assert reference_consistency(model(partly_empty), partly_empty).isfinite()
    assert consistency(model(only_empty), only_empty).isfinite()
