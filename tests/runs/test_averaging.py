"""Averages of checkpoints, and the hash of their parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyglot.core.errors import CheckpointError
from polyglot.runs import checkpoint_writing
from polyglot.runs.averaging import average_component, load_average, parameters_digest


def bridge(value, shape=(3, 4)):
    generator = torch.Generator().manual_seed(value)
    return {"bridge": {"x": torch.randn(*shape, generator=generator)}}


def write(folder, step, components, training=1.0):
    return checkpoint_writing.write(
        folder,
        step=step,
        components=components,
        training={"bridge/x/exp_avg": torch.tensor(training)},
        state={"step": step, "training": training},
        configuration="abc",
    )


@pytest.fixture
def members(tmp_path):
    return [write(tmp_path, step, bridge(step)) for step in range(5)]


# Mean


@pytest.mark.parametrize("count", [2, 5])
def test_an_average_is_the_mean_of_the_parameters(members, count):
    parameter = nn.Parameter(torch.zeros(3, 4))
    load_average(members[-count:], {"bridge": {"x": parameter}})
    total = torch.zeros(3, 4, dtype=torch.float64)
    for member in members[-count:]:
        total += member.component("bridge")["x"].double()
    torch.testing.assert_close(parameter.detach(), (total / count).float(), rtol=1e-6, atol=0)


def test_the_average_of_one_checkpoint_is_exact(tmp_path):
    values = torch.tensor([float("nan"), float("inf"), 1e-40])
    member = write(tmp_path, 1, {"bridge": {"x": values}})
    mean = average_component([member], "bridge")["x"]
    torch.testing.assert_close(mean, values, rtol=0, atol=0, equal_nan=True)


def test_the_mean_is_computed_in_float64_and_has_the_stored_type(tmp_path):
    """In bfloat16, 256 + 1 would be 256."""
    members = []
    for step, value in enumerate((256.0, 1.0, 1.0, 1.0, 1.0)):
        components = {"bridge": {"x": torch.tensor([value], dtype=torch.bfloat16)}}
        members.append(write(tmp_path, step, components))
    mean = average_component(members, "bridge")["x"]
    assert mean.dtype == torch.bfloat16
    assert mean.item() == 52.0


def test_checkpoints_with_different_shapes_have_no_average(tmp_path):
    members = [write(tmp_path, 1, bridge(1, (3,))), write(tmp_path, 2, bridge(2, (4,)))]
    parameter = nn.Parameter(torch.zeros(4))
    message = "step-00000001: bridge: comes from another configuration"
    with pytest.raises(CheckpointError, match=message):
        load_average(members, {"bridge": {"x": parameter}})


# Hash: the evaluation reuses stored translations of checkpoints with an equal hash


def test_the_hash_of_an_average_differs_from_those_of_its_members(members):
    hashes = [parameters_digest([member]) for member in members]
    hashes += [parameters_digest(members[-count:]) for count in (2, 3, 4, 5)]
    assert len(set(hashes)) == 9


def test_the_hash_depends_on_every_member(members, tmp_path):
    before = parameters_digest(members)
    for number in range(len(members)):
        changed = write(tmp_path / str(number), number, bridge(100))
        others = [*members[:number], changed, *members[number + 1 :]]
        assert parameters_digest(others) != before


def test_the_hash_depends_on_the_names_of_components(tmp_path):
    parameters = bridge(1)["bridge"]
    first = write(tmp_path, 1, {"encoder.de": parameters})
    second = write(tmp_path, 2, {"encoder.fr": parameters})
    assert parameters_digest([first]) != parameters_digest([second])


def test_equal_parameters_have_the_same_hash_whatever_the_training_state(tmp_path):
    components = {**bridge(1), "encoder.de": {"x": torch.zeros(1)}}
    first = write(tmp_path, 1, components)
    reordered = dict(reversed(components.items()))
    second = write(tmp_path, 2, reordered, training=2.0)
    assert parameters_digest([first]) == parameters_digest([second])
    assert parameters_digest([first, second]) == parameters_digest([second, first])
