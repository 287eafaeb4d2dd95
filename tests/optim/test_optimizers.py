"""Optimizers leave alone what nobody trained; learning-rate schedules have the shapes of their
papers.
"""

from __future__ import annotations

import math

import pytest
import torch
from pydantic import ValidationError

from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups

STEPS = 1000
VARIANTS = [
    pytest.param(
        name,
        settings,
        kind,
        id=f"{name}-{'-'.join(settings) or 'plain'}-{'hidden' if kind else 'others'}",
    )
    for name in OPTIMIZERS.names()
    for kind in (True, False)
    for settings in (
        {},
        {"weight_decay": 0.1},
        {"momentum": 0.9},
        {"momentum": 0.9, "weight_decay": 0.1},
    )
    if settings.keys() <= OPTIMIZERS.get(name).Config.model_fields.keys()
]


def build(name, parameters, *, hidden=False, **settings):
    """hidden: whether the parameters are between states."""
    kinds = parameter_groups(parameters, hidden=parameters if hidden else [])
    return OPTIMIZERS.build(
        OPTIMIZERS.configure(name, **{"learning_rate": 0.1, **settings}), parameters=kinds
    )


def parameters(count=3):
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(2, 3, generator=generator)) for _ in range(count)]


def update(optimizer, trained, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for parameter in trained:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@pytest.mark.parametrize(("name", "settings", "hidden"), VARIANTS)
class TestEveryOptimizer:
    def test_what_has_no_gradient_stays_bit_identical(self, name, settings, hidden):
        """Also with momentum and weight decay, and also after it was trained before."""
        own = parameters()
        optimizer = build(name, own, hidden=hidden, **settings)
        for step, trained in enumerate([[0, 1], [0, 2], [0], [0]]):
            before = [parameter.detach().clone() for parameter in own]
            kept = [
                {
                    key: torch.as_tensor(value).clone()
                    for key, value in optimizer.state[own[number]].items()
                    if value is not None
                }
                for number in range(3)
            ]
            update(optimizer, [own[number] for number in trained], seed=step)
            for number in range(3):
                assert torch.equal(own[number], before[number]) == (number not in trained)
                if number not in trained:
                    after = optimizer.state[own[number]]
                    assert all(
                        torch.equal(torch.as_tensor(after[key]), value)
                        for key, value in kept[number].items()
                    )

    def test_a_parameter_is_trained_as_if_it_were_alone(self, name, settings, hidden):
        """Its steps count only where it had a gradient: nothing depends on how often others
        trained.
        """
        together, alone = parameters(2), parameters(2)
        both, single = (
            build(name, one, hidden=hidden, **settings) for one in (together, alone[1:])
        )
        for step in range(5):
            update(both, together[:1], seed=100 + step)
            if step % 2:
                update(both, together[1:], seed=step)
                update(single, alone[1:], seed=step)
        assert torch.equal(together[1], alone[1])

    def test_it_descends(self, name, settings, hidden):
        own = parameters(1)
        if name == "adadelta":  # its first updates have the size 1e-3, the root of its epsilon
            settings = {**settings, "epsilon": 1e-4, "learning_rate": 1.0}
        optimizer = build(name, own, hidden=hidden, **settings)
        start = own[0].square().sum().item()
        for _ in range(
            60 if name == "muon" and hidden else 20
        ):  # its updates have a fifth of the rate
            own[0].square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert own[0].square().sum().item() < start / 2


def test_sgd_is_the_formula():
    own = parameters(1)
    before = own[0].detach().clone()
    optimizer = build("sgd", own)
    own[0].grad = torch.full((2, 3), 2.0)
    optimizer.step()
    assert torch.allclose(own[0], before - 0.1 * 2.0)


def test_adadelta_is_the_formula():
    """Δ = −g √(E[Δ²] + ε) / √(E[g²] + ε), with running means of the squares (Zeiler 2012)."""
    own = parameters(1)
    expected = own[0].detach().clone()
    optimizer = build("adadelta", own, learning_rate=1.0)
    squared_gradients = torch.zeros(2, 3)
    squared_updates = torch.zeros(2, 3)
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        gradient = torch.randn(2, 3, generator=generator)
        squared_gradients = 0.95 * squared_gradients + 0.05 * gradient.square()
        change = -gradient * (squared_updates + 1e-6).sqrt() / (squared_gradients + 1e-6).sqrt()
        squared_updates = 0.95 * squared_updates + 0.05 * change.square()
        expected = expected + change
        update(optimizer, own, seed=step)
    assert torch.allclose(own[0], expected, atol=1e-6)


class TestMuon:
    def test_moves_all_directions_of_a_matrix_alike(self):
        """A gradient that is a hundred times steeper in one direction than in another; the size
        is about that of Adam's update.
        """
        matrix = torch.nn.Parameter(torch.zeros(8, 8))
        optimizer = build("muon", [matrix], hidden=True, learning_rate=0.1, weight_decay=0.0)
        left, right = (
            torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(seed))).Q
            for seed in (1, 2)
        )
        matrix.grad = left @ torch.diag(torch.logspace(0, -2, 8)) @ right.T
        optimizer.step()
        moved = torch.linalg.svdvals(matrix.detach())
        assert moved.min() > 0.5 * moved.max()
        assert (
            0.1 < matrix.detach().square().mean().sqrt() / (0.1 * 0.2) < 1.5
        )  # 0.2: the usual size of Adam's (Liu et al. 2025)
        aligned = left.T @ matrix.detach() @ right
        assert (
            aligned.diagonal() < 0
        ).all() and aligned.diagonal().abs().sum() > 0.95 * aligned.norm(p="nuc")

    @pytest.mark.parametrize("momentum", [0.0, 0.5, 0.95])
    def test_an_update_is_the_orthogonalised_momentum_of_nesterov(self, momentum):
        """U·Vᵀ of (1 − μ)·g₂ + μ·m₂ with m₂ = μ·m₁ + (1 − μ)·g₂ and m₁ = (1 − μ)·g₁."""
        generator = torch.Generator().manual_seed(0)
        first_gradient = torch.randn(8, 8, generator=generator)
        second_gradient = torch.randn(8, 8, generator=generator)
        matrix = torch.nn.Parameter(torch.zeros(8, 8))
        optimizer = build("muon", [matrix], hidden=True, momentum=momentum)
        matrix.grad = first_gradient
        optimizer.step()
        before = matrix.detach().clone()
        matrix.grad = second_gradient
        optimizer.step()

        running_mean = momentum * (1 - momentum) * first_gradient
        running_mean = running_mean + (1 - momentum) * second_gradient
        direction = (1 - momentum) * second_gradient + momentum * running_mean
        left, _, right = torch.linalg.svd(direction)
        update = before - matrix.detach()
        cosine = torch.cosine_similarity(update.flatten(), (left @ right).flatten(), dim=0)
        assert cosine > 0.97  # Newton–Schulz in bfloat16 is not exact

    def test_stacked_matrices_get_the_updates_of_single_ones(self):
        """Several matrices of a shape, a transposed one, and shapes of their own; PyTorch's
        Muon steps one by one.
        """
        shapes = [(8, 8), (8, 8), (12, 8), (8, 12), (3, 5)]
        ours = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
        theirs = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
        optimizers = (
            (build("muon", ours, hidden=True, learning_rate=0.1, weight_decay=0.1), ours),
            (
                torch.optim.Muon(theirs, lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
                theirs,
            ),
        )
        for step in range(3):
            for optimizer, matrices in optimizers:
                update(optimizer, matrices, seed=step)
        for matrix, expected in zip(ours, theirs, strict=True):
            assert torch.allclose(matrix, expected, atol=1e-3)
            assert matrix.abs().max() > 0.01

    def test_is_adamw_for_what_is_no_matrix_between_states(self):
        ours, theirs = parameters(2), parameters(2)
        settings = {"learning_rate": 0.01, "weight_decay": 0.1, "betas": [0.8, 0.9]}
        muon, adamw = build("muon", ours, **settings), build("adamw", theirs, **settings)
        for step in range(5):
            for optimizer, own in ((muon, ours), (adamw, theirs)):
                update(optimizer, own, seed=step)
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs))

    def test_follows_the_learning_rate_of_its_groups_after_a_state_was_loaded(self):
        """As whoever wraps an optimizer does; the groups are others from then on."""
        matrix, table = parameters(2)
        optimizer = OPTIMIZERS.build(
            OPTIMIZERS.configure("muon"),
            parameters=parameter_groups([matrix, table], hidden=[matrix]),
        )
        update(optimizer, [matrix, table])
        optimizer.load_state_dict(optimizer.state_dict())
        before, kept = (
            [one.detach().clone() for one in (matrix, table)],
            {key: len(optimizer.state[key]) for key in (matrix, table)},
        )
        for group in optimizer.param_groups:
            group["lr"] = 0.0
        update(optimizer, [matrix, table])
        assert all(torch.equal(one, other) for one, other in zip((matrix, table), before))
        assert (
            {key: len(optimizer.state[key]) for key in (matrix, table)}
            == kept
            == {matrix: 1, table: 3}
        )


@pytest.mark.parametrize("name", OPTIMIZERS.names())
def test_there_may_be_nothing_of_a_kind_or_of_any(name):
    """As where only embeddings learn, or, on one of several processes, nothing."""
    own = parameters(2)
    for hidden in (own, []):
        optimizer = OPTIMIZERS.build(
            OPTIMIZERS.configure(name), parameters=parameter_groups(own, hidden=hidden)
        )
        update(optimizer, own)
    for parameter in own:
        parameter.requires_grad_(False)
    OPTIMIZERS.build(
        OPTIMIZERS.configure(name), parameters=parameter_groups(own, hidden=own)
    ).step()


@pytest.mark.parametrize("name", OPTIMIZERS.names())
def test_impossible_settings_are_refused(name):
    for wrong in (
        {"learning_rate": 0.0},
        {"learning_rate": -1.0},
        {"weight_decay": -0.1},
        {"momentun": 0.9},
        {"learning_rate": "fast"},
    ):
        with pytest.raises(ValidationError):
            OPTIMIZERS.configure(name, **wrong)


@pytest.mark.parametrize(
    "name",
    [name for name in OPTIMIZERS.names() if "betas" in OPTIMIZERS.get(name).Config.model_fields],
)
@pytest.mark.parametrize("betas", [[0.9], [0.9, 1.0], [-0.1, 0.9], [0.9, 0.99, 0.999]])
def test_betas_are_two_shares(name, betas):
    with pytest.raises(ValidationError):
        OPTIMIZERS.configure(name, betas=betas)


# Learning-rate schedules --------------------------------------------------------------------------


def factors(name, *, steps=STEPS, **settings):
    schedule = LEARNING_RATES.build(LEARNING_RATES.configure(name, **settings), steps=steps)
    return [schedule.factor(step) for step in range(steps)]


@pytest.mark.parametrize("name", LEARNING_RATES.names())
class TestEveryLearningRate:
    def test_is_a_share_of_the_learning_rate(self, name):
        for warmup in (1, 10, 999, 1000, 5000):
            assert all(0 <= factor <= 1 for factor in factors(name, warmup=warmup))

    @pytest.mark.parametrize("warmup", [1, 7, 400])
    def test_rises_in_a_line_to_1_and_never_after(self, name, warmup):
        shape = factors(name, warmup=warmup)
        assert shape[:warmup] == pytest.approx([(step + 1) / warmup for step in range(warmup)])
        assert shape[warmup] == pytest.approx(1, abs=0.5 / warmup)  # no jump
        assert all(after <= before for before, after in zip(shape[warmup - 1 :], shape[warmup:]))

    @pytest.mark.parametrize("steps", [1, 2])
    def test_short_runs(self, name, steps):
        assert all(math.isfinite(factor) for factor in factors(name, steps=steps, warmup=1))


def test_constant_stays():
    assert set(factors("constant")) == {1.0}


def test_inverse_square_root():
    shape = factors("inverse_square_root", warmup=100)
    assert shape[99] == 1.0
    assert shape[399] == pytest.approx(0.5) and shape[899] == pytest.approx(1 / 3)


def test_the_decay_of_the_paper():
    """1.0 until update 50 000, then halved there and every 10 000 updates."""
    schedule = LEARNING_RATES.build(LEARNING_RATES.configure("step_decay"), steps=100_000)
    expected = {
        0: 1.0,
        49_999: 1.0,
        50_000: 0.5,
        59_999: 0.5,
        60_000: 0.25,
        70_000: 0.125,
        99_999: 2.0**-5,
    }
    assert {step: schedule.factor(step) for step in expected} == expected


def test_step_decay_by_its_settings():
    assert factors("step_decay", start=3, every=2, decay=0.1, steps=8) == pytest.approx(
        [1, 1, 1, 0.1, 0.1, 0.01, 0.01, 0.001]
    )


@pytest.mark.parametrize("warmup", [0, 100])
@pytest.mark.parametrize("minimum", [0.0, 0.1])
def test_linear_and_cosine_end_at_their_minimum(warmup, minimum):
    for name, half in (("linear", 0.5), ("cosine", 0.5)):
        shape = factors(name, steps=1001, warmup=warmup, minimum=minimum)
        assert shape[warmup] == 1.0
        assert shape[-1] == pytest.approx(minimum)
        assert shape[(warmup + 1000) // 2] == pytest.approx(minimum + (1 - minimum) * half)
    quarter = (1000 - warmup) // 4 + warmup
    assert factors("linear", steps=1001, warmup=warmup)[quarter] == pytest.approx(0.75)
    assert factors("cosine", steps=1001, warmup=warmup)[quarter] == pytest.approx(
        (1 + math.cos(math.pi / 4)) / 2
    )


def test_the_shape_ends_with_the_run_not_at_a_fixed_step():
    assert factors("linear", steps=11)[5] == pytest.approx(0.5) and factors("linear", steps=101)[
        5
    ] == pytest.approx(0.95)
