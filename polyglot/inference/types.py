"""Source sentences, their encoding, and translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.model.memory import Memory
from polyglot.model.translation_model import TranslationModel


@dataclass(frozen=True, slots=True)
class Translation:
    """One hypothesis as text."""

    text: str
    score: float
    """log-probability divided by the length penalty"""
    log_probability: float
    source_tokens: int = 0
    target_tokens: int = 0
    """without EOS"""
    is_cut: bool = False
    """True if the search ended it at the largest length"""


EMPTY_TRANSLATION = Translation("", 0.0, 0.0)
"""Translation of a blank sentence."""


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """Source sentence after preprocessing; the same for every target language."""

    language: str
    line: str
    pieces: Sequence[int]
    """vocabulary entries; empty if the line is blank"""


class SearchEngine(Protocol):
    """Other program that searches for translations; `CTranslate2Engine` has this interface."""

    def search(
        self,
        sentences: Sequence[SourceSentence],
        target: str,
        config: SearchConfig,
    ) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of each sentence, best first."""


class SourceModel(Protocol):
    """Interface of one model with its vocabularies, as generation needs it; `Translator` has it."""

    model: TranslationModel
    engine: SearchEngine | None
    """None for our own search"""

    @property
    def device(self) -> torch.device: ...

    def encode_sources(self, sentences: Sequence[SourceSentence]) -> EncodedSources:
        """Encode sentences of one language."""

    def word_scores(
        self,
        sources: EncodedSources,
        target: str,
        config: SearchConfig,
    ) -> torch.Tensor | None:
        """Score every target word (B, V) for vocabulary selection, or None if not possible."""

    def to_translations(
        self,
        hypotheses: Sequence[Sequence[Hypothesis]],
        sentences: Sequence[SourceSentence],
        target: str,
    ) -> Iterator[list[Translation]]:
        """Convert the hypotheses of each sentence to text."""

    def not_finite(self, quantity: str) -> str:
        """Error message for parameters that give NaN or infinity."""


@dataclass(frozen=True, slots=True)
class EncodedSources:
    """Encoded source sentences of one model; they may be in several languages."""

    translator: SourceModel
    sentences: Sequence[SourceSentence]
    memory: Memory
    """(B, K, D), padded to the longest sentence if the bridge has no fixed size"""

    def split(self) -> list[EncodedSources]:
        """Split a batch into single sentences, each with its memory."""
        memories = self.memory.split()
        return [
            EncodedSources(self.translator, [sentence], memory)
            for sentence, memory in zip(self.sentences, memories)
        ]

    @classmethod
    def join(cls, parts: Sequence[EncodedSources]) -> EncodedSources:
        """Join parts encoded by the same model into one batch; the inverse of `split`."""
        sentences: list[SourceSentence] = []
        for part in parts:
            sentences += part.sentences
        memory = Memory.join([part.memory for part in parts])
        return cls(parts[0].translator, sentences, memory)


ModelInputs = Sequence[tuple[SourceModel, Sequence[SourceSentence]]]
"""Sentences that each model encodes: the same sentences for several models, or one model's
sentences in several languages."""
