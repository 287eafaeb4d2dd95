"""Section: one part of the report page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from polyglot.core.language_codes import normal_form
from polyglot.core.score_tables import format_number


@dataclass(frozen=True)
class Section:
    """A heading of the page with its content.

    A function makes the section from `RunFiles`, or returns None if the run has nothing for it.
    Functions that are listed in `sections/__init__.py` are on the page.
    """

    name: str
    """anchor, letters only"""
    title: str
    body: Markup
    """HTML in which all text is escaped, as from `render` or markupsafe"""
    data: Mapping[str, Any] = field(default_factory=dict)
    """values that JSON can represent; the script finds them as `data[name]`"""


@cache
def _templates() -> Environment:
    """Templates that escape every value except Markup and refuse undefined names."""
    environment = Environment(
        loader=PackageLoader("polyglot.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    environment.filters["tag"] = normal_form
    # Keep the order of keys: the first measure is shown first.
    # Text in other scripts than Latin is half as long without escapes.
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": False,
        "ensure_ascii": False,
        "separators": (",", ":"),
    }
    return environment


def render(template: str, **values: Any) -> Markup:
    """HTML of a file in `templates/`."""
    html = _templates().get_template(template).render(**values)
    return Markup(html)  # noqa: S704 (the templates escape all text)
