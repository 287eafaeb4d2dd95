"""YAML as people mean it: `no` is Norwegian, `1e-3` is a number, and a key given twice is a mistake."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from polyglot.core.errors import ConfigError

SHOWN = 60  # characters of a value in a message
FLOAT = re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.inf$")

GZIP = b"\x1f\x8b"  # how each such file begins
STARRED = re.compile(r"(?<![^\s\[{,:])\*[^\s,\]}]*")


class _Loader(yaml.SafeLoader):
    """YAML 1.2's scalars: `no` is Norwegian, not false; `1e-3` is a number, not a word. A key given twice is refused."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if (key.tag, str(key.value)) in seen:
                raise yaml.composer.ComposerError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add((key.tag, str(key.value)))
        return node


class _Dumper(yaml.SafeDumper):
    """Puts quotes around what this loader or another would not read as text."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+.0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+.0123456789"))


def read_yaml(path: Path) -> dict[str, Any]:
    """A mapping from a YAML file. Raises ConfigError naming file and line."""
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506: a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        lines = path.read_text(encoding="utf-8").splitlines()
        hint = (
            _quotes(lines[error.problem_mark.line])
            if line and error.problem_mark.line < len(lines)
            else ""
        )
        raise ConfigError(f"{path}: {line}no valid YAML: {error.problem}{hint}") from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(
            f"{path}: no valid YAML: the character U+{error.character:04X} is not allowed"
        ) from None
    except UnicodeDecodeError as error:
        if error.object.startswith(GZIP):
            raise ConfigError(
                f"{path}: is gzipped; YAML is read plain, so unpack it with gunzip"
            ) from None
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}: line {line}: not UTF-8 ({error.reason} 0x{error.object[error.start]:02x}); write the file in UTF-8"
        ) from None
    except RecursionError:
        raise ConfigError(f"{path}: no valid YAML: nested too deeply") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if not isinstance(values, dict):
        raise ConfigError(
            f"{path}: a mapping of keys is expected, found {'nothing' if values is None else format_value(values)}"
        )
    return values


def parse_value(text: str) -> Any:
    """One value as it would stand in a file. Raises ConfigError when it is no YAML."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506: a SafeLoader
    except (yaml.YAMLError, RecursionError):
        raise ConfigError(f"{text[:SHOWN]!r}: no valid YAML{_quotes(text)}") from None


def _quotes(text: str) -> str:
    """What to do where a pattern such as `*-en` stands without quotes, which YAML takes for a reference to something else."""
    quoted = STARRED.sub(r'"\g<0>"', text.strip())
    return (
        f"; what begins with * needs quotes: {quoted[:SHOWN]!r}" if quoted != text.strip() else ""
    )


def format_value(value: Any) -> str:
    """A value in few words of YAML, for messages; text has quotes around it."""
    try:
        text = yaml.dump(
            value, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=float("inf")
        ).removesuffix("...\n")
    except yaml.representer.RepresenterError:  # from Python, nobody's YAML
        text = repr(value)
    text = repr(value) if isinstance(value, str) else " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def dump_yaml(values: dict[str, Any]) -> str:
    """Text that `read_yaml` reads as the same values."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
