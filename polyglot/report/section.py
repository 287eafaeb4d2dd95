"""A part of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """One heading of the page with what stands below it.

    A section is made by a function from `Files` to a section, or to None where the run has nothing for it; its name in
    `sections/__init__.py` puts it on the page.
    """

    name: str
    """of its anchor, letters only"""
    title: str
    body: Markup
    """HTML in which all text is escaped: what `render` gives, or markupsafe"""
    data: Mapping[str, Any] = field(default_factory=dict)
    """what the script finds as `data[name]`; only JSON"""


@cache
def _templates() -> Environment:
    """Every value is escaped unless it is Markup; a name that nobody gave is a mistake."""
    environment = Environment(
        loader=PackageLoader("polyglot.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": False
    }  # the first measure is the one to show first
    return environment


def render(template: str, **values: Any) -> Markup:
    """The HTML of a file of `templates/`."""
    return Markup(_templates().get_template(template).render(**values))  # noqa: S704: autoescape is on


def number(value: float | None, digits: int = 1) -> str:
    """`12,345.6`, or – for nothing."""
    return "–" if value is None else f"{value:,.{digits}f}"
