"""Interface of decoders: whole targets for training, single steps for search."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn

from polyglot.core.problems import Problem
from polyglot.core.registry import ComponentConfig, Registry
from polyglot.layers.low_precision import Precision
from polyglot.layers.recurrent import RecurrentDecoderConfig
from polyglot.model.inner_states import InnerStates
from polyglot.model.memory import Memory

DECODERS: Registry[Decoder] = Registry("decoder")


class EncoderRequirement(NamedTuple):
    """Encoder settings that a decoder setting requires.

    For example, `start: final` requires encoders of type `onmt_rnn`.
    """

    key: str
    """Key of the decoder setting, such as `start`."""
    value: str
    """Value of the key, such as `final`."""
    settings: dict[str, Any]
    """Settings that the encoders must have, with their `type`."""
    advice: str
    """End of the error message."""


class Decoder(nn.Module):
    """Map embedded target words and the memory to states, which the output layer projects.

    A subclass has a nested `Config` with at least the field `size`, and sets the attribute
    `output_states_size` to the property of the same name of its `Config`.
    Its decoding state may be any value: search only passes it on and reorders it. In `step`, the
    N rows are the hypotheses of B sentences. Every sentence has the same number of hypotheses, in
    consecutive rows.
    """

    output_states_size: int
    """Size D of the states that the output layer projects."""
    initial_state_size: int | None = None
    """Size of the initial state s₀; None if it has the size of the memory."""
    inner_size: int | None = None
    """Size of the states s_j in `InnerStates`; None if it is D."""
    precision: Precision = "float32"
    """Precision of matrix products in search (`low_precision.set_precision`)."""

    class Config(ComponentConfig):
        """Settings that every decoder has."""

        size: int

        @property
        def output_states_size(self) -> int:
            """Size D of the states that the output layer projects; by default `size`."""
            return self.size

        def validate_size(self, memory_size: int) -> Problem | None:
            """Return a Problem if the settings do not fit a memory of this size, else None."""
            return None

        def encoder_requirement(self) -> EncoderRequirement | None:
            """Return the settings that every encoder must have, or None."""
            return None

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        """embedded (B, T, E), mask (B, T) -> states (B, T, D)

        A state depends only on its own position and the positions before it.
        """
        raise NotImplementedError

    def with_inner_states(
        self,
        embedded: Tensor,
        mask: Tensor,
        memory: Memory,
    ) -> tuple[Tensor, InnerStates]:
        """Return the states of `forward`, and the inner states that `last_layer` reads.

        By default there is no separate last layer, as in a Transformer.
        """
        states = self(embedded, mask, memory)
        return states, InnerStates(states)

    def last_layer(self, inner: InnerStates) -> Tensor:
        """Apply the last non-linear layer of the decoder: inner states -> states (B, T, D)."""
        return inner.states

    def initial_state(self, memory: Memory) -> Tensor:
        """Return s₀ (B, ·), the state before the first word; by default the mean of the memory."""
        return memory.mean()

    def start(self, memory: Memory) -> Any:
        """Return the decoding state before the first word, with one row for each sentence."""
        raise NotImplementedError

    def prepare_words(self, embedded: Tensor, state: Any) -> Tensor:
        """Compute the part of a step that depends only on the input word: (U, E) -> (U, ·)

        On a CPU, and without options on the embeddings, search computes it once for each of U
        distinct words, otherwise for each hypothesis.
        """
        return embedded

    def step(self, prepared_words: Tensor, state: Any, memory: Memory) -> tuple[Tensor, Any]:
        """prepared_words (N, ·) from `prepare_words` -> states (N, D), and the next state"""
        raise NotImplementedError

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
        """Return a decoding state whose new row n is the old row rows[n]; rows has shape (N',).

        sentences: indices (B',) of the sentences to keep, or None to keep all of them.
        """
        raise NotImplementedError


class AttentionDecoderConfig(RecurrentDecoderConfig, Decoder.Config):
    """Settings of recurrent decoders with attention."""

    def validate_size(self, memory_size: int) -> Problem | None:
        return attention_size_problem(self.attention, self.size, memory_size)


def attention_size_problem(attention: str, size: int, memory_size: int) -> Problem | None:
    """Return a Problem if this attention needs states and memory of equal size, else None."""
    if attention != "dot" or size == memory_size:
        return None
    message = (
        f"'dot' needs decoder.size ({size}) equal to the size of the memory rows "
        f"({memory_size}); make them equal or use 'general'"
    )
    return Problem(("attention",), message)
