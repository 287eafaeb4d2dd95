"""Evaluation protocol: what is translated and how it is scored, one YAML file of `evaluation/`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from polyglot.config.loading import check_settings
from polyglot.config.schema import CorpusList
from polyglot.core import presets
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.language_codes import is_same_language, resolve_language
from polyglot.core.registry import ComponentConfig
from polyglot.core.score_tables import METRIC_TITLES, PAPER_MEASURES
from polyglot.core.yaml import read_yaml
from polyglot.decoding.base import SearchConfig
from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.references import ReferenceName
from polyglot.evaluation.tokenizers import TOKENIZERS, separates_words
from polyglot.inference.directions import Directions
from polyglot.inference.translator import Translator
from polyglot.tasks.pairs import LanguagePair, match_pairs, pair_kind

PAIR_GROUPS = {
    "all": ("supervised", "zero-shot"),
    "supervised": ("supervised",),
    "zero_shot": ("zero-shot",),
}
"""Kinds of pairs that each word in `pairs` stands for."""


def folder_name(protocol: str) -> str:
    """Folder of the matrices of a protocol: `news` for `protocols/news.yaml` and for `news`."""
    if Path(protocol).is_file() or protocol.endswith(".yaml"):
        return Path(protocol).stem
    return protocol


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Protocol(ComponentConfig):
    """Text, directions, search and scores of an evaluation."""

    test: CorpusList = []
    """Corpora to translate. Relative paths are below the run's `data.folder`. Default: the run's
    `data.test`."""
    test_sets: dict[str, CorpusList] = {}
    """Several test sets by name, in place of `test`; each has its own matrix."""
    pairs: Annotated[list[str], BeforeValidator(_as_list)] = Field(["all"], min_length=1)
    """Directions: `all` that the run has an encoder and a decoder for; `supervised`; `zero_shot`;
    patterns such as `*-en` or `de-fr`; or a list of these."""
    copies: bool = True
    """Whether each language is also translated into itself, if the directions use it as source and
    as target."""
    pivot: str | None = None
    """Pivot language. Every direction without it is also translated through it, to be compared with
    the direct translation."""
    search: SearchConfig = SearchConfig()
    """Search settings that differ from the run's `search`."""
    metrics: list[str] = Field(["bleu", "chrf"], min_length=1)
    """`bleu`, `chrf` (chrF2), `chrf++` and `ter` of sacreBLEU, and `comet`. The first is shown
    first."""
    conditions: list[str] = Field(["cased"], min_length=1)
    """Preprocessing before scoring: `cased` none; `lowercased` ignores capitals; `tokenised` by
    Moses and lower-cased; `paper` lower-cased, punctuation normalised and tokenised by Moses, as in
    the attention bridge paper. Each metric is shown under each condition."""
    tokenizer: str | None = None
    """Tokenizer of sacreBLEU for BLEU. Default: 13a, or what the script of the target language
    needs instead, such as zh. It is not used into a language whose words it cannot separate."""
    tokenizers: dict[str, str] = {}
    """Tokenizers of single target languages, such as `{ja: char}`."""
    comet: str | None = None
    """File of a COMET model; required for the metric `comet`."""
    resamples: int = Field(1000, ge=0)
    """Bootstrap resamples for the confidence interval of each score; 0 for none."""
    sentences: int | None = Field(None, ge=1)
    """Number of sentences of each direction, from the first on; null for all."""
    reference: ReferenceName | None = None
    """A table of `evaluation/references/` to compare with."""

    @field_validator("test_sets")
    @classmethod
    def _check_test_sets(cls, test_sets: dict[str, Any]) -> dict[str, Any]:
        for name in test_sets:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(
                    f"{name!r} will be the name of a folder; "
                    "use letters, digits, underscores, hyphens and dots"
                )
        return test_sets

    @field_validator("metrics")
    @classmethod
    def _check_metrics(cls, metrics: list[str]) -> list[str]:
        return _check_names(metrics, "metric", METRIC_TITLES)

    @field_validator("conditions")
    @classmethod
    def _check_conditions(cls, conditions: list[str]) -> list[str]:
        return _check_names(conditions, "condition", CONDITIONS)

    @field_validator("tokenizer")
    @classmethod
    def _check_tokenizer(cls, tokenizer: str | None) -> str | None:
        if tokenizer is not None and tokenizer not in TOKENIZERS:
            raise ValueError(unknown_name("tokenizer", tokenizer, TOKENIZERS))
        return tokenizer

    @field_validator("tokenizers")
    @classmethod
    def _check_tokenizers(cls, tokenizers: dict[str, str]) -> dict[str, str]:
        for tokenizer in tokenizers.values():
            cls._check_tokenizer(tokenizer)
        return tokenizers

    @model_validator(mode="after")
    def _check_combinations(self) -> Protocol:
        if self.test and self.test_sets:
            raise ValueError("test_sets: `test` is set, too; set only one of them")
        if self.reference and self.test_sets:
            raise ValueError("reference: a paper's table is of one test set; name that in `test`")
        if "comet" in self.metrics and self.comet is None:
            raise ValueError("comet: missing; the metric 'comet' needs the file of a model")
        return self

    @classmethod
    def load(cls, name: str) -> Protocol:
        """Read a protocol: a file or a shipped name. Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(presets.find("evaluation", name)), where=name)

    @property
    def measures(self) -> list[Measure]:
        """Every metric under every condition; COMET only with unchanged text, as it was trained."""
        measures = []
        for condition in self.conditions:
            for metric in self.metrics:
                if metric != "comet" or condition == "cased":
                    measures.append(Measure(metric, condition))
        if "comet" in self.metrics and "cased" not in self.conditions:
            measures.append(Measure("comet"))
        return measures

    @property
    def paper_measure(self) -> Measure | None:
        """Measure that is nearest to BLEU in the papers; None without BLEU."""
        for name in PAPER_MEASURES:
            measure = Measure.parse(name)
            if measure in self.measures:
                return measure
        return None

    @property
    def measure(self) -> Measure:
        """Measure to compare with papers; the first measure without BLEU."""
        return self.paper_measure or self.measures[0]

    @property
    def corpora(self) -> dict[str, CorpusList]:
        """Corpora by test set; the name is empty without `test_sets`."""
        return self.test_sets or {"": self.test}

    def tokenizer_for(self, target: str) -> str | None:
        """Tokenizer of sacreBLEU for a target language; None for the default of its script."""
        for language, tokenizer in self.tokenizers.items():
            if is_same_language(language, target):
                return tokenizer
        if self.tokenizer is None or not separates_words(self.tokenizer, target):
            return None
        return self.tokenizer

    def with_search(self, settings: Mapping[str, Any]) -> Protocol:
        """Protocol with changed search settings. Raises ConfigError for invalid settings."""
        values = {**self.search.model_dump(exclude_unset=True), **settings}
        search = check_settings(SearchConfig, values, where="search")
        return self.model_copy(update={"search": search})

    def effective_search(self, config: SearchConfig) -> SearchConfig:
        """Search settings of the run with those of the protocol, for one hypothesis per sentence.

        Raises ConfigError for more hypotheses than the beam has, and for settings without effect.
        """
        changes = self.search.model_dump(exclude_unset=True)
        search = config.model_copy(update={**changes, "n_best": 1})
        if self.search.n_best > search.beam:
            raise ConfigError(
                f"search.n_best: {self.search.n_best} hypotheses cannot come from a beam of "
                f"{search.beam}"
            )
        search.check_explicit_settings(self.search.model_fields_set)
        return search

    def select_pairs(
        self,
        translator: Translator | Directions,
        languages: Sequence[str],
        trained: Sequence[LanguagePair],
    ) -> list[LanguagePair]:
        """Pairs to translate, in the order of the languages.

        Raises ConfigError for a pair that the run has no components for.
        """
        all_pairs = []
        for source in languages:
            all_pairs += [LanguagePair(source, target) for target in languages]
        kinds = _kinds(self.pairs)
        selected = {pair for pair in all_pairs if pair_kind(pair, trained) in kinds}
        for pattern in self.pairs:
            if pattern not in PAIR_GROUPS:
                selected.update(_match_pattern(pattern, languages, translator))
        if self.copies:
            selected.update(self._copies(selected, languages))

        pairs = []
        for pair in all_pairs:
            has_components = pair.source in translator.sources and pair.target in translator.targets
            if pair in selected and has_components:
                pairs.append(pair)
        if not pairs:
            raise ConfigError(f"pairs: the run has components for none of {', '.join(self.pairs)}")
        return pairs

    def _copies(
        self,
        pairs: Collection[LanguagePair],
        languages: Sequence[str],
    ) -> list[LanguagePair]:
        """Monolingual copies of all languages, or of those that are both source and target."""
        if "all" not in self.pairs:
            sources = {pair.source for pair in pairs}
            targets = {pair.target for pair in pairs}
            languages = sorted(sources & targets)
        return [LanguagePair(language, language) for language in languages]

    def pivot_of(self, translator: Translator | Directions) -> str | None:
        """Return the pivot as the run spells it; None without a pivot.

        Raises ConfigError for a pivot that the run cannot use as source and as target.
        """
        if self.pivot is None:
            return None
        try:
            pivot = resolve_language(self.pivot, translator.sources)
            translator.resolve(translator.sources[0], pivot)
            translator.resolve(pivot, translator.targets[0])
        except ConfigError as error:
            raise ConfigError(f"pivot: {error}") from None
        return pivot


def _check_names(names: list[str], kind: str, valid_names: Mapping[str, Any]) -> list[str]:
    """Remove duplicates. Raises ValueError for an unknown name."""
    for name in names:
        if name not in valid_names:
            raise ValueError(unknown_name(kind, name, valid_names))
    return list(dict.fromkeys(names))


def _kinds(patterns: Sequence[str]) -> set[str]:
    """Kinds of pairs that the words in `pairs` stand for."""
    kinds: set[str] = set()
    for pattern in patterns:
        kinds.update(PAIR_GROUPS.get(pattern, ()))
    return kinds


def _match_pattern(
    pattern: str,
    languages: Sequence[str],
    translator: Translator | Directions,
) -> list[LanguagePair]:
    """Pairs that match a pattern. Raises ConfigError for a pair without components."""
    try:
        if "*" not in pattern:
            pair = LanguagePair.parse(pattern)
            translator.resolve(pair.source, pair.target)
        return match_pairs([pattern], languages)
    except ConfigError as error:
        raise ConfigError(f"pairs: {error}") from None
