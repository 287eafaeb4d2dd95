"""English names of languages, from the subtag registry of BCP 47 that langcodes contains."""

from __future__ import annotations

from functools import cache

from polyglot.core.language_codes import parse_language

KINDS = ("language", "script", "region")


def language_title(code: str) -> str:
    """Return the English name of a language code: `German`, `Portuguese, Brazil`.

    Returns the code itself if the language is in no registry.
    """
    meaning = parse_language(code)
    if not meaning.is_known:
        return code
    language, *others = meaning.normal_form.split("-")
    titles = [_titles().get(("language", language), code)]
    for part in others:
        kind = "script" if len(part) == 4 else "region"
        titles.append(_titles().get((kind, part), part))
    return ", ".join(titles)


@cache
def _titles() -> dict[tuple[str, str], str]:
    """First description of each subtag, by kind and subtag."""
    from langcodes.registry_parser import parse_registry

    titles = {}
    for entry in parse_registry():
        if entry["Type"] in KINDS and "Subtag" in entry:
            titles[entry["Type"], entry["Subtag"]] = entry["Description"][0]
    return titles
