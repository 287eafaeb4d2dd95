"""Pooling of the rows of a sentence to one vector."""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.core.errors import ConfigError, unknown_name
from polyglot.layers.masks import masked_mean
from polyglot.model.memory import Memory
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import UNK

LAYERS = ("bridge", "states", "words")
"""`bridge`: the memory, which the decoders read; `states`: the encoder's output, before the bridge;
`words`: word embeddings, without context."""

POOLINGS = ("flat", "mean", "max")
"""`flat`: concatenation of all rows (K·D); `mean` and `max` over the rows (D)."""

PRECISIONS = ("float32", "float16", "int8")


def check_pooling(model: TranslationModel, *, layer: str, pooling: str, precision: str) -> None:
    """Raise ConfigError for an unknown name, or a pooling that this model does not support."""
    for kind, name, known_names in (
        ("layer", layer, LAYERS),
        ("pooling", pooling, POOLINGS),
        ("precision", precision, PRECISIONS),
    ):
        if name not in known_names:
            raise ConfigError(f"{kind}: {unknown_name(kind, name, known_names)}")
    reason = unsupported_pooling(model, layer=layer, pooling=pooling)
    if reason:
        raise ConfigError(reason)


def unsupported_pooling(model: TranslationModel, *, layer: str, pooling: str) -> str | None:
    """Return an error message if the vectors would differ in size, else None."""
    if pooling == "flat" and (layer != "bridge" or not model.bridge.fixed_size):
        subject = "this run's bridge has" if layer == "bridge" else f"{layer} have"
        return (
            "pooling: 'flat' needs the same number of rows for every sentence, "
            f"but {subject} one row for each position; use mean or max"
        )
    sizes = {}
    for language, encoder in model.encoders.items():
        sizes[language] = encoder.embedding.table.embedding_dim
    if layer == "words" and len(set(sizes.values())) > 1:
        return (
            "layer: 'words' needs word embeddings of the same size in all languages, "
            f"but the sizes of this run are {sizes}; use bridge or states"
        )
    return None


def layer_rows(
    model: TranslationModel,
    language: str,
    tokens: Tensor,
    mask: Tensor,
    *,
    layer: str,
) -> Memory:
    """Compute the rows to pool: tokens and mask (B, S) -> (B, K, D), for words (B, S, E)."""
    encoder = model.encoders[language]
    if layer == "words":
        return Memory(encoder.embedding(tokens), mask=mask)
    if layer == "bridge":
        return model.encode(language, tokens, mask)
    return Memory(encoder(tokens, mask), mask=mask)


def pool(rows: Memory, pooling: str) -> Tensor:
    """Pool the rows of non-empty sentences, in float32.

    (B, K, D) -> (B, K·D) for `flat`, (B, D) for `mean` and `max`
    """
    states = rows.states.float()
    if pooling == "flat":
        return states.flatten(1)
    if pooling == "mean":
        return masked_mean(states, rows.mask)
    if rows.mask is not None:
        states = states.masked_fill(~rows.mask.unsqueeze(-1), -torch.inf)
    return states.amax(dim=1)


def vector_size(model: TranslationModel, language: str, *, layer: str, pooling: str) -> int:
    """Compute the size of a vector with the embedding of one word."""
    device = next(model.parameters()).device
    tokens = torch.full((1, 1), UNK, device=device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    with torch.inference_mode():
        rows = layer_rows(model, language, tokens, mask, layer=layer)
        vectors = pool(rows, pooling)
    return vectors.shape[1]


def normalized(vectors: Tensor) -> Tensor:
    """Scale each vector to length 1; zeros stay zeros. (N, D) -> (N, D)"""
    return torch.nn.functional.normalize(vectors, dim=-1)


def cast(vectors: Tensor, precision: str) -> Tensor:
    """Convert float32 vectors (N, D) to `precision`.

    int8 scales each vector so that its largest absolute value is 127. This changes only the
    length, which cosine similarity ignores, and does not depend on the other vectors.
    """
    if precision == "int8":
        largest = vectors.abs().amax(dim=-1, keepdim=True)
        largest = largest.clamp(min=torch.finfo(torch.float32).tiny)
        return (vectors * (127 / largest)).round().to(torch.int8)
    return vectors.to(getattr(torch, precision))
