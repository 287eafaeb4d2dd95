"""Translation, scoring and sentence embeddings with the model of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import torch

from polyglot.config.loading import check_settings
from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.decoding.base import SearchConfig
from polyglot.inference.ctranslate2_engine import CTranslate2Engine
from polyglot.inference.devices import check_engine, select_device, select_precision
from polyglot.inference.directions import Directions, resolve_direction
from polyglot.inference.embeddings.encoder import SentenceChunk, SentenceEncoder
from polyglot.inference.embeddings.pooling import cast, check_pooling
from polyglot.inference.generation import best_texts, generate_translations, search_hypotheses
from polyglot.inference.loading import load_model, load_shortlist
from polyglot.inference.origin import describe_directions, describe_origin, describe_parameters
from polyglot.inference.scoring import score_lines
from polyglot.inference.sentence_splitting import (
    SentenceSplitter,
    check_one_best,
    translate_split,
)
from polyglot.inference.text_input import check_sentences
from polyglot.inference.text_model import TextModel
from polyglot.inference.types import EncodedSources, ModelInputs, Translation
from polyglot.layers.low_precision import Precision, set_precision
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.averaging import parameters_digest
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary


class Translator(TextModel, SentenceEncoder):
    """Model with its vocabularies: text to translations, scores or sentence embeddings.

    The methods that embed sentences, such as `encode`, are those of `SentenceEncoder`.
    """

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
        super().__init__(
            model,
            vocabularies=vocabularies,
            normalisers=normalisers,
            description=description,
        )
        self.search_config = search_config
        self.max_training_length: int | None = None
        """tokens of the longest sentence that training can have used; None if it is not known"""

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
        model = load_model(run, chosen, pairs or trained_pairs).to(device)
        if engine == "polyglot":
            set_precision(model, chosen_precision)

        translator = cls(
            model,
            vocabularies=run.vocabularies,
            normalisers=run.normalisers,
            search_config=run.config.search,
            description=_describe(run, checkpoint, chosen, chosen_precision, engine),
        )
        translator.max_training_length = run.config.data.filter.max_length
        translator.shortlists = cache(lambda pair: load_shortlist(run, pair))
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
        scores = score_lines(
            self.model,
            pair,
            source_lines,
            target_lines,
            vocabularies=self.vocabularies,
            normalisers=self.normalisers,
        )
        if not all(map(math.isfinite, scores)):
            raise CheckpointError(self.not_finite(f"scores of {pair}"))
        return scores

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


def _describe(
    run: Run,
    checkpoint: str | int,
    chosen: Sequence[Checkpoint],
    precision: Precision,
    engine: str,
) -> dict[str, Any]:
    """Origin of the parameters, and how they are computed if that may change the scores."""
    description: dict[str, Any] = {
        "run": run.name,
        "checkpoint": checkpoint,
        "steps": [member.step for member in chosen],
        "sha256": parameters_digest(chosen),
    }
    if precision != "float32":
        description["precision"] = precision
    if engine != "polyglot":
        description["engine"] = engine
    return description
