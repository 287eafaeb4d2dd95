"""All keys of the configuration schema, with the components that have them."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Union, get_args, get_origin

from polyglot.config.schema import Config
from polyglot.core.registry import ComponentConfig

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """One key of the schema."""

    path: Path
    types: tuple[tuple[Path, str], ...]
    """The type of each component above the key: `(("model", "encoder"), "gru")`."""
    leaves: tuple[Any, ...]
    """Types of its values that are no settings: int, float, str, …"""

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))

    @property
    def is_numeric(self) -> bool:
        return int in self.leaves or float in self.leaves

    def __str__(self) -> str:
        types_above = ",".join(kind for _, kind in self.types)
        return f"{self.name}[{types_above}]" if types_above else self.name

    def settings(self, value: Any) -> dict[str, Any]:
        """Nested settings with this value; components have the type that knows the key."""
        tree: dict[str, Any] = {}
        for path, kind in self.types:
            _set(tree, (*path, "type"), kind)
        _set(tree, self.path, value)
        return tree


def _set(tree: Any, path: Path, value: Any) -> None:
    """Set a value in nested mappings; a position is the only item of a list."""
    for key, following in pairwise(path):
        if isinstance(tree, list):
            if not tree:
                tree.append([] if isinstance(following, int) else {})
            tree = tree[0]
        else:
            tree = tree.setdefault(key, [] if isinstance(following, int) else {})
    if isinstance(tree, list):
        tree[:] = [value]
    else:
        tree[path[-1]] = value


def schema_keys(
    kind: type[ComponentConfig] = Config,
    path: Path = (),
    types_above: tuple[tuple[Path, str], ...] = (),
    parents: tuple[type, ...] = (),
) -> Iterator[SchemaKey]:
    """Yield every key below some settings; a key of several component types once for each.

    parents: settings that are not entered again, such as bridges in a stack of bridges.
    """
    for name, field in kind.model_fields.items():
        if name == "type" and types_above and types_above[-1][0] == path:
            continue
        leaves: list[Any] = []
        for inner_path, leaf in _parts(field.annotation):
            if not (isinstance(leaf, type) and issubclass(leaf, ComponentConfig)):
                leaves.append(leaf)
            elif leaf not in parents:
                inner = (*path, name, *inner_path)
                component = _component_type(leaf)
                inner_types = (*types_above, (inner, component)) if component else types_above
                yield from schema_keys(leaf, inner, inner_types, (*parents, kind, leaf))
        yield SchemaKey((*path, name), types_above, tuple(leaves))


def _component_type(kind: type[ComponentConfig]) -> str | None:
    """Name of a registered component; None for other settings."""
    field = kind.model_fields.get("type")
    if field is None or len(get_args(field.annotation)) != 1:
        return None
    return field.default


def _parts(annotation: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the alternatives of an annotation, with the path into lists and mappings."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        yield from _parts(arguments[0], path)
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _parts(argument, path)
    elif origin is list:
        yield from _parts(arguments[0], (*path, 0))
    elif origin is dict:
        yield from _parts(arguments[1], (*path, "de"))
    elif origin is not None:
        yield path, origin
    else:
        yield path, annotation
