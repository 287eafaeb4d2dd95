"""What is scored and how: one YAML file of `evaluation/` each; and the papers' tables that stand beside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from polyglot.config.loading import check_settings
from polyglot.config.schema import CorpusList
from polyglot.core import presets
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.registry import ComponentConfig
from polyglot.core.score_tables import METRIC_TITLES, PAPER_MEASURES
from polyglot.core.yaml import read_yaml
from polyglot.decoding.base import SearchConfig
from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.metrics import TOKENIZERS
from polyglot.inference.directions import Directions
from polyglot.inference.translator import Translator
from polyglot.tasks.pairs import LanguagePair, match_pairs, pair_kind

WORDS = {
    "all": ("supervised", "zero-shot"),
    "supervised": ("supervised",),
    "zero_shot": ("zero-shot",),
}
"""What `pairs` says in a word: kinds of pairs that are no copies."""


def folder_name(protocol: str) -> str:
    """What the matrices under a protocol lie in, of a file by its name: `protocols/news.yaml` has `news`, `news` has `news`."""
    return (
        Path(protocol).stem if Path(protocol).is_file() or protocol.endswith(".yaml") else protocol
    )


def _reference(name: str) -> str:
    """Raises ValueError for a table that is not there."""
    if name not in references():
        raise ValueError(unknown_name("reference", name, references()))
    return name


ReferenceName = Annotated[str, AfterValidator(_reference)]


class Protocol(ComponentConfig):
    """How a run is evaluated."""

    test: CorpusList = []
    """Corpora that are translated, their relative paths below the run's `data.folder`; by default the run's `data.test`."""
    test_sets: dict[str, CorpusList] = {}
    """In its place several test sets by name, each with a matrix of its own."""
    pairs: Annotated[
        list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = Field(["all"], min_length=1)
    """Directions: `all`, every one that the run has an encoder and a decoder for; `supervised`; `zero_shot`; patterns such as `*-en` or
    `de-fr`; or a list of these."""
    copies: bool = True
    """Whether each language is also translated into itself, if the directions both read and write it."""
    pivot: str | None = None
    """A language through which every direction without it is also translated, in two hops, to be shown beside the direct one."""
    search: SearchConfig = SearchConfig()
    """How translations are searched for, where it differs from the run's `search`."""
    metrics: list[str] = Field(["bleu", "chrf"], min_length=1)
    """sacreBLEU's `bleu`, `chrf` (chrF2), `chrf++` and `ter`, and `comet`; the first is shown first."""
    conditions: list[str] = Field(["cased"], min_length=1)
    """On what text: `cased` as people read it; `lowercased` without capitals; `tokenised` by Moses and lower-cased; `paper` lower-cased,
    punctuation normalised and tokenised by Moses, as in the attention bridge paper. Each metric is shown under each."""
    tokenizer: str | None = None
    """sacreBLEU's tokenizer for BLEU; by default 13a, or what the target language needs instead, such as zh."""
    comet: str | None = None
    """The file of a COMET model, which the metric `comet` needs."""
    resamples: int = Field(1000, ge=0)
    """Bootstrap resamples for the confidence interval of each score; 0 for none."""
    sentences: int | None = Field(None, ge=1)
    """How many of each direction are translated, from the first on; null for all."""
    reference: ReferenceName | None = None
    """A table of `evaluation/references/` to be shown beside ours."""

    @field_validator("test_sets")
    @classmethod
    def _test_sets_can_be_folders(cls, test_sets: dict[str, Any]) -> dict[str, Any]:
        for name in test_sets:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(
                    f"{name!r} will be the name of a folder; use letters, digits, underscores, hyphens and dots"
                )
        return test_sets

    @field_validator("metrics")
    @classmethod
    def _metrics_are_known(cls, metrics: list[str]) -> list[str]:
        return _known(metrics, "metric", METRIC_TITLES)

    @field_validator("conditions")
    @classmethod
    def _conditions_are_known(cls, conditions: list[str]) -> list[str]:
        return _known(conditions, "condition", CONDITIONS)

    @field_validator("tokenizer")
    @classmethod
    def _tokenizer_is_known(cls, tokenizer: str | None) -> str | None:
        if tokenizer is not None and tokenizer not in TOKENIZERS:
            raise ValueError(unknown_name("tokenizer", tokenizer, TOKENIZERS))
        return tokenizer

    @model_validator(mode="after")
    def _nothing_contradicts(self) -> Protocol:
        if self.test and self.test_sets:
            raise ValueError("test_sets: `test` is set, too; one of them says what is translated")
        if self.reference and self.test_sets:
            raise ValueError("reference: a paper's table is of one test set; name that in `test`")
        if "comet" in self.metrics and self.comet is None:
            raise ValueError("comet: missing; the metric 'comet' needs the file of a model")
        return self

    @classmethod
    def load(cls, name: str) -> Protocol:
        """A protocol from a file or a shipped name. Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(presets.find("evaluation", name)), where=name)

    @property
    def measures(self) -> list[Measure]:
        """Every metric under every condition; COMET was trained on text as it is."""
        return [
            Measure(metric, condition)
            for condition in self.conditions
            for metric in self.metrics
            if metric != "comet" or condition == "cased"
        ] + [
            Measure("comet")
            for metric in self.metrics
            if metric == "comet" and "cased" not in self.conditions
        ]

    @property
    def paper_measure(self) -> Measure | None:
        """BLEU under the condition that is nearest to the one of papers; None where there is no BLEU."""
        near = [
            Measure("bleu", condition)
            for condition in ("paper", "tokenised", "lowercased", "cased")
        ]
        return next((measure for measure in near if measure in self.measures), None)

    @property
    def measure(self) -> Measure:
        """The one that is compared with papers, or the first one without BLEU."""
        return self.paper_measure or self.measures[0]

    @property
    def corpora(self) -> dict[str, CorpusList]:
        """By the name of their test set; one without a name where `test_sets` has none."""
        return self.test_sets or {"": self.test}

    def with_search(self, settings: Mapping[str, Any]) -> Protocol:
        """The same with other settings of the search laid over its own. Raises ConfigError for what cannot be meant."""
        search = check_settings(
            SearchConfig, {**self.search.model_dump(exclude_unset=True), **settings}, where="search"
        )
        return self.model_copy(update={"search": search})

    def effective_search(self, config: SearchConfig) -> SearchConfig:
        """The run's search with what differs laid over it; one hypothesis a sentence is enough for scores.

        Raises ConfigError for more hypotheses than the beam has, and for settings without use.
        """
        result = config.model_copy(
            update={**self.search.model_dump(exclude_unset=True), "n_best": 1}
        )
        if self.search.n_best > result.beam:
            raise ConfigError(
                f"search.n_best: {self.search.n_best} hypotheses cannot come from a beam of {result.beam}"
            )
        result.check_explicit_settings(self.search.model_fields_set)
        return result

    def select_pairs(
        self,
        translator: Translator | Directions,
        languages: Sequence[str],
        trained: Sequence[LanguagePair],
    ) -> list[LanguagePair]:
        """The directions, in the order of the languages. Raises ConfigError for one that the run has no components for."""
        kinds = {kind for word in self.pairs if word in WORDS for kind in WORDS[word]}
        every = [LanguagePair(one, other) for one in languages for other in languages]
        wanted = {pair for pair in every if pair_kind(pair, trained) in kinds}
        for pattern in self.pairs:
            try:
                if pattern not in WORDS and "*" not in pattern:
                    pair = LanguagePair.parse(pattern)
                    translator.check(pair.source, pair.target)
                wanted |= set() if pattern in WORDS else set(match_pairs([pattern], languages))
            except ConfigError as error:
                raise ConfigError(f"pairs: {error}") from None
        if self.copies:
            both = {pair.source for pair in wanted} & {pair.target for pair in wanted}
            wanted |= {
                LanguagePair(language, language)
                for language in (languages if "all" in self.pairs else both)
            }
        pairs = [
            pair
            for pair in every
            if pair in wanted
            and pair.source in translator.sources
            and pair.target in translator.targets
        ]
        if not pairs:
            raise ConfigError(f"pairs: the run has components for none of {', '.join(self.pairs)}")
        return pairs

    def check_pivot(self, translator: Translator | Directions) -> None:
        """Raises ConfigError for a pivot that the run cannot both write and read."""
        if self.pivot is not None:
            for source, target in (
                (translator.sources[0], self.pivot),
                (self.pivot, translator.targets[0]),
            ):
                try:
                    translator.check(source, target)
                except ConfigError as error:
                    raise ConfigError(f"pivot: {error}") from None


def _known(names: list[str], kind: str, known: Mapping[str, Any]) -> list[str]:
    """Each once. Raises ValueError for one that is not known."""
    for name in names:
        if name not in known:
            raise ValueError(unknown_name(kind, name, known))
    return list(dict.fromkeys(names))


class Reference(ComponentConfig):
    """A table of BLEU scores from a paper."""

    title: str
    """How views call it."""
    source: str
    """The paper and its table."""
    kind: str
    """Which of the paper's models."""
    test_set: str
    """What was translated."""
    signature: str
    """How it was scored."""
    condition: str
    """What must be the same before our scores may be compared."""
    languages: list[str]
    """In the order of the paper."""
    trained: list[str]
    """The pairs that were trained."""
    copies: bool
    """Whether monolingual copies were trained as well."""
    scores: dict[str, float]
    """BLEU by pair."""

    @classmethod
    def load(cls, name: str) -> Reference:
        """A table of that name. Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(references()[name]), where=f"references/{name}")

    def kind_of(self, pair: LanguagePair) -> str:
        return pair_kind(pair, map(LanguagePair.parse, self.trained))


def references() -> Mapping[str, Any]:
    """The tables of the papers by name."""
    return {
        path.stem: path
        for path in sorted((presets.folder("evaluation") / "references").glob("*.yaml"))
    }
