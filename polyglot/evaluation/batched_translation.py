"""Translates many directions together: each text is encoded once for all its target languages.

All texts with the same target language are decoded in common batches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter

from polyglot.decoding.base import SearchConfig
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.generation import search_batches, sentences_per_search
from polyglot.inference.translator import Translator
from polyglot.inference.types import EMPTY_TRANSLATION, EncodedSources, SourceSentence

PORTION = 4096
"""Sentences that are encoded before they are decoded.

This limits the memory, and is about the work that an interruption loses.
"""

Direction = tuple[str, str]
"""Name of a text and the target language."""

Advance = Callable[[str, int], None]
"""Called with the target language and the number of sentences that were just translated."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """Text to translate."""

    language: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Line:
    """Position of a sentence in its text."""

    text: str
    row: int
    language: str
    line: str


@dataclass(frozen=True, slots=True)
class _EncodedLine:
    """Sentence with its encoding by each model."""

    line: _Line
    encodings: Sequence[EncodedSources] | None
    """one per model, of this sentence alone; None for a blank sentence"""

    @property
    def pieces(self) -> Sequence[int]:
        """Longest segmentation of the models, which decides how sentences are batched."""
        segmentations = [encoding.sentences[0].pieces for encoding in self.encodings or ()]
        return max(segmentations, key=len, default=())


@dataclass(slots=True)
class _DirectionState:
    """Translations of one direction so far."""

    hypotheses: list[str]
    remaining: int = field(init=False)
    """sentences that are not translated yet"""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.remaining = len(self.hypotheses)


def translate_directions(
    translator: Translator | EnsembleTranslator,
    texts: Mapping[str, SourceText],
    directions: Sequence[Direction],
    *,
    config: SearchConfig,
    advance: Advance = lambda target, sentences: None,
) -> Iterator[tuple[Direction, list[str], float]]:
    """Yield each finished direction with its translations and its share of the seconds.

    The translations are those of `translator.translate`. Directions with the same target language
    finish together. Raises the errors of `Translator.hypotheses`.
    """
    states = {}
    for text, target in directions:
        states[text, target] = _DirectionState([EMPTY_TRANSLATION.text] * len(texts[text].lines))
    used_texts = {text: texts[text] for text, _ in states}

    for portion in _portions(used_texts):
        started = time.perf_counter()
        size = sentences_per_search(config, device=translator.members[0].device)
        encoded = _encode(translator, portion, size=size)
        by_target = _group_by_target(encoded, states)
        translations = sum(len(sentences) for sentences in by_target.values())
        encoding_seconds = (time.perf_counter() - started) / translations

        for target, sentences in by_target.items():
            started = time.perf_counter()
            for line, hypothesis in _decode(translator, sentences, target, config, advance):
                state = states[line.text, target]
                state.hypotheses[line.row] = hypothesis
            decoding_seconds = (time.perf_counter() - started) / max(1, len(sentences))
            seconds_per_sentence = encoding_seconds + decoding_seconds
            counts = Counter(sentence.line.text for sentence in sentences)
            for text, count in counts.items():
                state = states[text, target]
                state.seconds += seconds_per_sentence * count
                state.remaining -= count
                if state.remaining == 0:
                    yield (text, target), state.hypotheses, state.seconds


def _portions(texts: Mapping[str, SourceText]) -> Iterator[list[_Line]]:
    """Yield all sentences, text after text, in portions of at most PORTION."""
    lines = _lines(texts)
    while portion := list(islice(lines, PORTION)):
        yield portion


def _lines(texts: Mapping[str, SourceText]) -> Iterator[_Line]:
    for name, text in texts.items():
        for row, line in enumerate(text.lines):
            yield _Line(name, row, text.language, line)


def _encode(
    translator: Translator | EnsembleTranslator,
    portion: Sequence[_Line],
    *,
    size: int,
) -> list[_EncodedLine]:
    """Encode sentences, one source language after the other."""
    encoded = []
    by_language = attrgetter("language")
    sorted_portion = sorted(portion, key=by_language)
    for language, group in groupby(sorted_portion, key=by_language):
        lines = list(group)
        sources = [line.line for line in lines]
        encodings_by_model = []
        for model, sentences in translator.model_inputs(sources, language):
            encodings = _encode_sentences(model, sentences, size=size)
            encodings_by_model.append(encodings)
        for line, *line_encodings in zip(lines, *encodings_by_model):
            is_blank = None in line_encodings
            encoded.append(_EncodedLine(line, None if is_blank else line_encodings))
    return encoded


def _encode_sentences(
    translator: Translator,
    sentences: Sequence[SourceSentence],
    *,
    size: int,
) -> list[EncodedSources | None]:
    """Encode sentences of one language with one model, in batches; None for a blank sentence."""
    encodings: list[EncodedSources | None] = [None] * len(sentences)
    pieces = [sentence.pieces for sentence in sentences]
    for rows in search_batches(pieces, size=size):
        batch = [sentences[row] for row in rows]
        encoded_batch = translator.encode_sources(batch)
        for row, encoding in zip(rows, encoded_batch.split()):
            encodings[row] = encoding
    return encodings


def _group_by_target(
    encoded: Sequence[_EncodedLine],
    states: Mapping[Direction, _DirectionState],
) -> dict[str, list[_EncodedLine]]:
    """Sentences to translate into each target language."""
    by_target: dict[str, list[_EncodedLine]] = {target: [] for _, target in states}
    for target, sentences in by_target.items():
        for sentence in encoded:
            if (sentence.line.text, target) in states:
                sentences.append(sentence)
    return by_target


def _decode(
    translator: Translator | EnsembleTranslator,
    sentences: Sequence[_EncodedLine],
    target: str,
    config: SearchConfig,
    advance: Advance,
) -> Iterator[tuple[_Line, str]]:
    """Yield the best hypothesis of each sentence that is not blank."""
    blank_count = sum(sentence.encodings is None for sentence in sentences)
    advance(target, blank_count)
    decoders = [member.model.decoders[target] for member in translator.members]
    size = sentences_per_search(config, decoders, device=translator.members[0].device)
    pieces = [sentence.pieces for sentence in sentences]
    for rows in search_batches(pieces, size=size):
        batch = [sentences[row] for row in rows]
        encodings_by_model = zip(*(sentence.encodings for sentence in batch))
        sources = list(map(EncodedSources.join, encodings_by_model))
        hypotheses = translator.generate(sources, target, config)
        for sentence, (best, *_) in zip(batch, hypotheses):
            yield sentence.line, best.text
        advance(target, len(batch))
