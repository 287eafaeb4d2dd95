"""From the rows of a sentence to one vector: which layer they are taken from, and how they become one."""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.core.errors import ConfigError, unknown_name
from polyglot.layers.masks import masked_mean
from polyglot.model.memory import Memory
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import UNK

LAYERS = ("bridge", "states", "words")
"""`bridge`: the memory, what the decoders read; `states`: the encoder's, before the bridge; `words`: embedded words, without context."""

POOLINGS = ("flat", "mean", "max")
"""`flat`: all rows side by side (K·D); `mean` and `max` over the rows (D)."""

PRECISIONS = ("float32", "float16", "int8")


def check_pooling(model: TranslationModel, *, layer: str, pooling: str, precision: str) -> None:
    """Raises ConfigError for a name that is none, and for a pooling that this model has no vector of one size for."""
    for kind, name, known in (
        ("layer", layer, LAYERS),
        ("pooling", pooling, POOLINGS),
        ("precision", precision, PRECISIONS),
    ):
        if name not in known:
            raise ConfigError(f"{kind}: {unknown_name(kind, name, known)}")
    if reason := unsupported_pooling(model, layer=layer, pooling=pooling):
        raise ConfigError(reason)


def unsupported_pooling(model: TranslationModel, *, layer: str, pooling: str) -> str | None:
    """Why this model has no vectors of one size by that layer and pooling, or None when it has."""
    if pooling == "flat" and (layer != "bridge" or not model.bridge.fixed_size):
        what = f"{layer} have" if layer != "bridge" else "this run's bridge has"
        return f"pooling: 'flat' needs the same number of rows for every sentence, and {what} one for each position; mean and max work"
    sizes = {
        language: encoder.embedding.table.embedding_dim
        for language, encoder in model.encoders.items()
    }
    if layer == "words" and len(set(sizes.values())) > 1:
        return f"layer: 'words' needs word embeddings of one size in all languages, and this run has {sizes}; bridge and states work"
    return None


def layer_rows(
    model: TranslationModel, language: str, tokens: Tensor, mask: Tensor, *, layer: str
) -> Memory:
    """What is pooled, as a memory. tokens and mask (B, S) -> (B, K, D), of words (B, S, E)"""
    encoder = model.encoders[language]
    if layer == "words":
        return Memory(encoder.embedding(tokens), mask=mask)
    return (
        model.encode(language, tokens, mask)
        if layer == "bridge"
        else Memory(encoder(tokens, mask), mask=mask)
    )


def pool(rows: Memory, pooling: str) -> Tensor:
    """(B, K, D) -> (B, K·D) of `flat`, (B, D) of `mean` and `max`; float32 whatever the model computes in. A sentence has a real row."""
    states = rows.states.float()
    if pooling == "flat":
        return states.flatten(1)
    if pooling == "mean":
        return masked_mean(states, rows.mask)
    return (
        states if rows.mask is None else states.masked_fill(~rows.mask.unsqueeze(-1), -torch.inf)
    ).amax(dim=1)


def vector_size(model: TranslationModel, language: str, *, layer: str, pooling: str) -> int:
    """Numbers in a vector."""
    tokens = torch.full((1, 1), UNK, device=next(model.parameters()).device)
    with torch.inference_mode():
        return pool(
            layer_rows(
                model, language, tokens, torch.ones_like(tokens, dtype=torch.bool), layer=layer
            ),
            pooling,
        ).shape[1]


def normalized(vectors: Tensor) -> Tensor:
    """Of length 1 each; a vector of zeros stays one. (N, D) -> (N, D)"""
    return torch.nn.functional.normalize(vectors, dim=-1)


def cast(vectors: Tensor, precision: str) -> Tensor:
    """Float32 (N, D) to fewer bytes.

    int8: each vector is stretched so that its largest number is ±127. What that changes, its length, cosine similarity does
    not look at; and nothing has to be known of the other vectors, as ranges over a corpus would.
    """
    if precision == "int8":
        largest = (
            vectors.abs().amax(dim=-1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
        )
        return (vectors * (127 / largest)).round().to(torch.int8)
    return vectors.to(getattr(torch, precision))
