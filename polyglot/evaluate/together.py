"""Many directions at once: a text is read once for all its targets, and a target is written for all texts in common batches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter

from polyglot.decoding.search import SearchConfig
from polyglot.inference import NOTHING, Translator, by_length, sentences_together
from polyglot.model.memory import Memory

READ = 4096
"""Sentences that are read before targets are written: what is held in memory at a time, and about what an interruption loses."""

Direction = tuple[str, str]
"""The name of a text, and the language that it is translated into."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text to be translated."""

    language: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    row: int
    language: str
    line: str


@dataclass(frozen=True, slots=True)
class _Read:
    sentence: _Sentence
    pieces: Sequence[int]
    memory: Memory | None
    """of this sentence alone; None for a blank one"""


def translate_together(
    translator: Translator,
    texts: Mapping[str, Source],
    wanted: Sequence[Direction],
    *,
    config: SearchConfig,
    advance: Callable[[str, int], None] = lambda target, sentences: None,
) -> Iterator[tuple[Direction, list[str], float]]:
    """Each direction when it is ready, with its translations, those of `Translator.translate`, and its share of the seconds.

    Several directions into one language are ready together. advance: told of each target how many more sentences were written.
    Raises what `Translator.hypotheses` raises.
    """
    lines = {(text, target): [NOTHING.text] * len(texts[text].lines) for text, target in wanted}
    left, seconds = {direction: len(own) for direction, own in lines.items()}, dict.fromkeys(lines, 0.0)
    for portion in _portions({text: texts[text] for text, _ in lines}):
        started = time.perf_counter()
        read = _read(translator, portion, size=sentences_together(config))
        owns = {target: [each for each in read if (each.sentence.text, target) in lines] for _, target in lines}
        reading = (time.perf_counter() - started) / sum(map(len, owns.values()))
        for target, own in owns.items():
            started = time.perf_counter()
            advance(target, sum(each.memory is None for each in own))
            for rows in by_length([each.pieces for each in own], size=sentences_together(config)):
                batch = [own[row] for row in rows]
                memory, lengths = Memory.of([each.memory for each in batch]), [len(each.pieces) for each in batch]
                found = translator.write(memory, lengths, target, sources=[each.sentence.language for each in batch], config=config)
                for each, (best, *_) in zip(batch, found):
                    lines[each.sentence.text, target][each.sentence.row] = best.text
                advance(target, len(batch))
            spent = reading + (time.perf_counter() - started) / max(1, len(own))
            for text, count in Counter(each.sentence.text for each in own).items():
                seconds[text, target] += spent * count
                left[text, target] -= count
                if not left[text, target]:
                    yield (text, target), lines[text, target], seconds[text, target]


def _portions(texts: Mapping[str, Source]) -> Iterator[list[_Sentence]]:
    """All sentences, text after text, READ at a time."""
    sentences = (_Sentence(name, row, text.language, line) for name, text in texts.items() for row, line in enumerate(text.lines))
    while portion := list(islice(sentences, READ)):
        yield portion


def _read(translator: Translator, portion: Sequence[_Sentence], *, size: int) -> list[_Read]:
    """The same sentences with their memory, encoder by encoder."""
    found = []
    for language, group in groupby(sorted(portion, key=attrgetter("language")), key=attrgetter("language")):
        sentences = list(group)
        pieces = translator.encode_text([each.line for each in sentences], language)
        memories: list[Memory | None] = [None] * len(pieces)
        for rows in by_length(pieces, size=size):
            for row, memory in zip(rows, translator.read([pieces[row] for row in rows], language).sentences()):
                memories[row] = memory
        found += map(_Read, sentences, pieces, memories)
    return found
