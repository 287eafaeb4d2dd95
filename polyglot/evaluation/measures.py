"""Measures and text conditions. A measure is a metric under a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyglot.core.score_tables import lower_is_better, metric_title
from polyglot.text.preprocessing import STEPS, Normaliser


@dataclass(frozen=True, slots=True)
class Condition:
    """Preprocessing of hypotheses and references before they are compared."""

    title: str
    lowercase: bool = False
    """ignore capitals"""
    steps: tuple[str, ...] = ()
    """text steps, applied to both sides"""
    tokenizer: str | None = None
    """tokenizer of sacreBLEU, applied after the steps; None for that of the target language"""

    def preparation(self, language: str) -> Callable[[Sequence[str]], list[str]]:
        """Function that applies the text steps to lines of a language."""
        steps = [STEPS.configure(name) for name in self.steps]
        normaliser = Normaliser(steps, language)
        return lambda lines: [normaliser.apply(line) for line in lines]


CONDITIONS = {
    "cased": Condition("cased"),
    "lowercased": Condition("lower-cased", lowercase=True),
    # as multi-bleu: tokens of Moses, which are not split further
    "tokenised": Condition(
        "tokenised, lower-cased", lowercase=True, steps=("lowercase", "moses"), tokenizer="none"
    ),
    # Vázquez et al. 2018, section 4: these steps on both sides, then sacreBLEU with -lc and 13a
    "paper": Condition(
        "as the paper scored", lowercase=True, steps=("lowercase", "punctuation", "moses")
    ),
}
"""Conditions by their names in protocols."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric under a condition, written `bleu` for unchanged text and `bleu-paper` otherwise."""

    metric: str
    condition: str = "cased"

    @classmethod
    def parse(cls, name: str) -> Measure:
        metric, _, condition = name.partition("-")
        return cls(metric, condition or "cased")

    def __str__(self) -> str:
        if self.condition == "cased":
            return self.metric
        return f"{self.metric}-{self.condition}"

    @property
    def title(self) -> str:
        """Title of tables: `BLEU` or `BLEU (as the paper scored)`."""
        if self.condition == "cased":
            return metric_title(self.metric)
        return f"{metric_title(self.metric)} ({CONDITIONS[self.condition].title})"

    @property
    def lower_is_better(self) -> bool:
        return lower_is_better(self.metric)
