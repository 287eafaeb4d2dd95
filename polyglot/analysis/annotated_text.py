"""Sentences to analyse: their pieces, and sense, category and head of the phrasebook's words."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from polyglot.core.errors import ConfigError, DataError
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora import Corpora
from polyglot.inference.length_batches import length_batches
from polyglot.inference.translator import Translator
from polyglot.phrasebook import Token, splits
from polyglot.runs.run import Run
from polyglot.tasks.batch import pad

BATCH_SIZE = 64  # sentences
SPACE_MARK = "▁"  # SentencePiece's mark of a space before a piece


@dataclass(frozen=True)
class AnnotatedSentence:
    """Sentence in pieces, with annotation if it comes from the phrasebook."""

    text: str
    ids: Sequence[int]
    pieces: Sequence[str]
    word_of_piece: Sequence[int] | None = None
    """index in `truth` for each piece; None without annotation or if the spelling differs"""
    truth: Sequence[Token] = ()
    """annotated words; empty without annotation"""


def load_sentences(
    run: Run,
    translator: Translator,
    language: str,
    *,
    count: int,
    part: Literal["test", "valid"] = "test",
) -> list[AnnotatedSentence]:
    """Load the first sentences of the run's test text, else of its validation or training text.

    part: `valid` takes the validation text first, else the test text. Sentences of the phrasebook
    are annotated. Raises ConfigError for an unknown language, DataError if it has no text.
    """
    if language not in translator.vocabularies:
        languages = ", ".join(translator.vocabularies)
        raise ConfigError(
            f"language: the run has no language {language!r}; its languages are {languages}"
        )
    data = run.config.data
    if part == "test":
        corpora = data.test or data.valid or data.train
    else:
        corpora = data.valid or data.test or data.train
    for corpus in corpora:
        if corpus.type == "phrasebook":
            return _phrasebook_sentences(corpus, translator, language, count=count)

    text = Corpora(corpora, folder=Path(data.folder), languages=run.config.languages)
    lines = list(islice(filter(str.strip, text.sentences(language)), count))
    if not lines:
        raise DataError(f"no text in {language} to analyse; name a corpus in data.test")
    return split_into_pieces(translator, lines, language)


def _phrasebook_sentences(
    corpus: ComponentConfig,
    translator: Translator,
    language: str,
    *,
    count: int,
) -> list[AnnotatedSentence]:
    sizes = corpus.model_dump(include={"seed", "train", "valid", "test"})
    entries = splits(**sizes)[corpus.split][:count]
    lines = [entry.text(language) for entry in entries]

    annotated = []
    for sentence, entry in zip(split_into_pieces(translator, lines, language), entries):
        if sentence.ids:
            annotated.append(_annotate(sentence, entry.tokens(language)))
    return annotated


def _annotate(sentence: AnnotatedSentence, truth: Sequence[Token]) -> AnnotatedSentence:
    words = [token.text for token in truth]
    alignment = align_pieces(sentence.pieces, words)
    return replace(sentence, word_of_piece=alignment, truth=truth)


def split_into_pieces(
    translator: Translator,
    lines: Sequence[str],
    language: str,
) -> list[AnnotatedSentence]:
    """Split lines into the pieces that the model reads, without annotation."""
    vocabulary = translator.vocabularies[language]
    sentences = []
    for line, ids in zip(lines, translator.encode_text(lines, language)):
        sentences.append(AnnotatedSentence(line, ids, vocabulary.pieces(ids)))
    return sentences


def batches(
    sentences: Iterable[AnnotatedSentence],
    device: torch.device,
) -> Iterator[tuple[list[AnnotatedSentence], Tensor, Tensor]]:
    """Yield sentences of similar length with tokens (B, S) and mask (B, S), longest first.

    Empty sentences are left out.
    """
    sentences = list(sentences)
    lengths = [len(sentence.ids) for sentence in sentences]
    for rows in length_batches(lengths, max_sentences=BATCH_SIZE, max_positions=sys.maxsize):
        batch = [sentences[row] for row in rows]
        tokens, mask = pad([sentence.ids for sentence in batch])
        yield batch, tokens.to(device), mask.to(device)


def align_pieces(pieces: Sequence[str], words: Sequence[str]) -> list[int] | None:
    """Return the index of the word that contains the first letter of each piece.

    None if the pieces do not spell the words.
    """
    letters = ""
    word_of_letter = []
    for index, word in enumerate(words):
        spelling = word.replace(" ", "").casefold()
        letters += spelling
        word_of_letter += [index] * len(spelling)

    spellings = [piece.replace(SPACE_MARK, "").casefold() for piece in pieces]
    if "".join(spellings) != letters:
        return None

    alignment = []
    position = 0
    for spelling in spellings:
        # The last piece may be a space only, behind the last letter.
        alignment.append(word_of_letter[min(position, len(letters) - 1)])
        position += len(spelling)
    return alignment


def display(piece: str) -> str:
    """Return a piece without the mark of its space, for tables and figures."""
    return piece.replace(SPACE_MARK, "") or SPACE_MARK
