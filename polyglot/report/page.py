"""Builds the report page: all sections, style and script in one file, with all text escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path

from markupsafe import Markup

from polyglot.core.atomic_files import replace_file
from polyglot.core.file_locks import REPORT_LOCK_FILE, folder_lock
from polyglot.core.version import VERSION
from polyglot.report.files import RunFiles, language_tags
from polyglot.report.section import Section, render
from polyglot.report.sections import SECTIONS
from polyglot.runs.run import Run


def write(
    run: Run,
    *,
    sentences: Sequence[tuple[str, str]] = (),
    more: Sequence[Section] = (),
) -> Path:
    """Write `report.html` of a run directory and return its path.

    sentences: language and text of sentences whose attention is shown, in place of test sentences.
    more: further sections, placed before the configuration.
    Raises CheckpointError if the page cannot be written, or if another process writes it.
    """
    path = run.results / "report.html"
    run.results.mkdir(parents=True, exist_ok=True)
    with folder_lock(run.results, work="writing the report of this run", name=REPORT_LOCK_FILE):
        replace_file(path, page(RunFiles(run, tuple(sentences)), more=more))
    return path


def page(files: RunFiles, *, more: Sequence[Section] = ()) -> str:
    """HTML of the report.

    Its Content Security Policy forbids loading anything, and allows no script except ours.
    """
    sections = []
    for make_section in SECTIONS:
        section = make_section(files)
        if section is not None:
            sections.append(section)
    sections[-1:-1] = more  # the configuration stays last
    names = {section.name for section in sections}
    assert len(names) == len(sections)

    script = _template_text("script.js")
    sha256 = hashlib.sha256(script.encode())
    digest = base64.b64encode(sha256.digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
    return render(
        "page.html",
        title=files.title,
        sections=sections,
        data={
            **{section.name: dict(section.data) for section in sections},
            "tags": language_tags(files.run.config.languages),
        },
        style=Markup(_template_text("style.css")),  # noqa: S704 (our file)
        script=Markup(script),  # noqa: S704 (our file)
        policy=policy,
        version=VERSION,
    )


def _template_text(name: str) -> str:
    path = resources("polyglot.report") / "templates" / name
    return path.read_text(encoding="utf-8")
