"""Scores the translations of one direction: all measures, and the output errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from polyglot.evaluation.comet import Comet
from polyglot.evaluation.evaluation_text import PairText
from polyglot.evaluation.metrics import Score, Scorer, fallback_messages
from polyglot.evaluation.output_errors import measure_output_errors
from polyglot.evaluation.plan import EvaluationPlan, Route
from polyglot.evaluation.score_matrix import Cell

logger = logging.getLogger("polyglot")


class DirectionScorer:
    """Turns translations into cells of the matrix."""

    def __init__(self, plan: EvaluationPlan) -> None:
        """Warns about tokenizers that cannot be used. Raises ConfigError without a COMET model."""
        self._plan = plan
        self._scorers: dict[str, dict[str, Scorer]] = {}
        for target in plan.targets:
            self._scorers[target] = _scorers(plan, target)
        for message in self._fallback_messages():
            logger.warning(message)
        self._comet: Comet | None = None
        if any(measure.metric == "comet" for measure in plan.measures):
            self._comet = Comet(plan.comet)

    def cell(
        self,
        route: Route,
        hypotheses: Sequence[str],
        text: PairText,
        *,
        seconds: float,
    ) -> Cell:
        """Score the translations of a route. seconds: time of translation."""
        return Cell(
            route.pair,
            self._plan.kind(route),
            self._scores(route.pair.target, hypotheses, text),
            sentences=len(text.sources),
            seconds=round(seconds, 3),
            via=route.via,
            outputs=measure_output_errors(
                hypotheses,
                sources=text.sources,
                references=text.references,
                source=route.pair.source,
                target=route.pair.target,
                languages=self._plan.languages,
            ),
            source_text=text.source_name,
            reference_text=text.reference_name,
        )

    def _fallback_messages(self) -> list[str]:
        scorers: list[Scorer] = []
        for by_measure in self._scorers.values():
            scorers += by_measure.values()
        return fallback_messages(scorers)

    def _scores(
        self,
        target: str,
        hypotheses: Sequence[str],
        text: PairText,
    ) -> Mapping[str, Score]:
        resamples = self._plan.resamples
        scores = {}
        for measure, scorer in self._scorers[target].items():
            scores[measure] = scorer.score(hypotheses, text.references, resamples=resamples)
        if self._comet is not None:
            scores["comet"] = self._comet.score(hypotheses, text.references, text.sources)
        return scores


def _scorers(plan: EvaluationPlan, target: str) -> dict[str, Scorer]:
    """Scorers of all measures of sacreBLEU for one target language."""
    tokenizer = plan.protocol.tokenizer_for(target)
    scorers = {}
    for measure in plan.measures:
        if measure.metric != "comet":
            scorers[str(measure)] = Scorer(measure, target=target, tokenizer=tokenizer)
    return scorers
