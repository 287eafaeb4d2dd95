"""What looking at held-out text finds: `evaluate` makes it, `training` judges checkpoints by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean

from polyglot.tasks.pairs import LanguagePair


@dataclass(frozen=True)
class Validation:
    """Losses and scores on held-out text."""

    losses: Mapping[str, float]
    """per token, by task"""
    bleu: Mapping[str, float] = field(default_factory=dict)
    """by pair"""

    def value(self, by: str) -> float:
        """The number that makes a checkpoint the best: mean BLEU, or the mean loss of the tasks that are no copies (if any)."""
        if by == "bleu":
            return mean(self.bleu.values())
        translations = [loss for task, loss in self.losses.items() if not LanguagePair.parse(task).is_copy]
        return mean(translations or self.losses.values())
