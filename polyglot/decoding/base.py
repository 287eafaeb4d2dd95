"""Settings, interface and results that every search shares."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field
from torch import Tensor

from polyglot.core.errors import ConfigError
from polyglot.core.registry import ComponentConfig
from polyglot.model.memory import Memory


class SearchConfig(ComponentConfig):
    """How translations are searched for."""

    beam: int = Field(5, ge=1, le=1000)
    """Hypotheses kept for each sentence; 1 is greedy."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """α: log-probabilities are divided by a penalty that grows with the length; 0 compares them as they are."""
    length_normalisation: Literal["power", "gnmt"] = "power"
    """The penalty of length l: `power` is l^α, `gnmt` is ((5 + l) / 6)^α (Wu et al. 2016, section 7)."""
    max_length_ratio: float = Field(2.0, ge=0, le=100)
    """A translation has at most this many pieces for each source piece …"""
    max_length_extra: int = Field(20, ge=1, le=10_000)
    """… and this many more …"""
    max_length: int = Field(1000, ge=1, le=100_000)
    """… but never more than this, however long the source is."""
    n_best: int = Field(1, ge=1)
    """Hypotheses returned for each sentence, at most `beam`."""
    select: int | None = Field(None, ge=1, le=1_000_000)
    """Search among so many words, the likeliest ones for the sentence, besides the special tokens; null searches among all."""
    select_by: Literal["prediction", "shortlist"] = "prediction"
    """What says which words are likely: the decoder's `word_prediction` from its initial state, or what `polyglot shortlist` counted."""
    select_for: Literal["sentence", "batch"] = "sentence"
    """Each sentence has words of its own, or those of all that are translated together; then a translation depends on its neighbours."""
    like: Literal["opennmt"] | None = None
    """Search as another program does, for the same translations to the letter; for models that were taken over from it."""

    @property
    def idle(self) -> set[str]:
        """The settings that say how words are selected, where none are."""
        return {"select_by", "select_for"} if self.select is None else set()

    def in_force(self) -> dict[str, Any]:
        """The settings that a search was made with: those of a selection only where there is one."""
        return self.model_dump(exclude=self.idle, exclude_none=True)

    def check_use(self, given: Collection[str]) -> None:
        """Raises ConfigError where settings that somebody gave have nothing to say."""
        if idle := sorted(self.idle & set(given)):
            raise ConfigError(
                f"search.{', search.'.join(idle)}: no words are selected; say among how many to search, as `select`"
            )

    def limits(self, source_lengths: Tensor) -> Tensor:
        """The most pieces (B,) of a translation, for sources of so many pieces (B,)."""
        return (
            (source_lengths.cpu() * self.max_length_ratio).long() + self.max_length_extra
        ).clamp(max=self.max_length)

    def penalty(self, length: int) -> float:
        """What a hypothesis of that many pieces, eos included, is divided by."""
        base = length if self.length_normalisation == "power" else (5 + length) / 6
        return base**self.length_penalty


class StepDecoder(Protocol):
    """What search knows of a decoder."""

    def start(self, memory: Memory) -> Any: ...

    def step(self, tokens: Tensor, state: Any, memory: Memory) -> tuple[Tensor, Any]: ...

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None) -> Any: ...


@dataclass(frozen=True, slots=True, order=True)
class Hypothesis:
    """One translation of one sentence."""

    score: float
    """log-probability divided by the length penalty: what hypotheses are ranked by"""
    log_probability: float
    tokens: tuple[int, ...]
    """without bos and eos"""
