"""One update: it trains the components of its tasks by their mean gradient, and no others."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polyglot.model.losses import Criterion, LossesConfig
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.batch import UNK, Batch
from polyglot.tasks.sharing import component_names
from polyglot.training.build import build_model
from polyglot.training.gradient_scaling import (
    clip_gradients,
    count_by_component,
    scale_to_means,
)
from polyglot.training.validation import ValidationResult
from tests.builders.models import random_batch, tiny_config, tiny_model
from tests.builders.runs import make_trainer, tiny_run, train

COUNTS = {
    "token": lambda batch: int(batch.target_mask.sum()),
    "sentence": lambda batch: batch.source.shape[0],
}
"""weight of a batch in an update, by `losses.per`"""
PLAIN_SGD = {
    "optimizer": {"type": "sgd", "learning_rate": 1.0, "momentum": 0.0},
    "training": {"clip_norm": None},
}
"""settings with which an update subtracts the gradient"""


def all_parameters(trainer):
    """Parameters by (component, name)."""
    parameters = {}
    for component, by_name in trainer.parameters.items():
        for name, parameter in by_name.items():
            parameters[component, name] = parameter
    return parameters


def snapshot(trainer):
    """Copies of all parameters, by (component, name)."""
    return {key: value.detach().clone() for key, value in all_parameters(trainer).items()}


def changed_components(before, trainer):
    """Components with a parameter that is not equal, bit for bit, to that of the snapshot."""
    changed = set()
    for (component, name), parameter in all_parameters(trainer).items():
        if not torch.equal(before[component, name], parameter):
            changed.add(component)
    return changed


def components_of(tasks):
    """Names of the components that these tasks may train."""
    return {name for task in tasks for name in component_names(task.pair)}


def next_batches(trainer):
    """Batches of the next update."""
    batches = []
    for _, task in trainer.placement.batches_at(trainer.progress.step):
        stream = trainer.streams[task.name]
        batches.append(stream.batch(stream.take()))
    return batches


def gradients_of(trainer, batch):
    """Gradients of one batch alone, by (component, name); None where it gives none."""
    losses = trainer.criterion(trainer.model(batch), batch)
    trained = component_names(batch.task.pair)
    parameters = {
        key: parameter for key, parameter in all_parameters(trainer).items() if key[0] in trained
    }
    gradients = torch.autograd.grad(losses.total, list(parameters.values()), allow_unused=True)
    return dict(zip(parameters, gradients))


# Gradients ---------------------------------------------------------------------------------------


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
def test_a_component_gets_the_weighted_mean_of_the_gradients_of_its_batches(
    pairs, tied, per, tmp_path
):
    run = tiny_run(
        tmp_path,
        schedule={"type": "round_robin", "pairs": pairs, "tasks_per_update": len(pairs)},
        model={"embedding": {"tie_sides": tied}},
        losses={"per": per},
        batching={"by": "tokens", "size": 80},
        **PLAIN_SGD,
    )
    reference = make_trainer(run)
    batches = next_batches(reference)
    counts = [COUNTS[per](batch) for batch in batches]
    assert len(set(counts)) > 1, "equal weights would show nothing"
    gradients = [gradients_of(reference, batch) for batch in batches]

    trainer = make_trainer(run)
    before = snapshot(trainer)
    trainer.model.train()
    trainer.update()
    for key, parameter in all_parameters(trainer).items():
        total = 0
        weighted_sum = torch.zeros_like(parameter)
        for count, batch_gradients in zip(counts, gradients):
            if key in batch_gradients:
                total += count
                if batch_gradients[key] is not None:
                    weighted_sum += count * batch_gradients[key]
        mean = weighted_sum / max(total, 1)
        assert torch.allclose(before[key] - parameter, mean, atol=1e-6), key


@pytest.mark.parametrize("per", ["token", "sentence"])
def test_parts_of_a_batch_give_the_gradient_of_the_batch(per):
    model = tiny_model(tiny_config(), ["de-en"])
    criterion = Criterion(LossesConfig(per=per))
    batch = random_batch(lengths=[(5, 4), (1, 9), (7, 2), (3, 3)])
    criterion(model(batch), batch).total.backward()
    expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad(set_to_none=True)

    sources = []
    for tokens, mask in zip(batch.source, batch.source_mask):
        sources.append(tokens[mask].numpy())
    targets = []
    for tokens, mask in zip(batch.target_out, batch.target_mask):
        targets.append(tokens[mask][:-1].numpy())  # without eos
    parts = [
        Batch.from_sentences(batch.task, sources[:1], targets[:1]),
        Batch.from_sentences(batch.task, sources[1:], targets[1:]),
    ]

    total = COUNTS[per](batch)
    for part in parts:
        share = COUNTS[per](part) / total
        (criterion(model(part), part).total * share).backward()
    parameters = model.component_parameters()
    part_counts = [(part.task.pair, criterion.divisor(part)) for part in parts]
    counts = count_by_component(part_counts, parameters, model.sharing)
    scale_to_means(parameters, counts, total=total)
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
    """Neither momentum nor weight decay changes the other components; they have no gradient."""
    run = tiny_run(
        tmp_path,
        optimizer=optimizer,
        model={"embedding": {"tie_sides": tied}},
        schedule={"copies": True},
        training={"steps": 100},
    )
    trainer = make_trainer(run)
    optimizer_step = trainer.optimizer.step
    with_gradients = []

    def record_gradients():
        components = set()
        for (component, _), parameter in all_parameters(trainer).items():
            if parameter.grad is not None:
                components.add(component)
        with_gradients.append(components)
        optimizer_step()

    trainer.optimizer.step = record_gradients
    for step in range(20):
        before = snapshot(trainer)
        tasks = [task for _, task in trainer.placement.batches_at(step)]
        trainer.update()
        trainer.progress.step += 1
        expected = components_of(tasks) & trainer.parameters.keys()
        assert changed_components(before, trainer) == expected
        assert with_gradients[-1] == expected
        for parameter in trainer.model.parameters():
            assert parameter.grad is None


def test_a_language_that_its_phase_excludes_does_not_change(tmp_path):
    run = tiny_run(
        tmp_path,
        schedule={"phases": [{"until_step": 6, "pairs": ["de-en", "en-de"]}]},
        training={"steps": 20, "checkpoint": {"every": 6, "keep": 9}},
    )
    before = snapshot(make_trainer(run))
    train(run, stop_after=6)
    [checkpoint] = checkpoints.choose(run.checkpoints, "6")
    changed = set()
    for component, name in before:
        if not torch.equal(before[component, name], checkpoint.component(component)[name]):
            changed.add(component)
    assert changed == {"encoder.de", "encoder.en", "bridge", "decoder.de", "decoder.en"}
    assert not any(".fr/" in name for name in checkpoint.training_tensors())

    trainer = train(Run.open(run.path))
    assert {"encoder.fr", "decoder.fr"} <= changed_components(before, trainer)


def test_an_update_clips_the_norm_of_all_trained_parameters(tmp_path):
    run = tiny_run(
        tmp_path, optimizer={"type": "sgd", "learning_rate": 1.0}, training={"clip_norm": 0.01}
    )
    trainer = make_trainer(run)
    before = snapshot(trainer)
    norm = trainer.update()
    steps = []
    for key, parameter in all_parameters(trainer).items():
        steps.append((before[key] - parameter).flatten())
    assert norm > 0.01
    assert torch.cat(steps).norm().item() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("max_norm", "clipped"), [(None, 5.0), (10.0, 5.0), (1.0, 1.0)])
def test_clipping_returns_the_norm_before(max_norm, clipped):
    first = torch.nn.Parameter(torch.zeros(1))
    second = torch.nn.Parameter(torch.zeros(1))
    first.grad = torch.tensor([3.0])
    second.grad = torch.tensor([4.0])
    assert clip_gradients([first, second], max_norm).item() == pytest.approx(5)
    norm = math.hypot(first.grad.item(), second.grad.item())
    assert norm == pytest.approx(clipped, rel=1e-4)


def test_an_update_does_not_visit_the_modules_of_all_languages(tmp_path, monkeypatch):
    """A model may have hundreds of languages; no gradient is left all the same."""
    trainer = make_trainer(tiny_run(tmp_path))
    visits = []
    monkeypatch.setattr(torch.nn.Module, "train", lambda self, *_: visits.append(self))
    for optimizer in (trainer.optimizer, trainer.optimizer.optimizer):
        monkeypatch.setattr(optimizer, "zero_grad", lambda *_, **__: visits.append("gradients"))
    trainer.update()
    assert not visits
    for parameter in all_parameters(trainer).values():
        assert parameter.grad is None


# Steps of an update ------------------------------------------------------------------------------


def batch_seeds(folder, name, seed):
    """Seeds of the random numbers of each batch in the first two updates of a run."""
    run = tiny_run(folder, name, seed=seed, schedule={"tasks_per_update": 2})
    trainer = make_trainer(run)
    seeds = []
    trainer.model.register_forward_pre_hook(lambda *_: seeds.append(torch.initial_seed()))
    for _ in range(2):
        trainer.update()
        trainer.progress.step += 1
    return seeds


def test_each_batch_has_random_numbers_from_the_seed_of_the_run(tmp_path):
    seeds = batch_seeds(tmp_path, "first", seed=1)
    assert len(seeds) == len(set(seeds)) == 4
    assert batch_seeds(tmp_path, "again", seed=1) == seeds
    assert not set(batch_seeds(tmp_path, "other", seed=2)) & set(seeds)


@pytest.mark.parametrize(("every", "steps"), [(None, []), (1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6])])
def test_parameters_are_verified_every_so_many_updates(every, steps, tmp_path, monkeypatch):
    run = tiny_run(tmp_path, parallel={"verify": every}, training={"steps": 7})
    trainer = make_trainer(run)
    verified = []

    def record(components):
        step = trainer.progress.step
        tasks = [task for _, task in trainer.placement.batches_at(step)]
        assert components == sorted(components_of(tasks))
        verified.append(step + 1)  # updates, counted from 1

    monkeypatch.setattr(trainer.exchange, "verify", record)
    trainer.train()
    assert verified == steps


def test_dropout_is_off_during_validation_and_on_in_the_next_step(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 6}, validation={"every": 2})
    modes = []

    def validator(model):
        def validate():
            modes.append(("validation", model.training))
            return ValidationResult({"de-en": 1.0})

        return validate

    trainer = make_trainer(run, validator)
    trainer.model.register_forward_pre_hook(
        lambda *_: modes.append(("training", trainer.model.training))
    )
    trainer.train()
    assert set(modes) == {("training", True), ("validation", False)}
    assert len(modes) == 9


def test_the_learning_rate_follows_its_schedule(tmp_path):
    run = tiny_run(
        tmp_path, learning_rate_schedule={"type": "linear", "warmup": 2}, training={"steps": 6}
    )
    trainer = make_trainer(run)
    rates = []
    update = trainer.update

    def record_rate():
        norm = update()
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        return norm

    trainer.update = record_rate
    trainer.train()
    expected = [0.005, 0.01, 0.01, 0.01 * 2 / 3, 0.01 / 3, 0.0]
    assert rates == pytest.approx(expected, abs=1e-9)


def test_the_loss_of_every_task_falls(tmp_path):
    run = tiny_run(
        tmp_path,
        training={"steps": 120, "log_every": 60},
        model={"encoder": {"size": 32}, "decoder": {"size": 32}},
    )
    trainer = make_trainer(run)
    batches = {name: stream.dataset.batch(range(20)) for name, stream in trainer.streams.items()}

    @torch.no_grad()
    def losses():
        trainer.model.eval()
        values = {}
        for name, batch in batches.items():
            terms = trainer.criterion(trainer.model(batch), batch).terms
            values[name] = terms["translation"].item()
        return values

    before = losses()
    trainer.train()
    after = losses()
    for name in batches:
        assert after[name] < 0.75 * before[name], name


# Initial parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "embedding", [{}, {"tie_sides": True}, {"tie_sides": True, "tie_output": True, "size": 16}]
)
@pytest.mark.parametrize("initial_range", [None, 0.1])
def test_another_language_changes_no_initial_parameter(embedding, initial_range, tmp_path):
    model = {"embedding": embedding, "initial_range": initial_range}
    small = tiny_run(tmp_path, "small", languages=["en", "de"], model=model)
    large = tiny_run(
        tmp_path, "large", languages=["en", "fr", "de"], model=model, schedule={"copies": True}
    )
    parameters = all_parameters(make_trainer(large))
    for key, parameter in all_parameters(make_trainer(small)).items():
        assert torch.equal(parameter, parameters[key]), key


def test_initial_parameters_depend_on_the_seed_alone(tmp_path):
    run = tiny_run(tmp_path)
    vocabularies = make_trainer(run).run.vocabularies
    torch.manual_seed(5)
    first = build_model(run.config, vocabularies, seed=1)
    torch.manual_seed(6)
    again = build_model(run.config, vocabularies, seed=1)
    other = build_model(run.config, vocabularies, seed=2)
    for name, parameter in first.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name))
    assert not torch.equal(first.bridge.hidden.weight, other.bridge.hidden.weight)


def test_only_components_of_the_same_kind_have_equal_initial_weights(tmp_path):
    """Encoders start as the same function of their words, and so do decoders."""
    run = tiny_run(tmp_path, model={"encoder": {"layers": 2}})
    parameters = make_trainer(run).parameters
    for first, second in itertools.combinations(parameters, 2):
        same_kind = first.partition(".")[0] == second.partition(".")[0]
        for name in parameters[first].keys() & parameters[second].keys():
            weight = parameters[first][name]
            if name.startswith("body.") and weight.dim() > 1:  # biases are all equal
                equal = torch.equal(weight, parameters[second][name])
                assert equal == same_kind, f"{first}, {second}: {name}"


def test_two_weights_of_a_component_are_never_equal(tmp_path):
    run = tiny_run(tmp_path, model={"encoder": {"layers": 2}})
    for component, parameters in make_trainer(run).parameters.items():
        weights = [parameter for parameter in parameters.values() if parameter.dim() > 1]
        for first, second in itertools.combinations(weights, 2):
            equal = first.shape == second.shape and torch.equal(first, second)
            assert not equal, component


def test_noise_reaches_the_sources_of_copies_only(tmp_path, monkeypatch):
    """The model reads the noisy source, and the loss the clean target."""
    run = tiny_run(
        tmp_path,
        schedule={
            "pairs": ["de-en"],
            "copies": ["en"],
            "copy_noise": {"mask": 1.0},
            "tasks_per_update": 2,
            "type": "round_robin",
        },
    )
    trainer = make_trainer(run)
    batches = {}
    forward = trainer.model.forward

    def remember(batch):
        batches[str(batch.task.pair)] = batch
        return forward(batch)

    monkeypatch.setattr(trainer.model, "forward", remember)
    trainer.update()
    copy = batches["en-en"]
    assert (copy.source[copy.source_mask] == UNK).all()
    assert (copy.target_out != UNK).any()
    translation = batches["de-en"]
    assert (translation.source[translation.source_mask] != UNK).any()
