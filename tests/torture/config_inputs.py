"""Strategies of Hypothesis for configurations and settings on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.builders.command_line import CONFIG
from tests.torture.odd_values import ODD_NUMBERS, ODD_TEXTS, Case, damaged, values


def base_config() -> dict[str, Any]:
    return yaml.safe_load(CONFIG)


def key_paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values in nested mappings and lists."""
    paths = [path] if path else []
    items: Any = ()
    if isinstance(tree, dict):
        items = tree.items()
    elif isinstance(tree, list):
        items = enumerate(tree)
    for key, value in items:
        paths += key_paths(value, (*path, key))
    return paths


@st.composite
def config_trees(draw: st.DrawFn, schema_keys: Sequence[str]) -> dict[str, Any]:
    """A small configuration with up to four changes."""
    tree = base_config()
    for _ in range(draw(st.integers(1, 4))):
        change = draw(st.sampled_from(["replace", "set", "remove", "add"]))
        path = draw(st.sampled_from(key_paths(tree)))
        if change == "set":
            path = tuple(draw(st.sampled_from(schema_keys)).split("."))
        parent: Any = tree
        for key in path[:-1]:
            if isinstance(parent, dict):
                parent = parent.setdefault(key, {})
            elif isinstance(parent, list) and isinstance(key, int) and key < len(parent):
                parent = parent[key]
            else:
                break
        key = path[-1]
        if isinstance(parent, list) and not (isinstance(key, int) and key < len(parent)):
            continue
        if not isinstance(parent, (dict, list)):
            continue
        if change == "remove":
            if isinstance(parent, list) or key in parent:
                del parent[key]
        elif change == "add" and isinstance(parent, dict):
            parent[draw(st.one_of(st.text(max_size=8), st.sampled_from(ODD_TEXTS)))] = draw(values)
        else:
            parent[key] = draw(values)
        if not tree:
            break
    return tree


def to_yaml(tree: Any) -> bytes:
    text = yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)
    return text.encode("utf-8", errors="surrogatepass")


YAML_FRAGMENTS = [
    b"!!python/object/apply:os.system ['true']",
    b"!!python/name:os.system",
    b"!!int 'x'",
    b"!!float .nan",
    b"!!binary aGFsbG8=",
    b"!!timestamp 2001-01-01",
    b"!!set {a, b}",
    b"!!omap [a: 1]",
    b"!unknown {}",
    b"&a [*a]",
    b"*missing",
    b"<<: 5",
    b"? [a, b]\n: 1",
    b"? {a: b}\n: 1",
    b"2001-01-01",
    b"[" * 3000,
    b"{a: " * 3000,
    b"- " * 3000,
    b"9" * 5000,
    b"0x" + b"f" * 5000,
    b"\t",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n---\n",
    b"a: 1\na: 2",
    b'"\\x1b[31m"',
    b"|\n  text",
    b"'",
    b'"',
]


def config_files(schema_keys: Sequence[str]) -> st.SearchStrategy[bytes]:
    """Content of a configuration file: a changed tree, damaged text, or any bytes."""
    return st.one_of(
        config_trees(schema_keys).map(to_yaml),
        damaged(CONFIG.encode(), YAML_FRAGMENTS),
        st.binary(max_size=200),
        st.sampled_from(YAML_FRAGMENTS),
        values.map(to_yaml),
    )


def overrides(schema_keys: Sequence[str]) -> st.SearchStrategy[list[str]]:
    """Settings on the command line."""
    key = st.one_of(st.sampled_from(schema_keys), st.text(max_size=12), st.sampled_from(ODD_TEXTS))
    value = st.one_of(
        st.sampled_from(ODD_TEXTS),
        st.sampled_from(ODD_NUMBERS).map(str),
        values.map(lambda value: json.dumps(value, default=str)),
        st.text(max_size=20),
    )
    pair = st.tuples(key, value).map("=".join)
    return st.lists(pair, min_size=1, max_size=3)


def config_cases(schema_keys: Sequence[str]) -> st.SearchStrategy[Case]:
    def case(content: bytes, command: list[str]) -> Case:
        return Case([*command], {"case.yaml": content})

    commands = st.sampled_from(
        [
            *[["train", "case.yaml", "--dry-run"]] * 6,
            ["show", "case.yaml"],
            ["evaluate", "runs/mine", "--protocol", "case.yaml"],
            ["experiment", "case.yaml", "--dry-run"],
            ["analyse", "runs/mine", "--settings", "case.yaml"],
            ["match", "case.yaml", "--parameters-of", "5000"],
        ]
    )
    return st.builds(case, config_files(schema_keys), commands)


def override_cases(schema_keys: Sequence[str]) -> st.SearchStrategy[Case]:
    def case(settings: list[str]) -> Case:
        return Case(["train", "tiny.yaml", "--dry-run", *settings])

    return st.builds(case, overrides(schema_keys))
