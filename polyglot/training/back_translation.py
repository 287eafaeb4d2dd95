"""Generation of sources for online back-translation, with the model that is being trained."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from polyglot.config.schema import Config
from polyglot.core.language_codes import resolve_language
from polyglot.decoding.base import Hypothesis, SearchConfig, StepDecoder
from polyglot.decoding.beam_search import search
from polyglot.decoding.sampling import SamplingDecoder
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.back_translation import BackTranslation, BackTranslationTask
from polyglot.tasks.batch import EOS, PAD, Batch, pad
from polyglot.tasks.transfers import to_device


@dataclass(frozen=True, slots=True)
class Generation:
    """Cost of generated sources."""

    seconds: float = 0.0
    tokens: int = 0
    """Generated tokens, also those of a pivot language; without ends of sentences."""

    def __add__(self, other: Generation) -> Generation:
        return Generation(self.seconds + other.seconds, self.tokens + other.tokens)


class BackTranslator:
    """Translates the target sentences of batches into the source languages of other tasks."""

    def __init__(
        self,
        settings: BackTranslation,
        model: TranslationModel,
        *,
        languages: Sequence[str],
    ) -> None:
        """languages: of the run, which may spell the pivot language in another way."""
        self.settings = settings
        self.model = model
        self.pivot: str | None = None
        if settings.through is not None:
            self.pivot = resolve_language(settings.through, languages)
        self._search_config = SearchConfig(
            beam=1,
            max_length_ratio=settings.max_length_ratio,
            max_length_extra=settings.max_length_extra,
        )

    def with_generated_source(
        self,
        batch: Batch,
        task: BackTranslationTask,
    ) -> tuple[Batch, Generation]:
        """Return a batch of the task: the same targets, and their translations as sources.

        batch: of `task.text`, whose sources are not read. Translation has no gradient and no
        dropout. An empty translation becomes the end token, so every sentence stays. Sampling
        draws from PyTorch's random generator.
        """
        started = time.perf_counter()
        tokens, mask = _target_words(batch)
        route = self._route(task)
        generated_tokens = 0
        with evaluation_mode(self._components(route)):
            for origin, language in zip(route, route[1:]):
                sentences = self._translate(tokens, mask, origin, language)
                generated_tokens += sum(map(len, sentences))
                tokens, mask = _pad_on_device(sentences, batch.source.device)

        seconds = time.perf_counter() - started
        generated = replace(batch, task=task, source=tokens, source_mask=mask)
        return generated, Generation(seconds, generated_tokens)

    def _route(self, task: BackTranslationTask) -> list[str]:
        """Languages of the translation: target of the task, pivot if it is a third one, source."""
        ends = [task.target, task.source]
        if self.pivot is None or self.pivot in ends:
            return ends
        return [task.target, self.pivot, task.source]

    def _components(self, route: Sequence[str]) -> list[nn.Module]:
        """Components that translate along a route."""
        components: list[nn.Module] = [self.model.bridge]
        components += [self.model.encoders[language] for language in route[:-1]]
        components += [self.model.decoders[language] for language in route[1:]]
        return components

    @torch.no_grad()
    def _translate(
        self,
        tokens: Tensor,
        mask: Tensor,
        source: str,
        target: str,
    ) -> list[tuple[int, ...]]:
        """Translate sentences, tokens and mask (B, S), into tokens without BOS and EOS."""
        memory = self.model.encode(source, tokens, mask)
        decoder: StepDecoder = self.model.decoders[target]
        if self.settings.search == "sample":
            decoder = SamplingDecoder(decoder)
        lengths = mask.sum(dim=1)
        hypotheses = search(decoder, memory, lengths, self._search_config)
        return [_best_tokens(sentence) for sentence in hypotheses]


def build_back_translator(config: Config, model: TranslationModel) -> BackTranslator | None:
    """Back-translator of a run; None if its schedule has no back-translation."""
    settings = config.schedule.back_translation
    if settings is None:
        return None
    return BackTranslator(settings, model, languages=config.languages)


@contextmanager
def evaluation_mode(components: Iterable[nn.Module]) -> Iterator[None]:
    """Switch these components to evaluation mode, and each of their modules back at the end.

    Only they are visited, since a model may have the components of many languages.
    """
    switched = []
    for component in components:
        for module in component.modules():
            if module.training:
                module.training = False
                switched.append(module)
    try:
        yield
    finally:
        for module in switched:
            module.training = True


def _target_words(batch: Batch) -> tuple[Tensor, Tensor]:
    """Target tokens without BOS and EOS, and their mask: (B, S), S is at least 1."""
    width = max(1, batch.target_out.shape[1] - 1)
    tokens = batch.target_out[:, :width]
    mask = batch.target_mask[:, :width] & (tokens != EOS)
    return tokens.masked_fill(~mask, PAD), mask


def _best_tokens(hypotheses: Sequence[Hypothesis]) -> tuple[int, ...]:
    """Tokens of the best hypothesis; the end token if it is empty.

    A model with NaN has no hypothesis; the loss of the batch then reports it.
    """
    if hypotheses and hypotheses[0].tokens:
        return hypotheses[0].tokens
    return (EOS,)


def _pad_on_device(
    sentences: Sequence[Sequence[int]],
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """Tokens (B, S) and their mask on a device."""
    tokens, mask = pad(sentences)
    return to_device(tokens, device), to_device(mask, device)
