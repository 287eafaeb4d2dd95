"""Many directions at once: a text is read once for all its targets, and a target is written for all texts in common batches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter

from polyglot.decoding.base import SearchConfig
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.generation import search_batches, sentences_per_search
from polyglot.inference.translator import Translator
from polyglot.inference.types import EMPTY_TRANSLATION, EncodedSources, SourceSentence

READ = 4096
"""Sentences that are read before targets are written: what is held in memory at a time, and about what an interruption loses."""

Direction = tuple[str, str]
"""The name of a text, and the language that it is translated into."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text to be translated."""

    language: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    row: int
    language: str
    line: str


@dataclass(frozen=True, slots=True)
class _Read:
    line: _Line
    readings: Sequence[EncodedSources] | None
    """by each model, of this sentence alone; None for a blank one"""

    @property
    def pieces(self) -> Sequence[int]:
        """Its own, where it has most of them."""
        return max(
            (reading.sentences[0].pieces for reading in self.readings or ()), key=len, default=()
        )


def translate_directions(
    translator: Translator | EnsembleTranslator,
    texts: Mapping[str, SourceText],
    wanted: Sequence[Direction],
    *,
    config: SearchConfig,
    advance: Callable[[str, int], None] = lambda target, sentences: None,
) -> Iterator[tuple[Direction, list[str], float]]:
    """Each direction when it is ready, with its translations, those of `translator.translate`, and its share of the seconds.

    Several directions into one language are ready together. advance: told of each target how many more sentences were written.
    Raises what `Translator.hypotheses` raises.
    """
    lines = {(text, target): [EMPTY_TRANSLATION.text] * len(texts[text].lines) for text, target in wanted}
    left, seconds = (
        {direction: len(own) for direction, own in lines.items()},
        dict.fromkeys(lines, 0.0),
    )
    for portion in _portions({text: texts[text] for text, _ in lines}):
        started = time.perf_counter()
        read = _read(translator, portion, size=sentences_per_search(config))
        owns = {
            target: [each for each in read if (each.line.text, target) in lines]
            for _, target in lines
        }
        reading = (time.perf_counter() - started) / sum(map(len, owns.values()))
        for target, own in owns.items():
            started = time.perf_counter()
            advance(target, sum(each.readings is None for each in own))
            size = sentences_per_search(
                config, [member.model.decoders[target] for member in translator.members]
            )
            for rows in search_batches([each.pieces for each in own], size=size):
                batch = [own[row] for row in rows]
                readings = [
                    EncodedSources.join(by_one) for by_one in zip(*(each.readings for each in batch))
                ]
                found = translator.generate(readings, target, config)
                for each, (best, *_) in zip(batch, found):
                    lines[each.line.text, target][each.line.row] = best.text
                advance(target, len(batch))
            spent = reading + (time.perf_counter() - started) / max(1, len(own))
            for text, count in Counter(each.line.text for each in own).items():
                seconds[text, target] += spent * count
                left[text, target] -= count
                if not left[text, target]:
                    yield (text, target), lines[text, target], seconds[text, target]


def _portions(texts: Mapping[str, SourceText]) -> Iterator[list[_Line]]:
    """All sentences, text after text, READ at a time."""
    sentences = (
        _Line(name, row, text.language, line)
        for name, text in texts.items()
        for row, line in enumerate(text.lines)
    )
    while portion := list(islice(sentences, READ)):
        yield portion


def _read(
    translator: Translator | EnsembleTranslator, portion: Sequence[_Line], *, size: int
) -> list[_Read]:
    """The same sentences with their memory, encoder by encoder."""
    found = []
    for language, group in groupby(
        sorted(portion, key=attrgetter("language")), key=attrgetter("language")
    ):
        lines = list(group)
        by_each = [
            _alone(*reader, size=size)
            for reader in translator.model_inputs([each.line for each in lines], language)
        ]
        found += [_Read(line, None if None in own else own) for line, *own in zip(lines, *by_each)]
    return found


def _alone(
    translator: Translator, sentences: Sequence[SourceSentence], *, size: int
) -> list[EncodedSources | None]:
    """Each of the sentences, which are of one language, as it was read; None for a blank one."""
    readings: list[EncodedSources | None] = [None] * len(sentences)
    for rows in search_batches([each.pieces for each in sentences], size=size):
        for row, reading in zip(rows, translator.encode_sources([sentences[row] for row in rows]).split()):
            readings[row] = reading
    return readings
