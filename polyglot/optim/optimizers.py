"""Optimizers by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypedDict

import torch
from pydantic import Field
from torch import nn

from polyglot.core.registry import ComponentConfig, Registry

OPTIMIZERS: Registry[torch.optim.Optimizer] = Registry("optimizer")


class ParameterGroup(TypedDict):
    """Parameters of one kind, as PyTorch groups them."""

    params: list[nn.Parameter]
    hidden: bool
    """Whether they are weights between states, see `TranslationModel.hidden_weights`."""


def parameter_groups(
    parameters: Iterable[nn.Parameter], *, hidden: Iterable[nn.Parameter]
) -> list[ParameterGroup]:
    """Those that learn, in two groups: the weights between states, and the rest."""
    identities = {id(weight) for weight in hidden}
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    return [
        ParameterGroup(
            params=[one for one in learning if (id(one) in identities) == kind], hidden=kind
        )
        for kind in (True, False)
    ]


class OptimizerConfig(ComponentConfig):
    learning_rate: float = Field(0.001, gt=0)
    """The learning rate, which the learning-rate schedule multiplies."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay."""

    @property
    def state_values(self) -> int:
        """Numbers that are kept for each parameter, at most."""
        return 2


@OPTIMIZERS.register("sgd")
class Sgd(torch.optim.SGD):
    """Stochastic gradient descent; the paper's, at 1.0."""

    class Config(OptimizerConfig):
        momentum: float = Field(0.0, ge=0, lt=1)
        """Momentum."""

        @property
        def state_values(self) -> int:
            return 1 if self.momentum else 0

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        # The fused kernel takes momentum of all parameters or of none; here a language may see its first batch long after others.
        given = {
            "momentum": config.momentum,
            "weight_decay": config.weight_decay,
            "fused": not config.momentum,
        }
        super().__init__(parameters, config.learning_rate, **given)


class AdamConfig(OptimizerConfig):
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field(
        [0.9, 0.999], min_length=2, max_length=2
    )
    """Decay of the running means of the gradient and of its square."""
    epsilon: float = Field(1e-8, gt=0)
    """Keeps the division away from zero."""


@OPTIMIZERS.register("adam")
class Adam(torch.optim.Adam):
    """Adam (Kingma and Ba 2015). Parameters without a gradient are left untouched, their own step count too."""

    Config = AdamConfig

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters,
            config.learning_rate,
            tuple(config.betas),
            config.epsilon,
            config.weight_decay,
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
            tuple(config.betas),
            config.epsilon,
            config.weight_decay,
            fused=True,
        )


@OPTIMIZERS.register("muon")
class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for weights of linear and recurrent layers, AdamW for the rest: tables, output layers, vectors, kernels.

    A weight's gradient, mixed with its running mean, is made nearly orthogonal by five steps of Newton and Schulz in bfloat16, so that an
    update moves all its directions alike. It is then scaled to the usual size of Adam's updates (Liu et al. 2025, section 2.2), and one
    learning rate serves both kinds. Weights that are stored as one, as those of queries, keys and values, are orthogonal together.
    """

    class Config(AdamConfig):
        momentum: float = Field(0.95, ge=0, lt=1)
        """Decay of the running mean of a weight's gradient; `betas` are AdamW's."""

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        hidden, others = _of_kind(parameters, True), _of_kind(parameters, False)
        rate, decay = config.learning_rate, config.weight_decay
        self.of_hidden = torch.optim.Muon(
            hidden, rate, decay, config.momentum, adjust_lr_fn="match_rms_adamw"
        )
        self.of_others = torch.optim.AdamW(
            others, rate, tuple(config.betas), config.epsilon, decay, fused=True
        )
        super().__init__([*self.of_hidden.param_groups, *self.of_others.param_groups], {})

    def step(self, closure: None = None) -> None:
        for part, kind in ((self.of_hidden, True), (self.of_others, False)):
            # Anew each time, as whoever loads a state puts other groups and another state in their place.
            part.param_groups, part.state = _of_kind(self.param_groups, kind), self.state
            part.step()


def _of_kind(groups: Iterable[ParameterGroup], hidden: bool) -> list[ParameterGroup]:
    return [group for group in groups if group["hidden"] == hidden]
