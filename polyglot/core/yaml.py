"""YAML with the scalars of version 1.2: `no` is Norwegian, `1e-3` is a number."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from polyglot.core.errors import ConfigError

MAX_SHOWN = 60  # characters of a value in a message
FLOAT = re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.inf$")
FLOAT_START = "-+.0123456789"
BOOL = re.compile(r"^(?:true|false)$")
FLOAT_TAG = "tag:yaml.org,2002:float"
BOOL_TAG = "tag:yaml.org,2002:bool"

GZIP_MAGIC = b"\x1f\x8b"
UNQUOTED_STAR = re.compile(r"(?<![^\s\[{,:])\*[^\s,\]}]*")


class _Loader(yaml.SafeLoader):
    """Loader for the scalars of YAML 1.2. Refuses a key that is given twice."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = set()
        for key_node, _ in node.value:
            key = (key_node.tag, str(key_node.value))
            if key in keys:
                message = f"the key {key_node.value!r} is given twice"
                raise yaml.composer.ComposerError(None, None, message, key_node.start_mark)
            keys.add(key)
        return node


class _Dumper(yaml.SafeDumper):
    """Dumper that quotes text which this loader, or another one, would not read as text."""


def _without_scalars_of_yaml_1_1() -> dict[str, list[Any]]:
    """Return PyYAML's rules for plain scalars, without those of booleans and floats."""
    rules = {}
    for first_character, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items():
        rules[first_character] = [
            resolver for resolver in resolvers if resolver[0] not in (BOOL_TAG, FLOAT_TAG)
        ]
    return rules


_Loader.yaml_implicit_resolvers = _without_scalars_of_yaml_1_1()
_Loader.add_implicit_resolver(BOOL_TAG, BOOL, list("tf"))
_Loader.add_implicit_resolver(FLOAT_TAG, FLOAT, list(FLOAT_START))
_Dumper.add_implicit_resolver(FLOAT_TAG, FLOAT, list(FLOAT_START))


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file. Raises ConfigError with the file and the line."""
    text = _read_text(path)
    try:
        values = yaml.load(text, _Loader)  # noqa: S506: a SafeLoader
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{path}: {_syntax_error(error, text)}") from None
    except yaml.reader.ReaderError as error:
        message = f"the character U+{error.character:04X} is not allowed"
        raise ConfigError(f"{path}: no valid YAML: {message}") from None
    except RecursionError:
        raise ConfigError(f"{path}: no valid YAML: nested too deeply") from None

    if not isinstance(values, dict):
        content = "nothing"
        if values is not None:
            content = format_value(values)
        raise ConfigError(f"{path}: a mapping of keys is expected, found {content}")
    return values


def _read_text(path: Path) -> str:
    """Read a UTF-8 file. Raises ConfigError with the file and the line."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        content = error.object
        if content.startswith(GZIP_MAGIC):
            message = "is gzipped; YAML is read plain, so unpack it with gunzip"
            raise ConfigError(f"{path}: {message}") from None
        line = content.count(b"\n", 0, error.start) + 1
        wrong_byte = content[error.start]
        message = f"not UTF-8 ({error.reason} 0x{wrong_byte:02x}); write the file in UTF-8"
        raise ConfigError(f"{path}: line {line}: {message}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _syntax_error(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return the line, PyYAML's message, and a hint where quotes are missing."""
    if not error.problem_mark:
        return f"no valid YAML: {error.problem}"
    lines = text.splitlines()
    number = error.problem_mark.line
    hint = ""
    if number < len(lines):
        hint = _quotes_hint(lines[number])
    return f"line {number + 1}: no valid YAML: {error.problem}{hint}"


def parse_value(text: str) -> Any:
    """Parse one value as it is written in a file. Raises ConfigError if it is not valid YAML."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506: a SafeLoader
    except (yaml.YAMLError, RecursionError):
        raise ConfigError(f"{text[:MAX_SHOWN]!r}: no valid YAML{_quotes_hint(text)}") from None


def _quotes_hint(text: str) -> str:
    """Suggest quotes for a pattern such as `*-en`, which YAML takes for an alias.

    Empty if the text has no such pattern.
    """
    text = text.strip()
    quoted = UNQUOTED_STAR.sub(r'"\g<0>"', text)
    if quoted == text:
        return ""
    example = quoted[:MAX_SHOWN]
    return f"; what begins with * needs quotes: {example!r}"


def format_value(value: Any) -> str:
    """Return a value as YAML on one line, shortened for messages. Text is quoted."""
    if isinstance(value, str):
        text = repr(value)
    else:
        text = " ".join(_dump_line(value).split())
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}…"


def _dump_line(value: Any) -> str:
    try:
        text = yaml.dump(
            value, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=float("inf")
        )
    except yaml.representer.RepresenterError:  # a Python object without a form in YAML
        return repr(value)
    return text.removesuffix("...\n")


def dump_yaml(values: dict[str, Any]) -> str:
    """Return text that `read_yaml` reads as the same values."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
