"""Losses: each has a name, a weight and the outputs it reads; the total is their weighted sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.core.setting_types import LossWeight
from polyglot.layers import autocast
from polyglot.layers.cross_entropy import projected_bag_cross_entropy, projected_cross_entropy
from polyglot.layers.divergence import projected_divergence
from polyglot.model.memory import Memory
from polyglot.model.translation_model import Output
from polyglot.tasks.batch import EOS, Batch

LOSSES: Registry[Loss] = Registry("loss")


class Loss:
    """One term of the objective, averaged over the target tokens of a batch."""

    class Config(ComponentConfig):
        weight: LossWeight = 1.0
        """Weight in the total."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        """Return the loss, a scalar tensor: the sum over the batch divided by its target tokens.

        Returns None if the model or the batch does not have this loss.
        """
        raise NotImplementedError


@LOSSES.register("translation")
class TranslationLoss(Loss):
    """Cross-entropy −log p(y given x), mean over the target tokens."""

    class Config(Loss.Config):
        weight: float = Field(1.0, gt=0, le=1e6)
        """Weight in the total; more than 0, because no other loss trains the next word."""
        label_smoothing: float = Field(0.0, ge=0, lt=1)
        """Share of the probability that is spread over the vocabulary (Szegedy et al. 2016).
        Validation measures the cross-entropy without it."""

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        # Padding is not projected. The batch knows the number of real tokens; asking the device
        # for it would wait for the device.
        is_real = batch.target_mask.flatten()
        real = torch.nonzero_static(is_real, size=batch.target_tokens).squeeze(1)
        states = output.states.flatten(0, 1).index_select(0, real)
        targets = batch.target_out.flatten().index_select(0, real)

        is_validation = not torch.is_grad_enabled()
        loss = projected_cross_entropy(
            states,
            output.projection.weight,
            output.projection.bias,
            targets,
            smoothing=0.0 if is_validation else self.config.label_smoothing,
        )
        return loss / batch.target_tokens


@LOSSES.register("bridge")
class BridgePenalty(Loss):
    """Penalty ‖A·Aᵀ − I‖²_F on bridge heads that attend to the same words.

    Source: Vázquez et al. 2018, section 2.3. The paper adds λ times the penalty of a sentence to
    −log p of the whole sentence; λ is the weight here. So the penalty is summed over the batch and
    divided by the target tokens, like the translation loss. Bridges without attention weights have
    no penalty.

    `form: sharded` is the penalty of the published program: the mean over the sentences of the norm
    ‖A·Aᵀ − I‖_F, added once for each shard of 32 target positions in which that program computes
    its loss.
    """

    class Config(Loss.Config):
        form: Literal["squared", "sharded"] = "squared"
        """`squared`: the penalty of Vázquez et al. 2018; `sharded`: of their published program."""

    SHARD_LENGTH = 32
    """Target positions in a shard: OpenNMT-py's `max_generator_batches`."""

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        weights = output.memory.weights
        if weights is None:
            return None

        # Autocast would round the product to half precision.
        with autocast.without_autocast(weights.device.type):
            products = weights.float() @ weights.float().transpose(1, 2)  # (B, K, K)
        identity = torch.eye(weights.shape[1], device=weights.device)
        squares = (products - identity).square()
        if self.config.form == "squared":
            return squares.sum() / batch.target_tokens

        # The root of 0 has no gradient, so a small number is added.
        norms = (squares.sum(dim=(1, 2)) + 1e-10).sqrt()  # (B,)
        shard_count = math.ceil(batch.target_out.shape[1] / self.SHARD_LENGTH)
        return shard_count * norms.mean() / batch.target_tokens


@LOSSES.register("agreement")
class AgreementLoss(Loss):
    """1 − cos of the bridge rows of a source and of its translation.

    Mean over the rows, sum over the sentences. After Arivazhagan et al. 2019 (arXiv 1903.07091),
    who compare states pooled over positions. A bridge without a fixed number of rows is compared
    by the mean of its rows, as in that paper.

    - The mean of the batch is subtracted first. Otherwise, the loss would be lowest if all
      sentences had equal rows. So it needs batches of many sentences; a single sentence has no
      gradient.
    - The encoder of the target language reads the translation in the current mode (training or
      evaluation, so with or without dropout). This side has no gradient: a task trains only its
      own components, and the opposite task trains the other encoder.
    - Copy tasks (a language to itself) have no agreement loss, nor do target languages without an
      encoder.
    """

    class Config(Loss.Config):
        weight: LossWeight = 0.0
        """Weight in the total."""

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        translation = _encode_reference(output, batch)
        if translation is None:
            return None
        source_rows = self._centred_rows(output.memory)
        target_rows = self._centred_rows(translation)
        cosines = (source_rows * target_rows).sum(dim=2)  # (B, K)
        return (1 - cosines).mean(dim=1).sum() / batch.target_tokens

    @staticmethod
    def _centred_rows(memory: Memory) -> Tensor:
        """Subtract the mean of the batch from the rows, and scale them to length 1: (B, K, D).

        K is 1 if the rows of different sentences do not correspond to each other. Centred rows
        that are shorter than a hundredth of the mean row stay shorter than 1, since half precision
        cannot distinguish them from rounding errors.
        """
        if memory.mask is None:
            rows = memory.states.float()
        else:
            rows = memory.mean().unsqueeze(1).float()

        mean = rows.mean(dim=0)
        tiny = torch.finfo(torch.float32).tiny
        minimum = 0.01 * mean.detach().norm(dim=1, keepdim=True) + tiny
        centred = rows - mean
        return centred / centred.norm(dim=2, keepdim=True).maximum(minimum)


@LOSSES.register("consistency")
class ConsistencyLoss(Loss):
    """R-Drop: (KL(p ‖ q) + KL(q ‖ p)) / 2 between two passes over a batch, sum over its positions.

    p and q are the distributions of the next word, with different dropout. Source: Liang et al.
    2021 (arXiv 2106.14448), who also average the cross-entropy of both passes; here it is that of
    the first pass. A second pass over encoder and decoder is needed. Validation has no dropout, so
    it leaves this loss out.
    """

    class Config(Loss.Config):
        weight: LossWeight = 0.0
        """Weight in the total."""

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        if not torch.is_grad_enabled():
            return None
        other_states = output.decode(output.encode_source())
        return _divergence(output, other_states, batch, symmetric=True)


@LOSSES.register("reference_consistency")
class ReferenceConsistencyLoss(Loss):
    """CrossConST: KL(p ‖ q), sum over the positions of the target.

    p is the distribution of the next word if the model translates the source; q is that
    distribution if the model copies the reference translation, which is then the input of the
    encoder. Source: Gao et al. 2023 (arXiv 2305.07310).

    The encoder of the target language reads the reference. It has no gradient here, because a task
    trains only its own components. Copy tasks have no such loss, nor do target languages without an
    encoder. One more pass over encoder and decoder is needed.
    """

    class Config(Loss.Config):
        weight: LossWeight = 0.0
        """Weight in the total."""

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        reference = _encode_reference(output, batch)
        if reference is None:
            return None
        return _divergence(output, output.decode(reference), batch, symmetric=False)


def _encode_reference(output: Output, batch: Batch) -> Memory | None:
    """Memory of the target sentences, without gradient.

    None for a copy task, a target language without an encoder, and a batch of empty targets.
    """
    words = batch.target_in[:, 1:]
    mask = batch.target_mask[:, 1:]
    only_empty_targets = not words.shape[1]
    if output.encode_target is None or batch.task.pair.is_copy or only_empty_targets:
        return None
    with torch.no_grad():
        return output.encode_target(words, mask)


def _divergence(output: Output, other_states: Tensor, batch: Batch, *, symmetric: bool) -> Tensor:
    """Mean divergence of two distributions over the target tokens. other_states (B, T, D)."""
    is_real = batch.target_mask.flatten()
    real = torch.nonzero_static(is_real, size=batch.target_tokens).squeeze(1)
    divergence = projected_divergence(
        output.states.flatten(0, 1).index_select(0, real),
        other_states.flatten(0, 1).index_select(0, real),
        output.projection.weight,
        output.projection.bias,
        symmetric=symmetric,
    )
    return divergence / batch.target_tokens


@LOSSES.register("initial_words")
class InitialWordsLoss(Loss):
    """L_E = −Σ_j log p(y_j given x), predicted from the decoder's initial state without word order.

    Source: Weng et al. 2017, section 4.1. The end of the sentence is not a word. Only for decoders
    with the option `word_prediction`.
    """

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        predictor = output.decoder.word_predictor("initial_words")
        if predictor is None:
            return None

        initial_state = output.decoder.body.initial_state(output.memory)
        hidden, _ = predictor(initial_state, output.memory)
        loss = projected_bag_cross_entropy(
            hidden,
            predictor.output.weight,
            predictor.output.bias,
            batch.target_out,
            _word_mask(batch),
        )
        return loss / batch.target_tokens


@LOSSES.register("remaining_words")
class RemainingWordsLoss(Loss):
    """L_D = −Σ_j 1/(T−j+1) Σ_{k≥j} log p_j(y_k): the words still to come, at each step.

    Source: Weng et al. 2017, section 4.2. Each step has one softmax, predicted from the state of
    the decoder. The end of the sentence is not a word. Only for decoders with `word_prediction`.
    """

    def __call__(self, output: Output, batch: Batch) -> Tensor | None:
        predictor = output.decoder.word_predictor("remaining_words")
        if predictor is None:
            return None

        is_word = _word_mask(batch)  # (B, T)
        sentence_count, length = is_word.shape
        word_count = batch.target_tokens - sentence_count  # without one end for each sentence
        positions = torch.nonzero_static(is_word.flatten(), size=word_count).squeeze(1)  # (N,)
        sentences = positions // length
        steps = positions % length

        states = predictor(output)
        hidden = states.flatten(0, 1).index_select(0, positions)

        is_now_or_later = torch.arange(length, device=is_word.device) >= steps.unsqueeze(1)
        remaining = is_word[sentences] & is_now_or_later  # (N, T)
        shares = remaining / remaining.sum(dim=1, keepdim=True)
        projection = predictor.output_layer(output)
        loss = projected_bag_cross_entropy(
            hidden,
            projection.weight,
            projection.bias,
            batch.target_out[sentences],
            shares,
        )
        return loss / batch.target_tokens


def _word_mask(batch: Batch) -> Tensor:
    """True on targets that are neither padding nor the end of the sentence: (B, T)."""
    return batch.target_mask & (batch.target_out != EOS)


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses of one batch."""

    terms: Mapping[str, Tensor]
    """Loss per target token by name, scalar tensors; can be compared between runs."""
    total: Tensor
    """Weighted sum of the terms per token or sentence (`losses.per`), a scalar tensor."""


class LossesConfig(ComponentConfig):
    """Terms of the objective."""

    translation: TranslationLoss.Config = TranslationLoss.Config()
    """Cross-entropy of the target."""
    bridge: BridgePenalty.Config = BridgePenalty.Config()
    """Penalty on bridge heads that attend to the same words."""
    agreement: AgreementLoss.Config = AgreementLoss.Config()
    """Distance between the bridge rows of a sentence and of its translation."""
    consistency: ConsistencyLoss.Config = ConsistencyLoss.Config()
    """R-Drop: distance between two passes with different dropout."""
    reference_consistency: ReferenceConsistencyLoss.Config = ReferenceConsistencyLoss.Config()
    """CrossConST: distance between the translation and a copy of the reference."""
    initial_words: InitialWordsLoss.Config = InitialWordsLoss.Config()
    """Words of the target, predicted from the decoder's initial state."""
    remaining_words: RemainingWordsLoss.Config = RemainingWordsLoss.Config()
    """Words still to come, predicted from the decoder's states."""
    per: Literal["token", "sentence"] = "token"
    """Divisor of the sum over an update: its target tokens or its sentences. Papers that use SGD at
    1.0, and their programs, divide by sentences (OpenNMT-py's `normalization: sents`). With
    `sentence` the gradient is larger by a factor of the mean sentence length. The learning rate of
    SGD and `training.clip_norm` must fit this choice; Adam hardly changes."""


class Criterion:
    """All losses of a batch that have a weight."""

    def __init__(self, config: LossesConfig) -> None:
        self.per = config.per
        self.losses: dict[str, Loss] = {}
        for name in LossesConfig.model_fields:
            if name not in LOSSES.names():  # `per` is no loss
                continue
            loss_config = getattr(config, name)
            if loss_config.weight > 0:
                self.losses[name] = LOSSES.build(loss_config)

    def divisor(self, batch: Batch) -> int:
        """Return the divisor for this batch: the number of sentences or of target tokens.

        It is the weight of the batch in an update of several batches.
        """
        if self.per == "sentence":
            return batch.sentences
        return batch.target_tokens

    def __call__(self, output: Output, batch: Batch) -> Losses:
        terms = {}
        for name, loss in self.losses.items():
            term = loss(output, batch)
            if term is not None:
                terms[name] = term

        total_per_token = sum(
            self.losses[name].config.weight * term for name, term in terms.items()
        )
        return Losses(terms, total_per_token * (batch.target_tokens / self.divisor(batch)))
