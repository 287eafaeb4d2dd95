"""Search for translations of what models have read: which sentences go together, who writes, and among which words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy
import torch

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.ensemble_decoder import Average, EnsembleDecoder, EnsembleMemory
from polyglot.decoding.vocabulary_selection import RestrictedVocabularyDecoder, most_probable_words, union_of_words
from polyglot.inference.parallel import parallel_map
from polyglot.inference.types import EMPTY_TRANSLATION, EncodedSources, ModelInputs, Translation
from polyglot.model.language_modules import LanguageDecoder

ROWS = 640
"""Hypotheses decoded together: enough for full speed of the matrix products on a CPU, and little memory."""
LONG = 128
"""Pieces of a sentence up to which that holds; of longer ones fewer are decoded together."""
SELECTED = 1 << 25
"""Numbers that the output layers of the sentences decoded together have at most, where each has words of its own: 128 MiB."""


def generate_translations(
    readers: ModelInputs, target: str, config: SearchConfig, *, average: Average = "log"
) -> list[list[Translation]]:
    """The n best translations of each sentence, written by all who read it together; what has no pieces stays empty.

    The first one's vocabulary spells the translations. Raises what `search_hypotheses` raises.
    """
    first, sentences = readers[0]
    results: list[list[Translation]] = [[EMPTY_TRANSLATION]] * len(sentences)

    def found_for(rows: list[int]) -> list[list[Hypothesis]]:
        return search_hypotheses(
            [one.encode_sources([own[row] for row in rows]) for one, own in readers],
            target,
            config,
            average=average,
        )

    longest = [
        max((one.pieces for one in own), key=len) for own in zip(*(own for _, own in readers))
    ]
    groups = list(
        by_length(
            longest,
            size=sentences_per_search(config, [one.model.decoders[target] for one, _ in readers]),
        )
    )
    for own, rows in zip(
        parallel_map(found_for, groups, first.device), groups
    ):  # texts count symbols: one after the other
        for row, translations in zip(
            rows, first.to_translations(own, [sentences[row] for row in rows], target)
        ):
            results[row] = translations
    return results


@torch.inference_mode()
def search_hypotheses(
    readings: Sequence[EncodedSources], target: str, config: SearchConfig, *, average: Average = "log"
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, in the pieces of the first model, by all who have read it.

    Raises CheckpointError where the parameters give scores that are no numbers, ConfigError where nobody can choose the words to select.
    """
    decoders, memories = (
        [one.translator.model.decoders[target] for one in readings],
        [one.memory for one in readings],
    )
    lengths = torch.tensor(
        [[len(one.pieces) for one in reading.sentences] for reading in readings]
    ).amax(dim=0)
    decoder, memory = decoders[0], memories[0]
    if len(readings) > 1:
        decoder, memory = EnsembleDecoder(decoders, average=average), EnsembleMemory(tuple(memories))
    words = None if config.select is None else _chosen_words(readings, target, config)
    if words is None:
        result = search(decoder, memory, lengths, config)
    else:
        selected = RestrictedVocabularyDecoder(decoder, words)
        result = selected.restore_tokens(search(selected, memory, lengths, config))
    for sentence, own in zip(readings[0].sentences, result):
        if not (own and all(math.isfinite(one.score) for one in own)):
            raise CheckpointError(
                readings[0].translator.not_finite(f"scores of {sentence.language}-{target}")
            )
    return result


def _chosen_words(
    readings: Sequence[EncodedSources], target: str, config: SearchConfig
) -> torch.Tensor | None:
    """The only words that search may write: (B, K) for each sentence, or (U,) for all; None where that is every word.

    Raises ConfigError where nobody can choose.
    """
    scores = [reading.translator.word_scores(reading, target, config) for reading in readings]
    known = [one for one in scores if one is not None]
    if not known:
        by_prediction = config.select_by == "prediction"
        what = (
            "has no `word_prediction` from its initial state"
            if by_prediction
            else "has no run directory with a shortlist"
        )
        other = "shortlist" if by_prediction else "prediction"
        raise ConfigError(
            f"search.select: the decoder of {target} {what}; choose select_by {other}, or leave select out"
        )
    words = most_probable_words(sum(known), config.select)
    words = union_of_words(words) if config.select_for == "batch" else words
    return words if words.shape[-1] < known[0].shape[-1] else None


def sentences_per_search(config: SearchConfig, decoders: Sequence[LanguageDecoder] = ()) -> int:
    """How many sentences are searched for at once, by these decoders together."""
    together = ROWS // (config.beam * max(1, len(decoders)))
    if decoders and config.select and config.select_for == "sentence":
        together = min(
            together, SELECTED // (config.select * sum(decoder.body.size for decoder in decoders))
        )
    return max(1, together)


def by_length(
    sentences: Sequence[Sequence[int]], *, size: int, empty: bool = False
) -> Iterator[list[int]]:
    """Rows in batches of similar length, the longest first; rows without pieces are left out unless asked for.

    At most `size` rows, and fewer where they are so long that padded they have more pieces than `size` rows of LONG.
    """
    lengths = numpy.array([len(sentence) for sentence in sentences], dtype=numpy.int64)
    order = [int(row) for row in numpy.argsort(-lengths, kind="stable") if empty or lengths[row]]
    start = 0
    while start < len(order):
        count = min(size, max(1, size * LONG // max(1, int(lengths[order[start]]))))
        yield order[start : start + count]
        start += count
