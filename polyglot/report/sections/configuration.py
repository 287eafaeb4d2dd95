"""Section with the configuration, and the environment of each evaluation."""

from __future__ import annotations

from polyglot.report.files import RunFiles
from polyglot.report.section import Section, render


def configuration(files: RunFiles) -> Section:
    environments = []
    for evaluation in files.evaluations:
        values = evaluation.values
        environments.append(
            {
                "name": evaluation.name,
                "machine": values["machine"],
                "versions": values["versions"],
                "search": values["search"],
                "checkpoint": values["checkpoint"],
                "seconds": sum(cell["seconds"] for cell in evaluation.cells),
            }
        )
    yaml = files.run.config.to_yaml()
    body = render("configuration.html", yaml=yaml, environments=environments)
    return Section("configuration", "Configuration and environment", body)
