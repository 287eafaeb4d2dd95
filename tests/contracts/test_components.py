"""What every encoder, bridge and decoder must satisfy, whoever wrote it: run over the registries."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import Criterion, LossesConfig
from polyglot.model.memory import Memory
from tests.builders.models import (
    VOCABULARY,
    allclose,
    if_available,
    random_batch,
    setting_combinations,
    tiny_component,
    tiny_config,
    tiny_model,
)

SIZE, INPUT = 16, 12


COMBINATIONS = [
    if_available(*names)
    for names in itertools.product(ENCODERS.names(), BRIDGES.names(), DECODERS.names())
]


def built(registry, name, settings={}, **given):
    own = tiny_component(registry, name)
    torch.manual_seed(0)
    return registry.build(registry.configure(own.pop("type"), **(own | settings)), **given).eval()


def variants(registry, name, **given):
    """A component in every combination of the alternatives that its settings name."""
    for chosen in setting_combinations(registry, name):
        yield built(registry, name, chosen, **given)


def sentences(lengths, width):
    torch.manual_seed(1)
    mask = torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), width, INPUT) * mask.unsqueeze(-1), mask


@pytest.mark.parametrize("name", [if_available(name) for name in ENCODERS.names()])
class TestEncoders:
    def test_shape_and_zeros_on_padding(self, name):
        embedded, mask = sentences([5, 1, 3], 5)
        for encoder in variants(ENCODERS, name, input_size=INPUT):
            states = encoder(embedded, mask)
            assert states.shape == (3, 5, SIZE)
            assert (states[~mask] == 0).all() and (states[mask] != 0).any()

    def test_padding_changes_nothing(self, name):
        embedded, mask = sentences([5, 2], 5)
        wide = torch.cat([embedded, torch.full((2, 4, INPUT), 7.0)], dim=1)
        wide_mask = torch.cat([mask, torch.zeros(2, 4, dtype=torch.bool)], dim=1)
        for encoder in variants(ENCODERS, name, input_size=INPUT):
            assert allclose(encoder(embedded, mask), encoder(wide, wide_mask)[:, :5])

    def test_a_sentence_never_sees_its_neighbours(self, name):
        embedded, mask = sentences([4, 6, 1], 6)
        for encoder in variants(ENCODERS, name, input_size=INPUT):
            together = encoder(embedded, mask)
            for row, length in enumerate([4, 6, 1]):
                alone = encoder(embedded[row : row + 1, :length], mask[row : row + 1, :length])
                assert allclose(alone[0], together[row, :length])

    def test_gradients_reach_every_parameter(self, name):
        for encoder in variants(ENCODERS, name, input_size=INPUT):
            encoder(*sentences([4, 2], 4)).pow(
                3
            ).sum().backward()  # of squares the sum after a layer norm is the same for all states
            assert all(
                parameter.grad is not None and parameter.grad.abs().sum() > 0
                for parameter in encoder.parameters()
            )

    def test_half_precision(self, name):
        encoder = built(ENCODERS, name, input_size=INPUT)
        embedded, mask = sentences([4, 2], 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states = encoder(embedded, mask)
        assert states.isfinite().all() and allclose(states.float(), encoder(embedded, mask), 0.05)


@pytest.mark.parametrize("name", BRIDGES.names())
class TestBridges:
    def states(self, lengths, width):
        torch.manual_seed(1)
        mask = torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
        return torch.randn(len(lengths), width, SIZE) * mask.unsqueeze(-1), mask

    def test_padding_changes_nothing(self, name):
        bridge = built(BRIDGES, name, size=SIZE)
        states, mask = self.states([5, 1], 5)
        wide = torch.cat([states, torch.full((2, 3, SIZE), 9.0)], dim=1)
        wide_mask = torch.cat([mask, torch.zeros(2, 3, dtype=torch.bool)], dim=1)
        one, other = bridge(states, mask), bridge(wide, wide_mask)
        assert allclose(one.mean(), other.mean())
        if bridge.fixed_size:
            assert allclose(one.states, other.states)

    def test_fixed_size_means_what_it_says(self, name):
        bridge = built(BRIDGES, name, size=SIZE)
        rows = {bridge(*self.states([length], length)).states.shape[1] for length in (1, 2, 7, 30)}
        assert (len(rows) == 1) == bridge.fixed_size

    def test_a_sentence_never_sees_its_neighbours(self, name):
        bridge = built(BRIDGES, name, size=SIZE)
        states, mask = self.states([4, 6, 1], 6)
        together = bridge(states, mask)
        for row, length in enumerate([4, 6, 1]):
            alone = bridge(states[row : row + 1, :length], mask[row : row + 1, :length])
            assert allclose(alone.mean()[0], together.mean()[row])

    def test_weights_sum_to_one_and_are_zero_on_padding(self, name):
        states, mask = self.states([5, 1, 3], 5)
        weights = built(BRIDGES, name, size=SIZE)(states, mask).weights
        if weights is None:
            pytest.skip(f"the bridge {name!r} has no attention weights")
        assert allclose(weights.sum(-1), torch.ones(weights.shape[:2]))
        assert (weights * ~mask.unsqueeze(1) == 0).all()

    def test_gradients_reach_every_parameter(self, name):
        for bridge in variants(BRIDGES, name, size=SIZE):
            states, mask = self.states([4, 2], 4)
            bridge(states.requires_grad_(), mask).states.pow(3).sum().backward()
            assert states.grad.abs().sum() > 0
            assert all(
                parameter.grad is not None and parameter.grad.abs().sum() > 0
                for parameter in bridge.parameters()
            )


def step(decoder, embedded, state, memory):
    return decoder.step(decoder.prepare_words(embedded, state), state, memory)


@pytest.mark.parametrize("name", [if_available(name) for name in DECODERS.names()])
class TestDecoders:
    @pytest.fixture
    def memory(self):
        torch.manual_seed(2)
        mask = torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]])
        return Memory(
            torch.randn(3, 4, SIZE),
            mask=mask,
            final_states=(torch.randn(3, 2, SIZE), torch.randn(3, 2, SIZE)),
        )  # two layers

    def variants(self, name):
        return variants(DECODERS, name, input_size=INPUT, memory_size=SIZE)

    def test_steps_equal_the_whole_pass(self, name, memory):
        embedded, mask = sentences([5, 3, 1], 5)
        for decoder in self.variants(name):
            whole, state = decoder(embedded, mask, memory), decoder.start(memory)
            for position in range(5):
                states, state = step(decoder, embedded[:, position], state, memory)
                assert allclose(states, whole[:, position])

    def test_no_position_sees_what_follows(self, name, memory):
        embedded, mask = sentences([5, 5, 5], 5)
        changed = embedded.clone()
        changed[:, 3:] = 5.0
        for decoder in self.variants(name):
            assert allclose(
                decoder(embedded, mask, memory)[:, :3], decoder(changed, mask, memory)[:, :3]
            )

    def test_hypotheses_of_a_sentence_do_not_see_each_other(self, name, memory):
        """Two hypotheses a sentence, reordered and with a sentence gone, step as each would alone."""
        embedded, _ = sentences([2] * 6, 2)
        for decoder in self.variants(name):
            state = decoder.reorder(decoder.start(memory), torch.tensor([0, 0, 1, 1, 2, 2]), None)
            first, state = step(decoder, embedded[:, 0], state, memory)
            kept, left = torch.tensor([1, 0, 5, 4]), torch.tensor([0, 2])
            second, _ = step(
                decoder, embedded[kept, 1], decoder.reorder(state, kept, left), memory.select(left)
            )
            for row, old in enumerate(kept.tolist()):
                own = memory.select(torch.tensor([old // 2]))
                one, state_one = step(decoder, embedded[old : old + 1, 0], decoder.start(own), own)
                two, _ = step(decoder, embedded[old : old + 1, 1], state_one, own)
                assert allclose(first[old], one[0]) and allclose(second[row], two[0])

    def test_masked_rows_of_the_memory_are_invisible(self, name, memory):
        embedded, mask = sentences([3, 3, 3], 3)
        noisy = replace(
            memory, states=torch.where(memory.mask.unsqueeze(-1), memory.states, torch.tensor(50.0))
        )
        for decoder in self.variants(name):
            assert allclose(decoder(embedded, mask, memory), decoder(embedded, mask, noisy))

    def test_gradients_reach_every_parameter(self, name, memory):
        for decoder in self.variants(name):
            decoder(*sentences([4, 2, 1], 4), memory).pow(3).sum().backward()
            assert all(
                parameter.grad is not None and parameter.grad.abs().sum() > 0
                for parameter in decoder.parameters()
            )


@pytest.mark.parametrize(("encoder", "bridge", "decoder"), COMBINATIONS)
class TestCombinations:
    def test_trains_one_step(self, encoder, bridge, decoder):
        model, batch = tiny_model(tiny_config(encoder, bridge, decoder)), random_batch()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            loss = Criterion(LossesConfig())(model(batch), batch).total
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        assert losses[2] < losses[0]

    def test_every_parameter_gets_its_first_value_once(self, encoder, bridge, decoder):
        """From the seed; where a checkpoint will fill them, nothing is drawn."""
        torch.use_deterministic_algorithms(
            True
        )  # then memory that nothing has been written to is NaN
        try:
            model, unfilled = (
                tiny_model(tiny_config(encoder, bridge, decoder), seed=seed) for seed in (1, None)
            )
        finally:
            torch.use_deterministic_algorithms(False)
        assert [
            name for name, parameter in model.named_parameters() if not parameter.isfinite().all()
        ] == []
        matrices = {
            name: parameter
            for name, parameter in unfilled.named_parameters()
            if parameter.dim() == 2
        }
        assert [
            name
            for name, parameter in matrices.items()
            if parameter.isfinite().any() and "embedding" not in name
        ] == []

    def test_gradients_touch_only_what_the_task_uses(self, encoder, bridge, decoder):
        model = tiny_model(tiny_config(encoder, bridge, decoder), ["de-en", "en-de", "fr-fr"])
        Criterion(LossesConfig())(
            model(random_batch("de-en")), random_batch("de-en")
        ).total.backward()
        touched = {
            name
            for name, own in model.component_parameters().items()
            if any(one.grad is not None for one in own.values())
        }
        assert touched == {"encoder.de", "decoder.en"} | (
            {"bridge"} if list(model.bridge.parameters()) else set()
        )

    def test_padding_and_order_change_no_loss(self, encoder, bridge, decoder):
        """All rows of the memory are visible for every source length: permuting the batch permutes the outputs, nothing else."""
        model = tiny_model(tiny_config(encoder, bridge, decoder)).eval()
        lengths = [(5, 4), (1, 2), (9, 7), (3, 7)]
        batch = random_batch(lengths=lengths)
        whole = model(batch).states
        order = torch.tensor([2, 0, 3, 1])
        memory = model.encode("de", batch.source[order], batch.source_mask[order])
        assert allclose(
            model.decoders["en"](batch.target_in[order], batch.target_mask[order], memory),
            whole[order],
        )
        for row, (source, target) in enumerate(lengths):
            memory = model.encode(
                "de",
                batch.source[row : row + 1, :source],
                batch.source_mask[row : row + 1, :source],
            )
            alone = model.decoders["en"](
                batch.target_in[row : row + 1, : target + 1],
                batch.target_mask[row : row + 1, : target + 1],
                memory,
            )
            assert allclose(alone[0], whole[row, : target + 1])

    def test_translates(self, encoder, bridge, decoder):
        """In search, too, a sentence is translated as it would be alone."""
        model = tiny_model(tiny_config(encoder, bridge, decoder)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2.0)  # decided enough for distinct hypotheses
        lengths = [5, 1, 4]
        batch, config = (
            random_batch(lengths=[(length, 1) for length in lengths]),
            SearchConfig(beam=2, n_best=2, max_length_extra=4),
        )
        together = search(
            model.decoders["en"],
            model.encode("de", batch.source, batch.source_mask),
            batch.source_mask.sum(1),
            config,
        )
        for row, length in enumerate(lengths):
            memory = model.encode(
                "de",
                batch.source[row : row + 1, :length],
                batch.source_mask[row : row + 1, :length],
            )
            alone = search(model.decoders["en"], memory, torch.tensor([length]), config)[0]
            assert [one.tokens for one in alone] == [one.tokens for one in together[row]]
            assert [one.score for one in alone] == pytest.approx(
                [one.score for one in together[row]], abs=1e-4
            )

    def test_half_precision_trains(self, encoder, bridge, decoder):
        model, batch = tiny_model(tiny_config(encoder, bridge, decoder)), random_batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = Criterion(LossesConfig())(model(batch), batch).total
        exact = Criterion(LossesConfig())(model(batch), batch).total
        loss.backward()
        gradients = [one.grad for one in model.parameters() if one.grad is not None]
        assert abs(loss.item() - exact.item()) < 0.1
        assert all(gradient.isfinite().all() for gradient in gradients)

    def test_a_language_of_its_own_size_gets_a_projection(self, encoder, bridge, decoder):
        model = tiny_model(
            tiny_config(
                encoder,
                bridge,
                decoder,
                languages={"de": {"encoder": {"size": 8}, "decoder": {"size": 12}}},
            )
        )
        assert isinstance(model.encoders["de"].projection, torch.nn.Linear)
        assert isinstance(model.encoders["en"].projection, torch.nn.Identity)
        for pair in ("de-en", "en-de"):
            assert model(random_batch(pair)).states.isfinite().all()


def test_the_output_layer_belongs_to_the_target_language():
    model = tiny_model(tiny_config(), ["de-en", "fr-en", "en-de"])
    assert model(random_batch("de-en")).projection is model(random_batch("fr-en")).projection
    assert model(random_batch("de-en")).projection.weight.shape == (VOCABULARY, SIZE)
