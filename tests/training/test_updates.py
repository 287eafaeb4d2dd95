"""One update trains the components of its tasks by their mean gradient, of tokens or sentences, and leaves every other alone."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polyglot.model.losses import Criterion, LossesConfig
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.batch import Batch
from polyglot.tasks.sharing import component_names
from polyglot.training.build import build_model
from polyglot.training.gradient_scaling import clip_gradients, count_by_component, scale_to_means
from polyglot.training.validation import ValidationResult
from tests.builders.models import random_batch, tiny_config, tiny_model
from tests.builders.runs import make_trainer, tiny_run, train

SHARE = {
    "token": lambda batch: int(batch.target_mask.sum()),
    "sentence": lambda batch: batch.source.shape[0],
}
"""What a batch counts for in an update."""
PLAIN = {
    "optimizer": {"type": "sgd", "learning_rate": 1.0, "momentum": 0.0},
    "training": {"clip_norm": None},
}


def snapshot(trainer):
    return {
        name: {key: parameter.detach().clone() for key, parameter in own.items()}
        for name, own in trainer.parameters.items()
    }


def changed(before, trainer):
    """Components of which any parameter is not the same to the bit."""
    return {
        name
        for name, own in trainer.parameters.items()
        if any(not torch.equal(before[name][key], parameter) for key, parameter in own.items())
    }


def gradients_of(trainer, batch):
    """By component, of one batch alone."""
    losses = trainer.criterion(trainer.model(batch), batch)
    own = {
        (name, key): parameter
        for name in component_names(batch.task.pair)
        for key, parameter in trainer.parameters.get(name, {}).items()
    }
    return dict(zip(own, torch.autograd.grad(losses.total, list(own.values()), allow_unused=True)))


@pytest.mark.parametrize(
    ("pairs", "tied"),
    [
        (["en-de", "fr-en"], False),
        (["en-de", "en-fr"], False),
        (["de-en", "fr-en"], False),
        (["de-de", "de-fr"], True),
        (["de-en", "en-de", "fr-en"], True),
    ],
)
@pytest.mark.parametrize("per", ["token", "sentence"])
def test_each_component_gets_the_weighted_mean_of_who_trained_it(pairs, tied, per, tmp_path):
    schedule = {"type": "round_robin", "pairs": pairs, "tasks_per_update": len(pairs)}
    settings = {"losses": {"per": per}, "batching": {"by": "tokens", "size": 80}}
    run = tiny_run(
        tmp_path, schedule=schedule, model={"embedding": {"tie_sides": tied}}, **settings, **PLAIN
    )
    trainer, twin = make_trainer(run), make_trainer(run)
    batches = [
        twin.streams[task.name].dataset.batch(twin.streams[task.name].take())
        for _, task in twin.placement.batches_at(0)
    ]
    assert len({SHARE[per](batch) for batch in batches}) > 1, "equal weights would show nothing"
    before = snapshot(trainer)
    trainer.model.train()
    alone = [gradients_of(twin, batch) for batch in batches]
    trainer.update()
    for name, own in trainer.parameters.items():
        for key, parameter in own.items():
            parts = [
                (SHARE[per](batch), gradients[name, key])
                for batch, gradients in zip(batches, alone)
                if (name, key) in gradients
            ]
            total = sum(count for count, _ in parts)
            mean = (
                sum(count * (0 if gradient is None else gradient) for count, gradient in parts)
                / total
            )
            assert torch.allclose(
                before[name][key] - parameter, torch.as_tensor(mean), atol=1e-6
            ), f"{name}/{key}"


@pytest.mark.parametrize("per", ["token", "sentence"])
def test_the_parts_of_a_batch_are_the_batch(per):
    """Split into parts of unequal size the gradient is the same."""
    model, criterion = tiny_model(tiny_config(), ["de-en"]), Criterion(LossesConfig(per=per))
    whole = random_batch(lengths=[(5, 4), (1, 9), (7, 2), (3, 3)])
    sources = [tokens[mask].numpy() for tokens, mask in zip(whole.source, whole.source_mask)]
    targets = [
        tokens[mask][:-1].numpy() for tokens, mask in zip(whole.target_out, whole.target_mask)
    ]
    parts = [
        Batch.from_sentences(whole.task, sources[:1], targets[:1]),
        Batch.from_sentences(whole.task, sources[1:], targets[1:]),
    ]
    criterion(model(whole), whole).total.backward()
    expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    total = SHARE[per](whole)
    for part in parts:
        (criterion(model(part), part).total * (SHARE[per](part) / total)).backward()
    parameters, counts = (
        model.component_parameters(),
        [(part.task.pair, criterion.count(part)) for part in parts],
    )
    scale_to_means(parameters, count_by_component(counts, parameters, model.sharing), total=total)
    for name, gradient in expected.items():
        assert torch.allclose(model.get_parameter(name).grad, gradient, atol=1e-6), name


@pytest.mark.parametrize(
    "optimizer",
    [
        {"type": "adam", "weight_decay": 0.1},
        {"type": "adamw"},
        {"type": "sgd", "momentum": 0.9, "weight_decay": 0.1},
        {"type": "muon", "weight_decay": 0.1},
    ],
)
@pytest.mark.parametrize("tied", [False, True])
def test_only_the_components_of_the_tasks_change(optimizer, tied, tmp_path):
    """Also when momentum remembers an earlier update and weight decay would shrink everything; the others have no gradient at all."""
    run = tiny_run(
        tmp_path,
        optimizer=optimizer,
        model={"embedding": {"tie_sides": tied}},
        schedule={"copies": True},
        training={"steps": 100},
    )
    trainer = make_trainer(run)
    step, gradients = trainer.optimizer.step, []

    def looks(*args, **given):
        gradients.append(
            {
                name
                for name, own in trainer.parameters.items()
                if any(parameter.grad is not None for parameter in own.values())
            }
        )
        return step(*args, **given)

    trainer.optimizer.step = looks
    for number in range(20):
        before = snapshot(trainer)
        pairs = [task.pair for _, task in trainer.placement.batches_at(number)]
        trainer.update()
        trainer.progress.step += 1
        expected = {
            name for pair in pairs for name in component_names(pair)
        } & trainer.parameters.keys()
        assert changed(before, trainer) == gradients[-1] == expected
        assert all(parameter.grad is None for parameter in trainer.model.parameters())


def test_no_update_changes_a_language_that_its_phase_excludes(tmp_path):
    phases = [{"until_step": 6, "pairs": ["de-en", "en-de"]}]
    run = tiny_run(
        tmp_path,
        schedule={"phases": phases},
        training={"steps": 20, "checkpoint": {"every": 6, "keep": 9}},
    )
    before = snapshot(make_trainer(run))
    train(run, stop_after=6)
    checkpoint = checkpoints.choose(run.checkpoints, "6")[0]
    for name in before:
        same = all(
            torch.equal(before[name][key], tensor)
            for key, tensor in checkpoint.component(name).items()
        )
        assert same == name.endswith(".fr"), name
    assert not any(".fr/" in key for key in checkpoint.training_tensors())
    trainer = train(Run.open(run.path))
    assert {"encoder.fr", "decoder.fr"} <= changed(before, trainer)


def test_gradients_are_clipped_by_the_norm_of_what_was_trained(tmp_path):
    run = tiny_run(
        tmp_path, optimizer={"type": "sgd", "learning_rate": 1.0}, training={"clip_norm": 0.01}
    )
    trainer = make_trainer(run)
    before = snapshot(trainer)
    norm = trainer.update()
    moved = torch.cat(
        [
            (before[name][key] - parameter).flatten()
            for name, own in trainer.parameters.items()
            for key, parameter in own.items()
        ]
    )
    assert norm > 0.01 and moved.norm().item() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("largest", "after"), [(None, 5.0), (10.0, 5.0), (1.0, 1.0)])
def test_clipping(largest, after):
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    parameters[0].grad, parameters[1].grad = torch.tensor([3.0]), torch.tensor([4.0])
    assert clip_gradients(parameters, largest).item() == pytest.approx(5)
    assert math.hypot(*(parameter.grad.item() for parameter in parameters)) == pytest.approx(
        after, rel=1e-4
    )


def test_dropout_is_for_training_alone(tmp_path):
    """Off while held-out text is looked at, on again in the next step."""
    run, modes = tiny_run(tmp_path, training={"steps": 6}, validation={"every": 2}), []

    def validator(model):
        return lambda: (
            modes.append(("validation", model.training)),
            ValidationResult({"de-en": 1.0}),
        )[1]

    trainer = make_trainer(run, validator)
    trainer.model.register_forward_pre_hook(
        lambda *_: modes.append(("training", trainer.model.training))
    )
    trainer.train()
    assert set(modes) == {("training", True), ("validation", False)} and len(modes) == 9


def test_the_learning_rate_follows_its_schedule(tmp_path):
    run = tiny_run(
        tmp_path, learning_rate_schedule={"type": "linear", "warmup": 2}, training={"steps": 6}
    )
    trainer, rates = make_trainer(run), []
    update = trainer.update
    trainer.update = lambda: (update(), rates.append(trainer.optimizer.param_groups[0]["lr"]))[0]
    trainer.train()
    assert rates == pytest.approx([0.005, 0.01, 0.01, 0.01 * 2 / 3, 0.01 / 3, 0.0], abs=1e-9)


def test_a_model_learns(tmp_path):
    """From the first loss to less than half of it in a few steps, in every task."""
    run = tiny_run(
        tmp_path,
        training={"steps": 120, "log_every": 60},
        model={"encoder": {"size": 32}, "decoder": {"size": 32}},
    )
    trainer = make_trainer(run)
    batches = {name: stream.dataset.batch(range(20)) for name, stream in trainer.streams.items()}

    def losses():
        trainer.model.eval()
        with torch.no_grad():
            return {
                name: trainer.criterion(trainer.model(batch), batch).terms["translation"].item()
                for name, batch in batches.items()
            }

    before = losses()
    trainer.train()
    after = losses()
    assert all(after[name] < 0.75 * before[name] for name in batches), (before, after)


# The first parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "embedding", [{}, {"tie_sides": True}, {"tie_sides": True, "tie_output": True, "size": 16}]
)
@pytest.mark.parametrize("initial_range", [None, 0.1])
def test_adding_a_language_changes_no_parameter_of_the_others(embedding, initial_range, tmp_path):
    model = {"embedding": embedding, "initial_range": initial_range}
    few = tiny_run(tmp_path, "few", languages=["en", "de"], model=model)
    many = tiny_run(
        tmp_path, "many", languages=["en", "fr", "de"], model=model, schedule={"copies": True}
    )
    before, after = (make_trainer(run).parameters for run in (few, many))
    assert before.keys() < after.keys()
    for name, own in before.items():
        assert own.keys() == after[name].keys()
        assert all(torch.equal(own[key], after[name][key]) for key in own), name


def test_the_first_parameters_come_from_the_seed_alone(tmp_path):
    run = tiny_run(tmp_path)
    vocabularies = make_trainer(run).run.vocabularies
    torch.manual_seed(5)
    one = build_model(run.config, vocabularies, seed=1)
    torch.manual_seed(6)
    again, other = (
        build_model(run.config, vocabularies, seed=1),
        build_model(run.config, vocabularies, seed=2),
    )
    for name, parameter in one.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name))
    assert not torch.equal(one.bridge.hidden.weight, other.bridge.hidden.weight)


def test_components_of_one_role_begin_alike_and_nothing_else_does(tmp_path):
    """Encoders start as the same function of their words, and so do decoders; within one, no two weights are the same."""
    parameters = make_trainer(tiny_run(tmp_path, model={"encoder": {"layers": 2}})).parameters
    for one, other in itertools.combinations(parameters, 2):
        alike = one.partition(".")[0] == other.partition(".")[0]
        for key in parameters[one].keys() & parameters[other].keys():
            mine, its = parameters[one][key], parameters[other][key]
            if key.startswith("body.") and mine.dim() > 1:  # biases all begin at the same
                assert torch.equal(mine, its) == alike, f"{one}, {other}: {key}"
    for name, own in parameters.items():
        weights = [parameter for parameter in own.values() if parameter.dim() > 1]
        assert not any(
            one.shape == other.shape and torch.equal(one, other)
            for one, other in itertools.combinations(weights, 2)
        ), name


def test_an_update_does_not_go_through_the_modules_of_all_languages(tmp_path, monkeypatch):
    """Of which there may be hundreds; nobody's gradients are left."""
    trainer, visited = make_trainer(tiny_run(tmp_path)), []
    monkeypatch.setattr(torch.nn.Module, "train", lambda self, *_: visited.append(self))
    for one in (trainer.optimizer, trainer.optimizer.optimizer):
        monkeypatch.setattr(one, "zero_grad", lambda *_, **__: visited.append("gradients"))
    trainer.update()
    assert not visited and all(
        parameter.grad is None for own in trainer.parameters.values() for parameter in own.values()
    )
