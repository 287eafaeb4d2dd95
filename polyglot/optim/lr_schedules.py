"""Learning-rate schedules by name."""

from __future__ import annotations

import math

from pydantic import Field

from polyglot.core.registry import ComponentConfig, Registry

LEARNING_RATES: Registry[LearningRate] = Registry("learning-rate schedule")


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
        return (
            self.config.decay ** ((step - self.config.start) // self.config.every + 1)
            if step >= self.config.start
            else 1.0
        )


class DecayToMinimumConfig(LearningRate.Config):
    minimum: float = Field(0.0, ge=0, le=1)
    """The factor at the last step."""


class DecayToMinimum(LearningRate):
    """Falls from 1 after the warm-up to `minimum` at the last step."""

    Config = DecayToMinimumConfig

    def after_warmup(self, step: int) -> float:
        done = min(1.0, (step - self.config.warmup) / max(1, self.steps - 1 - self.config.warmup))
        return self.config.minimum + (1 - self.config.minimum) * self.shape(done)

    def shape(self, done: float) -> float:
        """From 1 to 0 while `done` goes from 0 to 1."""
        raise NotImplementedError


@LEARNING_RATES.register("linear")
class Linear(DecayToMinimum):
    """In a straight line to the last step."""

    def shape(self, done: float) -> float:
        return 1 - done


@LEARNING_RATES.register("cosine")
class Cosine(DecayToMinimum):
    """Along half a cosine to the last step (Loshchilov and Hutter 2017)."""

    def shape(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2
