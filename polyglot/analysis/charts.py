"""The local chart of a word: its neighbours in the embedding matrix, and the axes they lie along (Choi, Cho and Bengio, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from polyglot.analysis.page import Page, Table, file_name
from polyglot.analysis.pictures import plane_png
from polyglot.analysis.text import MARK, as_read, shown
from polyglot.batch import SPECIAL_TOKENS
from polyglot.errors import ConfigError, DataError
from polyglot.inference import Translator
from polyglot.model.options import reaching

AXES = 3
ENDS = 6  # words at each end of an axis
NEIGHBOURS = 50  # on which the axes are found


def chart(translator: Translator, word: str, language: str, *, side: str = "encoder", texts: Sequence[str] = ()) -> Page:
    """The neighbours of a word; where there is a context gate, also as it lies in each of `texts` that has the word.

    Raises ConfigError for a language that has no such side, DataError for a word that is no piece.
    """
    components = translator.model.encoders if side == "encoder" else translator.model.decoders
    if language not in components:
        raise ConfigError(f"chart: {language} has no {side} in this run; there are those of {', '.join(components)}")
    gated = "context_gate" in components[language].options and side == "encoder"
    if texts and not gated:
        raise ConfigError(
            f"chart: the {side} of {language} has the same words in every --sentence; only a context gate on an encoder changes them"
        )
    table = components[language].embedding.table.weight.detach().float().cpu()
    vocabulary = translator.vocabularies[language]
    pieces = vocabulary.pieces(list(range(len(vocabulary))))
    own = next((pieces.index(one) for one in (MARK + word, word) if one in pieces), None)
    if own is None or own < len(SPECIAL_TOKENS):
        raise DataError(
            f"chart: {word!r} is no piece in the vocabulary of {language}; "
            f"it is read as {' '.join(as_read(translator, [word], language)[0].pieces)}"
        )
    near = neighbours(table, own, count=NEIGHBOURS)
    axes = principal_axes(table[[own, *near]])
    rows = [[shown(pieces[one]), f"{torch.cosine_similarity(table[own], table[one], dim=0).item():.2f}"] for one in near[: 2 * ENDS]]
    along, values = [], {"word": word, "neighbours": rows, "axes": []}
    for number in range(axes.shape[1]):
        order = [near[place] for place in numpy.argsort(axes[1:, number], kind="stable")]
        ends = [[shown(pieces[one]) for one in some] for some in (order[:ENDS], order[::-1][:ENDS])]
        along.append([str(number + 1), *(", ".join(end) for end in ends)])
        values["axes"].append(ends)
    tables = [Table("Nearest in the embedding matrix", ["word", "cosine"], rows)]
    tables += [
        Table(
            "Along the axes of the neighbourhood",
            ["axis", "one end", "other end"],
            along,
            note=f"Principal axes of {len(near)} neighbours.",
        )
    ]
    if gated:
        tables, values["contexts"] = _in_contexts(translator, language, texts, own, table, pieces, tables)
    picture = plane_png([shown(pieces[one]) for one in [own, *near]], axes[:, :2], title=f"“{word}” and its neighbours")
    return Page(
        f"chart.{side}.{language}.{file_name(word)}",
        f"Local chart of “{word}”, {side} of {language}",
        tables,
        values,
        {"Neighbours on the first two axes": picture},
    )


def neighbours(table: torch.Tensor, own: int, *, count: int) -> list[int]:
    """The pieces with the largest cosine, the nearest first. table (V, E)"""
    unit = torch.nn.functional.normalize(table, dim=1)
    cosines = unit @ unit[own]
    cosines[: len(SPECIAL_TOKENS)] = -torch.inf
    cosines[own] = -torch.inf
    return cosines.topk(min(count, len(table) - len(SPECIAL_TOKENS) - 1)).indices.tolist()


def principal_axes(vectors: torch.Tensor) -> numpy.ndarray:
    """Coordinates of the vectors on their first principal axes: (N, E) -> (N, AXES), at most"""
    left, lengths, _ = torch.linalg.svd(vectors - vectors.mean(dim=0), full_matrices=False)
    return (left * lengths)[:, :AXES].numpy()


def _in_contexts(
    translator: Translator, language: str, texts: Sequence[str], own: int, table: torch.Tensor, pieces: Sequence[str], tables: list[Table]
) -> tuple[list[Table], list[Any]]:
    """The neighbours of the word where all embeddings are seen through the gate of one context after the other."""
    encoder, rows = translator.model.encoders[language], []
    for sentence in as_read(translator, texts, language):
        if own not in sentence.ids:
            raise DataError(f"chart: {shown(pieces[own])!r} is not in the sentence {sentence.text!r}, as {language} is read")
        tokens = torch.tensor([sentence.ids], device=translator.device)
        mask = torch.ones_like(tokens, dtype=torch.bool)
        with torch.inference_mode():
            words = reaching(encoder.options, "context_gate", encoder.embedding(tokens), mask)
            gate = encoder.options["context_gate"].mask(words, mask)[0].float().cpu()
        rows.append([sentence.text, ", ".join(shown(pieces[one]) for one in neighbours(table * gate, own, count=2 * ENDS))])
    return (tables + [Table("Nearest in each context", ["context", "neighbours"], rows)] if rows else tables), rows
