"""Several models, or one that reads several languages, that write each translation together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from polyglot.core.errors import ConfigError, DataError, unknown_name
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.ensemble_decoder import Average
from polyglot.inference.generation import generate_translations, search_hypotheses
from polyglot.inference.translator import Translator, check_direction
from polyglot.inference.types import EncodedSources, ModelInputs, Translation
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair

Sentences = Iterable[str] | Mapping[str, Iterable[str]]
"""Of one language, or the same ones in several, by language."""


class EnsembleTranslator:
    """Translators whose targets have the same vocabulary; encoders, bridges and source vocabularies may be of any kind."""

    def __init__(self, members: Sequence[Translator], *, average: Average = "log") -> None:
        """average: of the probabilities, `log` (geometric) or `linear`."""
        if average not in ("log", "linear"):
            raise ConfigError(f"average: {unknown_name('average', average, ('log', 'linear'))}")
        self.members, self.average = list(members), average

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
    ) -> EnsembleTranslator:
        """Every one of these checkpoints of every run. sources, target: read only what translating from these into that one needs.

        Raises ConfigError where the runs cannot write together, and what `Translator.load` raises.
        """
        members = []
        for run in (run if isinstance(run, Run) else Run.open(run) for run in runs):
            readable = {pair.source for pair in run.config.pairs}
            own = [source for source in sources or () if source in readable]
            pairs = (
                None
                if sources is None or target is None
                else [LanguagePair(source, target) for source in own or sources[:1]]
            )
            members += [
                Translator.load(run, checkpoint=one, pairs=pairs, device=device)
                for one in checkpoints
            ]
        result = cls(members, average=average)
        if target is not None or not result.targets:
            result.check(sources, target or members[0].targets[0])
        return result

    @property
    def sources(self) -> list[str]:
        """Languages that every member reads."""
        return [
            language
            for language in self.members[0].sources
            if all(language in one.sources for one in self.members)
        ]

    @property
    def targets(self) -> list[str]:
        """Languages that all of them write in the same pieces."""
        first = self.members[0]
        return [
            one
            for one in first.targets
            if all(
                one in other.targets and _spell_alike(first, other, one) for other in self.members
            )
        ]

    @property
    def search_config(self) -> SearchConfig:
        """The first one's."""
        return self.members[0].search_config

    @property
    def description(self) -> Mapping[str, Any]:
        """Where the parameters of each came from."""
        own = [dict(one.description) for one in self.members]
        digest = hashlib.sha256(
            json.dumps([own, self.average], sort_keys=True).encode()
        ).hexdigest()
        names = " + ".join(str(one.get("run", "a model")) for one in own)
        return {"run": names, "checkpoint": "ensemble", "steps": [step for one in own for step in one.get("steps", ())],
                "average": self.average, "members": own, "sha256": digest}  # fmt: skip

    @property
    def symbols_without_rule(self) -> int:
        """As of one translator."""
        return self.members[0].symbols_without_rule

    @property
    def device(self) -> torch.device:
        return self.members[0].device

    def translate(
        self,
        sentences: Sentences,
        *,
        source: str | None = None,
        target: str,
        **search_settings: Any,
    ) -> list[str]:
        """The best translation of each sentence, in order; a blank one stays empty.

        sentences: in the language `source`, or the same ones in several languages: `{"de": […], "fr": […]}`.
        """
        return [
            best.text
            for best, *_ in self.hypotheses(
                sentences, source=source, target=target, **search_settings
            )
        ]

    def hypotheses(
        self,
        sentences: Sentences,
        *,
        source: str | None = None,
        target: str,
        **search_settings: Any,
    ) -> list[list[Translation]]:
        """The n best translations of each sentence with their scores, best first."""
        by_language = dict(sentences) if isinstance(sentences, Mapping) else {source: sentences}
        if None in by_language or not by_language:
            raise ConfigError(
                "source: missing; name the language of the sentences, or give a mapping from language to sentences"
            )
        self.check(list(by_language), target)
        config = self.members[0].search_config_with(search_settings)
        readers = [
            reader
            for language, own in by_language.items()
            for reader in self._reading(own, language)
        ]
        _check_alike(readers)
        return generate_translations(readers, target, config, average=self.average)

    def model_inputs(self, lines: Iterable[str], source: str) -> ModelInputs:
        """Who reads which sentences. Raises DataError where one member finds nothing in a sentence of which others have pieces."""
        readers = self._reading(lines, source)
        _check_alike(readers)
        return readers

    def _reading(self, lines: Iterable[str], source: str) -> ModelInputs:
        lines = lines if isinstance(lines, str) else list(lines)
        return [
            (member, member.sentences(lines, source))
            for member in self.members
            if source in member.sources
        ]

    def generate(
        self, readings: Sequence[EncodedSources], target: str, config: SearchConfig
    ) -> list[list[Translation]]:
        """The n best translations of sentences that every member has read. Raises what `search_hypotheses` raises."""
        return list(
            self.members[0].to_translations(
                search_hypotheses(readings, target, config, average=self.average), readings[0].sentences, target
            )
        )

    def check(self, source: str | Sequence[str] | None, target: str) -> None:
        """Raises ConfigError unless every member reads one of the sources, each is read by one, and all spell the target alike."""
        sources = [source] if isinstance(source, str) else list(source or ())
        every = list(
            dict.fromkeys(language for member in self.members for language in member.sources)
        )
        for language in sources:
            check_direction(language, target, sources=every, targets=self.members[0].targets)
        first = self.members[0]
        for member in self.members:
            if sources and not set(sources) & set(member.sources):
                raise ConfigError(
                    f"{_name(member)}: reads {', '.join(member.sources)}, and so none of {', '.join(sources)}"
                )
            check_direction(
                member.sources[0], target, sources=member.sources, targets=member.targets
            )
            if not _spell_alike(first, member, target):
                raise ConfigError(
                    f"{_name(first)} and {_name(member)}: have different vocabularies of {target}, "
                    "so they cannot write a translation together; train the one with `initialize` from the other, or both on the same text"
                )
            if len(sources) > 1 and member.normalisers[target].symbols:
                raise ConfigError(
                    f"{_name(member)}: has text.symbols, whose numbers follow one source; name a single --from"
                )


def _spell_alike(one: Translator, other: Translator, language: str) -> bool:
    """Whether text of the language has the same pieces in both."""
    same = one.vocabularies[language].sha256 == other.vocabularies[language].sha256
    return same and one.normalisers[language].fingerprint == other.normalisers[language].fingerprint


def _check_alike(readers: ModelInputs) -> None:
    """Raises DataError unless all have as many sentences, empty in the same places."""
    _, first = readers[0]
    for _, others in readers[1:]:
        if len(others) != len(first):
            counts = f"{len(first)} sentences in {first[0].language} and {len(others)} in {others[0].language}"
            raise DataError(f"{counts}; the same number is needed")
        for number, (one, other) in enumerate(zip(first, others), start=1):
            if bool(one.pieces) != bool(other.pieces):
                empty, full = (one, other) if other.pieces else (other, one)
                raise DataError(
                    f"sentence {number}: is empty in {empty.language} but not in {full.language}"
                )


def _name(member: Translator) -> str:
    return str(member.description.get("run", "a model"))
