"""An encoder of sentences whose words are numbers, around a tiny untrained model: no text, no run."""

from __future__ import annotations

import random
from collections.abc import Sequence

from polyglot.inference.embeddings.encoder import SentenceEncoder
from polyglot.model.translation_model import TranslationModel
from tests.builders.models import VOCABULARY, tiny_config, tiny_model


class NumberEncoder(SentenceEncoder):
    """Word n is piece n."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model.eval()
        self.portions: list[int] = []
        """how many sentences were tokenised at once"""

    def encode_text(self, sentences: Sequence[str], language: str) -> list[list[int]]:
        self.portions.append(len(sentences))
        return [[int(word) for word in sentence.split()] for sentence in sentences]


def number_encoder(**settings: object) -> NumberEncoder:
    return NumberEncoder(tiny_model(tiny_config(**settings)))


def number_sentences(count: int, *, longest: int = 30, seed: int = 0) -> list[str]:
    """Every tenth is blank."""
    source = random.Random(seed)
    lengths = [0 if number % 10 == 9 else source.randint(1, longest) for number in range(count)]
    return [
        " ".join(str(source.randrange(4, VOCABULARY)) for _ in range(length)) for length in lengths
    ]
