"""The local chart of a word: its neighbours in the embedding matrix, and the axes they lie along (Choi, Cho and Bengio, Table 1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy
import torch

from polyglot.analysis.annotated_text import MARK, as_read, shown
from polyglot.analysis.figures import Panel, panels_png, plane_png
from polyglot.analysis.page import Page, Table, file_name
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.options import apply_preceding
from polyglot.tasks.batch import SPECIAL_TOKENS
from polyglot.text.vocabulary import Vocabulary

BYTE = re.compile("<0x[0-9A-F]{2}>")  # a piece of SentencePiece's byte fallback
AXES = 3
ENDS = 6  # words at each end of an axis
NEIGHBOURS = 50  # on which the axes are found


def chart_page(
    translator: Translator,
    word: str,
    language: str,
    *,
    side: str = "encoder",
    contexts: Sequence[tuple[str, str]] = (),
) -> Page:
    """The neighbours of a word; where there is a context gate, also as each of `contexts`, a language and a text, makes them.

    To an encoder a context is a sentence of its own that has the word, to a decoder one that is read, of any language.

    Raises ConfigError for a language that has no such side and contexts that change nothing, DataError for a word that is no piece.
    """
    components = translator.model.encoders if side == "encoder" else translator.model.decoders
    if language not in components:
        raise ConfigError(
            f"chart: {language} has no {side} in this run; there are those of {', '.join(components)}"
        )
    if contexts and "context_gate" not in components[language].options:
        raise ConfigError(
            f"chart: the {side} of {language} has the same words in every --sentence; only a context gate changes them"
        )
    table = components[language].embedding.table.weight.detach().float().cpu()
    vocabulary = translator.vocabularies[language]
    pieces, own = vocabulary.pieces(list(range(len(vocabulary)))), piece_of(vocabulary, word)
    if own is None:
        raise DataError(
            f"chart: {word!r} is no piece in the vocabulary of {language}; "
            f"it is read as {' '.join(as_read(translator, [word], language)[0].pieces)}"
        )
    names = [shown(piece) for piece in pieces]
    no_words = [
        number
        for number, piece in enumerate(pieces)
        if number < len(SPECIAL_TOKENS) or BYTE.fullmatch(piece)
    ]
    near = neighbours(table, own, count=NEIGHBOURS, without=no_words)
    axes = principal_axes(table[[own, *near]])
    rows = [
        [names[one], f"{torch.cosine_similarity(table[own], table[one], dim=0).item():.2f}"]
        for one in near[: 2 * ENDS]
    ]
    along, values = [], {"word": word, "neighbours": rows, "axes": []}
    for number in range(axes.shape[1]):
        order = [near[place] for place in numpy.argsort(axes[1:, number], kind="stable")]
        ends = [[names[one] for one in some] for some in (order[:ENDS], order[::-1][:ENDS])]
        along.append([str(number + 1), *(", ".join(end) for end in ends)])
        values["axes"].append(ends)
    note = f"Principal axes of {len(near)} neighbours."
    tables = [
        Table("Nearest in the embedding matrix", ["word", "cosine"], rows),
        Table(
            "Along the axes of the neighbourhood",
            ["axis", "one end", "other end"],
            along,
            note=note,
        ),
    ]
    plane = plane_png(
        [names[one] for one in [own, *near]], axes[:, :2], title=f"“{word}” and its neighbours"
    )
    pictures = {"Neighbours on the first two axes": plane}
    if contexts:
        gates = [_gate(translator, language, side, own, names, *context) for context in contexts]
        found = _in_contexts(
            table, own, [text for _, text in contexts], gates, names, without=no_words
        )
        note = "All words of the embedding matrix, seen through the gate of each context; what other options make of them is left out."
        tables.append(
            Table(
                "Nearest in each context", ["", "context", "neighbours"], _nearest(found), note=note
            )
        )
        drawn = found._replace(
            rows=[str(number) for number in range(1, len(contexts) + 1)]
        )  # sentences are long, and in the table
        pictures["Cosines in each context"] = panels_png([drawn], title=f"“{word}” in contexts")
        values["contexts"] = {
            "sentences": found.rows,
            "words": found.columns,
            "cosines": found.values.tolist(),
        }
    return Page(
        f"chart.{side}.{language}.{file_name(word)}",
        f"Local chart of “{word}”, {side} of {language}",
        tables,
        values,
        pictures,
    )


def piece_of(vocabulary: Vocabulary, word: str) -> int | None:
    """The number of the piece that a word is, at the beginning of a word or else inside one."""
    pieces = vocabulary.pieces(list(range(len(SPECIAL_TOKENS), len(vocabulary))))
    return next(
        (len(SPECIAL_TOKENS) + pieces.index(one) for one in (MARK + word, word) if one in pieces),
        None,
    )


def neighbours(table: torch.Tensor, own: int, *, count: int, without: Sequence[int]) -> list[int]:
    """The pieces with the largest cosine, the nearest first; none of those `without`. table (V, E)"""
    unit = torch.nn.functional.normalize(table, dim=1)
    cosines = unit @ unit[own]
    cosines[[own, *without]] = -torch.inf
    return cosines.topk(min(count, int(cosines.isfinite().sum()))).indices.tolist()


def principal_axes(vectors: torch.Tensor) -> numpy.ndarray:
    """Coordinates of the vectors on their first principal axes: (N, E) -> (N, AXES), at most"""
    left, lengths, _ = torch.linalg.svd(vectors - vectors.mean(dim=0), full_matrices=False)
    return (left * lengths)[:, :AXES].numpy()


def _gate(
    translator: Translator,
    language: str,
    side: str,
    own: int,
    names: Sequence[str],
    read: str,
    text: str,
) -> torch.Tensor:
    """What the context gate of one side makes of a sentence: (E,)

    Raises ConfigError for a sentence that this side does not read, DataError where an encoder's sentence does not have the word.
    """
    if side == "encoder" and read != language:
        raise ConfigError(
            f"chart: --sentence {read}=…: the encoder of {language} reads {language} alone"
        )
    translator.check(read, language if side == "decoder" else translator.targets[0])
    (sentence,) = as_read(translator, [text], read)
    if side == "encoder" and own not in sentence.ids:
        raise DataError(
            f"chart: {names[own]!r} is not in the sentence {text!r}, as {language} is read"
        )
    if not sentence.ids:
        raise DataError(f"chart: the sentence of {read} is empty")
    tokens = torch.tensor([sentence.ids], device=translator.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    with torch.inference_mode():
        if side == "decoder":
            made = (
                translator.model.decoders[language]
                .options["context_gate"]
                .start(translator.model.encode(read, tokens, mask))
            )
        else:
            encoder = translator.model.encoders[language]
            words = apply_preceding(encoder.options, "context_gate", encoder.embedding(tokens), mask)
            made = encoder.options["context_gate"].gates(words, mask)
    return made[0].float().cpu()


def _in_contexts(
    table: torch.Tensor,
    own: int,
    texts: Sequence[str],
    gates: Sequence[torch.Tensor],
    names: Sequence[str],
    *,
    without: Sequence[int],
) -> Panel:
    """Cosines with the word where all embeddings (V, E) are seen through one gate (E,) after the other, of what is near in any."""
    near = dict.fromkeys(
        one
        for gate in gates
        for one in neighbours(table * gate, own, count=2 * ENDS, without=without)
    )
    seen = [torch.nn.functional.normalize(table[[own, *near]] * gate, dim=1) for gate in gates]
    return Panel(
        "row: context",
        numpy.stack([(unit[1:] @ unit[0]).numpy() for unit in seen]),
        texts,
        [names[one] for one in near],
    )


def _nearest(found: Panel) -> list[list[str]]:
    """Each context by its number, with the words nearest in it."""
    orders = numpy.argsort(-found.values, axis=1, kind="stable")[:, : 2 * ENDS]
    names = [", ".join(found.columns[one] for one in order) for order in orders]
    return [
        [str(number), text, own]
        for number, (text, own) in enumerate(zip(found.rows, names), start=1)
    ]
