"""Generate docs/configure/configuration.md: every key of a configuration.

    python docs/configuration.py

Keys, types, defaults and meanings come from the classes that read the configuration.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from polyglot.analysis.embeddings.config import AnalysisSettings, LabelledText, SimilarityTest
from polyglot.config.schema import Config
from polyglot.core.registry import Registry
from polyglot.core.yaml import dump_yaml
from polyglot.data.corpora import CORPORA
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments.config import Experiment, SizeConfig, SystemConfig
from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import LOSSES
from polyglot.model.options import OPTIONS
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS
from polyglot.tasks.schedule import SCHEDULES
from polyglot.text.preprocessing import STEPS

PAGE = Path(__file__).parent / "configure" / "configuration.md"

REGISTRIES: dict[str, tuple[Registry, str]] = {
    "Corpora": (CORPORA, "`data.train`, `data.valid`, `data.test`; `test` of a protocol"),
    "Text steps": (STEPS, "`text.steps`, `text.languages.<language>`"),
    "Schedules": (SCHEDULES, "`schedule`"),
    "Encoders": (ENCODERS, "`model.encoder`, `model.languages.<language>.encoder`"),
    "Bridges": (BRIDGES, "`model.bridge`"),
    "Decoders": (DECODERS, "`model.decoder`, `model.languages.<language>.decoder`"),
    "Options": (
        OPTIONS,
        "`model.options.encoder`, `model.options.decoder`, `model.languages.<language>.options`",
    ),
    "Optimizers": (OPTIMIZERS, "`optimizer`"),
    "Learning-rate schedules": (LEARNING_RATES, "`learning_rate_schedule`"),
}
"""Title of each registry's section: the registry, and the keys that accept its names."""

NOTES = {
    "Schedules": (
        "`schedule: NAME` reads the file of that name (`polyglot show` lists the shipped files). "
        "`base: NAME` reads it and\n"
        "replaces some of its keys: `schedule: {base: with_copies, copy_weight: 0.5}`."
    ),
}

TYPE_NAMES = {
    str: ("text", "texts"),
    int: ("whole number", "whole numbers"),
    float: ("number", "numbers"),
    bool: ("true or false", "true or false"),
}
"""Singular and plural."""
BOUNDS = {Ge: "at least {}", Gt: "more than {}", Le: "at most {}", Lt: "less than {}"}

OR_NULL = ", or null"

HEAD = """\
# Every key of a configuration

This page is generated from the classes that read the keys: `python docs/configuration.py`.
`polyglot show NAME` prints a configuration with every default filled in. `key=value` on the
command line of `polyglot train` replaces a value of the file, `key+=value` appends to a list; dots
separate the levels:
`model.encoder.size=256`, `data.train.0.weight=2`, `schedule.pairs="[de-en, en-*]"`.

A component is written as its name alone, or as a mapping with `type` and the settings that differ
from the defaults. If the key has a default, a mapping without `type` has the default type:

```yaml
optimizer: adamw
learning_rate_schedule: {type: inverse_square_root, warmup: 2000}
```

A key that is not on this page is an error, and so is a value of another type.

Values without quotes are read by the core schema of YAML 1.2, in files and after `key=`:

| written | read as |
|---|---|
| `null`, `Null`, `NULL`, `~`, nothing | null |
| `true`, `True`, `TRUE`, `false`, `False`, `FALSE` | true or false |
| `10`, `+10`, `010`, `0o12`, `0xA` | the whole number ten |
| `0.001`, `1e-3`, `.5`, `5.`, `.inf`, `.nan` | a number |
| `1e3`, `1000.0` | a number, also where a whole number is expected |
| everything else: `no`, `1:30`, `2026-11-25`, `1_000` | text |
"""

Settings = type[BaseModel]


def _titles_by_settings() -> dict[Settings, str]:
    titles = {}
    for title, (registry, _) in REGISTRIES.items():
        for name in registry.names():
            titles[registry.get(name).Config] = title
    return titles


TITLE_OF = _titles_by_settings()
"""Section of the registry that a class of settings belongs to."""
LOSS_OF = {LOSSES.get(name).Config: name for name in LOSSES.names()}


# Sections


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, "## A run", _table(Config, "")]
    for key, field in Config.model_fields.items():
        parts += _section(key, field.annotation)
    for title, (registry, places) in REGISTRIES.items():
        parts += _registry_section(title, registry, places)
    parts += [
        "## Evaluation protocols",
        "A separate file, for `polyglot evaluate RUN --protocol FILE`.",
        _table(Protocol, ""),
        "## Analysis of embeddings",
        "A separate file, for `polyglot analyse RUN --settings FILE`.",
        _table(AnalysisSettings, ""),
        "### `similarity`",
        _table(SimilarityTest, ""),
        "### `labelled`",
        _table(LabelledText, ""),
        "## Experiments",
        "A separate file, for `polyglot experiment FILE`.",
        _table(Experiment, ""),
        "Below `systems`, by name:",
        _table(SystemConfig, ""),
        "Below `sizes`, by name:",
        _table(SizeConfig, ""),
    ]
    return "\n\n".join(parts) + "\n"


def _section(path: str, annotation: Any) -> Iterator[str]:
    """Yield heading and table of the settings below a key, and the sections below them.

    The settings may be optional. Components of a registry have their own section.
    """
    settings = _optional_settings(annotation) or annotation
    if not _is_settings(settings) or settings in TITLE_OF:
        return
    described = settings
    if settings in LOSS_OF:
        described = LOSSES.get(LOSS_OF[settings])
    yield f"## `{path}`"
    yield _docstring(described)
    yield _table(settings, f"{path}.")
    for key, field in settings.model_fields.items():
        yield from _section(f"{path}.{key}", field.annotation)


def _optional_settings(annotation: Any) -> Settings | None:
    """Return the settings of a union of settings and None."""
    members = typing.get_args(annotation)
    if types.NoneType not in members:
        return None
    for member in members:
        if _is_settings(member):
            return member
    return None


def _registry_section(title: str, registry: Registry, places: str) -> Iterator[str]:
    """Yield the section of a registry: common keys of all classes, and a heading per class."""
    names = registry.names()
    rows = {name: dict(_rows(registry.get(name).Config, "")) for name in names}
    common = _common_rows(list(rows.values()))
    listing = ", ".join(f"`{name}`" for name in names)
    yield f"## {title}"
    yield f"Where: {places}. Types: {listing}."
    if title in NOTES:
        yield NOTES[title]
    if common:
        yield "Every type has:"
        yield _markdown_table(common)
    for name in names:
        yield f"### `{name}`"
        yield _docstring(registry.get(name))
        remaining = {key: row for key, row in rows[name].items() if key not in common}
        if remaining:
            yield _markdown_table(remaining)


def _common_rows(tables: list[dict[str, str]]) -> dict[str, str]:
    """Return the rows that are equal in all tables."""
    common = {}
    for key, row in tables[0].items():
        if all(table.get(key) == row for table in tables):
            common[key] = row
    return common


def _docstring(component: type) -> str:
    lines = (component.__doc__ or "").strip().splitlines()
    return "\n".join(line.strip() for line in lines)


# Tables


def _table(settings: Settings, prefix: str) -> str:
    return _markdown_table(dict(_rows(settings, prefix)))


def _markdown_table(rows: Mapping[str, str]) -> str:
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, row in rows.items():
        lines.append(f"| `{key}` | {row} |")
    return "\n".join(lines)


def _rows(settings: Settings, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield each key with the rest of its row: type, default and meaning."""
    for key, field in settings.model_fields.items():
        if key == "type" and _is_type_name(settings, field):
            continue
        path = f"{prefix}{key}"
        default = _default(field, path)
        if settings in TITLE_OF and _is_settings(field.annotation):
            default = "see below"
        meaning = " ".join((field.description or "").split())
        yield path, f"{_type(field, path)} | {default} | {meaning}"
        # Settings inside a component have no section, so their keys follow here.
        nested = _optional_settings(field.annotation) or field.annotation
        if settings in TITLE_OF and _is_settings(nested):
            yield from _rows(nested, f"{path}.")
        item_settings = _item_settings(field.annotation)
        if item_settings:
            yield from _rows(item_settings, f"{path}.N.")


def _is_type_name(settings: Settings, field: FieldInfo) -> bool:
    """Return True if the field is the name by which a component is chosen."""
    if typing.get_origin(field.annotation) is not Literal:
        return False
    return settings in TITLE_OF or settings in LOSS_OF


def _item_settings(annotation: Any) -> Settings | None:
    """Return the settings of the items of a list, unless they belong to a registry."""
    if typing.get_origin(annotation) is not list:
        return None
    (item_type,) = typing.get_args(annotation)
    if _is_settings(item_type) and item_type not in TITLE_OF:
        return item_type
    return None


def _is_settings(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


# Types


def _type(field: FieldInfo, path: str) -> str:
    """Return the type of a field in words, such as `whole number, at least 1, or null`."""
    words = _type_words(field.annotation, path)
    bounds = _bounds(field.metadata)
    if not bounds:
        return words
    if words.endswith(OR_NULL):
        return f"{words.removesuffix(OR_NULL)}, {bounds}{OR_NULL}"
    return f"{words}, {bounds}"


def _type_words(annotation: Any, path: str, *, plural: bool = False) -> str:
    origin = typing.get_origin(annotation)
    inner = typing.get_args(annotation)
    if origin is Annotated:
        words = _type_words(inner[0], path, plural=plural)
        bounds = _bounds(_flat_metadata(inner[1:]))
        return f"{words}, {bounds}" if bounds else words
    if origin in (Union, types.UnionType):
        return _union_words(inner, path)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is list:
        return f"list of {_type_words(inner[0], path, plural=True)}"
    if origin is dict:
        key = "language" if path.endswith("languages") else "text"
        return f"mapping from {key} to {_type_words(inner[1], path)}"
    if annotation in TITLE_OF:
        return _link(TITLE_OF[annotation])
    if _is_settings(annotation):
        return "mappings" if plural else "mapping"
    singular_name, plural_name = TYPE_NAMES[annotation]
    return plural_name if plural else singular_name


def _union_words(members: Iterable[Any], path: str) -> str:
    titles = {TITLE_OF[member] for member in members if member in TITLE_OF}
    if titles:
        return " or ".join(map(_link, sorted(titles)))
    words = [_type_words(member, path) for member in members if member is not types.NoneType]
    separator = " or "
    if any(" to " in member_words for member_words in words):
        separator = ", or "
    text = separator.join(words)
    if types.NoneType in members:
        text += OR_NULL
    return text


def _flat_metadata(metadata: Iterable[Any]) -> list[Any]:
    """Return the bounds of an annotation; pydantic's Field holds several."""
    bounds = []
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            bounds += entry.metadata
        else:
            bounds.append(entry)
    return bounds


def _bounds(metadata: Iterable[Any]) -> str:
    """Return the bounds in words, such as `at least 1 and at most 100`."""
    words = []
    shortest = None
    longest = None
    for bound in metadata:
        kind = type(bound)
        if kind in BOUNDS:
            value = getattr(bound, kind.__name__.lower())
            words.append(BOUNDS[kind].format(value))
        elif kind is MinLen:
            shortest = bound.min_length
        elif kind is MaxLen:
            longest = bound.max_length
    if shortest is not None:
        items = f"{shortest} of them"
        words.append(items if shortest == longest else f"at least {items}")
    return " and ".join(words)


def _link(title: str) -> str:
    anchor = title.lower().replace(" ", "-")
    return f"[{title.lower()}](#{anchor})"


# Defaults


def _default(field: FieldInfo, path: str) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        anchor = path.replace(".", "")
        return f"[see below](#{anchor})"
    if isinstance(value, dict) and value.keys() == {"type"}:
        value = value["type"]
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, list):
        items = ", ".join(map(_yaml, value))
        return f"`[{items}]`"
    return f"`{_yaml(value)}`"


def _yaml(value: Any) -> str:
    """Return the value as in a file, with quotes if YAML needs them."""
    return dump_yaml({"value": value}).removeprefix("value: ").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
