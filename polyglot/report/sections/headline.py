"""The numbers that one asks for first."""

from __future__ import annotations

from statistics import mean

from polyglot.report.files import Files, Scored, checkpoint_of
from polyglot.report.section import Section, render

KINDS = {
    "supervised": "supervised",
    "zero-shot": "zero-shot\u00a0†",
    "pivot": "through {}\u00a0‡",
    "copy": "copies",
}


def headline(files: Files) -> Section:
    config, cards = files.run.config, []
    training = [line for line in files.log if line.get("kind") == "training"]
    if files.scored:
        first = files.scored[0]
        measure, title = next(iter(first.measures.items()))
        for kind, name in KINDS.items():
            if (value := first.mean(measure, kind)) is not None:
                cards.append(
                    {
                        "value": f"{value:.1f}",
                        "name": f"{title}, {name.format(first.values['protocol']['pivot'])}",
                        "kind": kind,
                    }
                )
        outputs = [
            cell["outputs"]
            for cell in first.cells
            if cell["kind"] == "zero-shot" and cell["outputs"]
        ]
        if outputs and all(each["off_target"] is not None for each in outputs):
            wrong, error = (
                f"{100 * mean(each[share] for each in outputs):.1f}\u00a0%"
                for share in ("off_target", "off_target_references")
            )
            cards.append(
                {
                    "value": wrong,
                    "name": f"of zero-shot outputs in a wrong language (references: {error})",
                    "kind": "",
                }
            )
    if training:
        cards.append(
            {
                "value": f"{training[-1]['step']:,}",
                "name": f"of {config.training.steps:,} updates",
                "kind": "",
            }
        )
        cards.append({"value": _time(training[-1]["seconds"]), "name": "of training", "kind": ""})
    copies = sum(pair.is_copy for pair in config.pairs)
    facts = [
        f"{len(config.languages)} languages: {', '.join(config.languages)}",
        f"{len(config.pairs) - copies} trained pairs, {copies} copies",
        f"encoder {config.model.encoder.type}, bridge {config.model.bridge.type}, decoder {config.model.decoder.type}",
    ]
    where = _where(files.scored[0]) if files.scored else ""
    body = render(
        "headline.html",
        cards=cards,
        facts=facts,
        where=where,
        scored=bool(files.scored),
        unreadable=files.unreadable,
    )
    return Section("headline", "At a glance", body)


def _where(scored: Scored) -> str:
    """What the scores are of, and how they were made."""
    counts = sorted({cell["sentences"] for cell in scored.cells if cell["scores"]})
    sentences = " to ".join(f"{count:,}" for count in dict.fromkeys([*counts[:1], *counts[-1:]]))
    signatures = " · ".join(scored.signatures(next(iter(scored.measures))))
    text = f"Scores of the protocol {scored.name}, {checkpoint_of(scored.values)}, on {', '.join(scored.values['test'])}"
    return f"{text}, {sentences} sentences of each direction; {signatures}"


def _time(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return (
        f"{hours}\u00a0h {minutes:02d}\u00a0min"
        if hours
        else f"{minutes}\u00a0min"
        if minutes
        else f"{seconds:.0f}\u00a0s"
    )
