"""Role interaction: the formulas of its paper, section 3, and properties of the assignments."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional, init

from polyglot.layers import role_mixture
from polyglot.layers.role_mixture import mix_roles
from polyglot.model.memory import Memory
from polyglot.model.options import Roles, StateRoles
from tests.builders.models import allclose, random_batch, tiny_config, tiny_model

ROLES = 5
SIZE = 8
MEMORY_SIZES = {"source": None, "target": 16}
ASSIGNMENTS = ["dense", "softmax", "onehot"]
VARIANTS = {
    "without residual": {"residual": False},
    "residual": {},
    "rank1": {"combination": "rank1"},
    "cnn": {"context": "cnn", "width": 3},
}


def build_roles(side="source", **settings):
    """Option with random matrices, so that words differ in their roles."""
    torch.manual_seed(0)
    config = Roles.Config(roles=ROLES, context_size=6, **({"dropout": 0.0} | settings))
    option = Roles(config, size=SIZE, memory_size=MEMORY_SIZES[side]).eval()
    for parameter in option.parameters():
        if parameter.dim() > 1:
            init.normal_(parameter)
        else:
            init.zeros_(parameter)
    return option


def sentences(*lengths):
    """Embedded words (B, S, E) of sentences of these lengths, and their mask."""
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), SIZE), mask


@pytest.mark.parametrize("side", MEMORY_SIZES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_transformation_equals_the_formula(assignment, variant, side):
    option = build_roles(side, assignment=assignment, **VARIANTS[variant])
    embedded, mask = sentences(6, 3)
    transformed = option(embedded, mask)
    all_roles = option.assign_roles(embedded, mask)

    for row, position in mask.nonzero().tolist():
        word = embedded[row, position]
        roles = all_roles[row, position]
        if variant == "rank1":
            role_part = option.of_roles.weight @ roles
            word_part = option.of_words.weight @ word
            expected = option.output.weight @ (role_part * word_part)
        else:
            transposed = option.matrices.view(ROLES, SIZE, SIZE)
            expected = sum(roles[i] * (transposed[i].T @ word) for i in range(ROLES))
        if variant != "without residual":
            expected = expected + word
        assert allclose(transformed[row, position], expected, 1e-4)


@pytest.mark.parametrize("side", MEMORY_SIZES)
@pytest.mark.parametrize("context", ["lstm", "cnn"])
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_assignment_equals_the_formula(assignment, context, side):
    """Written out for each sentence: its contexts, then tanh, then the assignment."""
    option = build_roles(side, assignment=assignment, context=context, width=3)
    for parameter in option.parameters():
        init.normal_(parameter)
    embedded, mask = sentences(6, 3)
    roles = option.assign_roles(embedded, mask)

    for row, length in enumerate((6, 3)):
        contexts = expected_contexts(option, embedded[row, :length], side)
        dense = torch.tanh(contexts @ option.dense.weight.T + option.dense.bias)
        if assignment == "dense":
            expected = dense
        else:
            scores = dense @ option.choices.weight.T
            if assignment == "softmax":
                expected = scores.softmax(-1)
            else:
                expected = torch.eye(ROLES)[scores.argmax(-1)]
        assert allclose(roles[row, :length], expected)


def expected_contexts(option, words, side):
    """Contexts c (S, C) of the words of one sentence (S, E), computed with plain layers."""
    if option.config.context == "cnn":
        return expected_cnn_contexts(option.context.convolution, words, side)
    batch = words.unsqueeze(0)
    if side == "target":
        outputs, _ = option.context.forwards(batch)
        return outputs[0]
    left, _ = option.context.both.forwards(batch)
    right, _ = option.context.both.backwards(batch.flip(1))
    return torch.cat([left[0], right[0].flip(0)], dim=1)


def expected_cnn_contexts(convolution, words, side):
    width = convolution.kernel_size[0]
    before = width - 1 if side == "target" else width // 2
    after = width - 1 - before
    padded = torch.cat([torch.zeros(before, SIZE), words, torch.zeros(after, SIZE)])
    contexts = []
    for position in range(len(words)):
        window = padded[position : position + width]
        sums = (convolution.weight * window.T).sum((1, 2))
        contexts.append(torch.relu(sums + convolution.bias))
    return torch.stack(contexts)


def test_additive_combination_equals_the_formula():
    option = build_roles(combination="additive")
    embedded, mask = sentences(4)
    expected = option.assign_roles(embedded, mask) @ option.of_roles.weight.T + embedded
    assert allclose(option(embedded, mask), expected)


def test_softmax_roles_are_positive_and_sum_to_1():
    roles = build_roles(assignment="softmax").assign_roles(*sentences(7, 4))
    assert (roles > 0).all()
    assert allclose(roles.sum(-1), torch.ones(2, 7))


@pytest.mark.parametrize("side", MEMORY_SIZES)
def test_onehot_roles_are_exactly_one_role_in_evaluation(side):
    roles = build_roles(side, assignment="onehot").assign_roles(*sentences(7, 4))
    assert ((roles == 0) | (roles == 1)).all()
    assert (roles.sum(-1) == 1).all()
    assert len(roles.argmax(-1).unique()) > 1


def test_onehot_role_is_the_most_probable_role_of_the_softmax():
    onehot = build_roles(assignment="onehot")
    softmax = build_roles(assignment="softmax")
    weights = onehot.state_dict()
    weights.pop("annealed.temperature")
    softmax.load_state_dict(weights)
    words = sentences(9)
    assert torch.equal(
        onehot.assign_roles(*words).argmax(-1), softmax.assign_roles(*words).argmax(-1)
    )


def test_relaxed_roles_near_temperature_0_are_drawn_from_the_softmax():
    option = build_roles(assignment="onehot").train()
    option.annealed.temperature.fill_(1e-4)
    embedded, mask = sentences(1)
    draws = option.assign_roles(embedded.expand(4000, 1, SIZE), mask.expand(4000, 1))[:, 0]

    dense = option.dense(option.context(embedded, mask)).tanh()
    probabilities = option.choices(dense).softmax(-1)[0, 0]
    assert allclose(draws.max(-1).values.mean(), torch.tensor(1.0), 1e-3)
    assert allclose(draws.mean(0), probabilities, 0.04)


@pytest.mark.parametrize("side", MEMORY_SIZES)
def test_seed_determines_the_draw(side):
    option = build_roles(side, assignment="onehot").train()
    embedded, mask = sentences(5)
    torch.manual_seed(3)
    first = option(embedded, mask)
    second = option(embedded, mask)
    torch.manual_seed(3)
    assert torch.equal(option(embedded, mask), first)
    assert not torch.equal(second, first)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("side", MEMORY_SIZES)
def test_residual_with_zero_matrices_is_the_identity(assignment, side):
    option = build_roles(side, assignment=assignment)
    init.zeros_(option.matrices)
    embedded, mask = sentences(6, 2)
    assert torch.equal(option(embedded, mask), embedded)


@pytest.mark.parametrize("sparse", [True, False], ids=["role by role", "at once"])
def test_mixture_of_one_role_is_its_product(sparse):
    torch.manual_seed(0)
    chosen = torch.randint(0, ROLES, (28,))
    words = torch.randn(28, SIZE)
    matrices = torch.randn(ROLES * SIZE, SIZE)
    transposed = matrices.view(ROLES, SIZE, SIZE)
    expected = torch.stack([transposed[role].T @ word for role, word in zip(chosen, words)])

    onehot = functional.one_hot(chosen, ROLES).float()
    mixed = mix_roles(onehot.view(4, 7, ROLES), words.view(4, 7, SIZE), matrices, sparse=sparse)
    assert allclose(mixed.flatten(0, 1), expected)


def test_onehot_roles_multiply_each_word_once(monkeypatch):
    multiplied = []
    product = role_mixture.product

    def counting_product(inputs, weight):
        multiplied.append(inputs.numel())
        return product(inputs, weight)

    monkeypatch.setattr(role_mixture, "product", counting_product)
    embedded, mask = sentences(30, 20)
    build_roles(assignment="onehot")(embedded, mask)
    assert sum(multiplied) == embedded.numel()

    multiplied.clear()
    option = build_roles("target", assignment="onehot")
    state = option.start(Memory(torch.randn(2, 3, MEMORY_SIZES["target"])))
    option.step(embedded[:, 0], state)
    assert sum(multiplied) == embedded[:, 0].numel()


@pytest.mark.parametrize("sparse", [True, False], ids=["role by role", "at once"])
@pytest.mark.parametrize("count", [3, 1100], ids=["one block", "several blocks"])
def test_gradients_of_mixtures_equal_the_formula(count, sparse):
    """Roles of 0 come from dropout, which stops their gradient."""
    torch.manual_seed(0)
    is_kept = torch.rand(count, ROLES) > 0.3

    def random_input(*shape):
        return torch.randn(shape, dtype=torch.float64, requires_grad=True)

    roles = random_input(count, ROLES)
    words = random_input(count, SIZE)
    matrices = random_input(ROLES * SIZE, SIZE)
    transposed = matrices.view(ROLES, SIZE, SIZE)
    expected = torch.einsum("nr,ne,reo->no", roles * is_kept, words, transposed)
    mixed = mix_roles(roles * is_kept, words, matrices, sparse=sparse)
    torch.testing.assert_close(mixed, expected)

    output_gradient = torch.randn(count, SIZE, dtype=torch.float64)
    inputs = [roles, words, matrices]
    gradients = torch.autograd.grad(mixed, inputs, output_gradient)
    expected_gradients = torch.autograd.grad(expected, inputs, output_gradient)
    for gradient, expected_gradient in zip(gradients, expected_gradients):
        torch.testing.assert_close(gradient, expected_gradient)


def word_gradient(roles, words, matrices, *, sparse=False):
    """Gradient of the words, a sum over all roles, in double precision."""
    words = words.detach().requires_grad_()
    mixed = mix_roles(roles, words, matrices, sparse=sparse).double()
    (gradient,) = torch.autograd.grad(mixed.sum(), words)
    return gradient.double()


def test_half_precision_is_as_exact_role_by_role_as_at_once():
    torch.manual_seed(0)
    shapes = [(300, 32), (300, 16), (32 * 16, 16)]
    half = [torch.randn(shape, dtype=torch.bfloat16) for shape in shapes]
    exact = word_gradient(*(tensor.double() for tensor in half))
    error_by_role = (word_gradient(*half, sparse=True) - exact).norm() / exact.norm()
    error_at_once = (word_gradient(*half, sparse=False) - exact).norm() / exact.norm()
    assert error_by_role < 1.5 * error_at_once


@pytest.mark.parametrize(("width", "reach"), [(3, 1), (5, 2)])
def test_cnn_context_has_its_width(width, reach):
    option = build_roles(context="cnn", width=width)
    embedded, mask = sentences(9)
    changed = embedded.clone()
    changed[0, 8] += 1
    is_equal = option.assign_roles(embedded, mask) == option.assign_roles(changed, mask)
    assert is_equal.all(-1)[0].tolist() == [True] * (8 - reach) + [False] * (1 + reach)


def test_dropout_is_applied_to_the_roles():
    option = build_roles(dropout=0.5, assignment="softmax").train()
    init.zeros_(option.choices.weight)  # every role has the probability 1/R
    outputs = []
    option.dropout.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    option(*sentences(40, 40))
    assert outputs[0].unique().tolist() == pytest.approx([0.0, 2 / ROLES])


@pytest.mark.parametrize("context", ["lstm", "cnn"])
def test_the_strict_reading_assigns_roles_from_the_words_before(context):
    """Section 3.1: r_t = f(LSTM(e_1 … e_{t-1})); the word is only transformed by it."""
    settings = {"context": context, "width": 3}
    plain = build_roles("target", **settings)
    strict = build_roles("target", target_context="before_word", **settings)
    embedded, mask = sentences(6, 3)
    roles = strict.assign_roles(embedded, mask)
    assert allclose(roles[:, 1:], plain.assign_roles(embedded, mask)[:, :-1])
    before = torch.zeros(6)
    if context == "cnn":
        before = strict.context.convolution.bias.relu()
    assert allclose(roles[:, 0], strict.roles_from_context(before).expand(2, -1))

    changed = embedded.clone()
    changed[:, 2] += 1.0
    changed_roles = strict.assign_roles(changed, mask)
    assert torch.equal(changed_roles[:, :3], roles[:, :3])
    assert not allclose(changed_roles[0, 3], roles[0, 3])
    assert not allclose(strict(changed, mask)[0, 2], strict(embedded, mask)[0, 2])


def test_the_strict_reading_changes_no_parameter_and_no_source():
    embedded, mask = sentences(4)
    strict = build_roles("source", target_context="before_word")
    assert torch.equal(strict(embedded, mask), build_roles("source")(embedded, mask))
    target = build_roles("target", target_context="before_word").state_dict()
    assert target.keys() == build_roles("target").state_dict().keys()


def test_roles_on_states_are_the_same_layer_applied_to_the_states():
    torch.manual_seed(0)
    config = StateRoles.Config(roles=ROLES, context_size=6, dropout=0.0)
    option = StateRoles(config, input_size=3, size=SIZE).eval()
    words = build_roles("source")
    assert option.place == "states"
    option.load_state_dict(words.state_dict())
    states, mask = sentences(6, 3)
    changed = option(states, torch.zeros(2, 6, 3), mask)
    assert allclose(changed, words(states, mask) * mask.unsqueeze(-1))
    assert (changed[~mask] == 0).all()


@pytest.mark.parametrize("decoder", ["lstm", "rnnsearch", "transformer"])
def test_roles_on_decoder_states_stand_before_the_output_layer(decoder):
    settings = {"type": "state_roles", "roles": ROLES, "context_size": 6, "dropout": 0.0}
    model = tiny_model(tiny_config(decoder=decoder, options={"decoder": [settings]})).eval()
    batch = random_batch()
    output = model(batch)
    option = output.decoder.options["state_roles"]

    words = output.decoder.embedding(batch.target_in)
    states = output.decoder.body(words, batch.target_mask, output.memory)
    config = Roles.Config(roles=ROLES, context_size=6, dropout=0.0)
    target_layer = Roles(config, size=states.shape[2], memory_size=16).eval()
    target_layer.load_state_dict(option.state_dict())
    expected = target_layer(states, batch.target_mask) * batch.target_mask.unsqueeze(-1)
    assert not allclose(expected, states * batch.target_mask.unsqueeze(-1), 1e-3)
    assert allclose(output.states, expected)
    assert allclose(
        output.inner.states,
        output.decoder.body.with_inner_states(words, batch.target_mask, output.memory)[1].states,
    )


def test_the_strict_reading_of_decoder_states_reads_only_earlier_states():
    torch.manual_seed(0)
    config = StateRoles.Config(roles=ROLES, context_size=6, target_context="before_word")
    option = StateRoles(config, input_size=3, size=SIZE, is_target=True).eval()
    states, mask = sentences(5)
    roles = option.assign_roles(states, mask)
    changed_states = states.clone()
    changed_states[:, 2] += 1
    changed_roles = option.assign_roles(changed_states, mask)
    assert torch.equal(changed_roles[:, :3], roles[:, :3])
    assert not allclose(changed_roles[:, 3], roles[:, 3])
