"""On what text a score is made: four conditions, and the measure, which is a metric under a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyglot.text.preprocessing import STEPS, Normaliser


@dataclass(frozen=True, slots=True)
class Condition:
    """What is done to hypotheses and references alike before they are compared."""

    title: str
    lowercase: bool = False
    """whether capitals are ignored"""
    steps: tuple[str, ...] = ()
    """text steps on both sides"""
    tokenizer: str | None = None
    """sacreBLEU's tokenizer after them; None for that of the target language"""

    def preparation(self, language: str) -> Callable[[Sequence[str]], list[str]]:
        """What turns lines as people read them into lines as they are scored."""
        normaliser = Normaliser([STEPS.configure(name) for name in self.steps], language)
        return lambda lines: [normaliser.apply(line) for line in lines]


CONDITIONS = {
    "cased": Condition("cased"),
    "lowercased": Condition("lower-cased", lowercase=True),
    # multi-bleu's habit: the tokens are those of Moses, and nothing takes them further apart
    "tokenised": Condition(
        "tokenised, lower-cased", lowercase=True, steps=("lowercase", "tokenize"), tokenizer="none"
    ),
    # Vázquez et al. 2018, section 4: such text on both sides, then sacreBLEU with -lc and its own 13a
    "paper": Condition(
        "as the paper scored", lowercase=True, steps=("lowercase", "punctuation", "tokenize")
    ),
}
"""By the names that protocols use."""

TITLES = {"bleu": "BLEU", "chrf": "chrF2", "chrf++": "chrF2++", "ter": "TER", "comet": "COMET"}
"""How sacreBLEU calls the metrics."""
RETRIEVAL = {"p@1": "P@1", "mrr": "MRR", "xsim": "xSIM error"}
"""What retrieval is scored with."""

LOWER_IS_BETTER = frozenset({"ter", "xsim"})


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric under a condition; written `bleu` where text is as it is, `bleu-paper` where something is done to it."""

    metric: str
    condition: str = "cased"

    @classmethod
    def parse(cls, name: str) -> Measure:
        metric, _, condition = name.partition("-")
        return cls(metric, condition or "cased")

    def __str__(self) -> str:
        return self.metric if self.condition == "cased" else f"{self.metric}-{self.condition}"

    @property
    def title(self) -> str:
        """`BLEU` or `BLEU (as the paper scored)`."""
        return (TITLES | RETRIEVAL)[self.metric] + (
            "" if self.condition == "cased" else f" ({CONDITIONS[self.condition].title})"
        )

    @property
    def lower_is_better(self) -> bool:
        return self.metric in LOWER_IS_BETTER
