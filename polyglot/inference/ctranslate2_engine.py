"""Search by CTranslate2 instead of our own decoder, for the models that it can compute.

CTranslate2 is an inference engine in C++ (https://github.com/OpenNMT/CTranslate2). It
gives the translations of our search, except for differences of rounding, and is faster in int8.
Sentences for which it could give others are searched by our own decoder.
"""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

import torch

from polyglot.core.errors import ConfigError
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.inference.ctranslate2_spec import (
    POSITIONS,
    build_spec,
    import_ctranslate2,
    unsupported_parts,
)
from polyglot.inference.types import SourceSentence
from polyglot.layers.low_precision import Precision
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import BOS, PAD
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.vocabulary import Vocabulary

COMPUTE_TYPES: dict[Precision, str] = {"float32": "float32", "bf16": "bfloat16", "int8": "int8"}
"""CTranslate2's names of our precisions."""
GREEDY_BATCH = 128
"""Sentences that a thread of CTranslate2 decodes together in greedy search."""
BEAM_BATCH = 64
"""Sentences of such a batch in beam search, which holds several hypotheses of each."""
NEARLY_NO_PENALTY = 1e-9

OwnSearch = Callable[[Sequence[SourceSentence], str, SearchConfig], list[list[Hypothesis]]]
"""Our own search: sentences of one language, target, settings -> hypotheses of each sentence."""


class CTranslate2Engine:
    """Search with CTranslate2 over the directions of one model."""

    def __init__(
        self,
        model: TranslationModel,
        *,
        vocabularies: Mapping[str, Vocabulary],
        precision: Precision,
        device: torch.device,
        own_search: OwnSearch,
    ) -> None:
        """own_search: for sentences that CTranslate2 may translate differently.

        Raises ConfigError if CTranslate2 is not installed, or cannot compute a direction of the
        model in this precision on this device.
        """
        self.model = model
        self.vocabularies = vocabularies
        self.device = device
        self.own_search = own_search
        self.compute_type = _compute_type(precision, device)
        self.threads = torch.get_num_threads() if device.type == "cpu" else 1
        _check_model(model)
        # The decoders of one source language take turns, sentence after sentence.
        self._translator = lru_cache(maxsize=len(model.decoders))(self._load)
        self._lock = Lock()

    def search(
        self,
        sentences: Sequence[SourceSentence],
        target: str,
        config: SearchConfig,
    ) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of each sentence, best first.

        Raises ConfigError for settings that CTranslate2 does not have.
        """
        _check_settings(config)
        rows_by_source: dict[str, list[int]] = defaultdict(list)
        for row, sentence in enumerate(sentences):
            rows_by_source[sentence.language].append(row)

        results: list[list[Hypothesis]] = [[] for _ in sentences]
        for source, rows in rows_by_source.items():
            pair = LanguagePair(source, target)
            sentences_of_source = [sentences[row] for row in rows]
            found = self._search_pair(sentences_of_source, pair, config)
            for row, hypotheses in zip(rows, found):
                results[row] = hypotheses
        return results

    def _search_pair(
        self,
        sentences: Sequence[SourceSentence],
        pair: LanguagePair,
        config: SearchConfig,
    ) -> list[list[Hypothesis]]:
        """Search for translations of sentences in one language."""
        lengths = torch.tensor([len(sentence.pieces) for sentence in sentences])
        limits = config.limits(lengths).tolist()
        is_short = [max(sizes) < POSITIONS for sizes in zip(lengths.tolist(), limits)]
        results: list[list[Hypothesis] | None] = [None] * len(sentences)
        short_rows = [row for row, short in enumerate(is_short) if short]
        if short_rows:
            short_sentences = [sentences[row] for row in short_rows]
            longest = max(limits[row] for row in short_rows)
            found = self._translate(short_sentences, pair, config, limit=longest)
            if config.beam == 1:
                short_limits = [limits[row] for row in short_rows]
                found = self._cut(found, short_sentences, pair, config, short_limits)
            for row, hypotheses in zip(short_rows, found):
                if _is_certain(hypotheses, limits[row], config.beam):
                    results[row] = hypotheses

        other_rows = [row for row, hypotheses in enumerate(results) if hypotheses is None]
        if other_rows:
            others = [sentences[row] for row in other_rows]
            for row, hypotheses in zip(other_rows, self.own_search(others, pair.target, config)):
                results[row] = hypotheses
        return results

    def _translate(
        self,
        sentences: Sequence[SourceSentence],
        pair: LanguagePair,
        config: SearchConfig,
        *,
        limit: int,
    ) -> list[list[Hypothesis]]:
        """Translate with CTranslate2. limit: largest number of tokens of all translations."""
        with self._lock:  # two threads must not load the same direction
            translator, target_ids = self._translator(pair)
        source_vocabulary = self.vocabularies[pair.source]
        pieces = [source_vocabulary.pieces(sentence.pieces) for sentence in sentences]
        results = translator.translate_batch(
            pieces,
            beam_size=config.beam,
            num_hypotheses=config.n_best,
            length_penalty=_length_penalty(config),
            min_decoding_length=0,
            max_decoding_length=limit,
            max_input_length=0,
            max_batch_size=self._batch_size(len(pieces), config.beam),
            return_scores=True,
        )
        found = []
        for result in results:
            hypotheses = []
            for target_pieces, score in zip(result.hypotheses, result.scores):
                tokens = tuple(target_ids[piece] for piece in target_pieces)
                log_probability = score * config.penalty(len(tokens) + 1)
                hypotheses.append(Hypothesis(score, log_probability, tokens))
            found.append(hypotheses)
        return found

    def _batch_size(self, sentences: int, beam: int) -> int:
        """Sentences of a batch, so that no thread of CTranslate2 is idle."""
        largest = GREEDY_BATCH if beam == 1 else BEAM_BATCH
        return min(largest, math.ceil(sentences / self.threads))

    def _cut(
        self,
        found: Sequence[list[Hypothesis]],
        sentences: Sequence[SourceSentence],
        pair: LanguagePair,
        config: SearchConfig,
        limits: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Cut greedy translations at the limits of their sentences, where they must end.

        A greedy search does not look ahead: the first words are those of a search with the lower
        limit. Only the probability that the sentence ends there is computed anew.
        """
        results = list(found)
        long_rows = []
        for row, hypotheses in enumerate(found):
            if hypotheses and len(hypotheses[0].tokens) >= limits[row]:
                long_rows.append(row)
        if not long_rows:
            return results

        source_vocabulary = self.vocabularies[pair.source]
        target_vocabulary = self.vocabularies[pair.target]
        sources = []
        targets = []
        for row in long_rows:
            sources.append(source_vocabulary.pieces(sentences[row].pieces))
            tokens = found[row][0].tokens[: limits[row]]
            targets.append(target_vocabulary.pieces(tokens))
        with self._lock:
            translator, _ = self._translator(pair)
        scored = translator.score_batch(
            sources, targets, max_input_length=0, max_batch_size=GREEDY_BATCH
        )
        for row, item in zip(long_rows, scored):
            tokens = found[row][0].tokens[: limits[row]]
            log_probability = sum(item.log_probs)
            score = log_probability / config.penalty(len(tokens) + 1)
            results[row] = [Hypothesis(score, log_probability, tokens)]
        return results

    def _load(self, pair: LanguagePair) -> tuple[Any, dict[str, int]]:
        """Load a direction into CTranslate2; also returns the ids of the target's pieces."""
        target_pieces = _all_pieces(self.vocabularies[pair.target])
        spec = build_spec(
            self.model,
            pair,
            source_pieces=_all_pieces(self.vocabularies[pair.source]),
            target_pieces=target_pieces,
        )
        with tempfile.TemporaryDirectory(prefix="polyglot-ctranslate2-") as folder:
            spec.save(folder)
            translator = import_ctranslate2().Translator(
                folder,
                device=self.device.type,
                device_index=self.device.index or 0,
                compute_type=self.compute_type,
                inter_threads=self.threads,
                intra_threads=1,
            )
        ids = {piece: number for number, piece in enumerate(target_pieces)}
        return translator, ids


def _compute_type(precision: Precision, device: torch.device) -> str:
    """Return CTranslate2's name of a precision. Raises ConfigError if the device lacks it."""
    name = COMPUTE_TYPES[precision]
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"engine: CTranslate2 cannot compute on the device {device}; use cpu")
    available = import_ctranslate2().get_supported_compute_types(device.type, device.index or 0)
    if name not in available:
        listed = [ours for ours, theirs in COMPUTE_TYPES.items() if theirs in available]
        raise ConfigError(
            f"precision: CTranslate2 has no {precision} on this machine; "
            f"available: {', '.join(listed)}"
        )
    return name


def _check_model(model: TranslationModel) -> None:
    """Raise ConfigError if CTranslate2 cannot compute a direction of the model."""
    for source in model.encoders:
        for target in model.decoders:
            problems = list(unsupported_parts(model, LanguagePair(source, target)))
            if problems:
                raise ConfigError(
                    f"engine: {source}-{target}: CTranslate2 cannot compute "
                    f"{'; '.join(problems)}; use the engine polyglot"
                )


def _check_settings(config: SearchConfig) -> None:
    """Raise ConfigError for settings of a search that CTranslate2 does not have."""
    reason = None
    if config.select is not None:
        reason = "search.select: CTranslate2 cannot select words of a sentence"
    elif config.like is not None:
        reason = f"search.like: CTranslate2 does not search as {config.like}"
    elif config.length_penalty and config.length_normalisation != "power":
        reason = (
            "search.length_normalisation: CTranslate2 has only 'power', "
            f"found {config.length_normalisation!r}"
        )
    if reason:
        raise ConfigError(f"{reason}; leave the setting or the engine ctranslate2 out")


def _length_penalty(config: SearchConfig) -> float:
    """Length penalty for CTranslate2.

    Without a penalty, it stops at the first complete hypothesis that is the best of the beam, so
    the others of the n best may be missing. A penalty near 0 has the same scores and no such stop.
    """
    if config.n_best > 1:
        return max(config.length_penalty, NEARLY_NO_PENALTY)
    return config.length_penalty


def _is_certain(hypotheses: Sequence[Hypothesis], limit: int, beam: int) -> bool:
    """True if our own search would give the same hypotheses.

    CTranslate2 may choose padding and BOS. With a beam, it has one length limit for all sentences;
    greedy translations were cut at the limit of each.
    """
    for hypothesis in hypotheses:
        if beam > 1 and len(hypothesis.tokens) >= limit:
            return False
        if PAD in hypothesis.tokens or BOS in hypothesis.tokens:
            return False
    return bool(hypotheses)


def _all_pieces(vocabulary: Vocabulary) -> list[str]:
    """Pieces of a vocabulary by their ids."""
    return list(vocabulary.pieces(range(len(vocabulary))))
