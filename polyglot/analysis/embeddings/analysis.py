"""All measurements of the sentence embeddings of one run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import torch

from polyglot.analysis.embeddings.config import AnalysisSettings, SimilarityTest
from polyglot.analysis.embeddings.head_attention import HeadAttention, head_attention, heads_png
from polyglot.analysis.embeddings.parallel_texts import ParallelTexts
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
from polyglot.analysis.embeddings.sentence_map import SentenceMap, map_png, sentence_map
from polyglot.analysis.embeddings.vectors import Vectors, layer_and_pooling
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.version import VERSION
from polyglot.data.corpora import Corpora
from polyglot.evaluation.grid import matrix_title
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.provenance import describe_machine
from polyglot.evaluation.score_matrix import Cell, cells_by_pair
from polyglot.inference.embeddings.pooling import unsupported_pooling
from polyglot.inference.translator import Translator
from polyglot.runs.data_folder import find_data_folder
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, pair_kind

Progress = Callable[[str, int, int], None]
"""Function of the current representation, the number of complete ones and the number of all."""


@dataclass(frozen=True)
class Correlations:
    """Result of one similarity test with one representation."""

    name: str
    languages: tuple[str, str]
    pearson: float | None
    """None if all cosines are equal"""
    spearman: float | None
    pairs: int


@dataclass(frozen=True)
class ProbeResult:
    """Result of one probe with one representation; accuracies in percent."""

    name: str
    language: str
    accuracy: float
    majority: float
    """accuracy of the most frequent label"""
    sentences: int


@dataclass
class Analysis:
    """Results of all measurements by representation; map and heads of the first."""

    settings: AnalysisSettings
    sizes: dict[str, int] = field(default_factory=dict)
    """dimensions of a vector"""
    retrieval: dict[str, RetrievalMatrix] = field(default_factory=dict)
    similarity: dict[str, list[Correlations]] = field(default_factory=dict)
    probes: dict[str, list[ProbeResult]] = field(default_factory=dict)
    map: SentenceMap | None = None
    heads: HeadAttention | None = None
    pictures: dict[str, bytes] = field(default_factory=dict)
    """PNG files by name"""


def analyse(
    run: Run,
    translator: Translator,
    settings: AnalysisSettings,
    *,
    folder: Path | None = None,
    progress: Progress = lambda name, done, total: None,
) -> Analysis:
    """Measure every representation of the settings that the bridge supports.

    folder: base of relative paths, by default the run's `data.folder`. All text is read before
    the first sentence is embedded. Raises ConfigError and DataError with a message for the user.
    """
    if folder is None:
        folder = find_data_folder(run, settings.test or run.config.data.test)
    representations = _supported_representations(translator, settings)
    texts = ParallelTexts(
        run,
        settings.test or run.config.data.test,
        folder=folder,
        sentences=settings.sentences,
        languages=translator.sources,
    )
    tests = _similarity_tests(translator, settings, folder)
    probes = _probes(run, translator, settings, folder)

    analysis = Analysis(settings)
    for number, name in enumerate(representations):
        progress(name, number, len(representations))
        vectors = Vectors(translator, name)
        analysis.sizes[name] = vectors.size
        cells = _retrieval_cells(run, vectors, texts, settings, name)
        analysis.retrieval[name] = _retrieval_matrix(run, translator, texts, cells, name)
        analysis.similarity[name] = [_correlations(vectors, *test) for test in tests]
        analysis.probes[name] = [_probe_result(vectors, probe) for probe in probes]
    _add_figures(analysis, translator, texts.shared(settings.map_sentences))
    return analysis


def _supported_representations(translator: Translator, settings: AnalysisSettings) -> list[str]:
    supported = []
    reasons = []
    for name in settings.representations:
        reason = unsupported_pooling(translator.model, **layer_and_pooling(name))
        if reason is None:
            supported.append(name)
        else:
            reasons.append(reason)
    if not supported:
        raise ConfigError(reasons, where="representations")
    return supported


def _add_figures(
    analysis: Analysis,
    translator: Translator,
    sentences: dict[str, list[str]],
) -> None:
    """Add the map and the heads. sentences: by language, line n is the same sentence in each."""
    representation = next(iter(analysis.retrieval))
    vectors = Vectors(translator, representation)
    points = {language: vectors(lines, language) for language, lines in sentences.items()}
    title = matrix_title(analysis.retrieval[representation])
    analysis.map = sentence_map(points, sentences)
    analysis.pictures["map.png"] = map_png(analysis.map, title=f"{representation}\n{title}")

    analysis.heads = head_attention(translator, sentences)
    if analysis.heads:
        heads_title = f"Heads of the bridge · {title}"
        analysis.pictures["heads.png"] = heads_png(analysis.heads, title=heads_title)


# Retrieval


def _retrieval_cells(
    run: Run,
    vectors: Vectors,
    texts: ParallelTexts,
    settings: AnalysisSettings,
    representation: str,
) -> list[Cell]:
    cells = []
    for pair in texts.pairs:
        kind = pair_kind(pair, run.config.pairs)
        reason = texts.missing(pair)
        if reason is not None:
            cells.append(Cell(pair, kind, reason=reason))
            continue
        sources, targets = texts.lines(pair)
        scores = retrieval(
            vectors(sources, pair.source),
            vectors(targets, pair.target),
            targets,
            k=settings.neighbours,
            signature=f"{representation}|polyglot:{VERSION}",
        )
        cells.append(Cell(pair, kind, scores, sentences=len(sources)))
    return cells


def _retrieval_matrix(
    run: Run,
    translator: Translator,
    texts: ParallelTexts,
    cells: Sequence[Cell],
    representation: str,
) -> RetrievalMatrix:
    """Matrix of the languages with at least one score."""
    languages = set()
    for cell in cells:
        if cell.scores:
            languages |= _languages(cell.pair)
    cells = [cell for cell in cells if _languages(cell.pair) <= languages]
    return RetrievalMatrix(
        languages=[language for language in run.config.languages if language in languages],
        cells=cells_by_pair(cells),
        trained=run.config.pairs,
        checkpoint=dict(translator.description),
        search={},
        protocol=Protocol(),
        test=texts.descriptions,
        versions={
            "polyglot": VERSION,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        machine=describe_machine(translator.device),
        representation=representation,
    )


def _languages(pair: LanguagePair) -> set[str]:
    return {pair.source, pair.target}


# Semantic similarity


def _similarity_tests(
    translator: Translator,
    settings: AnalysisSettings,
    folder: Path,
) -> list[tuple[SimilarityTest, ScoredPairs]]:
    tests = []
    languages = []
    for test in settings.similarity:
        tests.append((test, read_scored_pairs(test, folder)))
        languages += test.languages
    translator.resolve_languages(languages)
    return tests


def _correlations(
    vectors: Vectors,
    test: SimilarityTest,
    pairs: ScoredPairs,
) -> Correlations:
    first_language, second_language = test.languages
    first = vectors(pairs.first, first_language)
    second = vectors(pairs.second, second_language)
    cosines = Translator.similarity_pairwise(first, second).tolist()
    return Correlations(
        test.name,
        tuple(test.languages),
        pearson(cosines, pairs.scores),
        spearman(cosines, pairs.scores),
        len(cosines),
    )


# Probes


def _probes(
    run: Run,
    translator: Translator,
    settings: AnalysisSettings,
    folder: Path,
) -> list[Probe]:
    """Probes for the labelled texts, and for length and word content in each probe language."""
    translator.resolve_languages(text.language for text in settings.labelled)
    probes = []
    for text in settings.labelled:
        path = folder / text.path
        probes.append(labelled_probe(path, name=text.name, language=text.language))
    if not settings.probe_sentences:
        return probes

    languages = translator.resolve_languages(settings.probe_languages or translator.sources[:1])
    for language in languages:
        sentences = _probe_sentences(run, settings, language, folder)
        for make_probe in (length_probe, word_content_probe):
            probe = make_probe(sentences, language)
            if probe.is_usable:
                probes.append(probe)
    return probes


def _probe_sentences(
    run: Run,
    settings: AnalysisSettings,
    language: str,
    folder: Path,
) -> list[str]:
    """First sentences of a language in the probe text, without repetitions and blank lines."""
    corpora = Corpora(
        settings.probe_text or run.config.data.train,
        folder=folder,
        languages=run.config.languages,
    )
    limit = settings.probe_sentences
    lines = islice(corpora.sentences(language), 2 * limit)
    different = list(dict.fromkeys(filter(str.strip, lines)))
    if not different:
        raise DataError(
            f"no text in {language} for the probes; "
            "name a corpus in probe_text, or set probe_sentences to 0"
        )
    return different[:limit]


def _probe_result(vectors: Vectors, probe: Probe) -> ProbeResult:
    return ProbeResult(
        probe.name,
        probe.language,
        accuracy(probe, vectors(probe.sentences, probe.language)),
        probe.majority,
        len(probe.sentences),
    )
