"""Ensembles: several models, or one model that reads several languages, write one translation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from polyglot.core.errors import ConfigError, DataError, unknown_name
from polyglot.core.language_codes import resolve_language
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.ensemble_decoder import Average
from polyglot.inference.directions import resolve_direction
from polyglot.inference.generation import best_texts, generate_translations, search_hypotheses
from polyglot.inference.origin import describe_directions, describe_origin
from polyglot.inference.sentence_splitting import (
    SentenceSplitter,
    check_one_best,
    check_one_source,
    translate_split,
)
from polyglot.inference.text_input import check_sentences
from polyglot.inference.translator import Translator
from polyglot.inference.types import EncodedSources, ModelInputs, SourceSentence, Translation
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair

Sentences = Iterable[str] | Mapping[str, Iterable[str]]
"""Sentences of one language, or the same sentences by language: `{"de": […], "fr": […]}`."""


class EnsembleTranslator:
    """Translators with the same target vocabularies.

    Their encoders, bridges and source vocabularies may differ.
    """

    def __init__(self, members: Sequence[Translator], *, average: Average = "log") -> None:
        """average: mean of the probabilities, `log` (geometric) or `linear` (arithmetic)."""
        if average not in ("log", "linear"):
            raise ConfigError(f"average: {unknown_name('average', average, ('log', 'linear'))}")
        self.members = list(members)
        self.average = average

    @classmethod
    def load(
        cls,
        runs: Sequence[str | Path | Run],
        *,
        checkpoints: Sequence[str | int] = ("best",),
        sources: Sequence[str] | None = None,
        target: str | None = None,
        average: Average = "log",
        device: str | torch.device | None = None,
        precision: str = "float32",
    ) -> EnsembleTranslator:
        """Load these checkpoints of every run.

        sources, target: read only the components of these directions. precision: of matrix
        products, as for `Translator.load`. Raises ConfigError if the
        models cannot form an ensemble, and the errors of `Translator.load`.
        """
        members = []
        for run in runs:
            if not isinstance(run, Run):
                run = Run.open(run)
            pairs = None
            if sources is not None and target is not None:
                pairs = _readable_pairs(run, sources, target)
            for checkpoint in checkpoints:
                member = Translator.load(
                    run,
                    checkpoint=checkpoint,
                    pairs=pairs,
                    device=device,
                    precision=precision,
                )
                members.append(member)
        result = cls(members, average=average)
        if target is not None or not result.targets:
            result.resolve(sources, target or members[0].targets[0])
        return result

    def __repr__(self) -> str:
        lines = [f"<EnsembleTranslator of {len(self.members)} models, average={self.average!r}"]
        for member in self.members:
            lines.append(f" {describe_origin(member.description)}")
        lines.append(f" {describe_directions(self.sources, self.targets)} on {self.device}>")
        return "\n".join(lines)

    @property
    def sources(self) -> list[str]:
        """Languages that every member has an encoder for."""
        languages = []
        for language in self.members[0].sources:
            if all(language in member.sources for member in self.members):
                languages.append(language)
        return languages

    @property
    def targets(self) -> list[str]:
        """Languages that every member has a decoder for, with the same vocabulary."""
        return [language for language in self.members[0].targets if self._share_target(language)]

    def _share_target(self, language: str) -> bool:
        first = self.members[0]
        for member in self.members:
            if language not in member.targets or not _same_vocabulary(first, member, language):
                return False
        return True

    @property
    def search_config(self) -> SearchConfig:
        """Search settings of the first member."""
        return self.members[0].search_config

    @property
    def description(self) -> Mapping[str, Any]:
        """Origin of all members' parameters, stored with every score."""
        members = [dict(member.description) for member in self.members]
        content = json.dumps([members, self.average], sort_keys=True)
        steps = []
        for member in members:
            steps += member.get("steps", ())
        return {
            "run": " + ".join(str(member.get("run", "a model")) for member in members),
            "checkpoint": "ensemble",
            "steps": steps,
            "average": self.average,
            "members": members,
            "sha256": hashlib.sha256(content.encode()).hexdigest(),
        }

    @property
    def symbols_without_rule(self) -> int:
        """Symbols in the translations so far that stand for nothing in their sources."""
        return self.members[0].symbols_without_rule

    @property
    def device(self) -> torch.device:
        return self.members[0].device

    def translate(
        self,
        sentences: Sentences | str,
        *,
        source: str | None = None,
        target: str,
        batch_size: int | None = None,
        split_sentences: bool = False,
        **search_settings: Any,
    ) -> list[str] | str:
        """Return the best translation of each sentence, in order; a blank sentence stays empty.

        sentences: in the language `source`, or a mapping from languages to the same sentences in
        these languages. Other arguments and the result are those of `Translator.translate`.
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
        sentences: Sentences,
        *,
        source: str | None = None,
        target: str,
        batch_size: int | None = None,
        split_sentences: bool = False,
        **search_settings: Any,
    ) -> list[list[Translation]]:
        """Return the n best translations of each sentence with their scores, best first.

        split_sentences: split each string into sentences, and join their best translations.
        """
        by_language, target = self._resolve_input(_by_language(sentences, source), target)
        config = self.members[0].search_config_with(search_settings)

        def translate(lines_by_language: Mapping[str, Iterable[str]]) -> list[list[Translation]]:
            inputs: list[tuple[Translator, list[SourceSentence]]] = []
            for language, lines in lines_by_language.items():
                inputs += self._inputs_in(lines, language)
            _check_same_sentences(inputs)
            return generate_translations(
                inputs,
                target,
                config,
                average=self.average,
                batch_size=batch_size,
            )

        if not split_sentences:
            return translate(by_language)
        check_one_best(config)
        check_one_source(by_language)
        [(language, lines)] = by_language.items()
        return translate_split(
            check_sentences(lines, language),
            SentenceSplitter.for_models(self.members, language),
            lambda parts: translate({language: parts}),
            target=target,
        )

    def model_inputs(self, lines: Iterable[str], source: str) -> ModelInputs:
        """Return the sentences that each member encodes.

        Raises DataError if a sentence is empty for one member but not for another.
        """
        inputs = list(self._inputs_in(lines, source))
        _check_same_sentences(inputs)
        return inputs

    def _inputs_in(
        self,
        lines: Iterable[str],
        source: str,
    ) -> Iterator[tuple[Translator, list[SourceSentence]]]:
        """Yield the sentences for each member with an encoder of the language."""
        if not isinstance(lines, str):
            lines = list(lines)
        for member in self.members:
            if source in member.sources:
                yield member, member.sentences(lines, source)

    def generate(
        self,
        sources: Sequence[EncodedSources],
        target: str,
        config: SearchConfig,
    ) -> list[list[Translation]]:
        """Return the n best translations of sentences that every member has encoded.

        Raises the errors of `search_hypotheses`.
        """
        hypotheses = search_hypotheses(sources, target, config, average=self.average)
        sentences = sources[0].sentences
        return list(self.members[0].to_translations(hypotheses, sentences, target))

    def _resolve_input(
        self,
        sentences: Mapping[str, Iterable[str]],
        target: str,
    ) -> tuple[dict[str, Iterable[str]], str]:
        """Return sentences by language and the target as the members spell these languages.

        Raises ConfigError for two spellings of one language, and the errors of `resolve`.
        """
        pairs = self.resolve(list(sentences), target)
        by_language = {}
        for pair, lines in zip(pairs, sentences.values()):
            by_language[pair.source] = lines
        if len(by_language) < len(sentences):
            raise ConfigError(f"source: {' and '.join(sentences)} name a language twice")
        return by_language, pairs[0].target

    def resolve(
        self,
        source: str | Sequence[str] | None,
        target: str,
    ) -> list[LanguagePair]:
        """Return the direction from each source as the members spell its languages.

        Each member reads at least one source, each source is read by a member, and all members
        have the same target vocabulary; else ConfigError.
        """
        sources = [source] if isinstance(source, str) else list(source or ())
        readable: dict[str, None] = {}
        for member in self.members:
            readable |= dict.fromkeys(member.sources)
        pairs = []
        for language in sources:
            pair = resolve_direction(
                language,
                target,
                sources=list(readable),
                targets=self.members[0].targets,
            )
            pairs.append(pair)
        sources = [pair.source for pair in pairs]
        for member in self.members:
            self._check_member(member, sources, target)
        return pairs

    def _check_member(self, member: Translator, sources: Sequence[str], target: str) -> None:
        name = _run_name(member)
        if sources and not set(sources) & set(member.sources):
            raise ConfigError(
                f"{name}: has encoders of {', '.join(member.sources)}, "
                f"but none of {', '.join(sources)}"
            )
        pair = resolve_direction(
            member.sources[0], target, sources=member.sources, targets=member.targets
        )
        target = pair.target
        first = self.members[0]
        if not _same_vocabulary(first, member, target):
            raise ConfigError(
                f"{_run_name(first)} and {name}: have different vocabularies of {target}, "
                "so they cannot form an ensemble; train one with `initialize` from the other, "
                "or both on the same text"
            )
        if len(sources) > 1 and member.normalisers[target].symbols:
            raise ConfigError(
                f"{name}: has text.symbols, which are numbered by one source; name a single --from"
            )


def _by_language(sentences: Sentences, source: str | None) -> dict[str, Iterable[str]]:
    """Return the sentences by their language. Raises ConfigError if a language is not named."""
    if isinstance(sentences, Mapping):
        by_language = dict(sentences)
    else:
        by_language = {source: sentences}
    if None in by_language or not by_language:
        raise ConfigError(
            "source: missing; name the language of the sentences, "
            "or give a mapping from languages to sentences"
        )
    return by_language


def _readable_pairs(run: Run, sources: Sequence[str], target: str) -> list[LanguagePair]:
    """Return the directions from those sources that the run trained, or from the first source."""
    trained = {pair.source for pair in run.config.pairs}
    names = [resolve_language(source, trained) for source in sources]
    readable = [name for name in names if name in trained]
    return [LanguagePair(source, target) for source in readable or sources[:1]]


def _same_vocabulary(first: Translator, second: Translator, language: str) -> bool:
    """Return True if both models split text of the language into the same pieces."""
    if first.vocabularies[language].sha256 != second.vocabularies[language].sha256:
        return False
    steps = first.normalisers[language]
    return steps.fingerprint == second.normalisers[language].fingerprint


def _check_same_sentences(inputs: ModelInputs) -> None:
    """Raise DataError if the number of sentences or the empty sentences differ."""
    _, first_sentences = inputs[0]
    for _, sentences in inputs[1:]:
        if len(sentences) != len(first_sentences):
            raise DataError(
                f"{len(first_sentences)} sentences in {first_sentences[0].language} "
                f"and {len(sentences)} in {sentences[0].language}; the numbers must be equal"
            )
        for number, versions in enumerate(zip(first_sentences, sentences), start=1):
            _check_both_empty(number, *versions)


def _check_both_empty(number: int, first: SourceSentence, second: SourceSentence) -> None:
    if bool(first.pieces) == bool(second.pieces):
        return
    empty, full = (first, second) if second.pieces else (second, first)
    raise DataError(f"sentence {number}: is empty in {empty.language} but not in {full.language}")


def _run_name(member: Translator) -> str:
    return str(member.description.get("run", "a model"))
