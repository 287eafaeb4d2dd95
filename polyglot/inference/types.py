"""Source sentences, their encoding, and translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyglot.model.memory import Memory

if TYPE_CHECKING:
    from polyglot.inference.translator import Translator


@dataclass(frozen=True, slots=True)
class Translation:
    """One hypothesis as text."""

    text: str
    score: float
    """log-probability divided by the length penalty"""
    log_probability: float


NOTHING = Translation("", 0.0, 0.0)
"""What a blank sentence is translated to."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a model gets it, whatever the target."""

    language: str
    line: str
    pieces: Sequence[int]
    """none where the line is blank"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one model has read: sentences, which may be of several languages, and what decoders attend to for them."""

    translator: Translator
    sentences: Sequence[Sentence]
    memory: Memory
    """(B, K, D)"""

    def alone(self) -> list[Reading]:
        """Each sentence with its own memory."""
        return [
            Reading(self.translator, [sentence], own)
            for sentence, own in zip(self.sentences, self.memory.sentences())
        ]

    @classmethod
    def of(cls, alone: Sequence[Reading]) -> Reading:
        """What one model has read in parts; what `alone` takes apart."""
        sentences = [sentence for reading in alone for sentence in reading.sentences]
        return cls(alone[0].translator, sentences, Memory.of([reading.memory for reading in alone]))


Readers = Sequence[tuple["Translator", Sequence[Sentence]]]
"""Who reads what: the same sentences as several models get them, or one model in several languages."""
