"""Translation of sentences in many directions together, with the n best hypotheses of each.

A sentence is encoded once for all its target languages. All sentences with the same target language
and the same search settings are decoded in common batches, whatever their source languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.inference.generation import (
    search_batches,
    search_hypotheses,
    sentences_per_search,
)
from polyglot.inference.parallel import parallel_map
from polyglot.inference.translator import Translator
from polyglot.inference.types import EMPTY_TRANSLATION, EncodedSources, Translation

SourceLine = tuple[str, str]
"""Source language and sentence."""


@dataclass(frozen=True, slots=True)
class DirectedSentence:
    """Sentence with its direction, as the run spells the languages, and its search settings."""

    line: str
    source: str
    target: str
    config: SearchConfig


@dataclass(frozen=True, slots=True)
class _Batch:
    """Sentences that are decoded together."""

    target: str
    config: SearchConfig
    rows: Sequence[int]
    """positions of these sentences in the list of the caller"""
    sources: EncodedSources


def translate_mixed(
    translator: Translator,
    sentences: Sequence[DirectedSentence],
) -> Iterator[tuple[int, list[Translation]]]:
    """Yield the position and the n best translations of each sentence, as batches are finished.

    They are those of `translator.hypotheses`; a blank sentence stays empty. Raises DataError for
    invalid text, and the errors of `search_hypotheses`.
    """
    encoded = _encode_once(translator, sentences)
    for row, sentence in enumerate(sentences):
        if (sentence.source, sentence.line) not in encoded:
            yield row, [EMPTY_TRANSLATION]

    def search_batch(batch: _Batch) -> list[list[Hypothesis]]:
        return search_hypotheses(
            [batch.sources],
            batch.target,
            batch.config,
            engine=translator.engine,
        )

    batches = list(_batches(translator, sentences, encoded))
    hypotheses_of_batches = parallel_map(search_batch, batches, translator.device)
    for batch, hypotheses in zip(batches, hypotheses_of_batches):
        translations_of_batch = translator.to_translations(
            hypotheses,
            batch.sources.sentences,
            batch.target,
        )
        yield from zip(batch.rows, translations_of_batch)


def _encode_once(
    translator: Translator,
    sentences: Sequence[DirectedSentence],
) -> dict[SourceLine, EncodedSources]:
    """Encode every different source sentence; blank sentences are left out."""
    lines_by_language: dict[str, dict[str, None]] = {}
    for sentence in sentences:
        lines = lines_by_language.setdefault(sentence.source, {})
        lines[sentence.line] = None

    encoded = {}
    size = sentences_per_search(translator.search_config, device=translator.device)
    for language, lines in lines_by_language.items():
        inputs = translator.sentences(lines, language)
        for rows in search_batches([sentence.pieces for sentence in inputs], size=size):
            batch = translator.encode_sources([inputs[row] for row in rows])
            for encoding in batch.split():
                [sentence] = encoding.sentences
                encoded[language, sentence.line] = encoding
    return encoded


def _batches(
    translator: Translator,
    sentences: Sequence[DirectedSentence],
    encoded: dict[SourceLine, EncodedSources],
) -> Iterator[_Batch]:
    """Yield batches of sentences with the same target language and search settings."""
    rows_by_search: dict[tuple[str, SearchConfig], list[int]] = {}
    for row, sentence in enumerate(sentences):
        if (sentence.source, sentence.line) in encoded:
            search = (sentence.target, sentence.config)
            rows_by_search.setdefault(search, []).append(row)

    for (target, config), rows in rows_by_search.items():
        encodings = []
        for row in rows:
            sentence = sentences[row]
            encodings.append(encoded[sentence.source, sentence.line])
        pieces = [encoding.sentences[0].pieces for encoding in encodings]
        decoders = [translator.model.decoders[target]]
        size = sentences_per_search(config, decoders, device=translator.device)
        for places in search_batches(pieces, size=size):
            yield _Batch(
                target,
                config,
                rows=[rows[place] for place in places],
                sources=EncodedSources.join([encodings[place] for place in places]),
            )
