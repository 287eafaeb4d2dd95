"""Local chart of a word: its neighbours in the embedding matrix, and their principal axes.

Choi, Cho and Bengio 2017, "Context-dependent word representation for neural machine translation",
Table 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from polyglot.analysis.annotated_text import SPACE_MARK, display, split_into_pieces
from polyglot.analysis.figures import Panel, panels_png, plane_png
from polyglot.analysis.page import Page, Table, file_name
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.options import apply_preceding
from polyglot.tasks.batch import SPECIAL_TOKENS
from polyglot.text.vocabulary import Vocabulary

BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")  # SentencePiece's byte fallback
AXES = 3
WORDS_AT_END = 6  # at each end of an axis
WORDS_BESIDE = 3  # on each side of the word, along an axis
LISTED_NEIGHBOURS = 2 * WORDS_AT_END
AXES_NEIGHBOURS = 50  # the axes are computed from these


@dataclass(frozen=True)
class WordTable:
    """Embedding matrix of an encoder or decoder, and the position of the word in it."""

    vectors: Tensor
    """(V, E)"""
    names: list[str]
    """V pieces for display"""
    piece: int
    """row of the word"""
    excluded: list[int]
    """rows that are not words: special tokens and bytes"""

    def names_of(self, pieces: Sequence[int]) -> list[str]:
        """Return the names of some rows."""
        return [self.names[piece] for piece in pieces]


def chart_page(
    translator: Translator,
    word: str,
    language: str,
    *,
    side: str = "encoder",
    contexts: Sequence[tuple[str, str]] = (),
) -> Page:
    """Show the neighbours of a word, and with a context gate also its neighbours in contexts.

    contexts: language and text of sentences. For an encoder, a sentence of its language with the
    word; for a decoder, a source sentence of any language. Raises ConfigError if the run has no
    such encoder or decoder, or if contexts would change nothing; DataError if the word is not one
    piece.
    """
    _check_component(translator, language, side, has_contexts=bool(contexts))
    table = _word_table(translator, word, language, side)

    near = neighbours(table.vectors, table.piece, count=AXES_NEIGHBOURS, excluded=table.excluded)
    axes = principal_axes(table.vectors[[table.piece, *near]])
    nearest_rows = _cosine_rows(table, near[:LISTED_NEIGHBOURS])
    ends = []
    beside = []
    for coordinates in axes.T:
        ends.append(_ends(table, near, coordinates[1:]))
        beside.append(words_beside(table, near, coordinates))
    values: dict[str, Any] = {
        "word": word,
        "neighbours": nearest_rows,
        "axes": ends,
        "beside": beside,
    }
    tables = [
        Table("Nearest words in the embedding matrix", ["word", "cosine"], nearest_rows),
        _axes_table(ends, beside, count=len(near)),
    ]
    names = table.names_of([table.piece, *near])
    plane = plane_png(names, axes[:, :2], title=f"“{word}” and its neighbours")
    pictures = {"Neighbours on the first two axes": plane}

    if contexts:
        gates = []
        texts = []
        for context in contexts:
            gates.append(_gate(translator, language, side, table.piece, context))
            texts.append(context[1])
        cosines = _cosines_in_contexts(table, texts, gates)
        tables.append(_contexts_table(cosines))
        pictures["Cosines in each context"] = _contexts_picture(cosines, word)
        values["contexts"] = {
            "sentences": cosines.rows,
            "words": cosines.columns,
            "cosines": cosines.values.tolist(),
        }
    name = f"chart.{side}.{language}.{file_name(word)}"
    title = f"Local chart of “{word}”, {side} of {language}"
    return Page(name, title, tables, values, pictures)


def _check_component(
    translator: Translator,
    language: str,
    side: str,
    *,
    has_contexts: bool,
) -> None:
    components = _components(translator, side)
    if language not in components:
        raise ConfigError(
            f"chart: {language} has no {side} in this run; "
            f"languages with {side}: {', '.join(components)}"
        )
    if has_contexts and "context_gate" not in components[language].options:
        raise ConfigError(
            f"chart: the {side} of {language} has no context gate, "
            "so the words are the same in every --sentence"
        )


def _components(translator: Translator, side: str) -> torch.nn.ModuleDict:
    if side == "encoder":
        return translator.model.encoders
    return translator.model.decoders


def _word_table(
    translator: Translator,
    word: str,
    language: str,
    side: str,
) -> WordTable:
    vocabulary = translator.vocabularies[language]
    piece = piece_of(vocabulary, word)
    if piece is None:
        (sentence,) = split_into_pieces(translator, [word], language)
        raise DataError(
            f"chart: {word!r} is not a piece in the vocabulary of {language}; "
            f"its pieces are {' '.join(sentence.pieces)}"
        )
    pieces = vocabulary.pieces(list(range(len(vocabulary))))
    excluded = []
    for number, text in enumerate(pieces):
        if number < len(SPECIAL_TOKENS) or BYTE_PIECE.fullmatch(text):
            excluded.append(number)
    weight = _components(translator, side)[language].embedding.table.weight
    vectors = weight.detach().float().cpu()
    return WordTable(vectors, list(map(display, pieces)), piece, excluded)


def piece_of(vocabulary: Vocabulary, word: str) -> int | None:
    """Return the number of the piece that is the word, first at the start of a word, else inside.

    None if there is no such piece.
    """
    first = len(SPECIAL_TOKENS)
    pieces = vocabulary.pieces(list(range(first, len(vocabulary))))
    for piece in (SPACE_MARK + word, word):
        if piece in pieces:
            return first + pieces.index(piece)
    return None


def neighbours(
    vectors: Tensor,
    piece: int,
    *,
    count: int,
    excluded: Sequence[int],
) -> list[int]:
    """Return the rows with the largest cosine to the row of a piece, the nearest first.

    vectors: (V, E). excluded: rows that are left out.
    """
    unit_vectors = functional.normalize(vectors, dim=1)
    cosines = unit_vectors @ unit_vectors[piece]
    cosines[[piece, *excluded]] = -torch.inf
    available = int(cosines.isfinite().sum())
    return cosines.topk(min(count, available)).indices.tolist()


def principal_axes(vectors: Tensor) -> numpy.ndarray:
    """Project vectors (N, E) on their first principal axes: (N, AXES), or fewer axes."""
    centred = vectors - vectors.mean(dim=0)
    left, lengths, _ = torch.linalg.svd(centred, full_matrices=False)
    return (left * lengths)[:, :AXES].numpy()


def _cosine_rows(table: WordTable, near: Sequence[int]) -> list[list[str]]:
    rows = []
    vector = table.vectors[table.piece]
    for piece in near:
        cosine = torch.cosine_similarity(vector, table.vectors[piece], dim=0).item()
        rows.append([table.names[piece], f"{cosine:.2f}"])
    return rows


def _ends(
    table: WordTable,
    near: Sequence[int],
    coordinates: numpy.ndarray,
) -> list[list[str]]:
    """Words at the two ends of an axis. coordinates: of the neighbours, (N,)"""
    order = [near[place] for place in numpy.argsort(coordinates, kind="stable")]
    start = order[:WORDS_AT_END]
    end = order[::-1][:WORDS_AT_END]
    return [table.names_of(start), table.names_of(end)]


def words_beside(
    table: WordTable,
    near: Sequence[int],
    coordinates: numpy.ndarray,
) -> list[str]:
    """Words next to the word along an axis, from left to right; the word itself in brackets.

    coordinates: of the word and its neighbours, (1 + N,)
    """
    names = [f"({table.names[table.piece]})", *table.names_of(near)]
    order = numpy.argsort(coordinates, kind="stable").tolist()
    place = order.index(0)
    first = max(0, place - WORDS_BESIDE)
    return [names[number] for number in order[first : place + WORDS_BESIDE + 1]]


def _axes_table(
    ends: Sequence[Sequence[Sequence[str]]],
    beside: Sequence[Sequence[str]],
    *,
    count: int,
) -> Table:
    rows = []
    for number, ((start, end), words) in enumerate(zip(ends, beside), start=1):
        rows.append([str(number), " ".join(words), ", ".join(start), ", ".join(end)])
    return Table(
        "Words along the axes of the neighbourhood",
        ["axis", "next to the word", "one end", "other end"],
        rows,
        note=f"Principal axes of {count} neighbours. Table 1 of the paper has the first column.",
    )


def _gate(
    translator: Translator,
    language: str,
    side: str,
    piece: int,
    context: tuple[str, str],
) -> Tensor:
    """Compute the context gate (E,) for a sentence.

    Raises ConfigError if this encoder or decoder does not read the sentence, DataError if an
    encoder's sentence does not contain the piece.
    """
    context_language, text = context
    if side == "encoder" and context_language != language:
        raise ConfigError(
            f"chart: --sentence {context_language}=…: "
            f"the encoder of {language} reads only {language}"
        )
    target = language if side == "decoder" else translator.targets[0]
    context_language = translator.resolve(context_language, target).source

    (sentence,) = split_into_pieces(translator, [text], context_language)
    if side == "encoder" and piece not in sentence.ids:
        (name,) = translator.vocabularies[language].pieces([piece])
        raise DataError(f"chart: the piece {display(name)!r} is not in the sentence {text!r}")
    if not sentence.ids:
        raise DataError(f"chart: the sentence of {context_language} is empty")

    tokens = torch.tensor([sentence.ids], device=translator.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    component = _components(translator, side)[language]
    option = component.options["context_gate"]
    with torch.inference_mode():
        if side == "decoder":
            gates = option.start(translator.model.encode(context_language, tokens, mask))
        else:
            embedded = component.embedding(tokens)
            words = apply_preceding(component.options, "context_gate", embedded, mask)
            gates = option.gates(words, mask)
    return gates[0].float().cpu()


def _cosines_in_contexts(
    table: WordTable,
    texts: Sequence[str],
    gates: Sequence[Tensor],
) -> Panel:
    """Cosines of the word with its neighbours, with all embeddings multiplied by a gate (E,).

    One row for each gate; a column for each word that is a neighbour with at least one gate.
    """
    near: dict[int, None] = {}
    for gate in gates:
        gated = table.vectors * gate
        pieces = neighbours(gated, table.piece, count=LISTED_NEIGHBOURS, excluded=table.excluded)
        near.update(dict.fromkeys(pieces))

    rows = []
    for gate in gates:
        gated = table.vectors[[table.piece, *near]] * gate
        unit_vectors = functional.normalize(gated, dim=1)
        rows.append((unit_vectors[1:] @ unit_vectors[0]).numpy())
    return Panel("row: context", numpy.stack(rows), texts, table.names_of(list(near)))


def _contexts_table(cosines: Panel) -> Table:
    note = (
        "All words of the embedding matrix, multiplied by the gate of each context; "
        "the other options are not applied."
    )
    head = ["", "context", "neighbours"]
    return Table("Nearest words in each context", head, _nearest_words(cosines), note=note)


def _contexts_picture(cosines: Panel, word: str) -> bytes:
    """Figure with the numbers of the contexts; the sentences are too long, and in the table."""
    numbers = [str(number) for number in range(1, len(cosines.rows) + 1)]
    return panels_png([cosines._replace(rows=numbers)], title=f"“{word}” in contexts")


def _nearest_words(cosines: Panel) -> list[list[str]]:
    """Number, text and nearest words of each context."""
    orders = numpy.argsort(-cosines.values, axis=1, kind="stable")[:, :LISTED_NEIGHBOURS]
    rows = []
    for number, (text, order) in enumerate(zip(cosines.rows, orders), start=1):
        names = [cosines.columns[column] for column in order]
        rows.append([str(number), text, ", ".join(names)])
    return rows
