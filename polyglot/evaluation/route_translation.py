"""Translates routes, directly or through a pivot; a translation that routes share is made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from polyglot.decoding.base import SearchConfig
from polyglot.evaluation.batched_translation import Direction, SourceText, translate_directions
from polyglot.evaluation.plan import Route
from polyglot.evaluation.results_cache import text_name
from polyglot.evaluation.score_matrix import merge_provenance
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator

Progress = Callable[[str, int, int], None]
"""Called with the current work, such as `into fr`, and the translated and total sentences."""


@dataclass(frozen=True, slots=True)
class TranslatedText:
    """Translations of one text into one language."""

    lines: list[str]
    seconds: float
    provenance: Mapping[str, str]
    """machine and versions of the translation"""


class RouteTranslator:
    """Translates the test text of many routes with few passes over the model.

    A pivot translation has two steps, each of which is a direction: a text and a target language.
    """

    def __init__(
        self,
        translator: Translator | EnsembleTranslator,
        search: SearchConfig,
        *,
        provenance: Mapping[str, str],
        progress: Progress,
    ) -> None:
        """provenance: machine and versions of this process."""
        self._translator = translator
        self._search = search
        self._provenance = provenance
        self._progress = progress
        self._texts: dict[str, SourceText] = {}
        self._translated: dict[Direction, TranslatedText] = {}
        self._finished_sentences = 0
        self._total_sentences = 0

    def add_finished(self, route: Route, sources: list[str], result: TranslatedText) -> None:
        """Register a route that was translated before; its text may be the first step of others."""
        self._finished_sentences += len(result.lines)
        self._total_sentences += len(result.lines)
        if route.via is None:
            direction = self._direction(route.pair.source, sources, route.pair.target)
            self._translated[direction] = result

    def translate(
        self,
        sources: Mapping[Route, list[str]],
    ) -> Iterator[tuple[Route, TranslatedText]]:
        """Translate the sources of each route; yield a route as soon as it is finished.

        All routes into one language are finished together, direct translations first.
        """
        first_steps = {}
        for route, lines in sources.items():
            target = route.via or route.pair.target
            first_steps[route] = self._direction(route.pair.source, lines, target)
        pivot_routes = [route for route in sources if route.via]
        self._count_sentences(first_steps.values())
        self._total_sentences += sum(len(sources[route]) for route in pivot_routes)

        for direction in self._translate_directions(first_steps.values()):
            for route, first_step in first_steps.items():
                if first_step == direction and route.via is None:
                    yield route, self._translated[direction]

        second_steps = {}
        for route in pivot_routes:
            pivot_lines = self._translated[first_steps[route]].lines
            second_steps[route] = self._direction(route.via, pivot_lines, route.pair.target)

        for direction in self._translate_directions(second_steps.values()):
            for route, second_step in second_steps.items():
                if second_step == direction:
                    first = self._translated[first_steps[route]]
                    yield route, _join(first, self._translated[direction])

    def _direction(self, language: str, lines: list[str], target: str) -> Direction:
        name = text_name(language, lines)
        self._texts[name] = SourceText(language, lines)
        return name, target

    def _count_sentences(self, directions: Iterable[Direction]) -> None:
        """Add the sentences of the directions that are not translated yet to the total."""
        for text, _ in set(directions) - set(self._translated):
            self._total_sentences += len(self._texts[text].lines)

    def _translate_directions(self, directions: Iterable[Direction]) -> Iterator[Direction]:
        """Yield each direction when it is translated; at once if it was translated before."""
        directions = list(dict.fromkeys(directions))
        missing = [direction for direction in directions if direction not in self._translated]
        for direction in directions:
            if direction not in missing:
                yield direction
        for direction, lines, seconds in translate_directions(
            self._translator, self._texts, missing, config=self._search, advance=self._advance
        ):
            self._translated[direction] = TranslatedText(lines, seconds, self._provenance)
            yield direction

    def _advance(self, target: str, sentences: int) -> None:
        self._finished_sentences += sentences
        self._progress(f"into {target}", self._finished_sentences, self._total_sentences)


def _join(first: TranslatedText, second: TranslatedText) -> TranslatedText:
    """Result of a pivot translation from its two steps."""
    return TranslatedText(
        second.lines,
        first.seconds + second.seconds,
        merge_provenance([first.provenance, second.provenance]),
    )
