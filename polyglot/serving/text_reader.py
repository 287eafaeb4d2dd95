"""Texts of a request as sentences that the model can translate, and their translations joined.

Runs in one thread, since the identifier of languages has a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from polyglot.core.language_codes import has_spaces
from polyglot.inference.sentence_splitting import SentenceSplitter, SplitText
from polyglot.inference.translator import Translator
from polyglot.inference.types import Translation
from polyglot.serving.documents import Document, text_document
from polyglot.serving.languages import Detection, RunLanguages
from polyglot.serving.limits import BAD_REQUEST, Limits, RequestError
from polyglot.serving.markup import html_document
from polyglot.serving.messages import AUTO


@dataclass(frozen=True)
class TextTranslation:
    """Translation of a text with the sums of its sentences' scores."""

    text: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class PreparedText:
    """Text in sentences of one language."""

    text: str
    document: Document
    split: SplitText
    source: str
    detection: Detection | None
    """None if the request names the language"""

    def join(
        self,
        hypotheses: Sequence[Sequence[Translation]],
        target: str,
        *,
        count: int,
    ) -> list[TextTranslation]:
        """Return at most `count` different translations of the text, best first.

        hypotheses: of each sentence. Translation n has the n-th hypothesis of each sentence.
        """
        joined: dict[str, TextTranslation] = {}
        for rank in range(count):
            translation = self._join_rank(hypotheses, target, rank)
            joined.setdefault(translation.text, translation)
        return list(joined.values())

    def _join_rank(
        self,
        hypotheses: Sequence[Sequence[Translation]],
        target: str,
        rank: int,
    ) -> TextTranslation:
        """Join the hypotheses of one rank; the last one of sentences that have fewer."""
        ranked = []
        for sentence in hypotheses:
            place = min(rank, len(sentence) - 1)
            ranked.append([sentence[place]])

        texts = []
        score = 0.0
        log_probability = 0.0
        for [line] in self.split.join(ranked, target):
            texts.append(line.text)
            score += line.score
            log_probability += line.log_probability
        text = self.document.join(texts, with_spaces=has_spaces(target))
        return TextTranslation(text, score, log_probability)


class TextReader:
    """Reads the texts of requests: identifies languages, splits sentences, checks sizes."""

    def __init__(self, translator: Translator, languages: RunLanguages, limits: Limits) -> None:
        self._translator = translator
        self._languages = languages
        self._limits = limits
        self._splitter = cache(self._make_splitter)

    def _make_splitter(self, language: str) -> SentenceSplitter:
        """Return the splitter of a language. Raises ConfigError if sentencex is not installed."""
        splitter = SentenceSplitter.for_models([self._translator], language)
        if splitter.max_tokens is None:
            splitter.max_tokens = self._limits.sentence_tokens
        return splitter

    def read(
        self,
        texts: Sequence[str],
        *,
        source: str,
        kind: str = "text",
    ) -> list[PreparedText]:
        """Split texts into sentences. source: a language or `auto`. kind: `text` or `html`.

        Raises ConfigError for an unknown language, and RequestError for too many sentences.
        """
        prepared = []
        sentences = 0
        for text in texts:
            document = html_document(text) if kind == "html" else text_document(text)
            language, detection = self._language_of(document, source)
            split = self._splitter(language).split(document.lines)
            prepared.append(PreparedText(text, document, split, language, detection))
            sentences += len(split.sentences)
            self._check_count(sentences)
        return prepared

    def _language_of(self, document: Document, source: str) -> tuple[str, Detection | None]:
        if source != AUTO:
            return self._languages.resolve_source(source), None
        detection = self._languages.detect("\n".join(document.lines))[0]
        return detection.language, detection

    def _check_count(self, sentences: int) -> None:
        if sentences > self._limits.sentences:
            raise RequestError(
                BAD_REQUEST,
                f"q: found more than {self._limits.sentences} sentences, which is the limit "
                "of a request; send several",
            )

    def identify(self, sentences: Sequence[str], source: str) -> list[str]:
        """Return the language of each sentence. source: of all sentences, or `auto`."""
        if source != AUTO:
            return [self._languages.resolve_source(source)] * len(sentences)
        return [self._languages.detect(sentence)[0].language for sentence in sentences]

    def check_lengths(self, sentences: Sequence[str], language: str) -> None:
        """Raise RequestError for a sentence that is too long for the memory, unless it is split."""
        most = self._limits.sentence_tokens
        for number, pieces in enumerate(self._translator.encode_text(sentences, language), 1):
            if len(pieces) > most:
                raise RequestError(
                    BAD_REQUEST,
                    f"sentence {number} has {len(pieces)} tokens in {language}, and may have "
                    f"{most}; divide it",
                )
