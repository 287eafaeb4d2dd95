"""Translate, score and embed in any direction and language that a run has the components for."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

from polyglot import checkpoint as checkpoints
from polyglot.batch import Batch, pad
from polyglot.config import check_settings
from polyglot.data.lines import LONE_SURROGATE
from polyglot.decoding.search import Hypothesis, SearchConfig, search
from polyglot.decoding.threads import side_by_side
from polyglot.embedding.encoder import Portion, SentenceEncoder
from polyglot.embedding.pooling import cast, check
from polyglot.errors import CheckpointError, ConfigError, DataError, unknown_name
from polyglot.layers.cross_entropy import projected_cross_entropy
from polyglot.model.memory import Memory
from polyglot.model.model import TranslationModel
from polyglot.run import Run
from polyglot.task import LanguagePair, Task
from polyglot.text.normalisation import Normaliser
from polyglot.text.vocabulary import Vocabulary

ROWS = 640
"""Hypotheses decoded together: enough for full speed of the matrix products on a CPU, and little memory."""
LONG = 128
"""Pieces of a sentence up to which that holds; of longer ones fewer are decoded together."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One hypothesis as text."""

    text: str
    score: float
    """log-probability divided by the length penalty"""
    log_probability: float


NOTHING = Translation("", 0.0, 0.0)
"""What a blank sentence is translated to."""


@dataclass(frozen=True, slots=True)
class Directions:
    """What can be translated, as a configuration says it before there are parameters."""

    sources: Sequence[str]
    targets: Sequence[str]

    @classmethod
    def of(cls, pairs: Iterable[LanguagePair]) -> Directions:
        """Trained pairs to every direction that they give the components for."""
        pairs = list(pairs)
        return cls(list(dict.fromkeys(pair.source for pair in pairs)), list(dict.fromkeys(pair.target for pair in pairs)))

    def check(self, source: str, target: str) -> None:
        """Raises ConfigError unless the one can be read and the other written."""
        _check_direction(source, target, sources=self.sources, targets=self.targets)


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
        chosen = run.choose(checkpoint)
        for language in dict.fromkeys(language for pair in pairs or trained for language in (pair.source, pair.target)):
            if language not in sizes:
                raise CheckpointError(
                    f"{run.vocabulary_file(language)}: no such file, so nothing can be translated from or into {language}"
                )
        model = TranslationModel(
            run.config.model, vocabulary_sizes=sizes, pairs=trained if pairs is None else pairs, seed=None, sharing=run.config.sharing
        )
        checkpoints.load_average(chosen, model.component_tensors())
        return cls(
            model.to(place).eval(),
            vocabularies=run.vocabularies,
            normalisers=run.normalisers,
            search_config=run.config.search,
            description={
                "run": run.path.name,
                "checkpoint": checkpoint,
                "steps": [one.step for one in chosen],
                "sha256": checkpoints.digest(chosen),
            },
        )

    @property
    def sources(self) -> list[str]:
        """Languages that can be read."""
        return list(self.model.encoders)

    @property
    def targets(self) -> list[str]:
        """Languages that can be written."""
        return list(self.model.decoders)

    def translate(self, sentences: Iterable[str], *, source: str, target: str, **search_settings: Any) -> list[str]:
        """The best translation of each sentence, in order; an empty sentence stays empty.

        sentences: a list, or whatever gives one after the other.
        search_settings: `beam`, `length_penalty` and the other fields of SearchConfig, where they differ from the run's.
        """
        return [best.text for best, *_ in self.hypotheses(sentences, source=source, target=target, **search_settings)]

    def hypotheses(self, sentences: Iterable[str], *, source: str, target: str, **search_settings: Any) -> list[list[Translation]]:
        """The n best translations of each sentence with their scores, best first.

        Raises CheckpointError where the parameters give scores that are no numbers: there would be nothing to rank.
        """
        self.check(source, target)
        config = self._search_config(search_settings)
        pieces = self.encode_text(sentences, source)
        results: list[list[Translation]] = [[NOTHING]] * len(pieces)

        def found_for(rows: list[int]) -> list[list[Translation]]:
            own = [pieces[row] for row in rows]
            return self.write(self.read(own, source), list(map(len, own)), target, sources=[source] * len(rows), config=config)

        groups = list(by_length(pieces, size=sentences_together(config)))
        for rows, found in zip(groups, side_by_side(found_for, groups, self.device)):
            for row, translations in zip(rows, found):
                results[row] = translations
        return results

    @torch.inference_mode()
    def read(self, pieces: Sequence[Sequence[int]], source: str) -> Memory:
        """What every decoder attends to: the memory (B, K, D) of sentences in pieces is the same whatever the target."""
        tokens, mask = pad(pieces)
        return self.model.encode(source, tokens.to(self.device), mask.to(self.device))

    @torch.inference_mode()
    def write(
        self, memory: Memory, lengths: Sequence[int], target: str, *, sources: Sequence[str], config: SearchConfig
    ) -> list[list[Translation]]:
        """The n best translations of sentences that were read, which may be of several languages.

        memory (B, K, D); lengths, of the sources in pieces, and sources, their languages, for each sentence. Raises CheckpointError
        where scores are no numbers.
        """
        found = search(self.model.decoders[target], memory, torch.tensor(lengths), config)
        for source, own in zip(sources, found):
            if not (own and all(math.isfinite(one.score) for one in own)):
                raise CheckpointError(self._no_numbers(f"scores of {source}-{target}"))
        return list(self._texts(found, target))

    def score(self, sources: Iterable[str], targets: Iterable[str], *, source: str, target: str) -> list[float]:
        """log p(target given source) of each pair of sentences, summed over its pieces and the end.

        Raises CheckpointError where the parameters give what is no number.
        """
        self.check(source, target)
        source_pieces, target_pieces = self.encode_text(sources, source), self.encode_text(targets, target)
        if len(source_pieces) != len(target_pieces):
            raise DataError(f"score: {len(source_pieces)} sources and {len(target_pieces)} targets; the same number is needed")
        task = Task(LanguagePair(source, target))
        scores = [0.0] * len(source_pieces)
        for rows in by_length(target_pieces, size=ROWS // 8, empty=True):
            batch = Batch.of(task, [source_pieces[row] for row in rows], [target_pieces[row] for row in rows])
            with torch.inference_mode():
                output = self.model(batch.to(self.device))
                for row, states, wanted, mask in zip(rows, output.states, batch.target_out, batch.target_mask):
                    wanted = wanted[mask].to(self.device)
                    projection = output.projection
                    scores[row] = -projected_cross_entropy(states[: len(wanted)], projection.weight, projection.bias, wanted).item()
        if not all(map(math.isfinite, scores)):
            raise CheckpointError(self._no_numbers(f"scores of {source}-{target}"))
        return scores

    def encode_portions(
        self, portions: Iterable[Portion], *, precision: str = "float32", **settings: Any
    ) -> Iterator[tuple[Portion, torch.Tensor]]:
        """As `SentenceEncoder` does it. Raises CheckpointError where the parameters give vectors of what is no number."""
        check(self.model, layer=settings.get("layer", "bridge"), pooling=settings.get("pooling", "flat"), precision=precision)
        return self._finite(super().encode_portions(portions, **settings), precision)

    def _finite(self, found: Iterable[tuple[Portion, torch.Tensor]], precision: str) -> Iterator[tuple[Portion, torch.Tensor]]:
        """Looked at before int8 makes numbers of everything."""
        for portion, vectors in found:
            if not vectors.isfinite().all():
                raise CheckpointError(self._no_numbers("sentence embeddings"))
            yield portion, cast(vectors, precision)

    def check(self, source: str, target: str) -> None:
        """Raises ConfigError unless this model reads the one and writes the other."""
        _check_direction(source, target, sources=self.sources, targets=self.targets)

    def encode_text(self, sentences: Iterable[str], language: str) -> list[list[int]]:
        """Text to pieces: the language's steps, then its vocabulary. A blank sentence has none. Raises DataError for what is no text."""
        if isinstance(sentences, str):
            raise DataError(f"{language}: a list of sentences is expected, found the one string {sentences[:40]!r}; put it in a list")
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
        steps = self.normalisers[language]
        return self.vocabularies[language].encode([steps.apply(sentence) if sentence.strip() else "" for sentence in sentences])

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _search_config(self, given: Mapping[str, Any]) -> SearchConfig:
        """The run's settings with others laid over them. Raises ConfigError for what cannot be meant."""
        config = check_settings(SearchConfig, {**self.search_config.model_dump(), **given}, where="search")
        if config.n_best > config.beam and "n_best" in given:
            raise ConfigError(f"n_best: {config.n_best} hypotheses cannot come from a beam of {config.beam}")
        return config.model_copy(update={"n_best": min(config.n_best, config.beam)})

    def _no_numbers(self, what: str) -> str:
        place, chosen = self.description.get("run", "this model"), self.description.get("checkpoint")
        steps = ", ".join(map(str, self.description.get("steps", ())))
        where = f"{place}, checkpoint {chosen} (step {steps})" if steps else place
        return f"{where}: {what} are no numbers, so they are of no use; choose another checkpoint"

    def _texts(self, found: list[list[Hypothesis]], target: str) -> Iterator[list[Translation]]:
        steps = self.normalisers[target]
        for hypotheses in found:
            texts = self.vocabularies[target].decode([list(each.tokens) for each in hypotheses])
            yield [Translation(_one_line(steps.undo(text)), one.score, one.log_probability) for text, one in zip(texts, hypotheses)]


def _one_line(text: str) -> str:
    """A model that spells in bytes may write a line break; a translation is one line, since it will be printed as one."""
    return re.sub(r"[\r\n]+", " ", text).strip()


def _check_direction(source: str, target: str, *, sources: Collection[str], targets: Collection[str]) -> None:
    """Raises ConfigError unless there is an encoder of the one language and a decoder of the other."""
    if source not in sources:
        raise ConfigError(f"source language: {unknown_name('encoder', source, sources)}")
    if target not in targets:
        raise ConfigError(f"target language: {unknown_name('decoder', target, targets)}")


def _device(wanted: str | torch.device | None) -> torch.device:
    """That device, or the best that there is. Raises ConfigError for one that this machine does not have."""
    try:
        device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if wanted is None else wanted)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, TypeError):  # PyTorch's answers to a wrong name, a wrong build, no name; `meta` holds no numbers
        there = ", ".join(map(repr, _devices()))
        raise ConfigError(f"device: {wanted!r} cannot be had on this machine; there {'are' if ',' in there else 'is'} {there}") from None
    return device


def _devices() -> list[str]:
    """Those of this machine, as PyTorch calls them."""
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count())), *mps]


def sentences_together(config: SearchConfig) -> int:
    """How many sentences are searched for at once."""
    return max(1, ROWS // config.beam)


def by_length(sentences: Sequence[Sequence[int]], *, size: int, empty: bool = False) -> Iterator[list[int]]:
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
