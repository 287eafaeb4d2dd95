"""Role interaction: the formulas of its paper, section 3, and what they promise."""

from __future__ import annotations

import itertools

import pytest
import torch

from polyglot.layers.role_mixture import mix_roles
from polyglot.model.memory import Memory
from polyglot.model.options import Roles
from tests.builders.models import allclose

ROLES, SIZE = 5, 8
SIDES = {"source": None, "target": 16}
ASSIGNMENTS = ["dense", "softmax", "onehot"]
VARIANTS = {
    "plain": {"residual": False},
    "residual": {},
    "approx": {"combination": "rank1"},
    "cnn": {"context": "cnn", "width": 3},
}
EVERY = list(itertools.product(ASSIGNMENTS, VARIANTS, SIDES))


def layer(side="source", **settings):
    torch.manual_seed(0)
    option = Roles(
        Roles.Config(roles=ROLES, context_size=6, **({"dropout": 0.0} | settings)),
        size=SIZE,
        memory_size=SIDES[side],
    ).eval()
    for parameter in option.parameters():
        torch.nn.init.normal_(parameter) if parameter.dim() > 1 else torch.nn.init.zeros_(
            parameter
        )  # words differ in their roles
    return option


def words(*lengths):
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), SIZE), mask


@pytest.mark.parametrize(("assignment", "variant", "side"), EVERY)
def test_every_assignment_and_variant_on_either_side_is_the_formula(assignment, variant, side):
    option = layer(side, assignment=assignment, **VARIANTS[variant])
    embedded, mask = words(6, 3)
    found, roles = option(embedded, mask), option.assign_roles(embedded, mask)
    for place in mask.nonzero().tolist():
        word, role = embedded[*place], roles[*place]
        if variant == "approx":
            expected = (
                option.output.weight
                @ ((option.of_roles.weight @ role) * (option.of_words.weight @ word))
                + word
            )
        else:
            transposed = option.matrices.view(ROLES, SIZE, SIZE)
            expected = sum(role[i] * (transposed[i].T @ word) for i in range(ROLES)) + (
                0 if variant == "plain" else word
            )
        assert allclose(found[*place], expected, 1e-4)


@pytest.mark.parametrize(
    ("assignment", "context", "side"), list(itertools.product(ASSIGNMENTS, ["lstm", "cnn"], SIDES))
)
def test_the_roles_of_a_word_are_the_formula(assignment, context, side):
    """Written out for each sentence by itself: c of both directions, or of what is not after the word, then tanh, then the choice."""
    option = layer(side, assignment=assignment, context=context, width=3)
    for parameter in option.parameters():
        torch.nn.init.normal_(parameter)
    embedded, mask = words(6, 3)
    found = option.assign_roles(embedded, mask)
    for number, length in enumerate((6, 3)):
        own = embedded[number, :length]
        dense = torch.tanh(contexts(option, own, side) @ option.dense.weight.T + option.dense.bias)
        if assignment != "dense":
            scores = dense @ option.choices.weight.T
            expected = (
                scores.softmax(-1)
                if assignment == "softmax"
                else torch.eye(ROLES)[scores.argmax(-1)]
            )
        assert allclose(found[number, :length], dense if assignment == "dense" else expected)


def contexts(option, own, side):
    """c of the words of one sentence (S, E), by the plain layers."""
    if option.config.context == "cnn":
        width, size = option.context.convolution.kernel_size[0], own.shape[1]
        before = width - 1 if side == "target" else width // 2
        around = torch.cat([torch.zeros(before, size), own, torch.zeros(width - 1 - before, size)])
        weight, bias = option.context.convolution.weight, option.context.convolution.bias
        windows = [around[place : place + width] for place in range(len(own))]
        return torch.stack(
            [torch.relu((weight * window.T).sum((1, 2)) + bias) for window in windows]
        )
    if side == "target":
        return option.context.forwards(own.unsqueeze(0))[0][0]
    both = option.context.both
    left, right = (
        both.forwards(own.unsqueeze(0))[0][0],
        both.backwards(own.flip(0).unsqueeze(0))[0][0],
    )
    return torch.cat([left, right.flip(0)], dim=1)


def test_the_contextualized_baseline_is_the_formula():
    option, (embedded, mask) = layer(combination="additive"), words(4)
    expected = option.assign_roles(embedded, mask) @ option.of_roles.weight.T + embedded
    assert allclose(option(embedded, mask), expected)


def test_softmax_roles_are_positive_and_sum_to_1():
    roles = layer(assignment="softmax").assign_roles(*words(7, 4))
    assert (roles > 0).all() and allclose(roles.sum(-1), torch.ones(2, 7))


@pytest.mark.parametrize("side", SIDES)
def test_onehot_roles_are_exactly_one_role_at_test(side):
    roles = layer(side, assignment="onehot").assign_roles(*words(7, 4))
    assert ((roles == 0) | (roles == 1)).all() and (roles.sum(-1) == 1).all()
    assert len(roles.argmax(-1).unique()) > 1


def test_onehot_roles_are_the_likeliest_of_the_same_softmax():
    one, other = layer(assignment="onehot"), layer(assignment="softmax")
    other.load_state_dict(
        {key: tensor for key, tensor in one.state_dict().items() if not key.startswith("annealed")}
    )
    assert torch.equal(one.assign_roles(*words(9)).argmax(-1), other.assign_roles(*words(9)).argmax(-1))


def test_relaxed_roles_near_temperature_0_are_drawn_from_the_softmax():
    option = layer(assignment="onehot").train()
    option.annealed.temperature.fill_(1e-4)
    embedded, mask = words(1)
    draws = option.assign_roles(embedded.expand(4000, 1, SIZE), mask.expand(4000, 1))[:, 0]
    expected = option.choices(option.dense(option.context(embedded, mask)).tanh()).softmax(-1)[0, 0]
    assert allclose(draws.max(-1).values.mean(), torch.tensor(1.0), 1e-3) and allclose(
        draws.mean(0), expected, 0.04
    )


@pytest.mark.parametrize("side", SIDES)
def test_a_seed_fixes_the_draw(side):
    option, (embedded, mask) = layer(side, assignment="onehot").train(), words(5)
    torch.manual_seed(3)
    first = option(embedded, mask)
    other = option(embedded, mask)
    torch.manual_seed(3)
    assert torch.equal(option(embedded, mask), first) and not torch.equal(other, first)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("side", SIDES)
def test_residual_with_matrices_of_zeros_is_the_identity(assignment, side):
    option, (embedded, mask) = layer(side, assignment=assignment), words(6, 2)
    torch.nn.init.zeros_(option.matrices)
    assert torch.equal(option(embedded, mask), embedded)


def test_the_fast_path_of_one_role_equals_the_formula():
    torch.manual_seed(0)
    chosen, embedded, matrices = (
        torch.randint(0, ROLES, (4, 7)),
        torch.randn(4, 7, SIZE),
        torch.randn(ROLES * SIZE, SIZE),
    )
    onehot = torch.nn.functional.one_hot(chosen, ROLES).float()
    expected = torch.stack(
        [
            matrices.view(ROLES, SIZE, SIZE)[role].T @ word
            for role, word in zip(chosen.flatten(), embedded.flatten(0, 1))
        ]
    )
    for sparse in (True, False):
        assert allclose(mix_roles(onehot, embedded, matrices, sparse=sparse).flatten(0, 1), expected)


def test_the_fast_path_multiplies_each_word_once(monkeypatch):
    from polyglot.layers import role_mixture

    multiplied, product = [], role_mixture.product
    monkeypatch.setattr(
        role_mixture,
        "product",
        lambda inputs, weight: multiplied.append(inputs.numel()) or product(inputs, weight),
    )
    option, (embedded, mask) = layer(assignment="onehot"), words(30, 20)
    option(embedded, mask)
    assert sum(multiplied) == embedded.numel()
    multiplied.clear()
    option = layer("target", assignment="onehot")
    state = option.start(Memory(torch.randn(2, 3, SIDES["target"])))
    option.step(embedded[:, 0], state)
    assert sum(multiplied) == embedded[:, 0].numel()


@pytest.mark.parametrize("sparse", [True, False], ids=["role by role", "at once"])
@pytest.mark.parametrize("count", [3, 1100])
def test_the_products_have_the_gradients_of_the_formula(count, sparse):
    """Of few words, and of so many that they are taken in blocks; a role of 0 was dropped, and its gradient goes no further."""
    torch.manual_seed(0)
    kept = torch.rand(count, ROLES) > 0.3
    shapes = (count, ROLES), (count, SIZE), (ROLES * SIZE, SIZE)
    given = roles, embedded, matrices = [
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes
    ]
    plain = torch.einsum("nr,ne,reo->no", roles * kept, embedded, matrices.view(ROLES, SIZE, SIZE))
    found, weights = (
        mix_roles(roles * kept, embedded, matrices, sparse=sparse),
        torch.randn(count, SIZE, dtype=torch.float64),
    )
    assert torch.allclose(found, plain)
    for one, other in zip(
        *(torch.autograd.grad((each * weights).sum(), given) for each in (found, plain))
    ):
        assert torch.allclose(one, other)


def test_half_precision_loses_no_more_role_by_role_than_at_once():
    """What comes back to a word is a sum over all its roles."""
    torch.manual_seed(0)
    shapes = (300, 32), (300, 16), (32 * 16, 16)
    given = [torch.randn(shape, dtype=torch.bfloat16, requires_grad=True) for shape in shapes]
    exact = [each.detach().double().requires_grad_() for each in given]

    def of_words(tensors, **how):
        (found,) = torch.autograd.grad(mix_roles(*tensors, **how).double().sum(), tensors[1])
        return found.double()

    truth = of_words(exact)
    lost = {
        way: ((of_words(given, sparse=way) - truth).norm() / truth.norm()).item()
        for way in (True, False)
    }
    assert lost[True] < 1.5 * lost[False], lost


def test_a_convolution_sees_its_width_and_no_more():
    option, (embedded, mask) = layer(context="cnn", width=3), words(9)
    changed = embedded.clone()
    changed[0, 8] += 1
    same = (option.assign_roles(embedded, mask) == option.assign_roles(changed, mask)).all(-1)[0]
    assert same.tolist() == [True] * 7 + [False] * 2


def test_dropout_is_on_the_roles():
    option, (embedded, mask) = layer(dropout=0.5, assignment="softmax").train(), words(40, 40)
    torch.nn.init.zeros_(option.choices.weight)  # all alike: 1/R each
    seen = []
    option.dropout.register_forward_hook(lambda module, given, roles: seen.append(roles))
    option(embedded, mask)
    assert seen[0].unique().tolist() == pytest.approx([0.0, 2 / ROLES])
