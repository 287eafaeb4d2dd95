"""Search for translations of encoded source sentences, by one model or an ensemble."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.ensemble_decoder import Average, EnsembleDecoder, EnsembleMemory
from polyglot.decoding.vocabulary_selection import (
    RestrictedVocabularyDecoder,
    select_words,
    selection_is_useful,
)
from polyglot.inference.length_batches import length_batches
from polyglot.inference.parallel import parallel_map
from polyglot.inference.types import (
    EMPTY_TRANSLATION,
    EncodedSources,
    ModelInputs,
    SearchEngine,
    Translation,
)
from polyglot.layers.selected_rows import copying_is_cheaper
from polyglot.model.language_modules import LanguageDecoder

MAX_HYPOTHESES = 640
"""Hypotheses decoded together: full speed of the matrix products on a CPU, and little memory."""
MAX_DEVICE_HYPOTHESES = 8192
"""Hypotheses decoded together on a GPU, where a step of few takes as long as one of thousands."""
USUAL_LENGTH = 128
"""Pieces of a sentence for which these numbers hold; fewer longer sentences are together."""
MAX_SELECTED_WEIGHTS = 1 << 25
"""Numbers in the output layers of one batch if each sentence has a copy of its rows: 128 MiB."""


def best_texts(
    hypotheses: Callable[..., list[list[Translation]]],
    sentences: Any,
    **settings: Any,
) -> list[str] | str:
    """Return the best translation of each sentence, or of a single string.

    hypotheses: function that returns the n best translations of each sentence.
    """
    is_single = isinstance(sentences, str)
    if is_single:
        sentences = [sentences]
    texts = []
    for best, *_ in hypotheses(sentences, **settings):
        texts.append(best.text)
    if is_single:
        return texts[0]
    return texts


def generate_translations(
    inputs: ModelInputs,
    target: str,
    config: SearchConfig,
    *,
    average: Average = "log",
    batch_size: int | None = None,
) -> list[list[Translation]]:
    """Return the n best translations of each sentence; a blank sentence stays empty.

    inputs: the same sentences for each model of an ensemble. The first model's vocabulary gives
    the text. batch_size: sentences decoded together; by default, the number for full speed.
    Raises the errors of `search_hypotheses`, and ConfigError for a batch size below 1.
    """
    if batch_size is not None and batch_size < 1:
        raise ConfigError(f"batch_size: found {batch_size}; it should be at least 1")
    first_model, first_sentences = inputs[0]
    engine = first_model.engine
    longest_pieces = []
    for versions in zip(*(sentences for _, sentences in inputs)):
        pieces = [version.pieces for version in versions]
        longest_pieces.append(max(pieces, key=len))
    decoders = [model.model.decoders[target] for model, _ in inputs]
    size = batch_size or sentences_per_search(config, decoders, device=first_model.device)
    batches = list(search_batches(longest_pieces, size=size))

    def search_batch(rows: list[int]) -> list[list[Hypothesis]]:
        encoded = []
        for model, sentences in inputs:
            batch = [sentences[row] for row in rows]
            encoded.append(model.encode_sources(batch))
        return search_hypotheses(encoded, target, config, average=average, engine=engine)

    results = [[EMPTY_TRANSLATION]] * len(first_sentences)
    hypotheses_of_batches = parallel_map(search_batch, batches, first_model.device)
    # Text is made in this thread: it counts the symbols without a rule.
    for rows, hypotheses in zip(batches, hypotheses_of_batches):
        sentences = [first_sentences[row] for row in rows]
        translations_of_batch = first_model.to_translations(hypotheses, sentences, target)
        for row, translations in zip(rows, translations_of_batch):
            results[row] = translations
    return results


@torch.inference_mode()
def search_hypotheses(
    sources: Sequence[EncodedSources],
    target: str,
    config: SearchConfig,
    *,
    average: Average = "log",
    engine: SearchEngine | None = None,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each sentence, in pieces of the target vocabulary.

    sources: the same sentences encoded by each model of an ensemble. engine: other program that
    searches, only with a single model. Raises CheckpointError if
    the parameters give NaN or infinite scores, and ConfigError if words should be selected and
    no model can select them.
    """
    lengths = _source_lengths(sources)
    if engine is None:
        result = _search_with_decoders(sources, target, config, lengths, average)
    else:
        result = engine.search(sources[0].sentences, target, config)

    for sentence, hypotheses in zip(sources[0].sentences, result):
        finite = all(math.isfinite(hypothesis.score) for hypothesis in hypotheses)
        if not hypotheses or not finite:
            translator = sources[0].translator
            quantity = f"scores of {sentence.language}-{target}"
            raise CheckpointError(translator.not_finite(quantity))
    return _mark_cut_hypotheses(result, config.limits(lengths))


def _search_with_decoders(
    sources: Sequence[EncodedSources],
    target: str,
    config: SearchConfig,
    lengths: torch.Tensor,
    average: Average,
) -> list[list[Hypothesis]]:
    """Search with our own decoders. lengths: (B,) source pieces of each sentence."""
    decoders = [source.translator.model.decoders[target] for source in sources]
    decoder = decoders[0]
    memory = sources[0].memory
    if len(sources) > 1:
        decoder = EnsembleDecoder(decoders, average=average)
        memory = EnsembleMemory(tuple(source.memory for source in sources))

    words = None
    if config.select is not None:
        words = _select_words(sources, target, config)
    if words is None:
        return search(decoder, memory, lengths, config)
    restricted = RestrictedVocabularyDecoder(decoder, words)
    return restricted.restore_tokens(search(restricted, memory, lengths, config))


def _mark_cut_hypotheses(
    hypotheses: Sequence[Sequence[Hypothesis]],
    limits: torch.Tensor,
) -> list[list[Hypothesis]]:
    """Mark the hypotheses that have the largest length of their sentence; limits (B,)."""
    marked = []
    for sentence_hypotheses, limit in zip(hypotheses, limits.tolist()):
        sentence = []
        for hypothesis in sentence_hypotheses:
            if len(hypothesis.tokens) >= limit:
                hypothesis = replace(hypothesis, is_cut=True)
            sentence.append(hypothesis)
        marked.append(sentence)
    return marked


def _source_lengths(sources: Sequence[EncodedSources]) -> torch.Tensor:
    """Return the number of source pieces (B,) of each sentence, the largest over all models."""
    lengths = []
    for source in sources:
        lengths.append([len(sentence.pieces) for sentence in source.sentences])
    return torch.tensor(lengths).amax(dim=0)


def _select_words(
    sources: Sequence[EncodedSources],
    target: str,
    config: SearchConfig,
) -> torch.Tensor | None:
    """Return the only words that search may use: (B, U) for each sentence, or (U,) for all.

    None if search uses all words. Raises ConfigError if no model can select words.
    """
    selecting = []
    for source in sources:
        if source.translator.selects_words(target, config):
            selecting.append(source)
    if not selecting:
        raise ConfigError(_no_selection(target, config))

    vocabulary_size = sources[0].translator.model.decoders[target].output.out_features
    if not selection_is_useful(config.select, vocabulary_size):
        return None

    scores = [source.translator.word_scores(source, target, config) for source in selecting]
    return select_words(sum(scores), config.select, together=config.select_for == "batch")


def _no_selection(target: str, config: SearchConfig) -> str:
    """Error message for a vocabulary selection that no model supports."""
    if config.select_by == "prediction":
        reason = "has no `word_prediction` from its initial state"
        other = "shortlist"
    else:
        reason = "has no run directory with a shortlist"
        other = "prediction"
    return (
        f"search.select: the decoder of {target} {reason}; "
        f"choose select_by {other}, or leave select out"
    )


def max_hypotheses(device: torch.device) -> int:
    """Return the number of hypotheses that a device decodes together."""
    return MAX_HYPOTHESES if device.type == "cpu" else MAX_DEVICE_HYPOTHESES


def sentences_per_search(
    config: SearchConfig,
    decoders: Sequence[LanguageDecoder] = (),
    *,
    device: torch.device = torch.device("cpu"),
) -> int:
    """Return the number of sentences that these decoders translate together, at least 1."""
    hypotheses_per_sentence = config.beam * max(1, len(decoders))
    sentences = max_hypotheses(device) // hypotheses_per_sentence
    if decoders and _copies_rows(config, decoders[0]):
        state_size = sum(decoder.body.output_states_size for decoder in decoders)
        weights_per_sentence = config.select * state_size
        sentences = min(sentences, MAX_SELECTED_WEIGHTS // weights_per_sentence)
    return max(1, sentences)


def _copies_rows(config: SearchConfig, decoder: LanguageDecoder) -> bool:
    """True if the output layer copies the selected rows of each sentence."""
    if config.select is None or config.select_for == "batch":
        return False
    return copying_is_cheaper(config.select, decoder.output.out_features, hypotheses=config.beam)


def search_batches(
    sentences: Sequence[Sequence[int]],
    *,
    size: int,
    keep_empty: bool = False,
) -> Iterator[list[int]]:
    """Yield batches of at most `size` rows of similar length, the longest first.

    A batch has fewer rows if it would have more positions than `size` rows of `USUAL_LENGTH`.
    Rows without pieces are left out unless `keep_empty`.
    """
    lengths = [len(sentence) for sentence in sentences]
    return length_batches(
        lengths,
        max_sentences=size,
        max_positions=size * USUAL_LENGTH,
        keep_empty=keep_empty,
    )
