"""Encoder of sentences whose words are numbers, with a tiny untrained model and without a run."""

from __future__ import annotations

import random
from collections.abc import Sequence

from polyglot.inference.embeddings.encoder import SentenceEncoder
from polyglot.model.translation_model import TranslationModel
from tests.builders.models import VOCABULARY, tiny_config, tiny_model


class NumberEncoder(SentenceEncoder):
    """Encoder for which the word `n` is piece n."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model.eval()

    def encode_text(self, sentences: Sequence[str], language: str) -> list[list[int]]:
        return [[int(word) for word in sentence.split()] for sentence in sentences]


def number_encoder(**settings: object) -> NumberEncoder:
    return NumberEncoder(tiny_model(tiny_config(**settings)))


def number_sentences(count: int, *, longest: int = 30, seed: int = 0) -> list[str]:
    """Make random sentences; every tenth is blank."""
    generator = random.Random(seed)
    sentences = []
    for number in range(count):
        length = 0 if number % 10 == 9 else generator.randint(1, longest)
        words = [str(generator.randrange(4, VOCABULARY)) for _ in range(length)]
        sentences.append(" ".join(words))
    return sentences
