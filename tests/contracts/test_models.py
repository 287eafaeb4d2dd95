"""Contracts of whole models.

Encoders and decoders meet at the memory, which has either a fixed number of rows or one for each
source word. So every encoder and every decoder is tested with a bridge of each kind, and every
bridge with a recurrent decoder and a Transformer. Properties that do not depend on the other
components are tested once for each component.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
from torch import nn

from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import Criterion, LossesConfig
from tests.builders.models import (
    VOCABULARY,
    allclose,
    if_available,
    random_batch,
    tiny_config,
    tiny_model,
)
from tests.contracts.builders import check_search_of_each_sentence, encode_sentence


def combinations():
    for bridge in ("attention", "none"):
        for encoder in ENCODERS.names():
            yield encoder, bridge, "lstm"
        for decoder in DECODERS.names():
            yield "lstm", bridge, decoder
    for bridge in BRIDGES.names():
        for decoder in ("lstm", "transformer"):
            yield "lstm", bridge, decoder


def components():
    for encoder in ENCODERS.names():
        yield encoder, "attention", "lstm"
    for bridge in BRIDGES.names():
        yield "lstm", bridge, "lstm"
    for decoder in DECODERS.names():
        yield "lstm", "attention", decoder


COMBINATIONS = [if_available(*names) for names in dict.fromkeys(combinations())]
COMPONENTS = [if_available(*names) for names in dict.fromkeys(components())]


def losses_of(model, batch):
    return Criterion(LossesConfig())(model(batch), batch)


@contextmanager
def uninitialised_memory_is_nan():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(("encoder", "bridge", "decoder"), COMBINATIONS)
class TestModels:
    def test_updates_reduce_the_loss(self, encoder, bridge, decoder):
        model = tiny_model(tiny_config(encoder, bridge, decoder))
        batch = random_batch()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        totals = []
        for _ in range(3):
            total = losses_of(model, batch).total
            totals.append(total.item())
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
        assert totals[2] < totals[0]

    def test_gradients_reach_only_the_components_of_the_task(self, encoder, bridge, decoder):
        model = tiny_model(tiny_config(encoder, bridge, decoder), ["de-en", "en-de", "fr-fr"])
        losses_of(model, random_batch("de-en")).total.backward()

        trained = set()
        for component, parameters in model.component_parameters().items():
            if any(parameter.grad is not None for parameter in parameters.values()):
                trained.add(component)
        expected = {"encoder.de", "decoder.en"}
        if list(model.bridge.parameters()):
            expected.add("bridge")
        assert trained == expected

    def test_states_do_not_depend_on_padding_or_other_sentences(self, encoder, bridge, decoder):
        model = tiny_model(tiny_config(encoder, bridge, decoder)).eval()
        lengths = [(5, 4), (1, 2), (9, 7), (3, 7)]
        batch = random_batch(lengths=lengths)
        together = model(batch).states
        for row, (source_length, target_length) in enumerate(lengths):
            memory = encode_sentence(model, batch, row, source_length)
            target = slice(0, target_length + 1)  # with bos
            alone = model.decoders["en"](
                batch.target_in[row : row + 1, target],
                batch.target_mask[row : row + 1, target],
                memory,
            )
            assert allclose(alone[0], together[row, target])

    def test_search_does_not_depend_on_other_sentences(self, encoder, bridge, decoder):
        check_search_of_each_sentence(tiny_model(tiny_config(encoder, bridge, decoder)))


@pytest.mark.parametrize(("encoder", "bridge", "decoder"), COMPONENTS)
class TestComponents:
    def test_every_parameter_is_drawn_from_the_seed(self, encoder, bridge, decoder):
        with uninitialised_memory_is_nan():
            model = tiny_model(tiny_config(encoder, bridge, decoder), seed=1)
        for name, parameter in model.named_parameters():
            assert parameter.isfinite().all(), name

    def test_nothing_is_drawn_for_a_model_that_a_checkpoint_fills(self, encoder, bridge, decoder):
        with uninitialised_memory_is_nan():
            model = tiny_model(tiny_config(encoder, bridge, decoder), seed=None)
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "embedding" not in name:
                assert not parameter.isfinite().any(), name

    def test_order_of_the_batch_does_not_change_the_states(self, encoder, bridge, decoder):
        model = tiny_model(tiny_config(encoder, bridge, decoder)).eval()
        batch = random_batch(lengths=[(5, 4), (1, 2), (9, 7), (3, 7)])
        order = torch.tensor([2, 0, 3, 1])
        memory = model.encode("de", batch.source[order], batch.source_mask[order])
        states = model.decoders["en"](batch.target_in[order], batch.target_mask[order], memory)
        assert allclose(states, model(batch).states[order])

    def test_half_precision_is_close_to_float32(self, encoder, bridge, decoder):
        model = tiny_model(tiny_config(encoder, bridge, decoder))
        batch = random_batch()
        exact = losses_of(model, batch).total
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = losses_of(model, batch).total
        rounded.backward()
        assert abs(rounded.item() - exact.item()) < 0.1
        for parameter in model.parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all()

    def test_components_of_another_size_get_a_projection(self, encoder, bridge, decoder):
        languages = {"de": {"encoder": {"size": 8}, "decoder": {"size": 12}}}
        model = tiny_model(tiny_config(encoder, bridge, decoder, languages=languages))
        assert isinstance(model.encoders["de"].projection, nn.Linear)
        assert isinstance(model.encoders["en"].projection, nn.Identity)
        for pair in ("de-en", "en-de"):
            assert model(random_batch(pair)).states.isfinite().all()


def test_output_layer_belongs_to_the_target_language():
    model = tiny_model(tiny_config(), ["de-en", "fr-en", "en-de"])
    projection = model(random_batch("de-en")).projection
    assert projection is model(random_batch("fr-en")).projection
    assert projection.weight.shape == (VOCABULARY, 16)
