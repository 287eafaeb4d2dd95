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

from polyglot import checkpoint as checkpoints
from polyglot.batch import Batch, pad
from polyglot.config import check_settings
from polyglot.data.lines import LONE_SURROGATE
from polyglot.decoding.ensemble import Average, Ensemble, Memories
from polyglot.decoding.search import Hypothesis, SearchConfig, search
from polyglot.decoding.selection import Selected, likeliest, union
from polyglot.decoding.shortlist import Shortlist
from polyglot.decoding.threads import side_by_side
from polyglot.embedding.encoder import Portion, SentenceEncoder
from polyglot.embedding.pooling import cast, check
from polyglot.errors import CheckpointError, ConfigError, DataError, unknown_name
from polyglot.layers.cross_entropy import projected_cross_entropy
from polyglot.model.language import LanguageDecoder
from polyglot.model.memory import Memory
from polyglot.model.model import TranslationModel
from polyglot.run import Run
from polyglot.task import LanguagePair, Task
from polyglot.text.normalisation import Normaliser
from polyglot.text.symbols import without_rule
from polyglot.text.vocabulary import Vocabulary

ROWS = 640
"""Hypotheses decoded together: enough for full speed of the matrix products on a CPU, and little memory."""
LONG = 128
"""Pieces of a sentence up to which that holds; of longer ones fewer are decoded together."""
SELECTED = 1 << 25
"""Numbers that the output layers of the sentences decoded together have at most, where each has words of its own: 128 MiB."""


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
class Sentence:
    """A sentence as a model gets it, whatever the target."""

    language: str
    line: str
    pieces: Sequence[int]
    """none where the line is blank"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one model has read: sentences, which may be of several languages, and what decoders attend to for them."""

    translator: Translator
    sentences: Sequence[Sentence]
    memory: Memory
    """(B, K, D)"""

    def alone(self) -> list[Reading]:
        """Each sentence with its own memory."""
        return [Reading(self.translator, [sentence], own) for sentence, own in zip(self.sentences, self.memory.sentences())]

    @classmethod
    def of(cls, alone: Sequence[Reading]) -> Reading:
        """What one model has read in parts; what `alone` takes apart."""
        sentences = [sentence for reading in alone for sentence in reading.sentences]
        return cls(alone[0].translator, sentences, Memory.of([reading.memory for reading in alone]))


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
        translator = cls(
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
        config = self.search_with(search_settings)
        return translated(self.readers(sentences, source), target, config)

    @property
    def members(self) -> list[Translator]:
        """Who writes each translation: this model alone."""
        return [self]

    def readers(self, lines: Iterable[str], source: str) -> Readers:
        """Who reads which sentences, for `translated`. Raises DataError for what is no text."""
        return [(self, self.sentences(lines, source))]

    @torch.inference_mode()
    def read(self, sentences: Sequence[Sentence]) -> Reading:
        """Sentences of one language with their memory (B, K, D), which is the same whatever the target."""
        tokens, mask = pad([one.pieces for one in sentences])
        return Reading(self, sentences, self.model.encode(sentences[0].language, tokens.to(self.device), mask.to(self.device)))

    def write(self, readings: Sequence[Reading], target: str, config: SearchConfig) -> list[list[Translation]]:
        """The n best translations of sentences that were read. Raises what `found` raises."""
        return list(self.texts(found(readings, target, config), readings[0].sentences, target))

    def score(self, sources: Iterable[str], targets: Iterable[str], *, source: str, target: str) -> list[float]:
        """log p(target given source) of each pair of sentences, summed over its pieces and the end.

        Raises CheckpointError where the parameters give what is no number.
        """
        self.check(source, target)
        lines, targets = _checked(sources, source), _checked(targets, target)
        if len(lines) != len(targets):
            raise DataError(f"score: {len(lines)} sources and {len(targets)} targets; the same number is needed")
        pairs = [self._read_pair(line, other, source, target) for line, other in zip(lines, targets)]
        source_pieces = self.vocabularies[source].encode([line for line, _ in pairs])
        target_pieces = self.vocabularies[target].encode([other for _, other in pairs])
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
            raise CheckpointError(self.no_numbers(f"scores of {source}-{target}"))
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
                raise CheckpointError(self.no_numbers("sentence embeddings"))
            yield portion, cast(vectors, precision)

    def check(self, source: str, target: str) -> None:
        """Raises ConfigError unless this model reads the one and writes the other."""
        check_direction(source, target, sources=self.sources, targets=self.targets)

    def encode_text(self, sentences: Iterable[str], language: str) -> list[list[int]]:
        """Text to pieces: the language's steps, then its vocabulary. A blank sentence has none. Raises DataError for what is no text."""
        return [list(one.pieces) for one in self.sentences(sentences, language)]

    def sentences(self, lines: Iterable[str], language: str) -> list[Sentence]:
        """Text as this model gets it. Raises DataError for what is no text."""
        lines, steps = _checked(lines, language), self.normalisers[language]
        pieces = self.vocabularies[language].encode([steps.apply(line) if line.strip() else "" for line in lines])
        return [Sentence(language, line, own) for line, own in zip(lines, pieces)]

    def _read_pair(self, line: str, other: str, source: str, target: str) -> tuple[str, str]:
        """A sentence and its translation before the vocabulary; either can be blank."""
        one, two = self.normalisers[source].pair(line, self.normalisers[target], other)
        return one if line.strip() else "", two if other.strip() else ""

    @torch.inference_mode()
    def word_scores(self, reading: Reading, target: str, config: SearchConfig) -> torch.Tensor | None:
        """How likely each word of the target is in the translation of each sentence (B, V), up to a constant.

        None where this model cannot say. Raises CheckpointError for a shortlist that is not there.
        """
        if config.select_by == "shortlist":
            if self.shortlists is None:
                return None
            own = [self.shortlists(LanguagePair(one.language, target)).scores([one.pieces]) for one in reading.sentences]
            return torch.cat(own).to(self.device)
        decoder = self.model.decoders[target]
        if decoder.predictor is None or decoder.predictor.initial is None:
            return None
        hidden, _ = decoder.predictor.initial(decoder.body.first(reading.memory), reading.memory)
        return decoder.predictor.initial.output(hidden).float().log_softmax(dim=1)

    def texts(self, found: Sequence[Sequence[Hypothesis]], sentences: Sequence[Sentence], target: str) -> Iterator[list[Translation]]:
        """What was found for each of the sentences as people read it; their symbols are put back, and those without a rule counted."""
        steps = self.normalisers[target]
        for hypotheses, sentence in zip(found, sentences):
            texts = self.vocabularies[target].decode([list(each.tokens) for each in hypotheses])
            rules = {}
            if steps.symbols:
                rules = self.normalisers[sentence.language].source(sentence.line, target).rules
                self.symbols_without_rule += without_rule(texts[0], rules)
            yield [Translation(_one_line(steps.undo(text, rules)), one.score, one.log_probability) for text, one in zip(texts, hypotheses)]

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def search_with(self, given: Mapping[str, Any]) -> SearchConfig:
        """The run's settings with others laid over them. Raises ConfigError for what cannot be meant."""
        config = check_settings(SearchConfig, {**self.search_config.model_dump(), **given}, where="search")
        if config.n_best > config.beam and "n_best" in given:
            raise ConfigError(f"n_best: {config.n_best} hypotheses cannot come from a beam of {config.beam}")
        return config.model_copy(update={"n_best": min(config.n_best, config.beam)})

    def no_numbers(self, what: str) -> str:
        """The sentence for parameters that are spoilt."""
        place, chosen = self.description.get("run", "this model"), self.description.get("checkpoint")
        steps = ", ".join(map(str, self.description.get("steps", ())))
        where = f"{place}, checkpoint {chosen} (step {steps})" if steps else place
        return f"{where}: {what} are no numbers, so they are of no use; choose another checkpoint"


Readers = Sequence[tuple[Translator, Sequence[Sentence]]]
"""Who reads what: the same sentences as several models get them, or one model in several languages."""


def translated(readers: Readers, target: str, config: SearchConfig, *, average: Average = "log") -> list[list[Translation]]:
    """The n best translations of each sentence, written by all who read it together; what has no pieces stays empty.

    The first one's vocabulary spells the translations. Raises what `found` raises.
    """
    first, sentences = readers[0]
    results: list[list[Translation]] = [[NOTHING]] * len(sentences)

    def found_for(rows: list[int]) -> list[list[Hypothesis]]:
        return found([one.read([own[row] for row in rows]) for one, own in readers], target, config, average=average)

    longest = [max((one.pieces for one in own), key=len) for own in zip(*(own for _, own in readers))]
    groups = list(by_length(longest, size=sentences_together(config, [one.model.decoders[target] for one, _ in readers])))
    for rows, own in zip(groups, side_by_side(found_for, groups, first.device)):  # texts count symbols: one after the other
        for row, translations in zip(rows, first.texts(own, [sentences[row] for row in rows], target)):
            results[row] = translations
    return results


@torch.inference_mode()
def found(readings: Sequence[Reading], target: str, config: SearchConfig, *, average: Average = "log") -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, in the pieces of the first model, by all who have read it.

    Raises CheckpointError where the parameters give scores that are no numbers, ConfigError where nobody can choose the words to select.
    """
    decoders, memories = [one.translator.model.decoders[target] for one in readings], [one.memory for one in readings]
    lengths = torch.tensor([[len(one.pieces) for one in reading.sentences] for reading in readings]).amax(dim=0)
    decoder, memory = decoders[0], memories[0]
    if len(readings) > 1:
        decoder, memory = Ensemble(decoders, average=average), Memories(tuple(memories))
    if config.select is None:
        result = search(decoder, memory, lengths, config)
    else:
        selected = Selected(decoder, _chosen_words(readings, target, config))
        result = selected.written(search(selected, memory, lengths, config))
    for sentence, own in zip(readings[0].sentences, result):
        if not (own and all(math.isfinite(one.score) for one in own)):
            raise CheckpointError(readings[0].translator.no_numbers(f"scores of {sentence.language}-{target}"))
    return result


def _chosen_words(readings: Sequence[Reading], target: str, config: SearchConfig) -> torch.Tensor:
    """The only words that search may write: (B, K) for each sentence, or (U,) for all. Raises ConfigError where nobody can choose."""
    scores = [reading.translator.word_scores(reading, target, config) for reading in readings]
    known = [one for one in scores if one is not None]
    if not known:
        by_prediction = config.select_by == "prediction"
        what = "has no `word_prediction` from its initial state" if by_prediction else "has no run directory with a shortlist"
        other = "shortlist" if by_prediction else "prediction"
        raise ConfigError(f"search.select: the decoder of {target} {what}; choose select_by {other}, or leave select out")
    words = likeliest(sum(known), config.select)
    return union(words) if config.select_for == "batch" else words


def _shortlist(run: Run, pair: LanguagePair) -> Shortlist:
    """Raises CheckpointError when it was not counted, or for other vocabularies."""
    path = run.shortlist_file(pair)
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; `polyglot shortlist {run.path} {pair}` counts it from the training text")
    shortlist, sizes = Shortlist.load(path), [len(run.vocabularies[language]) for language in (pair.source, pair.target)]
    if [len(shortlist.starts) - 2, len(shortlist.common)] != sizes:
        raise CheckpointError(f"{path}: was counted with other vocabularies; `polyglot shortlist {run.path} {pair}` counts it anew")
    return shortlist


def _checked(sentences: Iterable[str], language: str) -> list[str]:
    """Sentences as a list. Raises DataError for what is no text."""
    if isinstance(sentences, str):
        raise DataError(f"{language}: a list of sentences is expected, found the one string {sentences[:40]!r}; put it in a list")
    if not isinstance(sentences, Iterable):
        raise DataError(f"{language}: a list of sentences is expected, found {sentences!r}")
    sentences = list(sentences)
    for number, sentence in enumerate(sentences, start=1):
        if not isinstance(sentence, str):
            raise DataError(f"{language}: sentence {number} should be a string, found {sentence!r}")
        if LONE_SURROGATE.search(sentence):
            raise DataError(f"{language}: sentence {number} holds half a character (a lone surrogate), which is no text: {sentence[:40]!r}")
    return sentences


def _one_line(text: str) -> str:
    """A model that spells in bytes may write a line break; a translation is one line, since it will be printed as one."""
    return re.sub(r"[\r\n]+", " ", text).strip()


def check_direction(source: str, target: str, *, sources: Collection[str], targets: Collection[str]) -> None:
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


def sentences_together(config: SearchConfig, decoders: Sequence[LanguageDecoder] = ()) -> int:
    """How many sentences are searched for at once, by these decoders together."""
    together = ROWS // (config.beam * max(1, len(decoders)))
    if decoders and config.select and config.select_for == "sentence":
        together = min(together, SELECTED // (config.select * sum(decoder.body.size for decoder in decoders)))
    return max(1, together)


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
