"""Metadata of a model card, which the hub reads: languages, licence, task and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polyglot.core.language_codes import parse_language
from polyglot.evaluation.grid import signature_lines
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.publishing.training_text import hub_data_sets
from polyglot.runs.run import Run

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

LIBRARY = "polyglot-nmt"
TASK = "translation"
METRIC_TYPES = {"chrf++": "chrf"}
"""Names of the hub for metrics that it calls differently."""

MOST_DIRECTIONS = 200
"""Directions whose scores are listed one by one; of more, the mean of each kind is listed."""


def card_metadata(
    run: Run,
    matrices: Sequence[ScoreMatrix],
    *,
    name: str,
    licence: str | None,
) -> ModelCardData:
    """Return the metadata of a run. matrices: scores of the published checkpoint.

    name: of the model. licence: identifier of the hub, such as `cc-by-4.0`.
    """
    from huggingface_hub import ModelCardData

    results = []
    for matrix in matrices:
        results += _results(matrix)
    codes, tags = language_metadata(run.config.languages)
    further = {"language_bcp47": tags} if tags else {}
    return ModelCardData(
        language=codes or None,
        license=licence,
        library_name=LIBRARY,
        pipeline_tag=TASK,
        tags=[TASK, "multilingual", "polyglot"],
        datasets=hub_data_sets(run.config.data.train) or None,
        metrics=_metric_types(matrices) or None,
        model_name=name if results else None,
        eval_results=results or None,
        **further,
    )


def language_metadata(languages: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the codes of ISO 639, and the tags of BCP 47 that say more than such a code.

    A language that is in no registry has neither, because the hub would refuse it.
    """
    codes: dict[str, None] = {}
    tags: dict[str, None] = {}
    for language in languages:
        meaning = parse_language(language)
        if not meaning.is_known or len(meaning.language) > 3:
            continue
        codes[meaning.language] = None
        if meaning.normal_form != meaning.language:
            tags[meaning.normal_form] = None
    return list(codes), list(tags)


def _metric_types(matrices: Sequence[ScoreMatrix]) -> list[str]:
    types: dict[str, None] = {}
    for matrix in matrices:
        for measure in matrix.measures:
            types[_metric_type(measure)] = None
    return list(types)


def _metric_type(measure: Measure) -> str:
    return METRIC_TYPES.get(measure.metric, measure.metric)


def _results(matrix: ScoreMatrix) -> Iterator[EvalResult]:
    """Yield the scores of a matrix: of each direction, or the means of a large matrix."""
    scored = sum(bool(cell.scores) for cell in matrix.cells.values())
    for measure in matrix.measures:
        if scored > MOST_DIRECTIONS:
            for kind, value in matrix.means(measure).items():
                yield _result(matrix, measure, f"mean of {kind} directions", value, kind=kind)
            continue
        for pair, cell in matrix.cells.items():
            score = cell.scores.get(str(measure))
            if score is not None:
                yield _result(matrix, measure, str(pair), score.value, kind=cell.kind)


def _result(
    matrix: ScoreMatrix,
    measure: Measure,
    direction: str,
    value: float,
    *,
    kind: str,
) -> EvalResult:
    """One score. direction: `de-fr`, or a description of several directions."""
    from huggingface_hub import EvalResult

    return EvalResult(
        task_type=TASK,
        task_name=f"Translation {direction} ({kind})",
        dataset_type=matrix.test_set or "test",
        dataset_name="; ".join(matrix.test),
        dataset_config=direction,
        dataset_split="test",
        metric_type=_metric_type(measure),
        metric_name=measure.title,
        metric_value=round(value, 2),
        metric_args={"signature": signature_lines(matrix, measure)},
    )
