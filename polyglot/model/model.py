"""The many-to-many model: any encoder, the bridge, any decoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.batch import Batch
from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.language import EmbeddingConfig, LanguageDecoder, LanguageEncoder, embedding_table, initialize
from polyglot.model.memory import Memory
from polyglot.registry import ComponentConfig, spelt_out
from polyglot.task import LanguagePair


class LanguageConfig(ComponentConfig):
    """The components of one language."""

    embedding: EmbeddingConfig = EmbeddingConfig()
    """Word embeddings."""
    encoder: ENCODERS.config_type(default="lstm")
    """What reads the language."""
    decoder: DECODERS.config_type(default="lstm")
    """What writes the language."""


class ModelConfig(LanguageConfig):
    """The components of every language, the bridge, and what single languages do differently."""

    bridge: BRIDGES.config_type(default="attention")
    """The layers all languages share."""
    states_size: int | None = Field(None, ge=1)
    """Size D of the states that every encoder hands to the bridge; by default `encoder.size`. A projection appears where they differ."""
    initial_range: float | None = Field(None, gt=0)
    """Draw every parameter uniformly from ± this (the paper: 0.1) instead of the usual initialisation of each kind."""
    languages: dict[str, LanguageConfig] = {}
    """Differences of single languages, such as `de: {encoder: {layers: 1}}`; what is not named is as above."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_languages(cls, value: Any) -> Any:
        """A language names only its differences: the rest comes from the settings for all."""
        if not isinstance(value, dict) or not isinstance(value.get("languages"), dict):
            return value
        common = {key: spelt_out(value.get(key, {}), dict(field.default)) for key, field in LanguageConfig.model_fields.items()}
        languages = {
            language: _merge(common, own) if isinstance(own, dict) else own for language, own in value["languages"].items()
        }
        return {**value, "languages": languages}

    @model_validator(mode="after")
    def _sizes_fit(self) -> ModelConfig:
        for place, one in [("", self), *((f"languages.{name}.", each) for name, each in self.languages.items())]:
            if one.embedding.tie_output and one.embedding.size != one.decoder.size:
                raise ValueError(
                    f"{place}embedding.tie_output needs equal sizes, found embedding.size {one.embedding.size} "
                    f"and decoder.size {one.decoder.size}"
                )
            if getattr(one.decoder, "attention", None) == "dot" and one.decoder.size != self.memory_size:
                raise ValueError(
                    f"{place}decoder.attention 'dot' needs decoder.size ({one.decoder.size}) equal to the size of the states "
                    f"({self.memory_size}); make them equal or use 'general'"
                )
        if problem := self.bridge.misfit(self.memory_size):
            raise ValueError(f"bridge, on states of {self.memory_size}: {problem}")
        return self

    @property
    def memory_size(self) -> int:
        """D of the states and of the bridge's rows."""
        return self.states_size or self.encoder.size

    def of(self, language: str) -> LanguageConfig:
        """The settings of one language."""
        return self.languages.get(language, self)


def _merge(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`own` laid over `common`, part by part; a part of another type shares nothing with the common one."""
    merged = dict(common)
    for key, value in own.items():
        value, base = spelt_out(value, {}), common.get(key)
        if isinstance(value, dict) and isinstance(base, dict) and value.get("type", base.get("type")) == base.get("type"):
            value = {**base, **value}
        merged[key] = value
    return merged


@dataclass(frozen=True, slots=True)
class Output:
    """What the losses read."""

    states: Tensor
    """(B, T, D) of the decoder, before its output layer"""
    projection: nn.Linear
    """the output layer of the target language, (V, D)"""
    memory: Memory


class TranslationModel(nn.Module):
    """Encoders and decoders by language around one bridge (Vázquez et al., section 2)."""

    def __init__(self, config: ModelConfig, *, vocabulary_sizes: Mapping[str, int], pairs: Iterable[LanguagePair], seed: int | None) -> None:
        """Only what the pairs need is built.

        seed: where the first parameters come from; None leaves them for a checkpoint to fill. Adding a language changes no other.
        """
        super().__init__()
        pairs = list(pairs)
        sources = list(dict.fromkeys(pair.source for pair in pairs))
        targets = list(dict.fromkeys(pair.target for pair in pairs))
        tied = [language for language in dict.fromkeys(sources + targets) if config.of(language).embedding.tie_sides]

        def table(language: str) -> nn.Embedding:
            if language in self.embeddings:
                return self.embeddings[language]
            return embedding_table(vocabulary_sizes[language], config.of(language).embedding.size)

        self.embeddings = nn.ModuleDict()
        self.embeddings.update({language: table(language) for language in tied})
        self.encoders = nn.ModuleDict()
        for language in sources:
            own = config.of(language)
            self.encoders[language] = LanguageEncoder(
                own.encoder, own.embedding, table=table(language), states_size=config.memory_size
            )
        self.bridge = BRIDGES.build(config.bridge, size=config.memory_size)
        self.decoders = nn.ModuleDict()
        for language in targets:
            own = config.of(language)
            self.decoders[language] = LanguageDecoder(
                own.decoder, own.embedding, table=table(language), memory_size=config.memory_size
            )
        if seed is not None:
            for name, component in self.components().items():
                initialize(component, initial_range=config.initial_range, seed=str(seed), name=name)

    def forward(self, batch: Batch) -> Output:
        memory = self.encode(batch.task.source, batch.source, batch.source_mask)
        decoder = self.decoders[batch.task.target]
        return Output(decoder(batch.target_in, batch.target_mask, memory), decoder.output, memory)

    def encode(self, language: str, tokens: Tensor, mask: Tensor) -> Memory:
        """tokens and mask (B, S) -> the memory any decoder can read"""
        return self.bridge(self.encoders[language](tokens, mask), mask)

    def components(self) -> dict[str, nn.Module]:
        """Every component by its name in checkpoints: `encoder.de`, `decoder.de`, `bridge`, and `embedding.de` when sides are tied."""
        named = {f"embedding.{language}": table for language, table in self.embeddings.items()}
        named |= {f"encoder.{language}": encoder for language, encoder in self.encoders.items()}
        named |= {"bridge": self.bridge}
        return named | {f"decoder.{language}": decoder for language, decoder in self.decoders.items()}

    def component_parameters(self) -> dict[str, dict[str, nn.Parameter]]:
        """The parameters of each component that has any; one that is shared belongs to the first."""
        seen: set[int] = set()
        result = {}
        for name, component in self.components().items():
            own = {key: parameter for key, parameter in component.named_parameters() if id(parameter) not in seen}
            seen.update(map(id, own.values()))
            if own:
                result[name] = own
        return result


def components_of(pair: LanguagePair) -> tuple[str, ...]:
    """The names of the components a direction may use."""
    languages = dict.fromkeys((pair.source, pair.target))
    return (*(f"embedding.{language}" for language in languages), f"encoder.{pair.source}", "bridge", f"decoder.{pair.target}")
