"""The numbers that one asks for first."""

from __future__ import annotations

from polyglot.report.files import Files
from polyglot.report.section import Section, render

KINDS = {"supervised": "supervised", "zero-shot": "zero-shot †", "pivot": "through {} ‡", "copy": "copies"}


def headline(files: Files) -> Section:
    config, cards = files.run.config, []
    training = [line for line in files.log if line.get("kind") == "training"]
    if files.scored:
        first = files.scored[0]
        measure, title = next(iter(first.measures.items()))
        for kind, name in KINDS.items():
            if (value := first.mean(measure, kind)) is not None:
                cards.append({"value": f"{value:.1f}", "name": f"{title}, {name.format(first.values['protocol']['pivot'])}", "kind": kind})
        known = [cell["outputs"]["off_target"] for cell in first.cells if cell["kind"] == "zero-shot" and cell["outputs"]]
        if known and None not in known:
            cards.append({"value": f"{100 * sum(known) / len(known):.1f} %", "name": "of zero-shot outputs in a wrong language", "kind": ""})
    if training:
        cards.append({"value": f"{training[-1]['step']:,}", "name": f"of {config.training.steps:,} updates", "kind": ""})
        cards.append({"value": _time(training[-1]["seconds"]), "name": "of training", "kind": ""})
    facts = [
        f"{len(config.languages)} languages: {', '.join(config.languages)}",
        f"{len([pair for pair in config.pairs if not pair.is_copy])} trained pairs, {len([pair for pair in config.pairs if pair.is_copy])} copies",
        f"encoder {config.model.encoder.type}, bridge {config.model.bridge.type}, decoder {config.model.decoder.type}",
    ]
    where = f"Scores of the protocol {files.scored[0].name}: {', '.join(files.scored[0].values['test'])}." if files.scored else ""
    body = render("headline.html", cards=cards, facts=facts, where=where, scored=bool(files.scored), unreadable=files.unreadable)
    return Section("headline", "At a glance", body)


def _time(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min" if minutes else f"{seconds:.0f} s"
