"""Comparing and copying parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyglot.core.errors import CheckpointError
from polyglot.runs.parameters import check_compatible, copy_parameters


def make_parameters():
    return {"weight": nn.Parameter(torch.zeros(2, 3)), "bias": nn.Parameter(torch.zeros(2))}


TENSORS = {"weight": torch.arange(6.0).view(2, 3), "bias": torch.tensor([7.0, float("nan")])}


def test_tensors_are_copied_into_the_parameters():
    parameters = make_parameters()
    weight = parameters["weight"]
    copy_parameters(TENSORS, parameters, where="bridge")
    assert parameters["weight"] is weight
    for name, tensor in TENSORS.items():
        torch.testing.assert_close(
            parameters[name].detach(), tensor, rtol=0, atol=0, equal_nan=True
        )
        assert parameters[name].grad_fn is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda parameters: parameters.update(weight=torch.zeros(4, 9)),
            "weight has shape (2, 3), but (4, 9) in this model",
        ),
        (
            lambda parameters: parameters.update(extra=torch.zeros(1)),
            "the parameters differ (extra)",
        ),
        (lambda parameters: parameters.pop("weight"), "the parameters differ (weight)"),
    ],
)
def test_different_names_or_shapes_are_an_error_and_nothing_is_copied(change, message):
    parameters = make_parameters()
    check_compatible(TENSORS, parameters, where="bridge")
    change(parameters)
    for function in (check_compatible, copy_parameters):
        with pytest.raises(CheckpointError) as error:
            function(TENSORS, parameters, where="step 7: bridge")
        assert str(error.value) == f"step 7: bridge: comes from another configuration: {message}"
    assert not parameters["bias"].any()


def test_only_the_first_four_different_names_are_listed():
    parameters = {str(number): torch.zeros(1) for number in range(6)}
    with pytest.raises(CheckpointError, match=r"differ \(0, 1, 2, 3, …\)"):
        check_compatible({}, parameters, where="bridge")
