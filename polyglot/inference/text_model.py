"""Model with its vocabularies, as generation needs it: text to memory, hypotheses to text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from polyglot.core.language_codes import resolve_language
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.decoding.shortlist import Shortlist
from polyglot.inference.ctranslate2_engine import CTranslate2Engine
from polyglot.inference.generation import search_hypotheses
from polyglot.inference.origin import describe_origin
from polyglot.inference.text_input import check_sentences, to_one_line
from polyglot.inference.types import EncodedSources, SourceSentence, Translation
from polyglot.model.memory import Memory
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import pad
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.transfers import to_device
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import count_without_rule
from polyglot.text.vocabulary import Vocabulary


class TextModel:
    """Base class of `Translator`: one model with the vocabularies and text steps of its languages.

    It has the interface `SourceModel` that generation needs. `Translator` adds what users call.
    """

    def __init__(
        self,
        model: TranslationModel,
        *,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
        description: Mapping[str, Any] = {},
    ) -> None:
        """description: origin of the parameters, stored with every score."""
        self.model = model
        self.vocabularies = vocabularies
        self.normalisers = normalisers
        self.description = description
        self.shortlists: Callable[[LanguagePair], Shortlist] | None = None
        """shortlist of a direction, if there is a run directory that can have one"""
        self.engine: CTranslate2Engine | None = None
        """other program that searches for translations; None for our own search"""
        self.symbols_without_rule = 0
        """symbols in the best translations so far that stand for nothing in their sources"""

    @property
    def sources(self) -> list[str]:
        """Languages with an encoder."""
        return list(self.model.encoders)

    @property
    def targets(self) -> list[str]:
        """Languages with a decoder."""
        return list(self.model.decoders)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    # Text to memory

    def encode_text(self, sentences: Iterable[str], language: str) -> list[list[int]]:
        """Convert text to vocabulary pieces; a blank sentence has none.

        Raises DataError for invalid text.
        """
        language = resolve_language(language, self.normalisers)
        return [list(sentence.pieces) for sentence in self.sentences(sentences, language)]

    def sentences(self, lines: Iterable[str], language: str) -> list[SourceSentence]:
        """Preprocess source text and split it into pieces. Raises DataError for invalid text."""
        lines = check_sentences(lines, language)
        steps = self.normalisers[language]
        texts = []
        for line in lines:
            texts.append(steps.apply(line) if line.strip() else "")
        pieces_of_lines = self.vocabularies[language].encode(texts)
        return [
            SourceSentence(language, line, pieces) for line, pieces in zip(lines, pieces_of_lines)
        ]

    def encode_sources(self, sentences: Sequence[SourceSentence]) -> EncodedSources:
        """Encode sentences of one language; the memory (B, K, D) is the same for every target.

        With another engine the memory has no content: the engine encodes the sentences itself.
        """
        if self.engine is not None:
            return EncodedSources(self, sentences, Memory(torch.zeros(len(sentences), 1, 1)))
        return self._encode_with_own_encoder(sentences)

    @torch.inference_mode()
    def _encode_with_own_encoder(self, sentences: Sequence[SourceSentence]) -> EncodedSources:
        tokens, mask = pad([sentence.pieces for sentence in sentences])
        language = sentences[0].language
        device = self.device
        memory = self.model.encode(language, to_device(tokens, device), to_device(mask, device))
        return EncodedSources(self, sentences, memory)

    # Search

    def search_with_own_decoder(
        self,
        sentences: Sequence[SourceSentence],
        target: str,
        config: SearchConfig,
    ) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of sentences of one language, from our own search."""
        encoded = self._encode_with_own_encoder(sentences)
        return search_hypotheses([encoded], target, config, engine=None)

    def selects_words(self, target: str, config: SearchConfig) -> bool:
        """True if the model has what the vocabulary selection of these settings needs."""
        if config.select_by == "shortlist":
            return self.shortlists is not None
        return self.model.decoders[target].word_predictor("initial_words") is not None

    @torch.inference_mode()
    def word_scores(
        self,
        sources: EncodedSources,
        target: str,
        config: SearchConfig,
    ) -> torch.Tensor | None:
        """Score every target word (B, V) as a word of the translation, up to a constant.

        None if the model has no word predictor or no shortlists. Raises CheckpointError if the
        file of a shortlist is missing.
        """
        if not self.selects_words(target, config):
            return None
        if config.select_by == "shortlist":
            return self._shortlist_scores(sources, target)
        decoder = self.model.decoders[target]
        predictor = decoder.word_predictor("initial_words")
        hidden, _ = predictor(decoder.body.initial_state(sources.memory), sources.memory)
        # Logits: the normaliser of the softmax would add the same number to all words.
        return predictor.output(hidden).float()

    def _shortlist_scores(self, sources: EncodedSources, target: str) -> torch.Tensor:
        scores = []
        for sentence in sources.sentences:
            shortlist = self.shortlists(LanguagePair(sentence.language, target))
            scores.append(shortlist.scores([sentence.pieces]))
        return to_device(torch.cat(scores), self.device)

    # Hypotheses to text

    def to_translations(
        self,
        hypotheses: Sequence[Sequence[Hypothesis]],
        sentences: Sequence[SourceSentence],
        target: str,
    ) -> Iterator[list[Translation]]:
        """Yield the hypotheses of each sentence as text; count the symbols without a rule."""
        steps = self.normalisers[target]
        for sentence_hypotheses, sentence in zip(hypotheses, sentences):
            tokens = [list(hypothesis.tokens) for hypothesis in sentence_hypotheses]
            texts = self.vocabularies[target].decode(tokens)
            rules = {}
            if steps.symbols:
                rules = self.normalisers[sentence.language].source(sentence.line, target).rules
                self.symbols_without_rule += count_without_rule(texts[0], rules)

            translations = []
            for text, hypothesis in zip(texts, sentence_hypotheses):
                line = to_one_line(steps.undo(text, rules))
                translation = Translation(
                    line,
                    hypothesis.score,
                    hypothesis.log_probability,
                    source_tokens=len(sentence.pieces),
                    target_tokens=len(hypothesis.tokens),
                    is_cut=hypothesis.is_cut,
                )
                translations.append(translation)
            yield translations

    def not_finite(self, quantity: str) -> str:
        """Return the error message for parameters that give NaN or infinite values."""
        origin = describe_origin(self.description, unnamed="this model")
        return f"{origin}: {quantity} are NaN or infinite; choose another checkpoint"
