"""Components and sentences for the contract tests."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from polyglot.core.registry import Registry
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.tasks.batch import Batch
from tests.builders import models
from tests.builders.models import allclose, random_batch, tiny_component

SEARCH = SearchConfig(beam=2, n_best=2, max_length_extra=4)


def build_component(registry: Registry, name: str, settings: dict = {}, **sizes: object):
    """Build a tiny component from a fixed seed."""
    config = {**tiny_component(registry, name), **settings}
    torch.manual_seed(0)
    return registry.build(registry.configure(config.pop("type"), **config), **sizes).eval()


def build_variants(registry: Registry, name: str, **sizes: object) -> Iterator[nn.Module]:
    """Build a component with combinations of the alternatives that its settings name."""
    for settings in models.setting_pairs(registry, name):
        yield build_component(registry, name, settings, **sizes)


def random_sentences(lengths: list[int], size: int) -> tuple[Tensor, Tensor]:
    """Random vectors (B, S, size) of sentences of these lengths, and their mask (B, S)."""
    torch.manual_seed(1)
    width = max(lengths)
    mask = torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), width, size) * mask.unsqueeze(-1), mask


def add_padding(vectors: Tensor, mask: Tensor, positions: int) -> tuple[Tensor, Tensor]:
    """Append positions of padding, which contain numbers that must not matter."""
    padding = torch.full((len(vectors), positions, vectors.shape[2]), 7.0)
    no_words = torch.zeros(len(mask), positions, dtype=torch.bool)
    return torch.cat([vectors, padding], dim=1), torch.cat([mask, no_words], dim=1)


def has_gradient(parameter: nn.Parameter) -> bool:
    return parameter.grad is not None and bool(parameter.grad.abs().sum() > 0)


def backward_cubes(outputs: Tensor) -> None:
    """Backpropagate Σ x³. After a layer norm, Σ x² is the same for all outputs."""
    outputs.pow(3).sum().backward()


def encode_sentence(model, batch: Batch, row: int, length: int):
    """Memory of one sentence of a batch, without padding."""
    sentence = slice(row, row + 1)
    tokens = batch.source[sentence, :length]
    return model.encode("de", tokens, batch.source_mask[sentence, :length])


@torch.no_grad()
def check_search_of_each_sentence(model) -> None:
    """Assert that search translates a sentence in a batch as it does alone."""
    for parameter in model.eval().parameters():
        parameter.mul_(2.0)  # otherwise hypotheses have nearly equal scores
    lengths = [5, 1, 4]
    batch = random_batch(lengths=[(length, 1) for length in lengths])
    decoder = model.decoders["en"]
    memory = model.encode("de", batch.source, batch.source_mask)
    together = search(decoder, memory, batch.source_mask.sum(1), SEARCH)

    for row, length in enumerate(lengths):
        memory = encode_sentence(model, batch, row, length)
        (alone,) = search(decoder, memory, torch.tensor([length]), SEARCH)
        for hypothesis, expected in zip(together[row], alone, strict=True):
            assert hypothesis.tokens == expected.tokens
            assert abs(hypothesis.score - expected.score) < 1e-4


def check_sentences_alone(module, vectors: Tensor, mask: Tensor) -> None:
    """Assert that outputs (B, S, ·) of a sentence do not depend on the others in the batch."""
    together = module(vectors, mask)
    for row, length in enumerate(mask.sum(1).tolist()):
        sentence = slice(row, row + 1)
        alone = module(vectors[sentence, :length], mask[sentence, :length])
        assert allclose(alone[0], together[row, :length])
