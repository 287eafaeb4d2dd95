"""Learning-rate schedules by name."""

from __future__ import annotations

import math

from pydantic import Field

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.core.setting_types import StepCount, StepNumber

LEARNING_RATES: Registry[LearningRate] = Registry("learning-rate schedule")


class LearningRate:
    """Factor of the learning rate as a function of the step, which counts from 0."""

    class Config(ComponentConfig):
        warmup: StepNumber = 0
        """Steps over which the factor rises linearly from near 0 to 1."""

    def __init__(self, config: Config, *, steps: int) -> None:
        """steps: length of the run."""
        self.config = config
        self.steps = steps

    def factor(self, step: int) -> float:
        """Return the factor at this step: (step + 1) / warmup during the warm-up."""
        if step < self.config.warmup:
            return (step + 1) / self.config.warmup
        return self.after_warmup(step)

    def after_warmup(self, step: int) -> float:
        """Return the factor at a step after the warm-up."""
        raise NotImplementedError


@LEARNING_RATES.register("constant")
class Constant(LearningRate):
    """Constant after the warm-up."""

    def after_warmup(self, step: int) -> float:
        return 1.0


@LEARNING_RATES.register("inverse_square_root")
class InverseSquareRoot(LearningRate):
    """√(warmup / (step + 1)) after a linear warm-up.

    Vaswani et al. 2017, section 5.3, scaled to 1 at the peak.
    """

    class Config(LearningRate.Config):
        warmup: StepCount = 4000
        """Steps to the peak."""

    def after_warmup(self, step: int) -> float:
        return math.sqrt(self.config.warmup / (step + 1))


@LEARNING_RATES.register("step_decay")
class StepDecay(LearningRate):
    """Multiplied by `decay` at step `start` and every `every` steps after it.

    The schedule of the attention bridge paper's program.
    """

    class Config(LearningRate.Config):
        start: StepNumber = 50_000
        """First step that is decayed."""
        every: StepCount = 10_000
        """Steps between decays."""
        decay: float = Field(0.5, gt=0, le=1)
        """Factor of each decay."""

    def after_warmup(self, step: int) -> float:
        config = self.config
        if step < config.start:
            return 1.0
        decays = (step - config.start) // config.every + 1
        return config.decay**decays


class DecayToMinimumConfig(LearningRate.Config):
    minimum: float = Field(0.0, ge=0, le=1)
    """Factor at the last step."""


class DecayToMinimum(LearningRate):
    """Decays from 1 after the warm-up to `minimum` at the last step."""

    Config = DecayToMinimumConfig

    def after_warmup(self, step: int) -> float:
        config = self.config
        decay_steps = max(1, self.steps - 1 - config.warmup)
        progress = min(1.0, (step - config.warmup) / decay_steps)
        return config.minimum + (1 - config.minimum) * self.curve(progress)

    def curve(self, progress: float) -> float:
        """Return a value that falls from 1 to 0 while `progress` rises from 0 to 1."""
        raise NotImplementedError


@LEARNING_RATES.register("linear")
class Linear(DecayToMinimum):
    """Linear decay to the last step."""

    def curve(self, progress: float) -> float:
        return 1 - progress


@LEARNING_RATES.register("cosine")
class Cosine(DecayToMinimum):
    """Half a cosine to the last step (Loshchilov and Hutter 2017)."""

    def curve(self, progress: float) -> float:
        return (1 + math.cos(math.pi * progress)) / 2
