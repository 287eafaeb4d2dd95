"""Evaluation plan: what a protocol means for a run, with every default filled in."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from polyglot.core.errors import ConfigError, abbreviate
from polyglot.core.registry import ComponentConfig
from polyglot.decoding.base import SearchConfig
from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import Reference
from polyglot.evaluation.score_matrix import cell_name
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, pair_kind

logger = logging.getLogger("polyglot")


@dataclass(frozen=True, slots=True)
class Route:
    """Language pair with the pivot language, if it is translated through one."""

    pair: LanguagePair
    via: str | None = None

    @property
    def name(self) -> str:
        return cell_name(self.pair, self.via)


@dataclass(frozen=True)
class EvaluationPlan:
    """Texts, directions and settings of one evaluation."""

    protocol: Protocol
    """protocol that the plan was made from; stored with the results"""
    pairs: Sequence[LanguagePair]
    pivot: str | None
    test_set: str
    """name of the test set; empty if the protocol has only one"""
    corpora: Sequence[ComponentConfig]
    sentences: int | None
    """maximum per pair; None for all"""
    search: SearchConfig
    measures: Sequence[Measure]
    comet: str | None
    """file of the COMET model"""
    resamples: int
    languages: Sequence[str]
    """all languages of the run"""
    trained: Sequence[LanguagePair]
    reference: Reference | None
    """table of a paper to compare with"""

    @property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(pair.target for pair in self.pairs))

    @property
    def used_languages(self) -> list[str]:
        """Languages of the planned pairs, in the order of the run."""
        used = {pair.source for pair in self.pairs} | {pair.target for pair in self.pairs}
        return [language for language in self.languages if language in used]

    @property
    def routes(self) -> list[Route]:
        """All direct translations, then the pivot translations of pairs without the pivot."""
        routes = [Route(pair) for pair in self.pairs]
        if self.pivot:
            for pair in self.pairs:
                if not pair.is_copy and self.pivot not in (pair.source, pair.target):
                    routes.append(Route(pair, self.pivot))
        return routes

    def kind(self, route: Route) -> str:
        return "pivot" if route.via else pair_kind(route.pair, self.trained)


def plan_evaluation(
    protocol: Protocol,
    run: Run,
    translator: Translator | EnsembleTranslator,
    *,
    test_set: str | None,
) -> EvaluationPlan:
    """Apply a protocol to a run.

    test_set: one of a protocol with several test sets; by default the first.
    Raises ConfigError for directions and a pivot that the run cannot translate, for a run without
    test corpora, and for wrong search settings.
    """
    pairs = protocol.select_pairs(translator, run.config.languages, run.config.pairs)
    pivot = protocol.pivot_of(translator)
    protocol = protocol.model_copy(update={"pivot": pivot})
    if test_set is None:
        test_set = next(iter(protocol.corpora))
    corpora = protocol.corpora[test_set] or run.config.data.test
    if not corpora:
        raise ConfigError(
            f"{run.path}: data.test names no corpus; name one there, in `test` of the protocol, "
            "or with --test"
        )
    reference = Reference.load(protocol.reference) if protocol.reference else None
    return EvaluationPlan(
        protocol=protocol,
        pairs=pairs,
        pivot=pivot,
        test_set=test_set,
        corpora=corpora,
        sentences=protocol.sentences,
        search=protocol.effective_search(translator.search_config),
        measures=protocol.measures,
        comet=protocol.comet,
        resamples=protocol.resamples,
        languages=run.config.languages,
        trained=run.config.pairs,
        reference=reference,
    )


def warn_about_capitals(plan: EvaluationPlan, run: Run) -> None:
    """Log a warning if the run writes lower case only, but every condition counts capitals."""
    if any(CONDITIONS[measure.condition].lowercase for measure in plan.measures):
        return
    lowercased = []
    for target in plan.targets:
        steps = run.config.text.for_language(target)
        if any(step.type == "lowercase" for step in steps):
            lowercased.append(target)
    if lowercased:
        logger.warning(
            f"the run writes {abbreviate(lowercased)} without capitals, and every score counts "
            "them; a protocol with `conditions: [lowercased]` ignores capitals"
        )
