"""What is scored and how: one YAML file of `evaluation/` each; and the papers' tables that stand beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from polyglot import shipped
from polyglot.config import CorpusList, check_settings
from polyglot.decoding.search import SearchConfig
from polyglot.errors import ConfigError, unknown_name
from polyglot.evaluate.scores import METRICS, TOKENIZERS
from polyglot.inference import Translator
from polyglot.registry import ComponentConfig
from polyglot.task import LanguagePair, kind_of, match_pairs
from polyglot.yaml_file import read_yaml


class Protocol(ComponentConfig):
    """How a run is evaluated."""

    test: CorpusList = []
    """Corpora that are translated, their relative paths below the run's `data.folder`; by default the run's `data.test`."""
    pairs: list[str] = []
    """Directions, as patterns such as `*-en` or `de-fr`; by default all that the run has an encoder and a decoder for."""
    copies: bool = True
    """Whether each language is also translated into itself, if the directions both read and write it."""
    search: SearchConfig = SearchConfig()
    """How translations are searched for, where it differs from the run's `search`."""
    metrics: list[str] = Field(["bleu", "chrf"], min_length=1)
    """sacreBLEU's metrics: `bleu` and `chrf` (chrF2)."""
    lowercase: bool = False
    """Whether capitals are ignored."""
    tokenizer: str | None = None
    """sacreBLEU's tokenizer for BLEU; by default 13a, or what the target language needs instead, such as zh."""
    sentences: int | None = Field(None, ge=1)
    """How many of each direction are translated, from the first on; null for all."""
    reference: str | None = None
    """A table of `evaluation/references/` to be shown beside ours."""

    @field_validator("metrics")
    @classmethod
    def _metrics_are_known(cls, metrics: list[str]) -> list[str]:
        for metric in metrics:
            if metric not in METRICS:
                raise ValueError(unknown_name("metric", metric, METRICS))
        return list(dict.fromkeys(metrics))

    @field_validator("tokenizer")
    @classmethod
    def _tokenizer_is_known(cls, tokenizer: str | None) -> str | None:
        if tokenizer is not None and tokenizer not in TOKENIZERS:
            raise ValueError(unknown_name("tokenizer", tokenizer, TOKENIZERS))
        return tokenizer

    @field_validator("reference")
    @classmethod
    def _reference_is_there(cls, reference: str | None) -> str | None:
        known = references()
        if reference is not None and reference not in known:
            raise ValueError(unknown_name("reference", reference, known))
        return reference

    @classmethod
    def load(cls, name: str) -> Protocol:
        """A protocol from a file or a shipped name. Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(shipped.find("evaluation", name)), where=name)

    def search_of(self, config: SearchConfig) -> SearchConfig:
        """The run's search with what differs laid over it; one hypothesis a sentence is enough for scores."""
        return config.model_copy(update={**self.search.model_dump(exclude_unset=True), "n_best": 1})

    def pairs_of(self, translator: Translator, languages: Sequence[str]) -> list[LanguagePair]:
        """The directions, in the order of the languages. Raises ConfigError for one that the run has no components for."""
        for pattern in self.pairs:
            if "*" not in pattern:
                pair = LanguagePair.parse(pattern)
                translator.check(pair.source, pair.target)
        if self.pairs:
            wanted = set(match_pairs(self.pairs, languages))
        else:
            wanted = {LanguagePair(one, other) for one in languages for other in languages if one != other or self.copies}
        read, written = {pair.source for pair in wanted}, {pair.target for pair in wanted}
        if self.copies:
            wanted |= {LanguagePair(language, language) for language in read & written}
        every = (LanguagePair(one, other) for one in languages for other in languages)
        pairs = [pair for pair in every if pair in wanted and pair.source in translator.sources and pair.target in translator.targets]
        if not pairs:
            raise ConfigError(f"pairs: the run has components for none of {', '.join(self.pairs or ['*-*'])}")
        return pairs


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
        return kind_of(pair, map(LanguagePair.parse, self.trained))


def references() -> Mapping[str, Any]:
    """The tables of the papers by name."""
    return {path.stem: path for path in sorted((shipped.folder("evaluation") / "references").glob("*.yaml"))}
