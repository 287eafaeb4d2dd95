"""YAML with the core schema of version 1.2: `no` is text, `010` is ten, `1e3` is a number.

YAML 1.2.2, section 10.3.2. Merge keys (`<<`), a type of YAML 1.1, are kept.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from polyglot.core.errors import ConfigError

MAX_SHOWN = 60  # characters of a value in a message
LARGEST_FILE = 8 * 2**20
"""Bytes; two thousand languages with settings of their own have a tenth of it."""
MAX_DIGITS = 400
"""Digits of a whole number; the largest float has 309."""

TAG = "tag:yaml.org,2002:"
NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
INTEGER = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
CORE_SCHEMA = {
    "null": (NULL, ["~", "n", "N", ""]),
    "bool": (BOOL, list("tTfF")),
    "int": (INTEGER, list("-+0123456789")),  # before float, whose pattern fits whole numbers too
    "float": (FLOAT, list("-+.0123456789")),
}
"""Pattern of the plain scalars of each type, and the characters that they begin with."""

GZIP_MAGIC = b"\x1f\x8b"
LINE_SEPARATORS = re.compile("[\x85\u2028\u2029]")
"""Line breaks of YAML besides the usual ones; PyYAML escapes them only in double quotes."""
UNQUOTED_STAR = re.compile(r"(?<![^\s\[{,:])\*[^\s,\]}]*")


class _Loader(yaml.SafeLoader):
    """Loader for the scalars of YAML 1.2. Refuses a key that is given twice."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            key = self.construct_object(key_node)
            if not isinstance(key, Hashable):
                continue
            if key in keys:
                message = f"the key {key_node.value!r} is given twice"
                raise yaml.composer.ComposerError(None, None, message, key_node.start_mark)
            keys.add(key)
        return node


class _Dumper(yaml.SafeDumper):
    """Dumper that quotes text which this loader, or one of YAML 1.1, would not read as text."""


def _construct_null(loader: _Loader, node: yaml.Node) -> None:
    _core_scalar(loader, node, NULL)


def _construct_bool(loader: _Loader, node: yaml.Node) -> bool:
    return _core_scalar(loader, node, BOOL).lower() == "true"


def _construct_integer(loader: _Loader, node: yaml.Node) -> int:
    text = _core_scalar(loader, node, INTEGER)
    if len(text) > MAX_DIGITS:
        message = f"a number of {len(text)} digits; if it is text, put it in quotes"
        raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)
    if text.startswith(("0o", "0x")):
        return int(text, 0)
    return int(text)


def _construct_float(loader: _Loader, node: yaml.Node) -> float:
    text = _core_scalar(loader, node, FLOAT).lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


def _core_scalar(loader: _Loader, node: yaml.Node, pattern: re.Pattern[str]) -> str:
    """Return the text of a scalar; an explicit tag such as `!!int` may not fit it."""
    text = loader.construct_scalar(node)
    if not pattern.match(text):
        kind = node.tag.removeprefix(TAG)
        message = f"{text[:MAX_SHOWN]!r} is no {kind} of YAML 1.2"
        raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)
    return text


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if LINE_SEPARATORS.search(text):
        style = '"'
    return dumper.represent_scalar(TAG + "str", text, style)


_Dumper.add_representer(str, _represent_text)
for _name, (_pattern, _first_characters) in CORE_SCHEMA.items():
    _Loader.add_implicit_resolver(TAG + _name, _pattern, _first_characters)
    _Dumper.add_implicit_resolver(TAG + _name, _pattern, _first_characters)
_Loader.add_implicit_resolver(TAG + "merge", re.compile(r"<<\Z"), ["<"])
_Loader.add_constructor(TAG + "merge", yaml.SafeLoader.construct_yaml_str)  # as a value: text
_Loader.add_constructor(TAG + "null", _construct_null)
_Loader.add_constructor(TAG + "bool", _construct_bool)
_Loader.add_constructor(TAG + "int", _construct_integer)
_Loader.add_constructor(TAG + "float", _construct_float)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file. Raises ConfigError with the file and the line."""
    text = _read_text(path)
    try:
        values = deepcopy(_parse_once(text))
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


@lru_cache(maxsize=32)
def _parse_once(text: str) -> Any:
    """Parse a text. Copy the result before a change: equal texts share it.

    An experiment reads the same files for each of its runs, at 20 ms a file.
    """
    return yaml.load(text, _Loader)  # noqa: S506: a SafeLoader


def _read_text(path: Path) -> str:
    """Read a UTF-8 file. Raises ConfigError with the file and the line."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            size = f"{LARGEST_FILE // 2**20} MiB"
            raise ConfigError(f"{path}: more than {size}, too large for a YAML file of settings")
        return content.decode()
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
