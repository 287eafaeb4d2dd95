"""What every option must satisfy, in every combination of its alternatives and on every kind of encoder and decoder it can be put on."""

from __future__ import annotations

import pytest
import torch
from torch.utils._pytree import tree_leaves

from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import Criterion, LossesConfig
from polyglot.model.memory import Memory
from polyglot.model.options import OPTIONS
from tests.builders.models import (
    allclose,
    if_available,
    random_batch,
    setting_combinations,
    tiny_component,
    tiny_config,
    tiny_model,
)

SIZE, STATES = 12, 16
PLACES = {name: OPTIONS.get(name).place for name in OPTIONS.names()}
ON_EMBEDDINGS = [name for name, place in PLACES.items() if place == "embedding"]
ON_STATES = [name for name, place in PLACES.items() if place == "states"]
CHANGED = {"source": "encoder", "target": "decoder"}


def variants(name, **given):
    """An option in every combination of its alternatives, each drawn from the same seed."""
    for chosen in setting_combinations(OPTIONS, name):
        own = tiny_component(OPTIONS, name)
        torch.manual_seed(0)
        yield OPTIONS.build(OPTIONS.configure(own.pop("type"), **(own | chosen)), **given)


def words(lengths, width, size=SIZE):
    torch.manual_seed(1)
    mask = torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), width, size) * mask.unsqueeze(-1), mask


def memory(sentences=3):
    torch.manual_seed(2)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]])
    return Memory(torch.randn(3, 4, STATES), mask=mask).select(torch.arange(sentences))


def applied(name, side):
    """Each variant as a function of the words (B, S, E) and their mask alone, of one sentence as of three."""
    for option in variants(name, size=SIZE, memory_size=STATES if side == "target" else None):
        given = {"memory": memory()} if side == "target" else {}
        yield (
            option.eval(),
            lambda embedded, mask, option=option, given=given: option(embedded, mask, **given),
        )


def every_module(name):
    """Each variant in its place, with inputs of any length."""
    if name in ON_EMBEDDINGS:
        for side in CHANGED:
            for option, run in applied(name, side):
                yield option, run
    else:
        for option in variants(name, input_size=SIZE, size=STATES):
            yield (
                option.eval(),
                lambda embedded, mask, option=option: option(
                    torch.cat([embedded, embedded[..., :4]], dim=-1), embedded, mask
                ),
            )


@pytest.mark.parametrize("name", ON_EMBEDDINGS + ON_STATES)
class TestOptions:
    def test_padding_changes_nothing(self, name):
        embedded, mask = words([5, 1, 3], 5)
        wide = torch.cat([embedded, torch.full((3, 4, SIZE), 7.0)], dim=1)
        wide_mask = torch.cat([mask, torch.zeros(3, 4, dtype=torch.bool)], dim=1)
        dirty = torch.where(mask.unsqueeze(-1), embedded, torch.tensor(3.0))
        for _, run in every_module(name):
            expected = run(embedded, mask)[mask]
            assert allclose(run(wide, wide_mask)[:, :5][mask], expected) and allclose(
                run(dirty, mask)[mask], expected
            )

    def test_a_sentence_never_sees_its_neighbours(self, name):
        embedded, mask = words([4, 6, 1], 6)
        for _, run in every_module(name):
            together, others = run(embedded, mask), torch.randn_like(embedded)
            for row, length in enumerate([4, 6, 1]):
                changed = others.clone()
                changed[row] = embedded[row]
                assert allclose(run(changed, mask)[row, :length], together[row, :length])

    def test_gradients_reach_every_parameter(self, name):
        for option, run in every_module(name):
            option.train()
            run(*words([4, 2, 3], 4)).pow(3).sum().backward()
            missing = [
                key
                for key, one in option.named_parameters()
                if one.grad is None or not one.grad.abs().sum() > 0
            ]
            assert missing == []

    def test_half_precision(self, name):
        embedded, mask = words([4, 2, 1], 4)
        for option, run in every_module(name):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                half = run(embedded, mask)
            assert half.isfinite().all() and allclose(
                half.float()[mask], run(embedded, mask)[mask], 0.1
            )

    def test_off_is_absent(self, name):
        """No parameter more, none with another first value, and the same numbers as ever."""
        side = "encoder" if name in ON_STATES else "decoder"
        without, put_on = (
            tiny_model(tiny_config()),
            tiny_model(tiny_config(options={side: [tiny_component(OPTIONS, name)]})),
        )
        tensors, more = dict(without.named_parameters()), dict(put_on.named_parameters())
        added = more.keys() - tensors.keys()
        assert (
            added and all(".options." in key for key in added) and not tensors.keys() - more.keys()
        )
        assert all(torch.equal(tensor, more[key]) for key, tensor in tensors.items())
        assert not [key for key, _ in without.named_buffers()]


@pytest.mark.parametrize("name", ON_EMBEDDINGS)
class TestOnTheTargetSide:
    def test_no_position_sees_what_follows(self, name):
        embedded, mask = words([5, 5, 5], 5)
        for _, run in applied(name, "target"):
            for place in range(1, 5):
                changed = embedded.clone()
                changed[:, place:] = 5.0
                assert allclose(run(changed, mask)[:, :place], run(embedded, mask)[:, :place])

    def test_steps_equal_the_whole_pass(self, name):
        embedded, mask = words([9, 3, 1], 9)
        for option, run in applied(name, "target"):
            whole, state = run(embedded, mask), option.start(memory())
            for position in range(9):
                one, state = option.step(embedded[:, position], state)
                assert allclose(one[mask[:, position]], whole[:, position][mask[:, position]])

    def test_hypotheses_of_a_sentence_do_not_see_each_other(self, name):
        embedded, _ = words([2] * 6, 2)
        kept = torch.tensor([1, 0, 5, 4])
        for option, _ in applied(name, "target"):
            state = option.reorder(option.start(memory()), torch.tensor([0, 0, 1, 1, 2, 2]))
            first, state = option.step(embedded[:, 0], state)
            second, _ = option.step(embedded[kept, 1], option.reorder(state, kept))
            for row, old in enumerate(kept.tolist()):
                one, alone = option.step(
                    embedded[old : old + 1, 0],
                    option.start(memory().select(torch.tensor([old // 2]))),
                )
                two, _ = option.step(embedded[old : old + 1, 1], alone)
                assert allclose(first[old], one[0]) and allclose(second[row], two[0])

    def test_what_a_step_needs_does_not_grow_with_what_was_written(self, name):
        embedded, _ = words([12, 12, 12], 12)
        for option, _ in applied(name, "target"):
            state, sizes = option.start(memory()), []
            for position in range(12):
                _, state = option.step(embedded[:, position], state)
                sizes.append(
                    [part.shape for part in tree_leaves(state) if isinstance(part, torch.Tensor)]
                )
            assert sizes[-1] == sizes[0]


ENCODER_PAIRS = [
    if_available(option, encoder) for option in ON_EMBEDDINGS + ON_STATES for encoder in ENCODERS.names()
]
DECODER_PAIRS = [if_available(option, decoder) for option in ON_EMBEDDINGS for decoder in DECODERS.names()]


OTHERS = {
    "roles": [
        {"assignment": "onehot"},
        {"context": "cnn", "width": 3},
        {"assignment": "dense", "combination": "rank1"},
    ],
    "latent_graph": [{"edges": "none"}, {"layers": 2}],
}
"""Settings that take another way through an option."""


def models_with(
    option, *, encoder="lstm", decoder="lstm", bridge="attention", sides=("encoder", "decoder")
):
    for own in [{}, *OTHERS.get(option, [])]:
        yield tiny_model(
            tiny_config(
                encoder,
                bridge,
                decoder,
                options={side: [tiny_component(OPTIONS, option) | own] for side in sides},
            )
        )


@pytest.mark.parametrize(("name", "encoder"), ENCODER_PAIRS)
class TestOnEveryEncoder:
    def test_states_are_those_of_a_sentence_alone_and_0_on_padding(self, name, encoder):
        batch = random_batch(lengths=[(5, 1), (1, 1), (9, 1)])
        for model in models_with(name, encoder=encoder, sides=["encoder"]):
            own = model.eval().encoders["de"]
            states = own(batch.source, batch.source_mask)
            assert states.isfinite().all() and (states[~batch.source_mask] == 0).all()
            for row, length in enumerate([5, 1, 9]):
                alone = own(
                    batch.source[row : row + 1, :length], batch.source_mask[row : row + 1, :length]
                )
                assert allclose(alone[0], states[row, :length])

    def test_trains(self, name, encoder):
        batch = random_batch()
        for model in models_with(name, encoder=encoder, sides=["encoder"]):
            optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
            for _ in range(3):
                torch.manual_seed(0)
                loss = Criterion(LossesConfig())(model(batch), batch).total
                losses.append(loss.item())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            assert losses[2] < losses[0]
            assert all(one.grad is not None for one in model.encoders["de"].options.parameters())
            assert all(one.grad is None for one in model.encoders["en"].parameters())


@pytest.mark.parametrize(("name", "decoder"), DECODER_PAIRS)
class TestOnEveryDecoder:
    def test_steps_equal_the_whole_pass(self, name, decoder):
        batch = random_batch(lengths=[(5, 6), (1, 6), (9, 6)])
        for model in models_with(name, decoder=decoder):
            own, memory = (
                model.eval().decoders["en"],
                model.encode("de", batch.source, batch.source_mask),
            )
            whole = own.output(own(batch.target_in, batch.target_mask, memory))
            state = own.start(memory)
            for position in range(7):
                scores, state = own.step(batch.target_in[:, position], state, memory)
                assert allclose(scores, whole[:, position], 1e-4)

    def test_translates_a_sentence_as_alone(self, name, decoder):
        lengths, config = [5, 1, 4], SearchConfig(beam=2, n_best=2, max_length_extra=4)
        batch = random_batch(lengths=[(length, 1) for length in lengths])
        for model in models_with(name, decoder=decoder):
            with torch.no_grad():
                for parameter in model.eval().parameters():
                    parameter.mul_(2.0)  # decided enough for distinct hypotheses
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
