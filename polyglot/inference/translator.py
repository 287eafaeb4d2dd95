"""Translate, score and embed in any direction and language that a run has the components for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import torch

from polyglot.config.loading import check_settings
from polyglot.core.errors import CheckpointError, ConfigError, DataError, unknown_name
from polyglot.data.text_files import LONE_SURROGATE
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.decoding.shortlist import Shortlist
from polyglot.inference.embeddings.encoder import SentenceChunk, SentenceEncoder
from polyglot.inference.embeddings.pooling import cast, check_pooling
from polyglot.inference.generation import MAX_HYPOTHESES, generate_translations, search_batches, search_hypotheses
from polyglot.inference.types import EncodedSources, ModelInputs, SourceSentence, Translation
from polyglot.layers.cross_entropy import projected_cross_entropy
from polyglot.model.translation_model import TranslationModel
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.batch import Batch, pad
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import without_rule
from polyglot.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Directions:
    """What can be translated, as a configuration says it before there are parameters."""

    sources: Sequence[str]
    targets: Sequence[str]

    @classmethod
    def of(cls, pairs: Iterable[LanguagePair]) -> Directions:
        """Trained pairs to every direction that they give the components for."""
        pairs = list(pairs)
        return cls(
            list(dict.fromkeys(pair.source for pair in pairs)),
            list(dict.fromkeys(pair.target for pair in pairs)),
        )

    def check(self, source: str, target: str) -> None:
        """Raises ConfigError unless the one can be read and the other written."""
        check_direction(source, target, sources=self.sources, targets=self.targets)


class Translator(SentenceEncoder):
    """A model with its vocabularies: text in; text, scores or sentence embeddings (`SentenceEncoder`) out."""

    def __init__(
        self,
        model: TranslationModel,
        *,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
        search_config: SearchConfig = SearchConfig(),
        description: Mapping[str, Any] = {},
    ) -> None:
        """description: where the parameters came from, stored beside every score."""
        self.model, self.vocabularies, self.normalisers = model, vocabularies, normalisers
        self.search_config, self.description = search_config, description
        self.shortlists: Callable[[LanguagePair], Shortlist] | None = None
        """what goes with the source words of a direction, where a run directory has it counted"""
        self.symbols_without_rule = 0
        """how many symbols the best translations so far had that stood for nothing in their sources"""

    @classmethod
    def load(
        cls,
        run: str | Path | Run,
        *,
        checkpoint: str | int = "best",
        pairs: Sequence[LanguagePair] | None = None,
        device: str | torch.device | None = None,
    ) -> Translator:
        """The translator of a run directory; with `pairs`, only what these directions need is read.

        checkpoint: `best`, `last`, a step, or `average:N`. Raises ConfigError and CheckpointError as sentences.
        """
        run = run if isinstance(run, Run) else Run.open(run)
        trained = run.config.pairs
        for pair in pairs or ():
            Directions.of(trained).check(pair.source, pair.target)
        place = _device(device)
        sizes = {language: len(vocabulary) for language, vocabulary in run.vocabularies.items()}
        chosen = run.choose_checkpoints(checkpoint)
        for language in dict.fromkeys(
            language for pair in pairs or trained for language in (pair.source, pair.target)
        ):
            if language not in sizes:
                raise CheckpointError(
                    f"{run.vocabulary_file(language)}: no such file, so nothing can be translated from or into {language}"
                )
        model = TranslationModel(
            run.config.model,
            vocabulary_sizes=sizes,
            pairs=trained if pairs is None else pairs,
            seed=None,
            sharing=run.config.sharing,
        )
        checkpoints.load_average(chosen, model.component_tensors())
        translator = cls(
            model.to(place).eval(),
            vocabularies=run.vocabularies,
            normalisers=run.normalisers,
            search_config=run.config.search,
            description={
                "run": run.path.name,
                "checkpoint": checkpoint,
                "steps": [one.step for one in chosen],
                "sha256": checkpoints.parameters_digest(chosen),
            },
        )
        translator.shortlists = cache(lambda pair: _shortlist(run, pair))
        return translator

    @property
    def sources(self) -> list[str]:
        """Languages that can be read."""
        return list(self.model.encoders)

    @property
    def targets(self) -> list[str]:
        """Languages that can be written."""
        return list(self.model.decoders)

    def translate(
        self, sentences: Iterable[str], *, source: str, target: str, **search_settings: Any
    ) -> list[str]:
        """The best translation of each sentence, in order; an empty sentence stays empty.

        sentences: a list, or whatever gives one after the other.
        search_settings: `beam`, `length_penalty` and the other fields of SearchConfig, where they differ from the run's.
        """
        return [
            best.text
            for best, *_ in self.hypotheses(
                sentences, source=source, target=target, **search_settings
            )
        ]

    def hypotheses(
        self, sentences: Iterable[str], *, source: str, target: str, **search_settings: Any
    ) -> list[list[Translation]]:
        """The n best translations of each sentence with their scores, best first.

        Raises CheckpointError where the parameters give scores that are no numbers: there would be nothing to rank.
        """
        self.check(source, target)
        config = self.search_config_with(search_settings)
        return generate_translations(self.model_inputs(sentences, source), target, config)

    @property
    def members(self) -> list[Translator]:
        """Who writes each translation: this model alone."""
        return [self]

    def model_inputs(self, lines: Iterable[str], source: str) -> ModelInputs:
        """Who reads which sentences, for `generate_translations`. Raises DataError for what is no text."""
        return [(self, self.sentences(lines, source))]

    @torch.inference_mode()
    def encode_sources(self, sentences: Sequence[SourceSentence]) -> EncodedSources:
        """Sentences of one language with their memory (B, K, D), which is the same whatever the target."""
        tokens, mask = pad([one.pieces for one in sentences])
        return EncodedSources(
            self,
            sentences,
            self.model.encode(sentences[0].language, tokens.to(self.device), mask.to(self.device)),
        )

    def generate(
        self, readings: Sequence[EncodedSources], target: str, config: SearchConfig
    ) -> list[list[Translation]]:
        """The n best translations of sentences that were read. Raises what `search_hypotheses` raises."""
        return list(self.to_translations(search_hypotheses(readings, target, config), readings[0].sentences, target))

    def score(
        self, sources: Iterable[str], targets: Iterable[str], *, source: str, target: str
    ) -> list[float]:
        """log p(target given source) of each pair of sentences, summed over its pieces and the end.

        Raises CheckpointError where the parameters give what is no number.
        """
        self.check(source, target)
        lines, targets = _checked(sources, source), _checked(targets, target)
        if len(lines) != len(targets):
            raise DataError(
                f"score: {len(lines)} sources and {len(targets)} targets; the same number is needed"
            )
        pairs = [
            self._read_pair(line, other, source, target) for line, other in zip(lines, targets)
        ]
        source_pieces = self.vocabularies[source].encode([line for line, _ in pairs])
        target_pieces = self.vocabularies[target].encode([other for _, other in pairs])
        task = Task(LanguagePair(source, target))
        scores = [0.0] * len(source_pieces)
        for rows in search_batches(target_pieces, size=MAX_HYPOTHESES // 8, keep_empty=True):
            batch = Batch.from_sentences(
                task, [source_pieces[row] for row in rows], [target_pieces[row] for row in rows]
            )
            with torch.inference_mode():
                output = self.model(batch.to(self.device))
                for row, states, wanted, mask in zip(
                    rows, output.states, batch.target_out, batch.target_mask
                ):
                    wanted = wanted[mask].to(self.device)
                    projection = output.projection
                    scores[row] = -projected_cross_entropy(
                        states[: len(wanted)], projection.weight, projection.bias, wanted
                    ).item()
        if not all(map(math.isfinite, scores)):
            raise CheckpointError(self.not_finite(f"scores of {source}-{target}"))
        return scores

    def encode_chunks(
        self, portions: Iterable[SentenceChunk], *, precision: str = "float32", **settings: Any
    ) -> Iterator[tuple[SentenceChunk, torch.Tensor]]:
        """As `SentenceEncoder` does it. Raises CheckpointError where the parameters give vectors of what is no number."""
        check_pooling(
            self.model,
            layer=settings.get("layer", "bridge"),
            pooling=settings.get("pooling", "flat"),
            precision=precision,
        )
        return self._finite(super().encode_chunks(portions, **settings), precision)

    def _finite(
        self, found: Iterable[tuple[SentenceChunk, torch.Tensor]], precision: str
    ) -> Iterator[tuple[SentenceChunk, torch.Tensor]]:
        """Looked at before int8 makes numbers of everything."""
        for portion, vectors in found:
            if not numpy.isfinite(
                vectors.numpy()
            ).all():  # several times as fast as PyTorch's, and leaves the other cores alone
                raise CheckpointError(self.not_finite("sentence embeddings"))
            yield portion, cast(vectors, precision)

    def check(self, source: str, target: str) -> None:
        """Raises ConfigError unless this model reads the one and writes the other."""
        check_direction(source, target, sources=self.sources, targets=self.targets)

    def encode_text(self, sentences: Iterable[str], language: str) -> list[list[int]]:
        """Text to pieces: the language's steps, then its vocabulary. A blank sentence has none. Raises DataError for what is no text."""
        return [list(one.pieces) for one in self.sentences(sentences, language)]

    def sentences(self, lines: Iterable[str], language: str) -> list[SourceSentence]:
        """Text as this model gets it. Raises DataError for what is no text."""
        lines, steps = _checked(lines, language), self.normalisers[language]
        pieces = self.vocabularies[language].encode(
            [steps.apply(line) if line.strip() else "" for line in lines]
        )
        return [SourceSentence(language, line, own) for line, own in zip(lines, pieces)]

    def _read_pair(self, line: str, other: str, source: str, target: str) -> tuple[str, str]:
        """A sentence and its translation before the vocabulary; either can be blank."""
        one, two = self.normalisers[source].pair(line, self.normalisers[target], other)
        return one if line.strip() else "", two if other.strip() else ""

    @torch.inference_mode()
    def word_scores(
        self, reading: EncodedSources, target: str, config: SearchConfig
    ) -> torch.Tensor | None:
        """How likely each word of the target is in the translation of each sentence (B, V), up to a constant.

        None where this model cannot say. Raises CheckpointError for a shortlist that is not there.
        """
        if config.select_by == "shortlist":
            if self.shortlists is None:
                return None
            own = [
                self.shortlists(LanguagePair(one.language, target)).scores([one.pieces])
                for one in reading.sentences
            ]
            return torch.cat(own).to(self.device)
        decoder = self.model.decoders[target]
        predictor = decoder.word_predictor("initial_words")
        if predictor is None:
            return None
        hidden, _ = predictor(decoder.body.initial_state(reading.memory), reading.memory)
        return predictor.output(hidden).float().log_softmax(dim=1)

    def to_translations(
        self, found: Sequence[Sequence[Hypothesis]], sentences: Sequence[SourceSentence], target: str
    ) -> Iterator[list[Translation]]:
        """What was found for each of the sentences as people read it; their symbols are put back, and those without a rule counted."""
        steps = self.normalisers[target]
        for hypotheses, sentence in zip(found, sentences):
            texts = self.vocabularies[target].decode([list(each.tokens) for each in hypotheses])
            rules = {}
            if steps.symbols:
                rules = self.normalisers[sentence.language].source(sentence.line, target).rules
                self.symbols_without_rule += without_rule(texts[0], rules)
            yield [
                Translation(_one_line(steps.undo(text, rules)), one.score, one.log_probability)
                for text, one in zip(texts, hypotheses)
            ]

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def search_config_with(self, given: Mapping[str, Any]) -> SearchConfig:
        """The run's settings with others laid over them. Raises ConfigError for what cannot be meant."""
        config = check_settings(
            SearchConfig, {**self.search_config.model_dump(), **given}, where="search"
        )
        if config.n_best > config.beam and "n_best" in given:
            raise ConfigError(
                f"n_best: {config.n_best} hypotheses cannot come from a beam of {config.beam}"
            )
        config.check_explicit_settings(given)
        return config.model_copy(update={"n_best": min(config.n_best, config.beam)})

    def not_finite(self, what: str) -> str:
        """The sentence for parameters that are spoilt."""
        place, chosen = (
            self.description.get("run", "this model"),
            self.description.get("checkpoint"),
        )
        steps = ", ".join(map(str, self.description.get("steps", ())))
        where = f"{place}, checkpoint {chosen} (step {steps})" if steps else place
        return f"{where}: {what} are no numbers, so they are of no use; choose another checkpoint"


def _shortlist(run: Run, pair: LanguagePair) -> Shortlist:
    """Raises CheckpointError when it was not counted, or for other vocabularies."""
    path = run.shortlist_file(pair)
    if not path.is_file():
        raise CheckpointError(
            f"{path}: no such file; `polyglot shortlist {run.path} {pair}` counts it from the training text"
        )
    shortlist, sizes = (
        Shortlist.load(path),
        [len(run.vocabularies[language]) for language in (pair.source, pair.target)],
    )
    if [len(shortlist.starts) - 2, len(shortlist.common)] != sizes:
        raise CheckpointError(
            f"{path}: was counted with other vocabularies; `polyglot shortlist {run.path} {pair}` counts it anew"
        )
    return shortlist


def _checked(sentences: Iterable[str], language: str) -> list[str]:
    """Sentences as a list. Raises DataError for what is no text."""
    if isinstance(sentences, str):
        raise DataError(
            f"{language}: a list of sentences is expected, found the one string {sentences[:40]!r}; put it in a list"
        )
    if not isinstance(sentences, Iterable):
        raise DataError(f"{language}: a list of sentences is expected, found {sentences!r}")
    sentences = list(sentences)
    for number, sentence in enumerate(sentences, start=1):
        if not isinstance(sentence, str):
            raise DataError(f"{language}: sentence {number} should be a string, found {sentence!r}")
        if LONE_SURROGATE.search(sentence):
            raise DataError(
                f"{language}: sentence {number} holds half a character (a lone surrogate), which is no text: {sentence[:40]!r}"
            )
    return sentences


def _one_line(text: str) -> str:
    """A model that spells in bytes may write a line break; a translation is one line, since it will be printed as one."""
    return re.sub(r"[\r\n]+", " ", text).strip()


def check_direction(
    source: str, target: str, *, sources: Collection[str], targets: Collection[str]
) -> None:
    """Raises ConfigError unless there is an encoder of the one language and a decoder of the other."""
    if source not in sources:
        raise ConfigError(f"source language: {unknown_name('encoder', source, sources)}")
    if target not in targets:
        raise ConfigError(f"target language: {unknown_name('decoder', target, targets)}")


def _device(wanted: str | torch.device | None) -> torch.device:
    """That device, or the best that there is. Raises ConfigError for one that this machine does not have."""
    try:
        device = torch.device(
            ("cuda" if torch.cuda.is_available() else "cpu") if wanted is None else wanted
        )
        torch.zeros(1, device=device).item()
    except (
        RuntimeError,
        AssertionError,
        TypeError,
    ):  # PyTorch's answers to a wrong name, a wrong build, no name; `meta` holds no numbers
        there = ", ".join(map(repr, _devices()))
        raise ConfigError(
            f"device: {wanted!r} cannot be had on this machine; there {'are' if ',' in there else 'is'} {there}"
        ) from None
    return device


def _devices() -> list[str]:
    """Those of this machine, as PyTorch calls them."""
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count())), *mps]
