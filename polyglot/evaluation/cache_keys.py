"""Cache keys of an evaluation: hashes of everything that translations and scores depend on."""

from __future__ import annotations

from typing import Any

import sacrebleu

from polyglot.core.version import VERSION
from polyglot.evaluation.evaluation_text import EvaluationText, PairText
from polyglot.evaluation.plan import EvaluationPlan, Route
from polyglot.evaluation.results_cache import CacheKeys, digest
from polyglot.evaluation.tokenizers import default_tokenizer, find_tokenizer
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


def cache_keys(
    plan: EvaluationPlan,
    text: EvaluationText,
    run: Run,
    translator: Translator | EnsembleTranslator,
) -> dict[Route, CacheKeys]:
    """Keys of every planned route that has text; empty keys if the parameters have no hash."""
    parameters = translator.description.get("sha256")
    keys = {}
    for route in plan.routes:
        if route.pair not in text.by_pair:
            continue
        if parameters is None:
            keys[route] = CacheKeys("", "")
            continue
        pair_text = text.by_pair[route.pair]
        translated = _translation_key(
            plan,
            route,
            pair_text,
            run,
            parameters,
            precision=translator.description.get("precision"),
            engine=translator.description.get("engine"),
        )
        keys[route] = CacheKeys(translated, _score_key(plan, route, translated, pair_text))
    return keys


def _translation_key(
    plan: EvaluationPlan,
    route: Route,
    text: PairText,
    run: Run,
    parameters: str,
    *,
    precision: str | None,
    engine: str | None,
) -> str:
    """Hash of what the hypotheses depend on. The order of the values is a file format.

    precision: of matrix products; None for float32. engine: None for our own search.
    """
    values: list[Any] = [
        VERSION,
        run.built_from,
        parameters,
        plan.search.model_dump(),
        str(route.pair),
        route.via,
        text.sources,
    ]
    if precision is not None:
        values.append(precision)
    if engine is not None:
        values.append(f"engine {engine}")
    if plan.search.select and plan.search.select_by == "shortlist":
        values += [run.shortlist_digest(step) for step in _steps(route)]
    return digest(values)


def _steps(route: Route) -> list[LanguagePair]:
    """Pairs that are translated one after the other."""
    if route.via is None:
        return [route.pair]
    first = LanguagePair(route.pair.source, route.via)
    second = LanguagePair(route.via, route.pair.target)
    return [first, second]


def _score_key(plan: EvaluationPlan, route: Route, translated: str, text: PairText) -> str:
    """Hash of what the scores depend on. The order of the values is a file format."""
    settings = [
        sacrebleu.__version__,
        [str(measure) for measure in plan.measures],
        plan.protocol.tokenizer,
        plan.comet,
        plan.resamples,
    ]
    settings += _special_tokenizer(plan, route.pair.target)
    return digest([translated, settings, text.references, plan.languages])


def _special_tokenizer(plan: EvaluationPlan, target: str) -> list[str]:
    """Tokenizer of a target language, if it is neither the one of the protocol nor the default."""
    chosen = plan.protocol.tokenizer_for(target)
    tokenizer = find_tokenizer(chosen or default_tokenizer(target))
    if chosen == plan.protocol.tokenizer and not tokenizer.reason:
        return []
    return [tokenizer.name]
