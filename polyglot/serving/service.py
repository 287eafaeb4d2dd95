"""Answers to requests, without HTTP: reads the text, lets the model work, joins the results.

Text is read in one thread and the model computes in another one. The event loop waits for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from typing import Any, TypeVar

from polyglot.analysis.bridge_attention import has_heads, head_weights
from polyglot.core.errors import DataError
from polyglot.data.text_files import LONE_SURROGATE
from polyglot.decoding.base import SearchConfig
from polyglot.inference.mixed_directions import DirectedSentence, translate_mixed
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.serving.languages import RunLanguages
from polyglot.serving.limits import BAD_REQUEST, UNAVAILABLE, Limits, RequestError
from polyglot.serving.messages import (
    AttentionRequest,
    DetectRequest,
    EmbedRequest,
    HypothesesRequest,
    ScoreRequest,
    Texts,
    TranslateRequest,
)
from polyglot.serving.text_reader import PreparedText, TextReader, TextTranslation
from polyglot.serving.worker import CallJob, Job, ModelWorker, TranslationJob
from polyglot.text.language_identification import load_identifier

ATTENTION_SENTENCES = 5
"""Sentences of a text whose attention is shown."""
MOST_DETECTIONS = 5
"""Languages in an answer about the language of a text."""
MOST_NUMBERS = 250_000
"""Numbers in the vectors of one answer: 5 MB of JSON, written in a quarter of a second."""
Result = TypeVar("Result")


class TranslationService:
    """Translations, scores and embeddings of one run for many clients."""

    def __init__(self, run: Run, translator: Translator, limits: Limits) -> None:
        self.run_name = run.name
        self.translator = translator
        self.limits = limits
        languages = run.config.languages
        self.languages = RunLanguages(
            [language for language in languages if language in translator.sources],
            [language for language in languages if language in translator.targets],
            run.config.pairs,
        )
        self.has_heads = has_heads(translator)
        self.active_requests = 0
        self.worker = ModelWorker(partial(translate_mixed, translator), limits)
        self._reader = TextReader(translator, self.languages, limits)
        self._text_thread = ThreadPoolExecutor(1, thread_name_prefix="text")
        self._search_config = cache(self._make_search_config)

    def start(self) -> None:
        """Translate a word, so that mistakes in settings show at once, and start the thread.

        The first request then waits for no file. Raises ConfigError and CheckpointError for a run
        that cannot translate.
        """
        source = self.languages.sources[0]
        target = self.languages.targets[-1]
        [text] = self._reader.read(["a"], source=source)
        list(translate_mixed(self.translator, self._directed([text], target, count=1)))
        load_identifier()
        self.worker.start()

    def stop(self) -> None:
        """End the threads after the work that waits."""
        self.worker.stop()
        self._text_thread.shutdown()

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count a request while it is answered. Raises RequestError if there are too many."""
        if self.active_requests >= self.limits.requests:
            raise RequestError(
                UNAVAILABLE,
                f"the server is busy: it answers {self.active_requests} requests, which is its "
                "limit; try again later",
            )
        self.active_requests += 1
        try:
            yield
        finally:
            self.active_requests -= 1

    # Answers with the fields of LibreTranslate

    async def translate(self, request: TranslateRequest) -> dict[str, Any]:
        """Translate texts; a text that is already in the target language stays as it is."""
        texts = self._texts(request.q)
        target = self.languages.resolve_target(request.target)
        prepared = await self._read(texts, source=request.source, kind=request.format)
        count = 1 + request.alternatives
        in_other_languages = [text for text in prepared if text.source != target]
        remaining = iter(await self._translate(in_other_languages, target, count=count))

        texts_by_rank = []
        for text in prepared:
            if text.source == target:
                texts_by_rank.append([text.text])
            else:
                texts_by_rank.append([translation.text for translation in next(remaining)])

        answer = {"translatedText": [ranked[0] for ranked in texts_by_rank]}
        if request.alternatives:
            answer["alternatives"] = [ranked[1:] for ranked in texts_by_rank]
        detections = [text.detection.to_dict() for text in prepared if text.detection]
        if detections:
            answer["detectedLanguage"] = detections
        return _singular(answer) if isinstance(request.q, str) else answer

    async def detect(self, request: DetectRequest) -> list[Any]:
        """Identify the language of texts among the source languages of the run."""
        answers = []
        for text in self._texts(request.q):
            detections = await self._in_text_thread(partial(self.languages.detect, text))
            answers.append([item.to_dict() for item in detections[:MOST_DETECTIONS]])
        return answers[0] if isinstance(request.q, str) else answers

    # Answers that LibreTranslate does not have

    async def hypotheses(self, request: HypothesesRequest) -> dict[str, Any]:
        """Return the best translations of a text with their scores, directly or by a pivot."""
        texts = self._texts(request.q)
        target = self.languages.resolve_target(request.target)
        [text] = await self._read(texts, source=request.source)
        answer: dict[str, Any] = {
            "source": text.source,
            "target": target,
            "kind": self.languages.kind(text.source, target),
        }
        if text.detection is not None:
            answer["detectedLanguage"] = text.detection.to_dict()
        if request.pivot is not None:
            text = await self._translate_into_pivot(text, request.pivot)
            answer["pivot"] = text.source
            answer["pivotText"] = text.text

        [translations] = await self._translate([text], target, count=request.count)
        answer["hypotheses"] = list(map(_hypothesis, translations))
        return answer

    async def _translate_into_pivot(self, text: PreparedText, language: str) -> PreparedText:
        pivot = self.languages.resolve_pivot(language)
        [[translation]] = await self._translate([text], pivot, count=1)
        [pivot_text] = await self._read([translation.text], source=pivot)
        return pivot_text

    async def score(self, request: ScoreRequest) -> dict[str, Any]:
        """Return the log-probability of translations."""
        sources = self._texts(request.q)
        targets = self._texts(request.translation, name="translation")
        if isinstance(request.q, str) != isinstance(request.translation, str):
            raise DataError("q and translation: both should be a text, or both a list")
        source = self.languages.resolve_source(request.source)
        target = self.languages.resolve_target(request.target)
        check = self._reader.check_lengths
        await self._in_text_thread(partial(check, sources, source))
        await self._in_text_thread(partial(check, targets, target))

        score = partial(self.translator.score, sources, targets, source=source, target=target)
        scores = await self._result(CallJob(len(sources), function=score))
        return {"logProbability": scores[0] if isinstance(request.q, str) else scores}

    async def embed(self, request: EmbedRequest) -> dict[str, Any]:
        """Return sentence embeddings."""
        sentences = self._texts(request.q)
        identify = partial(self._reader.identify, sentences, request.source)
        languages = await self._in_text_thread(identify)
        for language in dict.fromkeys(languages):
            check = partial(self._reader.check_lengths, sentences, language)
            await self._in_text_thread(check)
        self._check_numbers(len(sentences), request.pooling)

        encode = partial(
            self.translator.encode,
            sentences,
            language=languages,
            pooling=request.pooling,
            normalize_embeddings=request.normalize,
        )
        vectors = await self._result(CallJob(len(sentences), function=encode))
        if isinstance(request.q, str):
            return {"language": languages[0], "embedding": vectors[0].tolist()}
        return {"languages": languages, "embeddings": vectors.tolist()}

    async def attention(self, request: AttentionRequest) -> dict[str, Any]:
        """Return the attention of the bridge heads over the first sentences of a text."""
        [text] = await self._read(self._texts(request.q), source=request.source)
        sentences = text.split.sentences[:ATTENTION_SENTENCES]

        def weights() -> list[dict[str, Any]]:
            return [self._head_weights(text.source, sentence) for sentence in sentences]

        maps = await self._result(CallJob(len(sentences), function=weights))
        return {"language": text.source, "sentences": maps}

    def _head_weights(self, language: str, sentence: str) -> dict[str, Any]:
        panel = head_weights(self.translator, language, sentence)
        weights = panel.values.round(4).tolist()
        return {"text": sentence, "pieces": list(panel.columns), "weights": weights}

    def health(self) -> dict[str, Any]:
        """Return the load. Raises RequestError if the thread of the model has ended."""
        if not self.worker.is_alive:
            raise RequestError(UNAVAILABLE, "the thread of the model has ended; restart the server")
        return {
            "status": "ok",
            "requests": self.active_requests,
            "waitingSentences": self.worker.waiting_sentences,
        }

    # Steps

    def _texts(self, q: Texts, *, name: str = "q") -> list[str]:
        """Return the texts as a list. Raises RequestError if they are too long or too many."""
        texts = [q] if isinstance(q, str) else q
        for text in texts:
            if LONE_SURROGATE.search(text):
                raise RequestError(BAD_REQUEST, f"{name}: half a character (a lone surrogate)")
        characters = sum(map(len, texts))
        if characters > self.limits.characters:
            raise RequestError(
                BAD_REQUEST,
                f"{name}: found {characters} characters; a request may have "
                f"{self.limits.characters}",
            )
        if len(texts) > self.limits.sentences:
            raise RequestError(
                BAD_REQUEST,
                f"{name}: found {len(texts)} texts; a request may have {self.limits.sentences}",
            )
        return texts

    def _check_numbers(self, sentences: int, pooling: str) -> None:
        size = self.translator.vector_size(pooling=pooling)
        if sentences * size > MOST_NUMBERS:
            raise RequestError(
                BAD_REQUEST,
                f"q: found {sentences} sentences; with vectors of {size} numbers, a request may "
                f"have {MOST_NUMBERS // size}",
            )

    async def _in_text_thread(self, function: Callable[[], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._text_thread, function)

    async def _read(
        self,
        texts: Sequence[str],
        *,
        source: str,
        kind: str = "text",
    ) -> list[PreparedText]:
        read = partial(self._reader.read, texts, source=source, kind=kind)
        return await self._in_text_thread(read)

    async def _translate(
        self,
        texts: Sequence[PreparedText],
        target: str,
        *,
        count: int,
    ) -> list[list[TextTranslation]]:
        """Return at most `count` translations of each text, best first."""
        sentences = self._directed(texts, target, count=count)
        hypotheses = iter(await self._result(TranslationJob(len(sentences), sentences=sentences)))
        translations = []
        for text in texts:
            hypotheses_of_text = list(islice(hypotheses, len(text.split.sentences)))
            translations.append(text.join(hypotheses_of_text, target, count=count))
        return translations

    def _directed(
        self,
        texts: Sequence[PreparedText],
        target: str,
        *,
        count: int,
    ) -> list[DirectedSentence]:
        """Return the sentences of all texts with their direction and search settings."""
        config = self._search_config(count)
        sentences = []
        for text in texts:
            for line in text.split.sentences:
                sentences.append(DirectedSentence(line, text.source, target, config))
        return sentences

    def _make_search_config(self, count: int) -> SearchConfig:
        """Return the search settings of the run for this number of hypotheses."""
        beam = max(count, self.translator.search_config.beam)
        return self.translator.search_config_with({"n_best": count, "beam": beam})

    async def _result(self, job: Job) -> Any:
        """Wait for a job of the model. If the client leaves, the rest of the job is left out."""
        self.worker.submit(job)
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            job.is_abandoned = True


def _singular(answer: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the answer for a single text."""
    return {key: values[0] for key, values in answer.items()}


def _hypothesis(translation: TextTranslation) -> dict[str, Any]:
    return {
        "text": translation.text,
        "score": round(translation.score, 4),
        "logProbability": round(translation.log_probability, 4),
    }
