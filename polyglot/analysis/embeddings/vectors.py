"""Sentence embeddings of one representation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from polyglot.inference.translator import Translator


class Vectors:
    """Embeds sentences with one layer and pooling; keeps the vectors of every text."""

    def __init__(self, translator: Translator, representation: str) -> None:
        """representation: layer and pooling, such as `bridge.flat`."""
        self.settings = layer_and_pooling(representation)
        self._translator = translator
        self._cache: dict[tuple[str, tuple[str, ...]], numpy.ndarray] = {}

    def __call__(self, sentences: Sequence[str], language: str) -> numpy.ndarray:
        """Return the vectors (N, D) of sentences."""
        key = (language, tuple(sentences))
        if key not in self._cache:
            self._cache[key] = self._translator.encode(
                list(sentences),
                language=language,
                **self.settings,
            )
        return self._cache[key]

    @property
    def size(self) -> int:
        """D of the vectors."""
        return self._translator.vector_size(**self.settings)


def layer_and_pooling(representation: str) -> dict[str, str]:
    """Return the two parts of `bridge.flat` as arguments of `Translator.encode`."""
    layer, _, pooling = representation.partition(".")
    return {"layer": layer, "pooling": pooling}
