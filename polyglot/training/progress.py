"""How far a run is: the step, the best score, and how long there has been no better one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Progress:
    """What a checkpoint remembers besides parameters, optimizer and data positions."""

    step: int = 0
    """updates done"""
    seconds: float = 0.0
    """time spent training, over all starts"""
    tokens: dict[str, int] = field(default_factory=dict)
    """target tokens seen, by task"""
    best: dict[str, Any] | None = None
    """`step`, `by` and `value` of the best validation"""
    without_better: int = 0
    """validations since then"""

    def judge(self, *, by: str, value: float) -> bool:
        """Whether this validation is the best so far; a loss is better when lower, BLEU when higher, and what is no finite number never."""
        better = math.isfinite(value)
        if better and self.best is not None and self.best["by"] == by:
            better = value < self.best["value"] if by == "loss" else value > self.best["value"]
        if better:
            self.best, self.without_better = {"step": self.step, "by": by, "value": value}, 0
        else:
            self.without_better += 1
        return better

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        return cls(**values)
