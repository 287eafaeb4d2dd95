"""Evaluation of a run: translates and scores every direction, with one load of the model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import sacrebleu

from polyglot.core.errors import pluralize
from polyglot.core.language_codes import describe_unknown
from polyglot.core.version import VERSION
from polyglot.evaluation.cache_keys import cache_keys
from polyglot.evaluation.evaluation_text import EvaluationText, load_evaluation_text
from polyglot.evaluation.plan import EvaluationPlan, Route, plan_evaluation, warn_about_capitals
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.provenance import current_provenance, describe_corpus
from polyglot.evaluation.results_cache import CachedResult, CacheKeys, ResultsCache
from polyglot.evaluation.route_translation import Progress, RouteTranslator, TranslatedText
from polyglot.evaluation.score_matrix import (
    Cell,
    ScoreMatrix,
    cell_from_dict,
    cell_to_dict,
    cells_by_pair,
    merge_provenance,
)
from polyglot.evaluation.scoring import DirectionScorer
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run

logger = logging.getLogger("polyglot")


def evaluate(
    run: Run,
    translator: Translator | EnsembleTranslator,
    protocol: Protocol,
    *,
    test_set: str | None = None,
    folder: Path | None = None,
    other_folders: Iterable[Path] = (),
    progress: Progress = lambda what, done, of: None,
) -> ScoreMatrix:
    """Translate and score all directions of a protocol.

    A direction without test text becomes an empty cell with the reason.

    test_set: one of a protocol with several test sets; by default the first.
    folder: where the matrix will be saved. Each direction is stored there as soon as it is
    finished, and is used again if parameters, text and settings are the same. An earlier matrix
    stays until the new one is saved.
    other_folders: folders with other results of the run; their translations are used again, too.

    Texts and tokenizers are checked before the first sentence is translated.
    Raises ConfigError, DataError and CheckpointError.
    """
    # Check everything.
    plan = plan_evaluation(protocol, run, translator, test_set=test_set)
    text = load_evaluation_text(run, plan)
    warn_about_capitals(plan, run)
    unknown = describe_unknown(plan.used_languages)
    if unknown:
        logger.info(unknown)
    scorer = DirectionScorer(plan)
    provenance = current_provenance(translator.device)

    # Find the directions that were translated before.
    cache = ResultsCache(folder)
    keys = cache_keys(plan, text, run, translator)
    cached = _recall(cache, keys, other_folders)
    _begin(cache, cached, text)

    # Score these, then translate and score the others.
    route_translator = RouteTranslator(
        translator,
        plan.search,
        provenance=provenance,
        progress=progress,
    )
    results = _Results(scorer, text, cache, keys)
    _add_cached(cached, text, route_translator, results)
    remaining = {route: text.by_pair[route.pair].sources for route in keys if route not in cached}
    symbols_before = translator.symbols_without_rule
    for route, translated in route_translator.translate(remaining):
        results.add(route, translated)
    _log_symbols(translator.symbols_without_rule - symbols_before)

    checkpoint = translator.description
    return _assemble(plan, text, results, checkpoint=checkpoint, provenance=provenance)


def _add_cached(
    cached: Mapping[Route, CachedResult],
    text: EvaluationText,
    route_translator: RouteTranslator,
    results: _Results,
) -> None:
    """Add the stored translations to the results and to the translator, which continues them."""
    for route, result in cached.items():
        translated = TranslatedText(result.lines, result.seconds, result.provenance)
        sources = text.by_pair[route.pair].sources
        route_translator.add_finished(route, sources, translated)
        results.add(route, translated, cell=_stored_cell(result))


def _recall(
    cache: ResultsCache,
    keys: Mapping[Route, CacheKeys],
    other_folders: Iterable[Path],
) -> dict[Route, CachedResult]:
    """Read the routes that the folder already has, and translations of other folders."""
    other_caches = []
    for folder in other_folders:
        if folder != cache.folder:
            other_caches.append(ResultsCache(folder))
    cached = {}
    for route, route_keys in keys.items():
        result = cache.recall(route.name, route_keys)
        if result is None:
            result = _recall_translation(other_caches, route, route_keys)
        if result is not None:
            cached[route] = result
    return cached


def _recall_translation(
    caches: Iterable[ResultsCache],
    route: Route,
    keys: CacheKeys,
) -> CachedResult | None:
    """Read the translation of a route from one of several folders; it is scored again."""
    for cache in caches:
        result = cache.recall(route.name, keys)
        if result is not None:
            return replace(result, cell=None, finished=True)
    return None


def _stored_cell(result: CachedResult) -> Cell | None:
    """Stored scores of a direction; None if they are missing or malformed, and computed again."""
    if result.cell is None:
        return None
    try:
        return cell_from_dict(result.cell)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _begin(cache: ResultsCache, cached: Mapping[Route, CachedResult], text: EvaluationText) -> None:
    """Prepare the folder: keep cached routes of an interrupted evaluation, write the texts."""
    unfinished = [route.name for route, result in cached.items() if not result.finished]
    cache.begin(keep=unfinished)
    for name, lines in text.lines.items():
        cache.put_text(name, lines)


class _Results:
    """Scores translated routes, stores them in the folder and collects them for the matrix."""

    def __init__(
        self,
        scorer: DirectionScorer,
        text: EvaluationText,
        cache: ResultsCache,
        keys: Mapping[Route, CacheKeys],
    ) -> None:
        self._scorer = scorer
        self._text = text
        self._cache = cache
        self._keys = keys
        self.cells: dict[Route, Cell] = {}
        self.hypotheses: dict[str, list[str]] = {}
        """by the name of the route"""
        self._provenance: dict[Route, Mapping[str, str]] = {}

    def add(self, route: Route, translated: TranslatedText, *, cell: Cell | None = None) -> None:
        """Add a translated route. cell: its scores, if they were computed before."""
        self.hypotheses[route.name] = translated.lines
        self._provenance[route] = translated.provenance
        if cell is None:
            cell = self._score(route, translated)
        self.cells[route] = cell

    def _score(self, route: Route, translated: TranslatedText) -> Cell:
        self._cache.put_hypotheses(route.name, translated.lines)
        cell = self._scorer.cell(
            route,
            translated.lines,
            self._text.by_pair[route.pair],
            seconds=translated.seconds,
        )
        self._cache.put_cell(
            route.name,
            keys=self._keys[route],
            provenance=translated.provenance,
            lines=translated.lines,
            cell=cell_to_dict(cell),
        )
        return cell

    def provenance_records(self, plan: EvaluationPlan) -> list[Mapping[str, str]]:
        """Machine and versions of each scored route, in the order of the plan."""
        records = []
        for route in plan.routes:
            if route in self.cells and self.cells[route].scores:
                records.append(self._provenance[route])
        return records


def _assemble(
    plan: EvaluationPlan,
    text: EvaluationText,
    results: _Results,
    *,
    checkpoint: Mapping[str, Any],
    provenance: Mapping[str, str],
) -> ScoreMatrix:
    """Matrix of all results. provenance: of this process, used if nothing was scored."""
    cells = _cells(plan, text, results)
    translated_with = merge_provenance(results.provenance_records(plan) or [provenance])
    return ScoreMatrix(
        languages=plan.used_languages,
        cells=cells_by_pair(cell for cell in cells if cell.via is None),
        pivots=cells_by_pair(cell for cell in cells if cell.via is not None),
        trained=plan.trained,
        checkpoint=dict(checkpoint),
        search=plan.search.active_settings(),
        protocol=plan.protocol,
        test=[describe_corpus(corpus) for corpus in plan.corpora],
        test_set=plan.test_set,
        versions={
            "polyglot": VERSION,
            "torch": translated_with["torch"],
            "sacrebleu": sacrebleu.__version__,
            "python": translated_with["python"],
        },
        machine=translated_with["machine"],
        reference=plan.reference,
        hypotheses=results.hypotheses,
        texts=text.lines,
    )


def _cells(plan: EvaluationPlan, text: EvaluationText, results: _Results) -> list[Cell]:
    """Cells of all planned routes; empty cells with the reason for routes without text."""
    cells = []
    for route in plan.routes:
        if route in results.cells:
            cells.append(results.cells[route])
        else:
            reason = text.missing[route.pair]
            cells.append(Cell(route.pair, plan.kind(route), reason=reason, via=route.via))
    return cells


def _log_symbols(count: int) -> None:
    if count:
        logger.info(
            f"{pluralize(count, 'symbol')} had no rule in the source; each was replaced by another "
            "symbol of its type that was left, or by nothing"
        )
