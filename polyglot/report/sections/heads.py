"""The heads of the bridge over many sentences: which positions each attends to, and how alike two of them are."""

from __future__ import annotations

from typing import Any

from polyglot.report.analyses import Analysed, analyses
from polyglot.report.files import Files
from polyglot.report.section import Section, render


def heads(files: Files) -> Section | None:
    found = [_heads(one) for one in analyses(files) if one.values["heads"]]
    return (
        Section("heads", "Heads on average", render("heads.html", analyses=found))
        if found
        else None
    )


def _heads(analysed: Analysed) -> dict[str, Any]:
    """Heads in the order of the sentence, from the one that attends to its front to the one that attends to its end."""
    positions, likeness = (
        analysed.values["heads"]["positions"],
        analysed.values["heads"]["similarity"],
    )
    tenths = range(len(next(iter(positions.values()))[0]))
    order = sorted(
        range(len(likeness)),
        key=lambda head: sum(
            tenth * own[head][tenth] for own in positions.values() for tenth in tenths
        ),
    )
    others = [likeness[one][other] for one in order for other in order if one != other]
    return {
        "name": analysed.name,
        "count": len(order),
        "alike": sum(others) / len(others) if others else None,
        "order": [head + 1 for head in order],
        "top": max(share for own in positions.values() for row in own for share in row),
        "positions": {
            language: [own[head] for head in order] for language, own in positions.items()
        },
        "likeness": [[likeness[one][other] for other in order] for one in order],
    }
