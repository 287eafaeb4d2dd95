"""Optimizers by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypedDict

import torch
from pydantic import Field
from torch import nn

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.core.setting_types import Epsilon, LearningRate
from polyglot.optim.stacked_muon import StackedMuon

OPTIMIZERS: Registry[torch.optim.Optimizer] = Registry("optimizer")


class ParameterGroup(TypedDict):
    """Parameter group of PyTorch: either hidden weights or all other parameters."""

    params: list[nn.Parameter]
    hidden: bool
    """True for weights between states, see `TranslationModel.hidden_weights`."""


def parameter_groups(
    parameters: Iterable[nn.Parameter],
    *,
    hidden: Iterable[nn.Parameter],
) -> list[ParameterGroup]:
    """Divide the trainable parameters into two groups: weights between states, and the rest."""
    hidden_ids = {id(weight) for weight in hidden}
    hidden_weights = []
    other_parameters = []
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        if id(parameter) in hidden_ids:
            hidden_weights.append(parameter)
        else:
            other_parameters.append(parameter)
    return [
        ParameterGroup(params=hidden_weights, hidden=True),
        ParameterGroup(params=other_parameters, hidden=False),
    ]


class OptimizerConfig(ComponentConfig):
    learning_rate: LearningRate = 0.001
    """Learning rate, which the learning-rate schedule multiplies."""
    weight_decay: float = Field(0.0, ge=0, le=1000)
    """Weight decay."""

    @property
    def state_numbers_per_parameter(self) -> int:
        """Largest number of numbers that the optimizer stores for each parameter."""
        return 2


@OPTIMIZERS.register("sgd")
class Sgd(torch.optim.SGD):
    """Stochastic gradient descent; the attention bridge paper uses it with learning rate 1.0."""

    class Config(OptimizerConfig):
        momentum: float = Field(0.0, ge=0, lt=1)
        """Momentum."""

        @property
        def state_numbers_per_parameter(self) -> int:
            return 1 if self.momentum else 0

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters,
            config.learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
            # The fused kernel needs the momentum of all parameters or of none, but a language may
            # get its first batch long after others. None lets PyTorch choose: on a GPU, operations
            # over lists of parameters.
            fused=None if config.momentum else True,
        )


class AdamConfig(OptimizerConfig):
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field(
        [0.9, 0.999], min_length=2, max_length=2
    )
    """Decay of the running means of the gradient and of its square."""
    epsilon: Epsilon = 1e-8
    """Added to the denominator, to avoid division by zero."""


@OPTIMIZERS.register("adam")
class Adam(torch.optim.Adam):
    """Adam (Kingma and Ba 2015).

    A parameter without a gradient keeps its value and its step count.
    """

    Config = AdamConfig

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters,
            config.learning_rate,
            betas=tuple(config.betas),
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )


@OPTIMIZERS.register("adamw")
class AdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    Config = AdamConfig

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters,
            config.learning_rate,
            betas=tuple(config.betas),
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )


@OPTIMIZERS.register("adadelta")
class Adadelta(torch.optim.Adadelta):
    """AdaDelta (Zeiler 2012), the optimizer of Weng et al. 2017 and Bahdanau et al. 2015.

    A parameter without a gradient keeps its value and its running means.
    """

    class Config(OptimizerConfig):
        learning_rate: LearningRate = 1.0
        """Learning rate, which the learning-rate schedule multiplies; the paper has none, so 1."""
        decay: float = Field(0.95, ge=0, lt=1)
        """Decay ρ of the running means of the squared gradient and of the squared update."""
        epsilon: Epsilon = 1e-6
        """Added below both roots; the first updates have about the size of its root."""

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters,
            config.learning_rate,
            rho=config.decay,
            eps=config.epsilon,
            weight_decay=config.weight_decay,
        )


@OPTIMIZERS.register("muon")
class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for weights of linear and recurrent layers, AdamW for the rest.

    Five Newton–Schulz steps in bfloat16 make the momentum of a weight's gradient nearly orthogonal,
    so that an update has a similar size in all directions. It is then scaled to the usual size of
    Adam's updates (Liu et al. 2025, section 2.2), so that both parts use one learning rate. Weights
    in one matrix, such as those of queries, keys and values, are orthogonalised together.
    """

    class Config(AdamConfig):
        momentum: float = Field(0.95, ge=0, lt=1)
        """Decay of the running mean of a weight's gradient; `betas` are AdamW's."""

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        self.muon = StackedMuon(
            _groups_of(parameters, hidden=True),
            config.learning_rate,
            weight_decay=config.weight_decay,
            momentum=config.momentum,
            adjust_lr_fn="match_rms_adamw",
        )
        self.adamw = torch.optim.AdamW(
            _groups_of(parameters, hidden=False),
            config.learning_rate,
            betas=tuple(config.betas),
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )
        super().__init__([*self.muon.param_groups, *self.adamw.param_groups], {})

    def step(self, closure: None = None) -> None:
        # Loading a state replaces the groups and the state of this optimizer, so both parts get the
        # current ones at each step.
        self.muon.param_groups = _groups_of(self.param_groups, hidden=True)
        self.muon.state = self.state
        self.muon.step()

        self.adamw.param_groups = _groups_of(self.param_groups, hidden=False)
        self.adamw.state = self.state
        self.adamw.step()


def _groups_of(groups: Iterable[ParameterGroup], *, hidden: bool) -> list[ParameterGroup]:
    return [group for group in groups if group["hidden"] == hidden]
