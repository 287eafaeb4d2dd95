"""The whole page: sections, style and script in one file, in which no text of a corpus can be anything but text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path

from markupsafe import Markup

from polyglot.core.atomic_files import replace_file
from polyglot.core.version import VERSION
from polyglot.report.files import Files
from polyglot.report.section import Section, render
from polyglot.report.sections import SECTIONS
from polyglot.runs.run import Run


def write(
    run: Run, *, sentences: Sequence[tuple[str, str]] = (), more: Sequence[Section] = ()
) -> Path:
    """`report.html` of a run directory.

    sentences: language and text, for which the bridge's attention is shown besides those of the test text.
    more: further sections, before the configuration. Raises CheckpointError when the page cannot be written.
    """
    path = run.path / "report.html"
    replace_file(path, page(Files(run, tuple(sentences)), more=more))
    return path


def page(files: Files, *, more: Sequence[Section] = ()) -> str:
    """The HTML. A Content Security Policy lets nothing be loaded, and of scripts only ours run."""
    made = [section for make in SECTIONS if (section := make(files)) is not None]
    sections = [*made[:-1], *more, *made[-1:]]
    assert len({section.name for section in sections}) == len(sections)
    script = (resources("polyglot.report") / "templates" / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return render(
        "page.html",
        title=files.run.path.resolve().name,
        languages=files.run.config.languages,
        sections=sections,
        data={section.name: dict(section.data) for section in sections},
        style=Markup(
            (resources("polyglot.report") / "templates" / "style.css").read_text(encoding="utf-8")
        ),  # noqa: S704: ours
        script=Markup(script),  # noqa: S704: ours
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        version=VERSION,
    )
