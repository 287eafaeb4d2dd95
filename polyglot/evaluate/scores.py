"""sacreBLEU's scores, never without their signature (Post 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from polyglot.errors import ConfigError

METRICS: dict[str, Callable[..., Metric]] = {
    # force: only silences the warning about tokenised text, which is no mistake here
    "bleu": lambda *, lowercase, tokenizer: BLEU(lowercase=lowercase, tokenize=tokenizer, force=True),
    "chrf": lambda *, lowercase, tokenizer: CHRF(lowercase=lowercase),  # characters need no tokenizer
}
"""Two names in a dict; both are the settings of the `sacrebleu` command line."""

TITLES = {"bleu": "BLEU", "chrf": "chrF2", "p@1": "P@1", "mrr": "MRR", "xsim": "xSIM error"}
"""How sacreBLEU calls them, and what retrieval is scored with."""

TOKENIZERS = frozenset(BLEU.TOKENIZERS)

UNSPACED = {
    "zh": ("zh", "zho", "cmn", "yue"),
    "ja-mecab": ("ja", "jpn"),
    "ko-mecab": ("ko", "kor"),
    "char": ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod"),
}
"""sacreBLEU's tokenizer for the languages that spaces do not cut into words; it knows the first three itself."""


@dataclass(frozen=True, slots=True)
class Score:
    """A number and how it was made."""

    value: float
    signature: str


class Scorer:
    """One metric for one target language."""

    def __init__(self, metric: str, *, target: str, lowercase: bool = False, tokenizer: str | None = None) -> None:
        """tokenizer: of BLEU; by default the one for the target language. Raises ConfigError when it is not installed."""
        tokenizer = tokenizer or tokenizer_of(target)
        try:
            self._metric = METRICS[metric](lowercase=lowercase, tokenizer=tokenizer)
        except (RuntimeError, ImportError, OSError) as error:  # each tokenizer lacks its package, or its download, in its own way
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(
                f"{metric} into {target}: the tokenizer {tokenizer!r} cannot be used: {reason}; or set another, such as tokenizer: char"
            ) from None

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """The score of a whole text, sentence by sentence against one reference each."""
        assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
        value = self._metric.corpus_score(list(hypotheses), [list(references)]).score
        return Score(value, str(self._metric.get_signature()))


def tokenizer_of(target: str) -> str:
    """sacreBLEU's tokenizer for a language: `13a` wherever spaces stand between words."""
    code = target.split("_")[0].lower()
    return next((tokenizer for tokenizer, codes in UNSPACED.items() if code in codes), BLEU.TOKENIZER_DEFAULT)
