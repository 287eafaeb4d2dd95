"""Search in a restricted vocabulary: the output layer computes only the selected words.

The words are selected for each sentence, or for the batch (Weng et al. 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from polyglot.decoding.base import Hypothesis, SelectingDecoder
from polyglot.model.memory import Memory
from polyglot.tasks.batch import SPECIAL_TOKENS
from polyglot.tasks.transfers import to_device, to_host

FEW_WORDS = 1000
"""Up to this number of words, a selection is always used: few words can also improve the
translation (Weng et al. 2017, section 4.4)."""


def selection_is_useful(count: int, vocabulary_size: int) -> bool:
    """False if the words are (nearly) all words, or if search among them may take longer.

    With more than half of the words, the smaller products save about as much time as the selection
    takes. Measured with `evaluation/benchmarks/selection.py`. count: without the special tokens.
    """
    if count <= FEW_WORDS:
        return count + len(SPECIAL_TOKENS) < vocabulary_size
    return 2 * count <= vocabulary_size


def most_probable_words(scores: Tensor, count: int) -> Tensor:
    """Return the special tokens and the `count` most probable other words of each sentence.

    scores (B, V) -> word numbers (B, count + 4) in ascending order, or (B, V) for small V.
    """
    scores = scores.clone()
    scores[:, : len(SPECIAL_TOKENS)] = torch.inf
    number = min(count + len(SPECIAL_TOKENS), scores.shape[1])
    words = scores.topk(number, dim=1, sorted=False).indices
    # A mask brings the words into ascending order without sorting.
    is_selected = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, words, True)
    selected = torch.nonzero_static(is_selected, size=words.numel())
    return selected[:, 1].view(-1, number)


def select_words(scores: Tensor, count: int, *, together: bool) -> Tensor | None:
    """Return the selected words: (B, U) of each sentence, or (U,) of all sentences if `together`.

    A single sentence always has (U,) words, which take fewer operations. Returns None if a search
    among all words is faster than a search among these (U,) words. scores (B, V).
    """
    words = most_probable_words(scores, count)
    if len(words) > 1 and not together:
        return words
    words = union_of_words(words)
    if selection_is_useful(len(words) - len(SPECIAL_TOKENS), scores.shape[1]):
        return words
    return None


def union_of_words(words: Tensor) -> Tensor:
    """Return the words of all sentences: words (B, U) -> (U,), ascending."""
    host_words = to_host(words)
    is_selected = torch.zeros(int(host_words.max()) + 1, dtype=torch.bool)
    is_selected[host_words.flatten()] = True
    union = is_selected.nonzero().squeeze(1)
    return to_device(union, words.device)


class RestrictedState(NamedTuple):
    """Decoder state of N hypotheses, and the selected words."""

    decoder_state: Any
    words: Tensor
    """(B, U) words of each sentence, or (U,) words of all sentences."""


class RestrictedVocabularyDecoder:
    """Decoder with the selected words as its vocabulary.

    In search, the words are numbered from 0. The special tokens come first, as in every vocabulary.
    """

    def __init__(self, decoder: SelectingDecoder, words: Tensor) -> None:
        """words: (B, U) for each sentence or (U,) for all, ascending, with the special tokens."""
        self.decoder = decoder
        self.words = words

    def start(self, memory: Memory) -> RestrictedState:
        state = self.decoder.start(memory, words=self.words)
        return RestrictedState(state, self.words)

    def step(
        self,
        tokens: Tensor,
        state: RestrictedState,
        memory: Memory,
    ) -> tuple[Tensor, RestrictedState]:
        """tokens (N,), numbered as in search -> scores (N, U), and the next state"""
        words = state.words
        if words.dim() == 1:
            tokens = words[tokens]
        else:
            tokens = words.gather(1, tokens.view(len(words), -1)).flatten()
        scores, decoder_state = self.decoder.step(tokens, state.decoder_state, memory)
        return scores, state._replace(decoder_state=decoder_state)

    def reorder(
        self,
        state: RestrictedState,
        rows: Tensor,
        sentences: Tensor | None,
    ) -> RestrictedState:
        words = state.words
        if sentences is not None and words.dim() == 2:
            words = words.index_select(0, sentences)
        decoder_state = self.decoder.reorder(state.decoder_state, rows, sentences)
        return RestrictedState(decoder_state, words)

    def restore_tokens(
        self,
        hypotheses_of_sentences: Sequence[Sequence[Hypothesis]],
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses with the word numbers of the whole vocabulary."""
        words = to_host(self.words)
        restored = []
        for number, hypotheses in enumerate(hypotheses_of_sentences):
            if words.dim() == 1:
                words_of_sentence = words
            else:
                words_of_sentence = words[number]
            restored.append([_restore(hypothesis, words_of_sentence) for hypothesis in hypotheses])
        return restored


def _restore(hypothesis: Hypothesis, words: Tensor) -> Hypothesis:
    """Return one hypothesis with the word numbers of the whole vocabulary. words (U,)"""
    tokens = words[list(hypothesis.tokens)].tolist()
    return replace(hypothesis, tokens=tuple(tokens))
