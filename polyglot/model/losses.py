"""What is minimised: each loss has a name, a weight and the output it reads; the total is their weighted sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.layers.cross_entropy import projected_bag_cross_entropy, projected_cross_entropy
from polyglot.model.memory import Memory
from polyglot.model.translation_model import Output
from polyglot.tasks.batch import EOS, Batch

LOSSES: Registry[Loss] = Registry("loss")


class Loss:
    """One term of the objective, for each target token."""

    class Config(ComponentConfig):
        weight: float = Field(1.0, ge=0)
        """Its share in the total."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        """The loss (), summed over the batch and divided by its target tokens, or None where the model has nothing of the kind."""
        raise NotImplementedError


@LOSSES.register("translation")
class TranslationLoss(Loss):
    """−log p(y given x), mean over the target tokens; padding is not even projected."""

    class Config(Loss.Config):
        weight: float = Field(1.0, gt=0)
        """Its share in the total; never 0, since nothing else teaches a decoder."""
        label_smoothing: float = Field(0.0, ge=0, lt=1)
        """Share of the probability that is spread over the whole vocabulary (Szegedy et al. 2016)."""

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        # The positions of real tokens, without asking the device how many there are: the batch knows.
        real = torch.nonzero_static(batch.target_mask.flatten(), size=batch.target_tokens).squeeze(
            1
        )
        states = output.states.flatten(0, 1).index_select(0, real)
        targets = batch.target_out.flatten().index_select(0, real)
        weight, bias = output.projection.weight, output.projection.bias
        smoothing = self.config.label_smoothing if torch.is_grad_enabled() else 0.0
        return (
            projected_cross_entropy(states, weight, bias, targets, smoothing=smoothing)
            / batch.target_tokens
        )


@LOSSES.register("bridge")
class BridgePenalty(Loss):
    """‖A·Aᵀ − I‖²_F: heads that look at the same words cost (Vázquez et al., section 2.3).

    The paper adds λ times the penalty of a sentence to −log p of the whole sentence, and the weight is its λ. So, like the
    translation loss, it is summed over the batch and divided by the same number. Bridges without attention weights have none.
    """

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        weights = output.memory.weights
        if weights is None:
            return None
        with torch.autocast(
            weights.device.type, enabled=False
        ):  # else the product would be rounded again
            products = weights.float() @ weights.float().transpose(1, 2)  # (B, K, K)
        return (
            products - torch.eye(weights.shape[1], device=weights.device)
        ).square().sum() / batch.target_tokens


@LOSSES.register("agreement")
class AgreementLoss(Loss):
    """1 − cos between a row that the bridge makes of a source and the same row of its translation, mean over the rows, sum over sentences.

    After Arivazhagan et al. 2019 (arXiv 1903.07091), who compare states pooled over positions; where a bridge makes no fixed number of
    rows, so do we, by their mean. First the mean over the batch is taken off, or what is alike in all sentences would agree best: it
    takes batches of many sentences, and one alone learns nothing. The translation is read by the encoder of its language, as it is in
    training, and held fixed, so that a task trains its own components alone; the other direction moves the other encoder. Copies, and
    languages that nothing is translated from, have none. Like the penalty it is divided by target tokens: a weight is for a sentence.
    """

    class Config(Loss.Config):
        weight: float = Field(0.0, ge=0)
        """Its share in the total."""

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        words, mask = batch.target_in[:, 1:], batch.target_mask[:, 1:]
        if (
            output.encode_target is None or batch.task.pair.is_copy or not words.shape[1]
        ):  # the last: all of them empty
            return None
        with torch.no_grad():
            translation = output.encode_target(words, mask)
        ours, theirs = (self._directions(memory) for memory in (output.memory, translation))
        return (1 - (ours * theirs).sum(dim=2)).mean(dim=1).sum() / batch.target_tokens

    @staticmethod
    def _directions(memory: Memory) -> Tensor:
        """From the mean of the batch to each sentence (B, K, D), of length 1; K is 1 where rows have no counterparts.

        Shorter where it is no more than a hundredth of the mean, which half precision does not tell from rounding.
        """
        rows = (memory.states if memory.mask is None else memory.mean().unsqueeze(1)).float()
        mean = rows.mean(dim=0)
        least = 0.01 * mean.detach().norm(dim=1, keepdim=True) + torch.finfo(torch.float32).tiny
        away = rows - mean
        return away / away.norm(dim=2, keepdim=True).maximum(least)


@LOSSES.register("initial_words")
class InitialWordsLoss(Loss):
    """−Σ_j log p(y_j given x) over the words of the target, whatever their order, predicted from the decoder's initial state (L_E).

    Weng et al. 2017, section 3.1. The end of the sentence is no word. Only for decoders with `word_prediction`.
    """

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        predictor = output.decoder.word_predictor("initial_words")
        if predictor is None:
            return None
        hidden, _ = predictor(output.decoder.body.initial_state(output.memory), output.memory)
        weight, bias = predictor.output.weight, predictor.output.bias
        return (
            projected_bag_cross_entropy(hidden, weight, bias, batch.target_out, _words(batch))
            / batch.target_tokens
        )


@LOSSES.register("remaining_words")
class RemainingWordsLoss(Loss):
    """−Σ_j 1/(T−j+1) Σ_{k≥j} log p_j(y_k): at each step, the words still to come, predicted from the decoder's state (L_D).

    Weng et al. 2017, section 3.2. One softmax a step. The end of the sentence is no word. Only for decoders with `word_prediction`.
    """

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        predictor = output.decoder.word_predictor("remaining_words")
        if predictor is None:
            return None
        words = _words(batch)
        count, length = (
            batch.target_tokens - len(words),
            words.shape[1],
        )  # each sentence has one end
        places = torch.nonzero_static(words.flatten(), size=count).squeeze(1)
        hidden = (
            predictor(output.states, output.memory).flatten(0, 1).index_select(0, places)
        )
        sentences, steps = places // length, places % length
        remaining = words[sentences] & (
            torch.arange(length, device=words.device) >= steps.unsqueeze(1)
        )  # (N, T)
        shares = remaining / remaining.sum(dim=1, keepdim=True)
        weight, bias = predictor.output.weight, predictor.output.bias
        return (
            projected_bag_cross_entropy(hidden, weight, bias, batch.target_out[sentences], shares)
            / batch.target_tokens
        )


def _words(batch: Batch) -> Tensor:
    """Which targets are words: neither padding nor the end. (B, T)"""
    return batch.target_mask & (batch.target_out != EOS)


@dataclass(frozen=True, slots=True)
class Losses:
    """The terms by name, each () and for one target token, so that runs compare; and their weighted sum, which is minimised."""

    terms: Mapping[str, Tensor]
    total: Tensor
    """() for what `losses.per` names"""


class LossesConfig(ComponentConfig):
    """The terms of the objective."""

    translation: TranslationLoss.Config = TranslationLoss.Config()
    """Cross-entropy of the target."""
    bridge: BridgePenalty.Config = BridgePenalty.Config()
    """Penalty on bridge heads that attend alike."""
    agreement: AgreementLoss.Config = AgreementLoss.Config()
    """Distance between the bridge rows of a sentence and of its translation."""
    initial_words: InitialWordsLoss.Config = InitialWordsLoss.Config()
    """Words of the target predicted from the decoder's initial state."""
    remaining_words: RemainingWordsLoss.Config = RemainingWordsLoss.Config()
    """Words still to come predicted from the decoder's states."""
    per: Literal["token", "sentence"] = "token"
    """What the sum over an update is divided by: its target tokens, or its sentences, as papers with SGD at 1.0 and their programs mean it
    (OpenNMT-py's `normalization: sents`). A gradient per sentence is as many times larger as a sentence has target tokens; SGD's learning
    rate and `training.clip_norm` go by it, Adam does not."""


class Criterion:
    """All configured losses of a batch."""

    def __init__(self, config: LossesConfig) -> None:
        self.per = config.per
        configs = {
            name: getattr(config, name)
            for name in LossesConfig.model_fields
            if name in LOSSES.names()
        }
        self.losses = {name: LOSSES.build(one) for name, one in configs.items() if one.weight > 0}

    def count(self, batch: Batch) -> int:
        """How much of what the loss is divided by is in a batch: its share in an update of several."""
        return batch.sentences if self.per == "sentence" else batch.target_tokens

    def __call__(self, output: Output, batch: Batch) -> Losses:
        terms = {name: loss(output, batch) for name, loss in self.losses.items()}
        terms = {name: term for name, term in terms.items() if term is not None}
        for_a_token = sum(self.losses[name].config.weight * term for name, term in terms.items())
        return Losses(terms, for_a_token * (batch.target_tokens / self.count(batch)))
