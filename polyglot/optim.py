"""Optimizers and learning-rate schedules by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, TypedDict

import torch
from pydantic import Field
from torch import nn

from polyglot.registry import ComponentConfig, Registry

OPTIMIZERS: Registry[torch.optim.Optimizer] = Registry("optimizer")
LEARNING_RATES: Registry[LearningRate] = Registry("learning-rate schedule")


class ParameterGroup(TypedDict):
    """Parameters of one kind, as PyTorch groups them."""

    params: list[nn.Parameter]
    hidden: bool
    """Whether they are weights between states, see `TranslationModel.hidden_weights`."""


def by_kind(parameters: Iterable[nn.Parameter], *, hidden: Iterable[nn.Parameter]) -> list[ParameterGroup]:
    """Those that learn, in two groups: the weights between states, and the rest."""
    identities = {id(weight) for weight in hidden}
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    return [ParameterGroup(params=[one for one in learning if (id(one) in identities) == kind], hidden=kind) for kind in (True, False)]


class OptimizerConfig(ComponentConfig):
    learning_rate: float = Field(0.001, gt=0)
    """The learning rate, which the learning-rate schedule multiplies."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay."""

    @property
    def kept(self) -> int:
        """Numbers that are kept for each parameter, at most."""
        return 2


@OPTIMIZERS.register("sgd")
class Sgd(torch.optim.SGD):
    """Stochastic gradient descent; the paper's, at 1.0."""

    class Config(OptimizerConfig):
        momentum: float = Field(0.0, ge=0, lt=1)
        """Momentum."""

        @property
        def kept(self) -> int:
            return 1 if self.momentum else 0

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        # The fused kernel takes momentum of all parameters or of none; here a language may see its first batch long after others.
        given = {"momentum": config.momentum, "weight_decay": config.weight_decay, "fused": not config.momentum}
        super().__init__(parameters, config.learning_rate, **given)


class AdamConfig(OptimizerConfig):
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field([0.9, 0.999], min_length=2, max_length=2)
    """Decay of the running means of the gradient and of its square."""
    epsilon: float = Field(1e-8, gt=0)
    """Keeps the division away from zero."""


@OPTIMIZERS.register("adam")
class Adam(torch.optim.Adam):
    """Adam (Kingma and Ba 2015). Parameters without a gradient are left untouched, their own step count too."""

    Config = AdamConfig

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters, config.learning_rate, tuple(config.betas), config.epsilon, config.weight_decay, fused=True
        )


@OPTIMIZERS.register("adamw")
class AdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    Config = AdamConfig

    def __init__(self, config: Config, *, parameters: Sequence[ParameterGroup]) -> None:
        super().__init__(
            parameters, config.learning_rate, tuple(config.betas), config.epsilon, config.weight_decay, fused=True
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
        self.of_hidden = torch.optim.Muon(hidden, rate, decay, config.momentum, adjust_lr_fn="match_rms_adamw")
        self.of_others = torch.optim.AdamW(others, rate, tuple(config.betas), config.epsilon, decay, fused=True)
        super().__init__([*self.of_hidden.param_groups, *self.of_others.param_groups], {})

    def step(self, closure: None = None) -> None:
        for part, kind in ((self.of_hidden, True), (self.of_others, False)):
            # Anew each time, as whoever loads a state puts other groups and another state in their place.
            part.param_groups, part.state = _of_kind(self.param_groups, kind), self.state
            part.step()


def _of_kind(groups: Iterable[ParameterGroup], hidden: bool) -> list[ParameterGroup]:
    return [group for group in groups if group["hidden"] == hidden]


class LearningRate:
    """A factor on the learning rate as a function of the step, which counts from 0."""

    class Config(ComponentConfig):
        warmup: int = Field(0, ge=0)
        """Steps over which the factor rises linearly from near 0 to 1."""

    def __init__(self, config: Config, *, steps: int) -> None:
        """steps: how long the run is to be."""
        self.config, self.steps = config, steps

    def factor(self, step: int) -> float:
        """What the learning rate is multiplied with at this step."""
        if step < self.config.warmup:
            return (step + 1) / self.config.warmup
        return self.after_warmup(step)

    def after_warmup(self, step: int) -> float:
        raise NotImplementedError


@LEARNING_RATES.register("constant")
class Constant(LearningRate):
    """Always the same, after the warm-up."""

    def after_warmup(self, step: int) -> float:
        return 1.0


@LEARNING_RATES.register("inverse_square_root")
class InverseSquareRoot(LearningRate):
    """√(warmup / step) after a linear warm-up (Vaswani et al. 2017, section 5.3, scaled to peak at 1)."""

    class Config(LearningRate.Config):
        warmup: int = Field(4000, ge=1)
        """Steps to the peak."""

    def after_warmup(self, step: int) -> float:
        return math.sqrt(self.config.warmup / (step + 1))


@LEARNING_RATES.register("step_decay")
class StepDecay(LearningRate):
    """Multiplied by `decay` at `start` and every `every` steps from there: the attention bridge's own program."""

    class Config(LearningRate.Config):
        start: int = Field(50_000, ge=0)
        """First step that is decayed."""
        every: int = Field(10_000, ge=1)
        """Steps between decays."""
        decay: float = Field(0.5, gt=0, le=1)
        """The factor of each."""

    def after_warmup(self, step: int) -> float:
        return self.config.decay ** ((step - self.config.start) // self.config.every + 1) if step >= self.config.start else 1.0


class ToTheEndConfig(LearningRate.Config):
    minimum: float = Field(0.0, ge=0, le=1)
    """The factor at the last step."""


class ToTheEnd(LearningRate):
    """Falls from 1 after the warm-up to `minimum` at the last step."""

    Config = ToTheEndConfig

    def after_warmup(self, step: int) -> float:
        done = min(1.0, (step - self.config.warmup) / max(1, self.steps - 1 - self.config.warmup))
        return self.config.minimum + (1 - self.config.minimum) * self.shape(done)

    def shape(self, done: float) -> float:
        """From 1 to 0 while `done` goes from 0 to 1."""
        raise NotImplementedError


@LEARNING_RATES.register("linear")
class Linear(ToTheEnd):
    """In a straight line to the last step."""

    def shape(self, done: float) -> float:
        return 1 - done


@LEARNING_RATES.register("cosine")
class Cosine(ToTheEnd):
    """Along half a cosine to the last step (Loshchilov and Hutter 2017)."""

    def shape(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2
