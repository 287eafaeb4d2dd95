"""Strategies of Hypothesis for everything that a user can give: settings, files, command lines."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.builders.command_line import CONFIG, TEXT

LANGUAGES = ["en", "de", "fr"]

HUGE = [2**31, 2**63, 2**64, 10**19, 10**30, 10**400, -(10**400), 1e19, 1e300, 1e-300]
ODD_NUMBERS = [0, -1, 0.5, float("nan"), float("inf"), -float("inf"), 5e-324, *HUGE]
ODD_TEXTS = [
    "",
    " ",
    "*",
    "~",
    "no",
    "-",
    "--",
    "a" * 300,
    "ä" * 5000,
    "a/" * 500,
    "\x1b[31mred",
    "\0",
    "\u202eabc",
    "[bold]:x:[/bold]",
    "%s {0} {language} {language",
    "nowhere/file",
    "../..",
    "0x" + "f" * 600,
    "9" * 5000,
    "1e" + "9" * 30,
    "{" * 2000,
    "[" * 2000,
    "!!python/object/apply:os.system [ls]",
    "&a [*a, *a]",
    "de-en",
    "de-*",
    "*-*",
    "en_Latn-de",
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from(ODD_TEXTS),
    st.text(max_size=30),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=8), st.integers()), inner, max_size=4),
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class Case:
    """One call of the program: its arguments, its files and its standard input."""

    arguments: Sequence[str]
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""


# Configurations


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


@st.composite
def damaged(draw: st.DrawFn, content: bytes, fragments: Sequence[bytes] = ()) -> bytes:
    """Content with a few bytes changed, removed, repeated or replaced by a fragment."""
    result = content
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(result)))
        length = draw(st.integers(0, 40))
        kind = draw(st.sampled_from(["cut", "remove", "insert", "flip", "repeat"]))
        if kind == "cut":
            result = result[:place]
        elif kind == "remove":
            result = result[:place] + result[place + length :]
        elif kind == "repeat":
            times = draw(st.integers(1, 200))
            result = result[:place] + result[place : place + length] * times + result[place:]
        elif kind == "flip" and place < len(result):
            byte = result[place] ^ (1 << draw(st.integers(0, 7)))
            result = result[:place] + bytes([byte]) + result[place + 1 :]
        else:
            inserted = st.binary(max_size=20)
            if fragments:
                inserted = st.one_of(inserted, st.sampled_from(fragments))
            result = result[:place] + draw(inserted) + result[place:]
    return result


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


# Text


JSON_LINES = [
    b'{"en": "a dog", "de": "ein Hund"}',
    b'{"en": ' + b"9" * 5000 + b"}",
    b"[" * 20000,
    b'{"a": ' * 5000,
    b'{"en": "\\ud800", "de": ""}',
    b'{"en": NaN}',
    b'{"en": 1e999999}',
    b'{"en": "a", "en": "b", "de": null}',
    b"null",
    b'"',
]
PLAIN = "".join(f"{line}\n" for line in TEXT["de"]).encode()
TEXT_FRAGMENTS = [
    b"\0",
    b"\r",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"\xe2\x96\x81",
    b"<unk> <s> </s>",
    b"x" * 100_000,
    b"x " * 20_000,
    b"\n" * 3000,
    b"\t",
    b"BZh91AY&SY",
    b"PK\x03\x04",
    b"PAR1\x15",
]


def compressed(content: bytes) -> list[bytes]:
    return [content, gzip.compress(content), bz2.compress(content), lzma.compress(content)]


texts = st.one_of(
    damaged(PLAIN, TEXT_FRAGMENTS),
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda text: text.encode(errors="surrogatepass")),
    st.sampled_from(compressed(PLAIN)).flatmap(damaged),
)
tables = st.one_of(
    st.lists(st.sampled_from(JSON_LINES), max_size=6).map(b"\n".join),
    damaged(b'{"en": "a dog", "de": "ein Hund"}\n' * 5, JSON_LINES),
    damaged(b"a dog\tein Hund\tun chien\n" * 5, TEXT_FRAGMENTS),
    texts,
)


# Command lines

FILES = {
    "text.de": PLAIN,
    "text.gz": gzip.compress(PLAIN),
    "rows.tsv": b"a dog\tein Hund\n" * 3,
    "rows.jsonl": b'{"en": "a dog", "de": "ein Hund"}\n' * 3,
    "tiny.yaml": CONFIG.encode(),
    "bytes": bytes(range(256)),
    "empty": b"",
}
"""Files that every case finds in its folder, besides the run `runs/mine`."""

COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "train": (["tiny.yaml", "--dry-run"], ["--resume", "--accept-changes", "--processes"]),
    "translate": (
        ["runs/mine", "text.de", "--from", "de", "--to", "fr"],
        ["--beam", "--length-penalty", "--n-best", "--select", "--select-by", "--select-for",
         "--checkpoint", "--average", "--device", "--from", "--accept-changes"],
    ),
    "shortlist": (["runs/mine", "de-fr"], ["--sentences", "--best"]),
    "evaluate": (
        ["runs/mine"],
        ["--protocol", "--checkpoint", "--pivot", "--ensemble", "--select", "--device"],
    ),
    "compare": (["runs/mine", "runs/mine"], ["--protocol", "--measure", "--test"]),
    "experiment": (["tiny.yaml", "--dry-run"], ["--size", "--folder", "--parallel"]),
    "embed": (
        ["runs/mine", "text.de", "--output", "vectors.npy", "--language", "de"],
        ["--language-column", "--text-column", "--pooling", "--layer", "--precision",
         "--normalize", "--batch-size", "--checkpoint", "--device", "--output"],
    ),
    "similar": (
        ["runs/mine", "text.de", "text.de", "--from", "de", "--to", "en"],
        ["--mine", "--threshold", "--margin", "--neighbours", "--top", "--search", "--pooling",
         "--layer", "--checkpoint", "--device"],
    ),
    "add-language": (
        ["runs/mine", "fi", "--dry-run"],
        ["--with", "--free", "--checkpoint"],
    ),
    "average": (["runs/mine", "--to", "averaged"], ["--last"]),
    "export": (["runs/mine", "--component", "encoder.de", "--to", "copy"], ["--checkpoint"]),
    "match": (["tiny.yaml", "--parameters-of", "5000"], ["--parameters-of"]),
    "convert": (["bytes", "converted", "--from", "en", "--to", "de"], []),
    "symbolize": (
        ["text.de", "--from", "de", "--to", "en", "--output", "symbols"],
        ["--dictionary", "--name-words", "--most"],
    ),
    "split": (
        ["text.de", "--output", "parts", "--validation", "1", "--test", "1"],
        ["--seed", "--languages", "--columns", "--header", "--documents", "--ignore-shorter",
         "--gzip", "--force"],
    ),
    "desymbolize": (["text.de", "--language", "de", "--rules", "rows.jsonl"], []),
    "show": (["runs/mine"], []),
}  # fmt: skip
"""Arguments of a call that works, and further options, by command."""

WORDS = [
    *FILES,
    *ODD_TEXTS,
    "runs/mine",
    "runs",
    ".",
    "runs/mine/checkpoints",
    "runs/mine/config.yaml",
    "de",
    "fr",
    "en",
    "last",
    "best",
    "average:2",
    "average:99999999999999999999",
    "cpu",
    "cuda:99",
    "meta",
    "4",
    "1",
    "0",
    "-1",
    "1e3",
    "nan",
    "inf",
    str(2**63),
    str(10**30),
    "--help",
    "--",
    "-q",
    "heads",
    "roles",
    "phrasebook",
    "bleu",
    "comet",
    "default",
]
"""Arguments that are put in any place. None names a place outside the folder of a case."""


@st.composite
def command_lines(draw: st.DrawFn) -> Case:
    """A command that works, with a few arguments added, replaced, repeated or left out."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    arguments, options = COMMANDS[command]
    arguments = list(arguments)
    words = st.one_of(st.sampled_from(WORDS), st.text(max_size=10))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(arguments)))
        kind = draw(st.sampled_from(["option", "replace", "remove", "word"]))
        if kind == "option" and options:
            added = [draw(st.sampled_from(options))]
            if draw(st.booleans()):
                added.append(draw(words))
            arguments += added
        elif kind == "replace" and place < len(arguments):
            arguments[place] = draw(words)
        elif kind == "remove":
            del arguments[place : place + 1]
        else:
            arguments.insert(place, draw(words))
    if command in ("train", "add-language", "experiment") and "--dry-run" not in arguments:
        arguments.append("--dry-run")
    return Case([command, *arguments], stdin=draw(st.sampled_from([b"", PLAIN, b"\xff\n"])))


# Cases of every kind


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


def text_cases() -> st.SearchStrategy[Case]:
    """Text and tables as input of the commands, and as corpora."""
    text_commands = st.sampled_from(
        [
            ["translate", "runs/mine", "case", "--from", "de", "--to", "fr", "--beam", "1"],
            ["embed", "runs/mine", "case", "--output", "vectors.npy", "--language", "de"],
            ["similar", "runs/mine", "case", "text.de", "--from", "de", "--to", "en"],
            ["symbolize", "case", "--from", "de", "--to", "en", "--output", "symbols"],
            ["desymbolize", "text.de", "--language", "de", "--rules", "case"],
            ["convert", "case", "converted", "--from", "en", "--to", "de"],
        ]
    )
    corpora = st.sampled_from(
        [
            "{type: text, source: text.de, target: case, pair: de-en}",
            "{type: tsv, path: case, columns: {en: 1, de: 2}}",
            "{type: jsonl, path: case, columns: {en: en, de: de}}",
            "{type: jsonl, path: case}",
            "{type: parquet, path: case}",
        ]
    )

    def corpus_case(corpus: str, content: bytes) -> Case:
        settings = [f"data.{part}=[{corpus}]" for part in ("train", "valid")]
        schedule = ["languages=[en, de]", "schedule={type: uniform, pairs: [en-de, de-en]}"]
        rest = ["validation.bleu_pairs=[]", "run=runs/new", "training.steps=1"]
        arguments = ["train", "tiny.yaml", *settings, *schedule, *rest]
        return Case(arguments, {"case": content})

    return st.one_of(
        st.builds(lambda command, text: Case(command, {"case": text}), text_commands, texts),
        st.builds(corpus_case, corpora, tables),
    )


RUN_FILES = [
    "config.yaml",
    "log.jsonl",
    "vocabulary/de.model",
    "checkpoints/step-00000004/manifest.json",
    "checkpoints/step-00000004/training.json",
    "checkpoints/step-00000004/bridge.safetensors",
    "checkpoints/best.json",
    "evaluation/default/matrix.json",
]


def run_cases(contents: dict[str, bytes]) -> st.SearchStrategy[Case]:
    """Commands on a run with one damaged file. contents: the files of an intact run."""
    commands = st.sampled_from(
        [
            ["translate", "runs/mine", "text.de", "--from", "de", "--to", "fr", "--beam", "1"],
            ["evaluate", "runs/mine"],
            ["report", "runs/mine"],
            ["show", "runs/mine"],
            ["train", "runs/mine", "--resume", "--dry-run"],
            ["train", "runs/mine", "--resume"],
            ["average", "runs/mine", "--to", "averaged"],
            ["export", "runs/mine", "--component", "*.de", "--to", "copy"],
            ["compare", "runs/mine", "runs/mine"],
        ]
    )
    fragments = [b"9" * 5000, b"[" * 20000, b"NaN", b"-1", b"1e400", b'"\\u001b[31m"', b"null"]

    def damaged_file(name: str) -> st.SearchStrategy[tuple[str, bytes]]:
        return st.tuples(st.just(name), damaged(contents[name], fragments))

    names = st.sampled_from(sorted(contents))
    return st.builds(
        lambda command, file: Case(command, {f"runs/mine/{file[0]}": file[1]}),
        commands,
        names.flatmap(damaged_file),
    )
