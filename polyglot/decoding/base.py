"""Settings, decoder interface and results that every search shares."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import Field
from torch import Tensor

from polyglot.core.errors import ConfigError
from polyglot.core.registry import ComponentConfig, UnusedSetting
from polyglot.model.memory import Memory
from polyglot.tasks.transfers import to_host


class SearchConfig(ComponentConfig):
    """Settings of the search for translations."""

    beam: int = Field(5, ge=1, le=1000)
    """Beam size: hypotheses kept for each sentence; 1 is greedy search."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """Exponent α of the length penalty, by which log-probabilities are divided; 0 for none."""
    length_normalisation: Literal["power", "gnmt"] = "power"
    """Penalty of length l: `power` is l^α, `gnmt` ((5 + l) / 6)^α (Wu et al. 2016, section 7)."""
    max_length_ratio: float = Field(2.0, ge=0, le=100)
    """Largest length of a translation: this number of tokens per source token, plus
    `max_length_extra`."""
    max_length_extra: int = Field(20, ge=1, le=10_000)
    """Number of tokens added to the largest length."""
    max_length: int = Field(1000, ge=1, le=100_000)
    """Largest length of any translation in tokens; no translation is longer."""
    n_best: int = Field(1, ge=1, le=1000)
    """Hypotheses returned for each sentence, at most `beam`."""
    select: int | None = Field(None, ge=1, le=1_000_000)
    """Vocabulary selection: number of words that may appear in the translation; null for all."""
    select_by: Literal["prediction", "shortlist"] = "prediction"
    """Source of the selection: the decoder's `word_prediction`, or `polyglot shortlist`."""
    select_for: Literal["sentence", "batch"] = "sentence"
    """Select words for each sentence, or for the batch; then a translation depends on the batch."""
    like: Literal["opennmt"] | None = None
    """Reproduce the search of another program exactly; for models that were converted from it."""

    @property
    def selection_settings_without_effect(self) -> set[str]:
        """Names of the settings of the vocabulary selection if it is off, else none."""
        if self.select is None:
            return {"select_by", "select_for"}
        return set()

    def active_settings(self) -> dict[str, Any]:
        """Settings without nulls, and without those of the vocabulary selection if it is off."""
        return self.model_dump(
            exclude=self.selection_settings_without_effect,
            exclude_none=True,
        )

    def check_explicit_settings(self, names: Collection[str]) -> None:
        """Raise ConfigError if vocabulary selection is off and the user wrote its settings.

        For settings that a command, a protocol or a call from Python adds to those of a run. The
        configuration itself is checked with `settings_without_effect` (config/unused.py).
        names: of all settings that the user wrote.
        """
        without_effect = sorted(self.selection_settings_without_effect & set(names))
        if without_effect:
            keys = ", ".join(f"search.{name}" for name in without_effect)
            raise ConfigError(
                f"{keys}: no effect without vocabulary selection; "
                "set search.select to the number of words"
            )

    def settings_without_effect(self) -> Iterator[UnusedSetting]:
        """Yield the settings without effect beside the others, for the check of a configuration."""
        yield from super().settings_without_effect()
        for name in sorted(self.selection_settings_without_effect):
            reason = "no effect: needs a number in select (vocabulary selection), found null"
            yield UnusedSetting((name,), ("select",), reason)
        if not self.length_penalty:
            reason = "no effect: needs a length_penalty above 0, found 0"
            yield UnusedSetting(("length_normalisation",), ("length_penalty",), reason)

    def limits(self, source_lengths: Tensor) -> Tensor:
        """Largest number of tokens (B,) of a translation, for sources of these lengths (B,)."""
        lengths = (to_host(source_lengths) * self.max_length_ratio).long() + self.max_length_extra
        return lengths.clamp(max=self.max_length)

    def penalty(self, length: int) -> float:
        """Length penalty of a hypothesis with this number of tokens, EOS included."""
        if self.length_normalisation == "power":
            base = length
        else:
            base = (5 + length) / 6
        return base**self.length_penalty


class StepDecoder(Protocol):
    """Interface of decoders for a search; `LanguageDecoder` in model/language_modules.py has it."""

    def start(self, memory: Memory) -> Any:
        """Return the state before the first token, for the memory (B, K, D) of B sentences."""

    def step(self, tokens: Tensor, state: Any, memory: Memory) -> tuple[Tensor, Any]:
        """Return the logits (B·M, V) of the tokens after these tokens (B·M,), and the next state.

        Each of the B sentences has M hypotheses.
        """

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
        """Return the state of other hypotheses.

        rows: (B'·M') the hypothesis that each new one continues. sentences: (B') sentences that
        stay in the batch; None if all stay.
        """


class SelectingDecoder(StepDecoder, Protocol):
    """Interface of decoders for a search with vocabulary selection."""

    def start(self, memory: Memory, words: Tensor | None = None) -> Any:
        """Return the state before the first token; `step` then has logits of these words only.

        words: (U,) for all sentences or (B, U) for each sentence; None for all words.
        """


@dataclass(frozen=True, slots=True, order=True)
class Hypothesis:
    """One translation of one sentence."""

    score: float
    """Log-probability divided by the length penalty; hypotheses are ranked by it."""
    log_probability: float
    tokens: tuple[int, ...]
    """Tokens without BOS and EOS."""
    is_cut: bool = field(default=False, compare=False)
    """True if it has the largest length; set after the search (inference/generation.py)."""
