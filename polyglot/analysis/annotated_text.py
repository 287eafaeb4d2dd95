"""The sentences that an analysis looks at: their pieces, and where the corpus knows it, sense, category and head of every word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from polyglot.core.errors import ConfigError, DataError
from polyglot.data.corpora import Corpora
from polyglot.inference.translator import Translator
from polyglot.phrasebook import Token, splits
from polyglot.runs.run import Run
from polyglot.tasks.batch import pad

BATCH = 64  # sentences computed together
MARK = "▁"  # SentencePiece's sign of a space


@dataclass(frozen=True)
class Sentence:
    """A sentence as the model reads it."""

    text: str
    ids: Sequence[int]
    pieces: Sequence[str]
    words: Sequence[int | None] | None = None
    """of each piece, the place of its word among `truth`; None where the pieces do not spell the words"""
    truth: Sequence[Token] = ()
    """what the corpus knows of the words; nothing where it is no phrasebook"""


def sentences(run: Run, translator: Translator, language: str, *, count: int) -> list[Sentence]:
    """The first sentences of the run's test text, else of its validation or training text, with the phrasebook's truth where it is one.

    Raises ConfigError for a language that is neither read nor written, DataError where it has no text.
    """
    corpora = run.config.data.test or run.config.data.valid or run.config.data.train
    if language not in translator.vocabularies:
        raise ConfigError(
            f"language: {language!r} is not one of this run; it has {', '.join(translator.vocabularies)}"
        )
    for corpus in corpora:
        if corpus.type == "phrasebook":
            sizes = corpus.model_dump(include={"seed", "train", "valid", "test"})
            known = splits(**sizes)[corpus.split][:count]
            made = as_read(translator, [one.text(language) for one in known], language)
            return [
                _with_truth(one, whole.tokens(language))
                for one, whole in zip(made, known)
                if one.ids
            ]
    text = Corpora(corpora, folder=Path(run.config.data.folder), languages=run.config.languages)
    lines = list(islice((line for line in text.sentences(language) if line.strip()), count))
    if not lines:
        raise DataError(f"no text in {language} to look at")
    return as_read(translator, lines, language)


def as_read(translator: Translator, lines: Sequence[str], language: str) -> list[Sentence]:
    """Lines as pieces."""
    vocabulary = translator.vocabularies[language]
    return [
        Sentence(line, ids, vocabulary.pieces(ids))
        for line, ids in zip(lines, translator.encode_text(lines, language))
    ]


def batches(
    found: Sequence[Sentence], device: torch.device
) -> Iterator[tuple[list[Sentence], Tensor, Tensor]]:
    """Sentences of similar length with their ids and mask, each (B, S)."""
    order = sorted((one for one in found if one.ids), key=lambda one: -len(one.ids))
    for start in range(0, len(order), BATCH):
        part = order[start : start + BATCH]
        tokens, mask = pad([one.ids for one in part])
        yield part, tokens.to(device), mask.to(device)


def _with_truth(sentence: Sentence, truth: Sequence[Token]) -> Sentence:
    return Sentence(
        sentence.text,
        sentence.ids,
        sentence.pieces,
        words_of(sentence.pieces, [token.text for token in truth]),
        truth,
    )


def words_of(pieces: Sequence[str], words: Sequence[str]) -> list[int] | None:
    """Of each piece, the place of the word that its first letter is in; None where the pieces do not spell the words."""
    spelt = [piece.replace(MARK, "").casefold() for piece in pieces]
    places = [place for place, word in enumerate(words) for _ in word.replace(" ", "").casefold()]
    if "".join(spelt) != "".join(word.replace(" ", "").casefold() for word in words):
        return None
    found, letter = [], 0
    for piece in spelt:
        found.append(places[min(letter, len(places) - 1)])
        letter += len(piece)
    return found


def shown(piece: str) -> str:
    """A piece as a table has it: its space in front is a matter of the vocabulary."""
    return piece.replace(MARK, "") or MARK
