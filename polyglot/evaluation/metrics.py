"""sacreBLEU's scores, never without their signature (Post 2018), with sacreBLEU's bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.error import URLError

import numpy
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric

from polyglot.core.errors import ConfigError
from polyglot.evaluation.measures import CONDITIONS, Measure


class _Chrf(CHRF):
    """sacreBLEU's chrF, whose resamples are all of one type: 2.6.0 cannot average those of exactly 0 with others."""

    def _compute_f_score(self, statistics: Sequence[int] | numpy.ndarray) -> float:
        found = super()._compute_f_score(statistics)
        resampled = (
            isinstance(statistics, numpy.ndarray) and statistics.dtype.kind == "f"
        )  # counts are whole numbers, their score is not
        return statistics.dtype.type(found) if resampled else found


METRICS: dict[str, Callable[..., Metric]] = {
    # force: only silences the warning about tokenised text, which is no mistake here
    "bleu": lambda *, lowercase, tokenizer: BLEU(
        lowercase=lowercase, tokenize=tokenizer, force=True
    ),
    "chrf": lambda *, lowercase, tokenizer: _Chrf(
        lowercase=lowercase
    ),  # characters need no tokenizer
    "chrf++": lambda *, lowercase, tokenizer: _Chrf(lowercase=lowercase, word_order=2),
    "ter": lambda *, lowercase, tokenizer: TER(
        case_sensitive=not lowercase
    ),  # sacreBLEU's default is small letters, ours what was asked
}
"""Four names in a dict; each is what the `sacrebleu` command line makes with the same settings."""

TOKENIZERS = frozenset(BLEU.TOKENIZERS)

TOKENIZER_LANGUAGES = {
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
    mean: float | None = None
    """of the bootstrap resamples; None where there were none"""
    interval: float | None = None
    """half the width of the 95 % confidence interval around that mean (Koehn 2004, as sacreBLEU does it)"""


class Scorer:
    """One measure for one target language."""

    def __init__(self, measure: Measure, *, target: str, tokenizer: str | None = None) -> None:
        """tokenizer: of BLEU; by default the one for condition and target. Raises ConfigError when it is not installed."""
        self.measure, condition = measure, CONDITIONS[measure.condition]
        tokenizer = tokenizer or (
            condition.tokenizer
            if condition.tokenizer and has_spaces(target)
            else default_tokenizer(target)
        )
        self.prepare = condition.preparation(target)
        try:
            self.metric = METRICS[measure.metric](
                lowercase=condition.lowercase, tokenizer=tokenizer
            )
        except (
            RuntimeError,
            ImportError,
            OSError,
        ) as error:  # each tokenizer lacks its package, or its download, in its own way
            reason = " ".join(str(error).split()) or type(error).__name__
            if isinstance(error, URLError):
                reason = f"sacreBLEU downloads its model at the first use, and that failed: {error.reason}"
            raise ConfigError(
                f"{measure.metric} into {target}: the tokenizer {tokenizer!r} cannot be used: {reason}; "
                "or set another, such as tokenizer: char"
            ) from None

    def score(
        self, hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 0
    ) -> Score:
        """The score of a whole text, sentence by sentence against one reference each, with an interval from so many resamples.

        Both texts are as people read them; what the condition does to them is done here.
        """
        assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
        lines, wanted = self.prepare(hypotheses), self.prepare(references)
        found = self.metric.corpus_score(lines, [wanted], n_bootstrap=max(1, resamples))
        self.metric.n_bootstrap = self.metric.seed = (
            None  # the signature is that of the number, whether it has an interval or not
        )
        interval = (float(found._mean), float(found._ci)) if resamples > 1 else (None, None)
        return Score(found.score, str(self.metric.get_signature()), *interval)


def default_tokenizer(target: str) -> str:
    """sacreBLEU's tokenizer for a language: `13a` wherever spaces stand between words."""
    code = target.split("_")[0].lower()
    return next(
        (tokenizer for tokenizer, codes in TOKENIZER_LANGUAGES.items() if code in codes),
        BLEU.TOKENIZER_DEFAULT,
    )


def has_spaces(target: str) -> bool:
    """Whether spaces stand between the words of a language."""
    return default_tokenizer(target) == BLEU.TOKENIZER_DEFAULT
