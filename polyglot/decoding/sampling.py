"""Sampled translations: a decoder whose best continuation is a word drawn by its probability."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from polyglot.decoding.base import StepDecoder
from polyglot.model.memory import Memory


class SamplingDecoder:
    """Decoder with Gumbel noise on its logits; greedy search with it draws from the softmax.

    argmax_w (logit_w + g_w) has the distribution softmax(logit), if each g_w is an independent
    Gumbel variable (Maddison et al. 2014, arXiv 1411.0030, section 2). The noise is drawn from
    PyTorch's random generator. Scores of hypotheses contain the noise.
    """

    def __init__(self, decoder: StepDecoder) -> None:
        self.decoder = decoder

    def start(self, memory: Memory) -> Any:
        """Return the state before the first token."""
        return self.decoder.start(memory)

    def step(self, tokens: Tensor, state: Any, memory: Memory) -> tuple[Tensor, Any]:
        """Return the noisy logits (B·M, V) of the tokens after these tokens, and the next state."""
        logits, next_state = self.decoder.step(tokens, state, memory)
        logits = logits.float()
        exponential = torch.empty_like(logits).exponential_()
        return logits - exponential.log(), next_state

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
        """Return the state of other hypotheses."""
        return self.decoder.reorder(state, rows, sentences)
