"""Everything that is looked at in the embeddings of a run, with one load of the model."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy
import torch

from polyglot.analysis.embeddings.config import AnalysisSettings, SimilarityTest
from polyglot.analysis.embeddings.figures import (
    Heads,
    SentenceMap,
    heads,
    heads_png,
    map_png,
    sentence_map,
)
from polyglot.analysis.embeddings.probing import (
    Probe,
    accuracy,
    labelled_probe,
    length_probe,
    word_content_probe,
)
from polyglot.analysis.embeddings.retrieval import RetrievalMatrix, retrieval
from polyglot.analysis.embeddings.semantic_similarity import (
    ScoredPairs,
    pearson,
    read_scored_pairs,
    spearman,
)
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.registry import ComponentConfig
from polyglot.core.version import VERSION
from polyglot.data.corpora import Corpora
from polyglot.evaluation.grid import matrix_title
from polyglot.evaluation.held_out import HeldOut
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.provenance import describe_corpus, describe_machine
from polyglot.evaluation.score_matrix import Cell, cells_by_pair
from polyglot.inference.embeddings.pooling import unsupported_pooling
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, pair_kind

Progress = Callable[[str, int, int], None]
"""Told what is looked at, how many representations are ready, and of how many."""


@dataclass(frozen=True)
class Correlations:
    """Of one similarity test, one representation."""

    name: str
    languages: tuple[str, str]
    pearson: float | None
    """None where all pairs are equally alike"""
    spearman: float | None
    pairs: int


@dataclass(frozen=True)
class ProbeResult:
    """Of one probe, one representation."""

    name: str
    language: str
    accuracy: float
    majority: float
    sentences: int


@dataclass
class Analysis:
    """What was found, by representation."""

    settings: AnalysisSettings
    sizes: dict[str, int] = field(default_factory=dict)
    """numbers in a vector"""
    retrieval: dict[str, RetrievalMatrix] = field(default_factory=dict)
    similarity: dict[str, list[Correlations]] = field(default_factory=dict)
    probes: dict[str, list[ProbeResult]] = field(default_factory=dict)
    map: SentenceMap | None = None
    heads: Heads | None = None
    pictures: dict[str, bytes] = field(default_factory=dict)
    """PNG files by name"""


def analyse(
    run: Run,
    translator: Translator,
    settings: AnalysisSettings,
    *,
    folder: Path | None = None,
    progress: Progress = lambda name, done, of: None,
) -> Analysis:
    """Retrieval, similarity, probes and pictures of every representation that the settings name and the bridge has.

    folder: where relative paths start, by default the run's `data.folder`. All text is read before the first sentence is
    embedded. Raises ConfigError and DataError as sentences.
    """
    folder = Path(run.config.data.folder) if folder is None else folder
    reasons = {
        name: unsupported_pooling(translator.model, **way_of(name)) for name in settings.representations
    }
    names = [name for name, reason in reasons.items() if reason is None]
    if not names:
        raise ConfigError(list(reasons.values()), where="representations")
    test = settings.test or run.config.data.test
    text = TestText(
        run, test, folder=folder, sentences=settings.sentences, languages=translator.sources
    )
    similarity = [(one, read_scored_pairs(one, folder)) for one in settings.similarity]
    translator.check_languages(language for one in settings.similarity for language in one.languages)
    probes = _probes(run, translator, settings, folder=folder)
    found = Analysis(settings)
    for done, name in enumerate(names):
        progress(name, done, len(names))
        vectors = Vectors(translator, name)
        found.sizes[name] = translator.vector_size(**vectors.way)
        found.retrieval[name] = _retrieval(run, translator, vectors, text, settings, name)
        found.similarity[name] = [_correlations(vectors, one, pairs) for one, pairs in similarity]
        found.probes[name] = [
            ProbeResult(
                one.name,
                one.language,
                accuracy(one, vectors(one.sentences, one.language)),
                one.majority,
                len(one.sentences),
            )
            for one in probes
        ]
    where = matrix_title(found.retrieval[names[0]])
    shared, first = text.shared(settings.map_sentences), Vectors(translator, names[0])
    found.map = sentence_map(
        {language: first(lines, language) for language, lines in shared.items()}, shared
    )
    found.pictures["map.png"] = map_png(found.map, title=f"{names[0]}\n{where}")
    found.heads = heads(translator, shared)
    if found.heads:
        found.pictures["heads.png"] = heads_png(found.heads, title=f"Heads of the bridge · {where}")
    return found


class Vectors:
    """Sentences to vectors in one way, each text once."""

    def __init__(self, translator: Translator, name: str) -> None:
        """name: layer and pooling, `bridge.flat`"""
        self.way = way_of(name)
        self._translator, self._kept = translator, {}

    def __call__(self, sentences: Sequence[str], language: str) -> numpy.ndarray:
        """(N, D)"""
        key = (language, tuple(sentences))
        if key not in self._kept:
            self._kept[key] = self._translator.encode(
                list(sentences), language=language, **self.way
            )
        return self._kept[key]


def way_of(name: str) -> dict[str, str]:
    """`bridge.flat` to layer and pooling."""
    layer, _, pooling = name.partition(".")
    return {"layer": layer, "pooling": pooling}


class TestText:
    """The parallel text that retrieval is measured on: what each pair of readable languages has."""

    __test__ = False  # no test of pytest's

    def __init__(
        self,
        run: Run,
        corpora: Sequence[ComponentConfig],
        *,
        folder: Path,
        sentences: int | None,
        languages: Sequence[str],
    ) -> None:
        if not corpora:
            raise ConfigError(
                f"{run.path}: data.test names no corpus; name one there, or `test` in the settings"
            )
        self.described = [describe_corpus(corpus) for corpus in corpora]
        self._held = HeldOut(run, corpora, sentences=sentences, folder=folder)
        readable = [language for language in run.config.languages if language in languages]
        self.pairs = [
            LanguagePair(one, other) for one in readable for other in readable if one != other
        ]
        self._held.check(self.pairs)
        self._lines = {
            pair: self._held.lines(pair) for pair in self.pairs if self._held.missing(pair) is None
        }

    def missing(self, pair: LanguagePair) -> str | None:
        """Why there is no text for a pair, or None when there is."""
        return self._held.missing(pair)

    def lines(self, pair: LanguagePair) -> tuple[list[str], list[str]]:
        return self._lines[pair]

    def shared(self, count: int) -> dict[str, list[str]]:
        """The first sentences of as many languages as share them, line n the same one."""
        alike: list[dict[str, list[str]]] = []
        for pivot in dict.fromkeys(pair.source for pair in self._lines):
            own = {
                pair.target: lines for pair, lines in self._lines.items() if pair.source == pivot
            }
            same = next(iter(own.values()))[0]
            alike.append(
                {pivot: same}
                | {target: lines for target, (sources, lines) in own.items() if sources == same}
            )
        return {language: lines[:count] for language, lines in max(alike, key=len).items()}


def _retrieval(
    run: Run,
    translator: Translator,
    vectors: Vectors,
    text: TestText,
    settings: AnalysisSettings,
    name: str,
) -> RetrievalMatrix:
    cells = []
    for pair in text.pairs:
        kind, reason = pair_kind(pair, run.config.pairs), text.missing(pair)
        if reason is not None:
            cells.append(Cell(pair, kind, reason=reason))
            continue
        sources, targets = text.lines(pair)
        found = vectors(sources, pair.source), vectors(targets, pair.target)
        scores = retrieval(
            *found, targets, k=settings.neighbours, signature=f"{name}|polyglot:{VERSION}"
        )
        cells.append(Cell(pair, kind, scores, sentences=len(sources)))
    used = {
        language
        for cell in cells
        if cell.scores
        for language in (cell.pair.source, cell.pair.target)
    }
    return RetrievalMatrix(
        languages=[language for language in run.config.languages if language in used],
        cells=cells_by_pair(cell for cell in cells if {cell.pair.source, cell.pair.target} <= used),
        trained=run.config.pairs,
        checkpoint=dict(translator.description),
        search={},
        protocol=Protocol(),
        test=text.described,
        versions={
            "polyglot": VERSION,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        machine=describe_machine(translator.device),
        representation=name,
    )


def _correlations(vectors: Vectors, test: SimilarityTest, pairs: ScoredPairs) -> Correlations:
    one, other = (
        vectors(lines, language)
        for lines, language in zip((pairs.first, pairs.second), test.languages)
    )
    cosines = Translator.similarity_pairwise(one, other).tolist()
    return Correlations(
        test.name,
        tuple(test.languages),
        pearson(cosines, pairs.scores),
        spearman(cosines, pairs.scores),
        len(cosines),
    )


def _probes(
    run: Run, translator: Translator, settings: AnalysisSettings, *, folder: Path
) -> list[Probe]:
    """Length and word content on the text of each language, and what the settings name."""
    translator.check_languages(one.language for one in settings.labelled)
    found = [
        labelled_probe(folder / one.path, name=one.name, language=one.language)
        for one in settings.labelled
    ]
    if not settings.probe_sentences:
        return found
    languages = settings.probe_languages or translator.sources[:1]
    translator.check_languages(languages)
    for language in languages:
        sentences = _sentences(run, settings, language, folder=folder)
        made = [make(sentences, language) for make in (length_probe, word_content_probe)]
        found += [
            probe
            for probe in made
            if {"tr", "va", "te"} <= set(probe.parts) and len(set(probe.labels)) > 1
        ]
    return found


def _sentences(run: Run, settings: AnalysisSettings, language: str, *, folder: Path) -> list[str]:
    """The first different sentences of a language in the probes' text."""
    corpora = Corpora(
        settings.probe_text or run.config.data.train, folder=folder, languages=run.config.languages
    )
    different = dict.fromkeys(
        line
        for line in islice(corpora.sentences(language), 2 * settings.probe_sentences)
        if line.strip()
    )
    if not different:
        raise DataError(
            f"no text in {language} for the probes; name some as probe_text, or set probe_sentences to 0"
        )
    return list(different)[: settings.probe_sentences]
