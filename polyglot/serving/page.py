"""Web page of the server: any source and target language, direct and pivot translation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files as resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from polyglot.core.language_codes import normal_form
from polyglot.core.version import VERSION
from polyglot.serving.languages import language_name, text_directions
from polyglot.serving.messages import MOST_HYPOTHESES
from polyglot.serving.service import TranslationService

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page loads nothing from elsewhere, and runs no script but its own file."""


@dataclass(frozen=True)
class WebPage:
    """Files of the page."""

    html: str
    style: str
    script: str


def web_page(service: TranslationService) -> WebPage:
    """Return the page of a run. All text in it is escaped."""
    style = _read("polyglot.report", "style.css") + _read("polyglot.serving", "style.css")
    script = _read("polyglot.serving", "script.js")
    environment = Environment(
        loader=PackageLoader("polyglot.serving"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template("page.html").render(
        run=service.run_name,
        data=_page_data(service),
        counts=[1, 3, 5, MOST_HYPOTHESES],
        has_heads=service.has_heads,
        style_version=_digest(style),
        script_version=_digest(script),
        version=VERSION,
    )
    return WebPage(html, style, script)


def _page_data(service: TranslationService) -> dict[str, Any]:
    """Return the values that the script needs."""
    languages = service.languages
    codes = list(dict.fromkeys([*languages.sources, *languages.targets]))
    directions = text_directions(codes)
    entries = {}
    for code in codes:
        entries[code] = {
            "name": language_name(code),
            "tag": normal_form(code),
            "dir": directions[code],
        }
    return {
        "languages": entries,
        "sources": list(languages.sources),
        "targets": list(languages.targets),
        "trained": sorted(map(str, languages.trained_pairs)),
        "characters": service.limits.characters,
        "heads": service.has_heads,
    }


def _read(package: str, name: str) -> str:
    path = resources(package) / "templates" / name
    return path.read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Name of a version of a file, so that a browser does not keep an older one."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
