"""Files to files with symbols, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, zip_longest
from pathlib import Path

from polyglot.core.errors import DataError
from polyglot.data.text_files import parse_json_line, line_blocks
from polyglot.text.symbols import Dictionary, Statistics, Symbolizer, SymbolsConfig, count_without_rule
from polyglot.text.symbols import desymbolize as put_back

STEP = 10_000
"""Lines between two looks at the progress."""


def symbolize_files(
    source: tuple[Path, str],
    target: tuple[Path | None, str],
    folder: Path,
    *,
    config: SymbolsConfig,
    dictionary: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Mapping[str, tuple[Statistics, Statistics]]:
    """A file, and its translation if there is one, into a folder: each under its name, `rules.jsonl` and `dictionary.json`.

    source, target: the file, plain or gzipped, and its language. dictionary: what earlier text has shown; by default what this
    text shows, if there is a translation. Returns the words before and after, by language.
    Raises DataError for files that cannot be used or written, or of different lengths.
    """
    (file, own), (other, theirs) = source, target
    if own == theirs:
        raise DataError(
            f"--from and --to: both are {own}; a text and its translation are of two languages"
        )
    if other and written_name(file) == written_name(other):
        raise DataError(
            f"{file} and {other}: would both be written to {folder / written_name(file)}; rename one"
        )
    known = Symbolizer(config, Dictionary.load(dictionary)) if dictionary else Symbolizer(config)
    if other and not dictionary:
        known = Symbolizer.learn(
            config, ((line, translation, own, theirs) for line, translation in _pairs(file, other))
        )
    statistics = {
        language: (Statistics(), Statistics()) for language in (own, *((theirs,) if other else ()))
    }
    paths = [path for path in (file, other) if path]
    if any(path.resolve().parent == folder.resolve() for path in paths):
        raise DataError(f"{folder}: holds the text itself; name another folder with --output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            texts = [
                stack.enter_context(
                    (folder / written_name(path)).open("w", encoding="utf-8", newline="\n")
                )
                for path in paths
            ]
            rules = stack.enter_context(
                (folder / "rules.jsonl").open("w", encoding="utf-8", newline="\n")
            )
            for number, (line, translation) in enumerate(_pairs(file, other), start=1):
                if other:
                    one, two = known.pair(line, translation, own, theirs)
                    lines, of_line = (one.text, two.text), {own: one.rules, theirs: two.rules}
                else:
                    one, two = known.line(line, own), known.line(line, own, theirs)
                    lines, of_line = (one.text,), {own: one.rules, theirs: two.rules}
                for text, before, after, (first, second) in zip(
                    texts, (line, translation), lines, statistics.values()
                ):
                    print(after, file=text)
                    first.add(before)
                    second.add(after)
                print(json.dumps(of_line, ensure_ascii=False), file=rules)
                if number % STEP == 0:
                    progress(number)
        (folder / "dictionary.json").write_text(known.dictionary.to_json(), encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{error.filename or folder}: cannot be written: {error.strerror}"
        ) from None
    return statistics


def written_name(path: Path) -> str:
    """What a file's text with symbols is called: it is not compressed."""
    return path.name.removesuffix(".gz")


def _pairs(file: Path, other: Path | None) -> Iterator[tuple[str, str]]:
    """Lines beside each other; beside an empty one where there is no translation."""
    lines = chain.from_iterable(line_blocks(file))
    if other is None:
        yield from ((line, "") for line in lines)
        return
    for number, (line, translation) in enumerate(
        zip_longest(lines, chain.from_iterable(line_blocks(other))), start=1
    ):
        if line is None or translation is None:
            raise DataError(
                f"{file} and {other}: have different numbers of lines; {other if translation is None else file} ends before line {number}"
            )
        yield line, translation


def desymbolize_lines(
    blocks: Iterable[list[str]], rules: Path, *, language: str, place: str
) -> Iterator[tuple[str, int]]:
    """Every line with its words, and how many symbols had no rule. Raises DataError where lines and rules do not belong together."""
    number = 0
    for number, (line, rule) in enumerate(
        zip_longest(chain.from_iterable(blocks), chain.from_iterable(line_blocks(rules))), start=1
    ):
        if line is None or rule is None:
            raise DataError(
                f"{place} and {rules}: have different numbers of lines; {rules if rule is None else place} ends before line {number}"
            )
        values = parse_json_line(rules, number, rule)
        if not isinstance(values, dict) or not isinstance(values.get(language), dict):
            there = (
                f"there are rules for {', '.join(values)}"
                if isinstance(values, dict) and values
                else "`polyglot symbolize` writes them"
            )
            raise DataError(f"{rules}, line {number}: no rules for {language}; {there}")
        own = {str(symbol): str(text) for symbol, text in values[language].items()}
        yield put_back(line, own), count_without_rule(line, own)
