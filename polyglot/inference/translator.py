"""Translation, scoring and sentence embeddings with the model of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import torch

from polyglot.config.loading import check_settings
from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.core.language_codes import resolve_language
from polyglot.decoding.base import Hypothesis, SearchConfig
from polyglot.decoding.shortlist import Shortlist
from polyglot.inference.ctranslate2_engine import CTranslate2Engine
from polyglot.inference.devices import check_engine, select_device, select_precision
from polyglot.inference.directions import Directions, resolve_direction
from polyglot.inference.embeddings.encoder import SentenceChunk, SentenceEncoder
from polyglot.inference.embeddings.pooling import cast, check_pooling
from polyglot.inference.generation import (
    best_texts,
    generate_translations,
    max_hypotheses,
    search_batches,
    search_hypotheses,
)
from polyglot.inference.origin import describe_directions, describe_origin, describe_parameters
from polyglot.inference.sentence_splitting import (
    SentenceSplitter,
    check_one_best,
    translate_split,
)
from polyglot.inference.text_input import check_sentences, to_one_line
from polyglot.inference.types import EncodedSources, ModelInputs, SourceSentence, Translation
from polyglot.layers.cross_entropy import token_losses
from polyglot.layers.low_precision import Precision, set_precision
from polyglot.model.memory import Memory
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.averaging import load_average, parameters_digest
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.tasks.batch import Batch, pad
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.transfers import to_device, to_host
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import count_without_rule
from polyglot.text.vocabulary import Vocabulary


class Translator(SentenceEncoder):
    """Model with its vocabularies: text to translations, scores or sentence embeddings."""

    def __init__(
        self,
        model: TranslationModel,
        *,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
        search_config: SearchConfig = SearchConfig(),
        description: Mapping[str, Any] = {},
    ) -> None:
        """description: origin of the parameters, stored with every score."""
        self.model = model
        self.vocabularies = vocabularies
        self.normalisers = normalisers
        self.search_config = search_config
        self.description = description
        self.shortlists: Callable[[LanguagePair], Shortlist] | None = None
        """shortlist of a direction, if there is a run directory that can have one"""
        self.max_training_length: int | None = None
        """tokens of the longest sentence that training can have used; None if it is not known"""
        self.engine: CTranslate2Engine | None = None
        """other program that searches for translations; None for our own search"""
        self.symbols_without_rule = 0
        """symbols in the best translations so far that stand for nothing in their sources"""

    @classmethod
    def load(
        cls,
        run: str | Path | Run,
        *,
        checkpoint: str | int = "best",
        pairs: Sequence[LanguagePair] | None = None,
        device: str | torch.device | None = None,
        precision: str = "float32",
        engine: str = "polyglot",
    ) -> Translator:
        """Load the translator of a run directory.

        checkpoint: `best`, `last`, a step, or `average:N`. pairs: read only the components of
        these directions. precision: of matrix products, `float32`, `bf16`, `int8`, or `auto` for
        the fastest one of the device. engine: program of the search, `polyglot` or `ctranslate2`.
        Raises ConfigError and CheckpointError with a message for the user.
        """
        check_engine(engine)
        if not isinstance(run, Run):
            run = Run.open(run)
        trained_pairs = run.config.pairs
        if pairs is not None:
            directions = Directions.of(trained_pairs)
            pairs = [directions.resolve(pair.source, pair.target) for pair in pairs]
            run = run.for_pairs(pairs)
        device = select_device(device)
        chosen_precision = select_precision(precision, device)

        chosen = run.choose_checkpoints(checkpoint)
        model = _load_model(run, chosen, pairs or trained_pairs).to(device)
        if engine == "polyglot":
            set_precision(model, chosen_precision)

        description = {
            "run": run.name,
            "checkpoint": checkpoint,
            "steps": [member.step for member in chosen],
            "sha256": parameters_digest(chosen),
        }
        if chosen_precision != "float32":
            description["precision"] = chosen_precision
        if engine != "polyglot":
            description["engine"] = engine
        translator = cls(
            model,
            vocabularies=run.vocabularies,
            normalisers=run.normalisers,
            search_config=run.config.search,
            description=description,
        )
        translator.max_training_length = run.config.data.filter.max_length
        translator.shortlists = cache(lambda pair: _load_shortlist(run, pair))
        if engine == "ctranslate2":
            translator.engine = translator._ctranslate2_engine(chosen_precision)
        return translator

    def _ctranslate2_engine(self, precision: Precision) -> CTranslate2Engine:
        return CTranslate2Engine(
            self.model,
            vocabularies=self.vocabularies,
            precision=precision,
            device=self.device,
            own_search=self.search_with_own_decoder,
        )

    def __repr__(self) -> str:
        origin = describe_origin(self.description)
        return (
            f"<Translator of {origin}\n"
            f" {describe_directions(self.sources, self.targets)}\n"
            f" {describe_parameters(self.model)} on {self.device}>"
        )

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

    @property
    def members(self) -> list[Translator]:
        """Models that write each translation together: only this one."""
        return [self]

    def resolve(self, source: str, target: str) -> LanguagePair:
        """Return the direction as the run spells its languages.

        Raises the errors of `resolve_direction`.
        """
        return resolve_direction(source, target, sources=self.sources, targets=self.targets)

    def search_config_with(self, settings: Mapping[str, Any]) -> SearchConfig:
        """Return the run's search settings with changes. Raises ConfigError for invalid ones."""
        values = {**self.search_config.model_dump(), **settings}
        config = check_settings(SearchConfig, values, where="search")
        if config.n_best > config.beam and "n_best" in settings:
            raise ConfigError(
                f"n_best: {config.n_best} hypotheses cannot come from a beam of {config.beam}"
            )
        config.check_explicit_settings(settings)
        return config.model_copy(update={"n_best": min(config.n_best, config.beam)})

    # Translation

    def translate(
        self,
        sentences: Iterable[str] | str,
        *,
        source: str,
        target: str,
        batch_size: int | None = None,
        split_sentences: bool = False,
        **search_settings: Any,
    ) -> list[str] | str:
        """Return the best translation of each sentence, in order; a blank sentence stays empty.

        sentences: a list or another iterable, or one string, whose translation is a string.
        batch_size: sentences decoded together. split_sentences: each string may be a paragraph of
        several sentences (`hypotheses`). search_settings: fields of SearchConfig, such as `beam`
        or `length_penalty`, that replace those of the run.
        """
        return best_texts(
            self.hypotheses,
            sentences,
            source=source,
            target=target,
            batch_size=batch_size,
            split_sentences=split_sentences,
            **search_settings,
        )

    def hypotheses(
        self,
        sentences: Iterable[str],
        *,
        source: str,
        target: str,
        batch_size: int | None = None,
        split_sentences: bool = False,
        **search_settings: Any,
    ) -> list[list[Translation]]:
        """Return the n best translations of each sentence with their scores, best first.

        split_sentences: split each string into sentences, and join their best translations.
        Raises CheckpointError if the parameters give NaN or infinite scores.
        """
        pair = self.resolve(source, target)
        config = self.search_config_with(search_settings)

        def translate(lines: Iterable[str]) -> list[list[Translation]]:
            inputs = self.model_inputs(lines, pair.source)
            return generate_translations(inputs, pair.target, config, batch_size=batch_size)

        if not split_sentences:
            return translate(sentences)
        check_one_best(config)
        lines = check_sentences(sentences, source)
        splitter = SentenceSplitter.for_models(self.members, pair.source)
        return translate_split(lines, splitter, translate, target=pair.target)

    def model_inputs(self, lines: Iterable[str], source: str) -> ModelInputs:
        """Return the input of `generate_translations`. Raises DataError for invalid text."""
        return [(self, self.sentences(lines, source))]

    def encode_sources(self, sentences: Sequence[SourceSentence]) -> EncodedSources:
        """Encode sentences of one language; the memory (B, K, D) is the same for every target.

        With another engine the memory has no content: the engine encodes the sentences itself.
        """
        if self.engine is not None:
            return EncodedSources(self, sentences, Memory(torch.zeros(len(sentences), 1, 1)))
        return self._encode_with_own_encoder(sentences)

    def search_with_own_decoder(
        self,
        sentences: Sequence[SourceSentence],
        target: str,
        config: SearchConfig,
    ) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of sentences of one language, from our own search."""
        encoded = self._encode_with_own_encoder(sentences)
        return search_hypotheses([encoded], target, config, engine=None)

    @torch.inference_mode()
    def _encode_with_own_encoder(self, sentences: Sequence[SourceSentence]) -> EncodedSources:
        tokens, mask = pad([sentence.pieces for sentence in sentences])
        language = sentences[0].language
        device = self.device
        memory = self.model.encode(language, to_device(tokens, device), to_device(mask, device))
        return EncodedSources(self, sentences, memory)

    def generate(
        self,
        sources: Sequence[EncodedSources],
        target: str,
        config: SearchConfig,
    ) -> list[list[Translation]]:
        """Return the n best translations of encoded sentences.

        Raises the errors of `search_hypotheses`.
        """
        hypotheses = search_hypotheses(sources, target, config, engine=self.engine)
        return list(self.to_translations(hypotheses, sources[0].sentences, target))

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

    # Scores

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        source: str,
        target: str,
    ) -> list[float]:
        """Return log p(target | source) of each sentence pair, summed over pieces and the end.

        Raises CheckpointError if the parameters give NaN or infinite scores.
        """
        pair = self.resolve(source, target)
        source_lines = check_sentences(sources, source)
        target_lines = check_sentences(targets, target)
        if len(source_lines) != len(target_lines):
            raise DataError(
                f"score: {len(source_lines)} sources and {len(target_lines)} targets; "
                "the numbers must be equal"
            )
        source_texts, target_texts = self._preprocess_pairs(
            source_lines,
            target_lines,
            source=pair.source,
            target=pair.target,
        )
        source_pieces = self.vocabularies[pair.source].encode(source_texts)
        target_pieces = self.vocabularies[pair.target].encode(target_texts)

        task = Task(pair)
        scores = [0.0] * len(source_pieces)
        size = max_hypotheses(self.device) // 8
        for rows in search_batches(target_pieces, size=size, keep_empty=True):
            batch = Batch.from_sentences(
                task,
                [source_pieces[row] for row in rows],
                [target_pieces[row] for row in rows],
            )
            for row, score in zip(rows, self._score_batch(batch)):
                scores[row] = score
        if not all(map(math.isfinite, scores)):
            raise CheckpointError(self.not_finite(f"scores of {pair}"))
        return scores

    @torch.inference_mode()
    def _score_batch(self, batch: Batch) -> list[float]:
        """Return the log-probability of each target of the batch."""
        batch = batch.to(self.device)
        output = self.model(batch)
        projection = output.projection
        # Padding is not projected; the batch knows the number of real tokens.
        is_real = batch.target_mask.flatten()
        real = torch.nonzero_static(is_real, size=batch.target_tokens).squeeze(1)
        losses = token_losses(
            output.states.flatten(0, 1).index_select(0, real),
            projection.weight,
            projection.bias,
            batch.target_out.flatten().index_select(0, real),
        )
        sentences = real // batch.target_mask.shape[1]
        totals = losses.new_zeros(batch.sentences).index_add(0, sentences, losses)
        return (-to_host(totals)).tolist()

    # Sentence embeddings

    def encode_chunks(
        self,
        chunks: Iterable[SentenceChunk],
        *,
        precision: str = "float32",
        **settings: Any,
    ) -> Iterator[tuple[SentenceChunk, torch.Tensor]]:
        """Embed the sentences as `SentenceEncoder` does.

        Raises CheckpointError if the parameters give NaN or infinite vectors.
        """
        layer = settings.get("layer", "bridge")
        pooling = settings.get("pooling", "flat")
        check_pooling(self.model, layer=layer, pooling=pooling, precision=precision)
        return self._finite_vectors(super().encode_chunks(chunks, **settings), precision)

    def _finite_vectors(
        self,
        encoded: Iterable[tuple[SentenceChunk, torch.Tensor]],
        precision: str,
    ) -> Iterator[tuple[SentenceChunk, torch.Tensor]]:
        """Check the vectors before int8 hides NaN, and cast them."""
        for chunk, vectors in encoded:
            # NumPy is several times as fast as PyTorch here and uses one core only.
            if not numpy.isfinite(vectors.numpy()).all():
                raise CheckpointError(self.not_finite("sentence embeddings"))
            yield chunk, cast(vectors, precision)

    # Text

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

    def _preprocess_pairs(
        self,
        source_lines: Sequence[str],
        target_lines: Sequence[str],
        *,
        source: str,
        target: str,
    ) -> tuple[list[str], list[str]]:
        """Preprocess sentence pairs, with matching symbols; a blank side stays empty."""
        source_steps = self.normalisers[source]
        target_steps = self.normalisers[target]
        source_texts = []
        target_texts = []
        for source_line, target_line in zip(source_lines, target_lines):
            source_text, target_text = source_steps.apply_to_pair(
                source_line, target_steps, target_line
            )
            source_texts.append(source_text if source_line.strip() else "")
            target_texts.append(target_text if target_line.strip() else "")
        return source_texts, target_texts

    def not_finite(self, quantity: str) -> str:
        """Return the error message for parameters that give NaN or infinite values."""
        origin = describe_origin(self.description, unnamed="this model")
        return f"{origin}: {quantity} are NaN or infinite; choose another checkpoint"


def _load_model(
    run: Run,
    chosen: Sequence[Checkpoint],
    pairs: Sequence[LanguagePair],
) -> TranslationModel:
    """Return the model of these directions, with the mean of the chosen checkpoints."""
    _check_vocabularies(run, pairs)
    sizes = {language: len(vocabulary) for language, vocabulary in run.vocabularies.items()}
    model = TranslationModel(
        run.config.model,
        vocabulary_sizes=sizes,
        pairs=pairs,
        seed=None,
        sharing=run.config.sharing,
    )
    load_average(chosen, model.component_tensors())
    return model.eval()


def _check_vocabularies(run: Run, pairs: Sequence[LanguagePair]) -> None:
    """Raise CheckpointError if a vocabulary of these directions is missing."""
    for pair in pairs:
        for language in (pair.source, pair.target):
            if language not in run.vocabularies:
                raise CheckpointError(
                    f"{run.vocabulary_file(language)}: this vocabulary is missing, "
                    f"so {language} cannot be translated"
                )


def _load_shortlist(run: Run, pair: LanguagePair) -> Shortlist:
    """Raise CheckpointError if the shortlist is missing or was made with other vocabularies."""
    path = run.shortlist_file(pair)
    command = f"polyglot shortlist {run.path} {pair}"
    run.fetch([path])
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; make it from the training text: `{command}`")
    shortlist = Shortlist.load(path)
    source_size = len(run.vocabularies[pair.source])
    target_size = len(run.vocabularies[pair.target])
    fits_source = len(shortlist.starts) == source_size + 2
    fits_target = len(shortlist.unigrams) == target_size
    if not fits_source or not fits_target:
        raise CheckpointError(f"{path}: made with other vocabularies; make it again: `{command}`")
    return shortlist
