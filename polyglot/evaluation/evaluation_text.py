"""Test text of an evaluation: sources and references of every pair, each text stored once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyglot.evaluation.held_out import HeldOut
from polyglot.evaluation.plan import EvaluationPlan
from polyglot.evaluation.results_cache import text_name
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


@dataclass(frozen=True, slots=True)
class PairText:
    """Sources and references of a pair, with their names in the matrix."""

    sources: list[str]
    references: list[str]
    source_name: str
    reference_name: str


@dataclass(frozen=True)
class EvaluationText:
    """Test text of all planned pairs."""

    by_pair: Mapping[LanguagePair, PairText]
    """pairs that have text"""
    missing: Mapping[LanguagePair, str]
    """reason for each pair without text"""
    lines: Mapping[str, list[str]]
    """lines of each text by its name"""


def load_evaluation_text(run: Run, plan: EvaluationPlan) -> EvaluationText:
    """Read the test corpora, so that errors in them appear before anything is translated.

    Raises ConfigError and DataError, also if no pair has text.
    """
    held_out = HeldOut(run, plan.corpora, sentences=plan.sentences)
    held_out.check(plan.pairs)

    by_pair: dict[LanguagePair, PairText] = {}
    missing: dict[LanguagePair, str] = {}
    lines: dict[str, list[str]] = {}
    for pair in plan.pairs:
        reason = held_out.missing(pair)
        if reason is not None:
            missing[pair] = reason
            continue
        sources, references = held_out.lines(pair)
        source_name = text_name(pair.source, sources)
        reference_name = text_name(pair.target, references)
        by_pair[pair] = PairText(
            sources=lines.setdefault(source_name, sources),
            references=lines.setdefault(reference_name, references),
            source_name=source_name,
            reference_name=reference_name,
        )
    return EvaluationText(by_pair, missing, lines)
