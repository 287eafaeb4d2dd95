"""Summary of many translations: numbers of lines and tokens, speed, and unusual lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from polyglot.core.errors import pluralize
from polyglot.decoding.base import SearchConfig
from polyglot.inference.sentence_splitting import SentenceSplitter
from polyglot.inference.types import Translation


class TranslationSummary:
    """Counts the lines and tokens of translations from its creation on."""

    def __init__(self, config: SearchConfig, splitter: SentenceSplitter | None = None) -> None:
        """splitter: splits the lines into sentences; None if they are not split."""
        self.config = config
        self.splitter = splitter
        self.start = time.perf_counter()
        self.lines = 0
        self.source_tokens = 0
        self.target_tokens = 0
        self.empty_lines = 0
        self.empty_translations = 0
        self.cut_lines = 0
        self.long_lines = 0
        self.longest: int | None = None

    def add(self, hypotheses: Sequence[Sequence[Translation]], *, longest: int | None) -> None:
        """Count the best translation of each line.

        longest: tokens of the longest sentence of training, None if it is not known.
        """
        self.longest = longest
        for best, *_ in hypotheses:
            self.lines += 1
            self.source_tokens += best.source_tokens
            self.target_tokens += best.target_tokens
            if best.is_cut:
                self.cut_lines += 1
            if not best.source_tokens:
                self.empty_lines += 1
            elif not best.text:
                self.empty_translations += 1
            if longest is not None and best.source_tokens > longest:
                self.long_lines += 1

    def describe(self) -> Iterator[str]:
        """Yield the sentences of the summary."""
        elapsed = time.perf_counter() - self.start
        seconds = max(elapsed, 1e-6)
        speed = self.lines / seconds
        noun = "line" if self.lines == 1 else "lines"
        yield (
            f"{self.lines:,} {noun} in {seconds:.1f} s, {speed:,.1f} lines/s; "
            f"{self.source_tokens:,} source and {self.target_tokens:,} target tokens"
        )
        yield from self._notes()
        yield self._describe_search()

    def _describe_search(self) -> str:
        settings = []
        for name, value in self.config.active_settings().items():
            if isinstance(value, float):
                value = f"{value:g}"
            settings.append(f"{name} {value}")
        listed = ", ".join(settings)
        return f"search: {listed}"

    def _notes(self) -> Iterator[str]:
        """Yield a sentence about each kind of line that the user should look at."""
        if self.empty_lines:
            lines = pluralize(self.empty_lines, "empty line")
            yield f"{lines} in the input, empty in the output"
        if self.empty_translations:
            lines = pluralize(self.empty_translations, "line")
            yield f"{lines} with an empty translation"
        if self.cut_lines:
            translations = pluralize(self.cut_lines, "translation")
            yield (
                f"{translations} cut at the largest length "
                "(search.max_length_ratio, max_length_extra and max_length)"
            )

        if self.splitter is not None:
            warning = self.splitter.warning()
            if warning:
                yield warning
        elif self.long_lines:
            lines = pluralize(self.long_lines, "line")
            yield (
                f"{lines} with more than {self.longest} tokens, the longest sentence in training "
                "(data.filter.max_length); --split-sentences divides such lines"
            )
