"""Section with the most important numbers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from polyglot.config.schema import Config
from polyglot.core.score_tables import format_number, format_percent
from polyglot.report.files import RunFiles, StoredEvaluation, describe_checkpoint
from polyglot.report.section import Section, render

NO_BREAK = "\u00a0"

KIND_TITLES = {
    "supervised": "supervised",
    "zero-shot": f"zero-shot{NO_BREAK}†",
    "pivot": f"through {{}}{NO_BREAK}‡",
    "copy": "monolingual copies",
}


def headline(files: RunFiles) -> Section:
    cards: list[dict[str, str]] = []
    description = ""
    evaluation = files.main_evaluation
    if evaluation is not None:
        cards += _score_cards(evaluation)
        cards += _language_cards(evaluation)
        description = _describe_scores(evaluation)
    cards += _training_cards(files)
    body = render(
        "headline.html",
        cards=cards,
        facts=_facts(files.run.config),
        where=description,
        scored=evaluation is not None,
        unreadable=files.unreadable,
    )
    return Section("headline", "Overview", body)


def _card(value: str, name: str, *, kind: str = "") -> dict[str, str]:
    return {"value": value, "name": name, "kind": kind}


def _score_cards(evaluation: StoredEvaluation) -> list[dict[str, str]]:
    """Mean of the first measure for each kind."""
    measure, title = next(iter(evaluation.measures.items()))
    pivot = evaluation.values["protocol"]["pivot"]
    cards = []
    for kind, kind_title in KIND_TITLES.items():
        score = evaluation.mean(measure, kind)
        if score is not None:
            name = f"{title}, {kind_title.format(pivot)}"
            cards.append(_card(format_number(score), name, kind=kind))
    return cards


def _language_cards(evaluation: StoredEvaluation) -> list[dict[str, str]]:
    """Share of zero-shot outputs in a wrong language."""
    errors = []
    for cell in evaluation.cells:
        if cell["kind"] == "zero-shot" and cell["outputs"]:
            errors.append(cell["outputs"])
    is_known = all(error["off_target_references"] is not None for error in errors)
    has_outputs = any(error["off_target"] is not None for error in errors)
    if not is_known or not has_outputs:
        return []
    wrong = _mean_percent(errors, "off_target")
    expected = _mean_percent(errors, "off_target_references")
    name = f"of zero-shot outputs in a wrong language (references: {expected})"
    return [_card(wrong, name)]


def _mean_percent(errors: Sequence[dict[str, Any]], name: str) -> str:
    shares = [error[name] for error in errors if error[name] is not None]
    share = mean(shares)
    return format_percent(share).replace(" ", NO_BREAK)


def _training_cards(files: RunFiles) -> list[dict[str, str]]:
    """Finished updates and time of training."""
    training = [record for record in files.log if record.get("kind") == "training"]
    if not training:
        return []
    last = training[-1]
    updates = f"{last['step']:,}"
    planned = files.run.config.training.steps
    time = _format_time(last["seconds"])
    return [
        _card(updates, f"of {planned:,} updates"),
        _card(time, "of training"),
    ]


def _facts(config: Config) -> list[str]:
    """Languages, pairs and components of a run."""
    languages = ", ".join(config.languages)
    copies = sum(pair.is_copy for pair in config.pairs)
    pairs = len(config.pairs) - copies
    encoder = config.model.encoder.type
    bridge = config.model.bridge.type
    decoder = config.model.decoder.type
    return [
        f"{len(config.languages)} languages: {languages}",
        f"{pairs} trained pairs, {copies} monolingual copies",
        f"encoder {encoder}, bridge {bridge}, decoder {decoder}",
    ]


def _describe_scores(evaluation: StoredEvaluation) -> str:
    """Protocol, checkpoint, test text and signature of the scores."""
    counts = [cell["sentences"] for cell in evaluation.cells if cell["scores"]]
    sentences = _format_range(counts)
    measure = next(iter(evaluation.measures))
    signatures = " · ".join(evaluation.signatures(measure))
    test = ", ".join(evaluation.values["test"])
    checkpoint = describe_checkpoint(evaluation.values)
    return (
        f"Scores of the protocol {evaluation.name}, {checkpoint}, "
        f"on {test}, {sentences} sentences of each direction; {signatures}"
    )


def _format_range(counts: Sequence[int]) -> str:
    """`500 to 1,000`, or `1,000` if all are equal."""
    if not counts:
        return ""
    smallest = min(counts)
    largest = max(counts)
    if smallest == largest:
        return f"{smallest:,}"
    return f"{smallest:,} to {largest:,}"


def _format_time(seconds: float) -> str:
    """`2 h 05 min`, `5 min` or `20 s`."""
    all_minutes = round(seconds / 60)
    hours, minutes = divmod(all_minutes, 60)
    if hours:
        return f"{hours}{NO_BREAK}h {minutes:02d}{NO_BREAK}min"
    if minutes:
        return f"{minutes}{NO_BREAK}min"
    return f"{seconds:.0f}{NO_BREAK}s"
