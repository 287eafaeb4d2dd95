"""Everything that must be known to repeat the run."""

from __future__ import annotations

from polyglot.report.files import Files
from polyglot.report.section import Section, render


def configuration(files: Files) -> Section:
    environments = [
        {
            "name": scored.name,
            "machine": scored.values["machine"],
            "versions": scored.values["versions"],
            "search": scored.values["search"],
            "checkpoint": scored.values["checkpoint"],
            "seconds": sum(cell["seconds"] for cell in scored.cells),
        }
        for scored in files.scored
    ]
    return Section(
        "configuration",
        "Configuration and environment",
        render("configuration.html", yaml=files.run.config.to_yaml(), environments=environments),
    )
