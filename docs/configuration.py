"""Writes docs/configure/configuration.md: every key of a configuration, from the classes that read it.

python docs/configuration.py
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
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
ROOM_OF = {
    registry.get(name).Config: title
    for title, (registry, _) in REGISTRIES.items()
    for name in registry.names()
}
LOSS_OF = {LOSSES.get(name).Config: name for name in LOSSES.names()}

NOTES = {
    "Schedules": "`schedule: NAME` takes the file of that name (`polyglot show` lists those that are shipped); `base: NAME` takes it and\n"
    "lays the other keys over it: `schedule: {base: with_copies, copy_weight: 0.5}`.",
}

WORDS = {
    str: ("text", "texts"),
    int: ("whole number", "whole numbers"),
    float: ("number", "numbers"),
    bool: ("true or false", "true or false"),
}
"""One of them, and several."""
BOUNDS = {Ge: "at least {}", Gt: "more than {}", Le: "at most {}", Lt: "less than {}"}

OR_NULL = ", or null"

HEAD = """\
# Every key of a configuration

This page is generated from the classes that read the keys: `python docs/configuration.py`. `polyglot show NAME` prints a
configuration with every default filled in; `key=value` on the command line of `polyglot train` lies on top of the file, with
dots between the levels: `model.encoder.size=256`, `data.train.0.weight=2`, `schedule.pairs="[de-en, en-*]"`.

What can be chosen by name is written as the name alone, or as a mapping with `type` and the settings that differ; where the
key has a default, that is the `type` of a mapping without one:

```yaml
optimizer: adamw
learning_rate_schedule: {type: inverse_square_root, warmup: 2000}
```

A key that is not on this page is refused, and so is a value of another type."""


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## A run", _table(Config, "")]
    for key, field in Config.model_fields.items():
        parts += list(_section(key, field.annotation))
    for title, (registry, places) in REGISTRIES.items():
        parts += list(_registry(title, registry, places))
    parts += [
        "## Evaluation protocols",
        "A file of its own, for `polyglot evaluate RUN --protocol FILE`.",
        _table(Protocol, ""),
    ]
    parts += [
        "## Analysis of embeddings",
        "A file of its own, for `polyglot analyse RUN --settings FILE`.",
        _table(AnalysisSettings, ""),
    ]
    parts += [
        "### `similarity`",
        _table(SimilarityTest, ""),
        "### `labelled`",
        _table(LabelledText, ""),
    ]
    parts += [
        "## Experiments",
        "A file of its own, for `polyglot experiment FILE`.",
        _table(Experiment, ""),
        "Below `systems`, by name:",
        _table(SystemConfig, ""),
        "Below `sizes`, by name:",
        _table(SizeConfig, ""),
    ]
    return "\n\n".join(parts) + "\n"


def _section(path: str, annotation: Any) -> Iterator[str]:
    """A heading and a table for settings below a key, also where null can stand for them, and for what lies below those."""
    members = typing.get_args(annotation)
    annotation = next(
        (one for one in members if _is_settings(one) and type(None) in members), annotation
    )
    if not _is_settings(annotation) or annotation in ROOM_OF:
        return
    kind = LOSS_OF.get(annotation)
    yield f"## `{path}`"
    yield _docstring(LOSSES.get(kind) if kind else annotation)
    yield _table(annotation, f"{path}.")
    for key, field in annotation.model_fields.items():
        yield from _section(f"{path}.{key}", field.annotation)


def _registry(title: str, registry: Registry, places: str) -> Iterator[str]:
    """A heading for a room, with what all of its classes have in common; a smaller one for each class."""
    classes = {name: registry.get(name) for name in registry.names()}
    rows = {name: dict(_rows(cls.Config, "")) for name, cls in classes.items()}
    common = {
        key: row
        for key, row in next(iter(rows.values())).items()
        if all(each.get(key) == row for each in rows.values())
    }
    yield f"## {title}"
    yield f"Where: {places}. Types: {', '.join(f'`{name}`' for name in classes)}."
    if note := NOTES.get(title):
        yield note
    if common:
        yield "Every type has:"
        yield _drawn(common)
    for name, cls in classes.items():
        yield f"### `{name}`"
        yield _docstring(cls)
        if own := {key: row for key, row in rows[name].items() if key not in common}:
            yield _drawn(own)


def _table(settings: type[BaseModel], prefix: str) -> str:
    return _drawn(dict(_rows(settings, prefix)))


def _rows(settings: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    """Key and the rest of its row."""
    for key, field in settings.model_fields.items():
        if (
            key == "type"
            and typing.get_origin(field.annotation) is Literal
            and (settings in ROOM_OF or settings in LOSS_OF)
        ):
            continue  # the name it was chosen by
        meaning = " ".join((field.description or "").split())
        below = settings in ROOM_OF and _is_settings(
            field.annotation
        )  # keys that have no section of their own
        default = "its own" if below else _default(field, prefix + key)
        yield f"{prefix}{key}", f"{_type(field, prefix + key)} | {default} | {meaning}"
        if below:
            yield from _rows(field.annotation, f"{prefix}{key}.")
        for inner in _items(field.annotation):
            yield from _rows(inner, f"{prefix}{key}.N.")


def _drawn(rows: Mapping[str, str]) -> str:
    return "\n".join(
        [
            "| key | type | default | meaning |",
            "|---|---|---|---|",
            *(f"| `{key}` | {row} |" for key, row in rows.items()),
        ]
    )


def _type(field: FieldInfo, place: str) -> str:
    """What may stand there, in words."""
    words, bounds = _words(field.annotation, place), _bounds(field.metadata)
    if not bounds:
        return words
    value, null = words.removesuffix(OR_NULL), OR_NULL if words.endswith(OR_NULL) else ""
    return f"{value}, {bounds}{null}"


def _words(annotation: Any, place: str, *, several: bool = False) -> str:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        bounds = _bounds(
            [
                bound
                for each in inner[1:]
                for bound in (each.metadata if isinstance(each, FieldInfo) else [each])
            ]
        )
        words = _words(inner[0], place, several=several)
        return f"{words}, {bounds}" if bounds else words
    if origin in (Union, types.UnionType):
        rooms = {ROOM_OF[one] for one in inner if one in ROOM_OF}
        if rooms:
            return " or ".join(map(_link, sorted(rooms)))
        values = [_words(one, place) for one in inner if one is not types.NoneType]
        values = (", or " if any(" to " in each for each in values) else " or ").join(values)
        return values + OR_NULL if types.NoneType in inner else values
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is list:
        return f"list of {_words(inner[0], place, several=True)}"
    if origin is dict:
        return f"mapping from {'language' if place.endswith('languages') else 'text'} to {_words(inner[1], place)}"
    if annotation in ROOM_OF:
        return _link(ROOM_OF[annotation])
    if _is_settings(annotation):
        return "mappings" if several else "mapping"
    return WORDS[annotation][several]


def _bounds(metadata: Any) -> str:
    found = [
        BOUNDS[kind].format(getattr(each, kind.__name__.lower()))
        for each in metadata
        if (kind := type(each)) in BOUNDS
    ]
    least = next((each.min_length for each in metadata if type(each) is MinLen), None)
    most = next((each.max_length for each in metadata if type(each) is MaxLen), None)
    if least is not None:
        found.append(f"{least} of them" if least == most else f"at least {least} of them")
    return " and ".join(found)


def _default(field: FieldInfo, place: str) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return f"[its own](#{place.replace('.', '')})"
    if isinstance(value, dict) and value.keys() == {"type"}:
        value = value["type"]
    if isinstance(value, list):
        return f"`[{', '.join(map(_written, value))}]`"
    return f"`{value}`" if isinstance(value, str) else f"`{_written(value)}`"


def _written(value: Any) -> str:
    """As it stands in a file: with quotes where YAML wants them."""
    return dump_yaml({"value": value}).removeprefix("value: ").strip()


def _items(annotation: Any) -> Iterator[type[BaseModel]]:
    """Settings that are items of a list and no room of their own."""
    if typing.get_origin(annotation) is list:
        yield from (
            one for one in typing.get_args(annotation) if _is_settings(one) and one not in ROOM_OF
        )


def _is_settings(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _docstring(cls: type) -> str:
    return "\n".join(line.strip() for line in (cls.__doc__ or "").strip().splitlines())


def _link(title: str) -> str:
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
