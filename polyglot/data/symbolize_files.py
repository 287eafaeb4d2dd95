"""Text files with typed symbols in the place of numbers, names and acronyms, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, zip_longest
from pathlib import Path
from typing import TextIO

from polyglot.core.errors import DataError
from polyglot.data.compression import SUFFIXES
from polyglot.data.row_files import parse_json_line
from polyglot.data.text_files import line_blocks
from polyglot.text.symbols import (
    Dictionary,
    Statistics,
    Symbolizer,
    SymbolsConfig,
    count_without_rule,
    desymbolize,
)

PROGRESS_STEP = 10_000
"""Lines between two reports of the progress."""

StatisticsByLanguage = Mapping[str, tuple[Statistics, Statistics]]
"""Words of each language before and after."""


def symbolize_files(
    source: tuple[Path, str],
    target: tuple[Path | None, str],
    folder: Path,
    *,
    config: SymbolsConfig,
    dictionary: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> StatisticsByLanguage:
    """Write a text, and its translation if there is one, with symbols into a folder.

    The text files keep their names; `rules.jsonl` and `dictionary.json` are written as well.

    source, target: file, plain or compressed, and its language. dictionary: a dictionary that was
    learned from other text; by default it is learned from this text and its translation.
    progress: called with the number of lines done. Returns statistics of the words by language.
    Raises DataError for files that cannot be used or written, or of different lengths.
    """
    source_file, source_language = source
    target_file, target_language = target
    _check_files(source, target, folder)
    files = [source_file, target_file] if target_file else [source_file]
    if target_file:
        languages = [source_language, target_language]
    else:
        languages = [source_language]

    if dictionary:
        symbolizer = Symbolizer(config, Dictionary.load(dictionary))
    elif target_file:
        symbolizer = Symbolizer.learn(config, _learning_pairs(source, target))
    else:
        symbolizer = Symbolizer(config)

    statistics = {language: (Statistics(), Statistics()) for language in languages}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            outputs = []
            for name in [*map(written_name, files), "rules.jsonl"]:
                output = (folder / name).open("w", encoding="utf-8", newline="\n")
                outputs.append(stack.enter_context(output))

            lines = _parallel_lines(source_file, target_file)
            for number, pair in enumerate(lines, start=1):
                texts, rules = _symbolize(symbolizer, pair, source_language, target_language)
                _write_lines(outputs, [*texts, json.dumps(rules, ensure_ascii=False)])
                _count_words(statistics, pair, texts)
                if number % PROGRESS_STEP == 0:
                    progress(number)
        dictionary_text = symbolizer.dictionary.to_json()
        (folder / "dictionary.json").write_text(dictionary_text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{error.filename or folder}: cannot be written: {error.strerror}"
        ) from None
    return statistics


def written_name(path: Path) -> str:
    """Name of the file with symbols, which is not compressed."""
    if path.suffix in SUFFIXES:
        return path.stem
    return path.name


def _check_files(source: tuple[Path, str], target: tuple[Path | None, str], folder: Path) -> None:
    """Raise DataError for equal languages or names, and for an output folder with the text."""
    source_file, source_language = source
    target_file, target_language = target
    if source_language == target_language:
        raise DataError(
            f"--from and --to: both are {source_language}; "
            "a text and its translation are in two languages"
        )
    if target_file and written_name(source_file) == written_name(target_file):
        output = folder / written_name(source_file)
        raise DataError(
            f"{source_file} and {target_file}: would both be written to {output}; rename one"
        )
    for path in (source_file, target_file):
        if path and path.resolve().parent == folder.resolve():
            raise DataError(f"{folder}: holds the text itself; name another folder with --output")


def _learning_pairs(
    source: tuple[Path, str],
    target: tuple[Path, str],
) -> Iterator[tuple[str, str, str, str]]:
    source_file, source_language = source
    target_file, target_language = target
    for source_line, target_line in _parallel_lines(source_file, target_file):
        yield source_line, target_line, source_language, target_language


def _symbolize(
    symbolizer: Symbolizer,
    pair: tuple[str, str | None],
    source_language: str,
    target_language: str,
) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Lines with symbols of one pair, and the rules by language."""
    source_line, target_line = pair
    if target_line is None:
        source = symbolizer.line(source_line, source_language)
        target = symbolizer.line(source_line, source_language, target_language)
        texts = [source.text]
    else:
        source, target = symbolizer.pair(source_line, target_line, source_language, target_language)
        texts = [source.text, target.text]
    return texts, {source_language: source.rules, target_language: target.rules}


def _write_lines(outputs: Iterable[TextIO], lines: Iterable[str]) -> None:
    for output, line in zip(outputs, lines, strict=True):
        print(line, file=output)


def _count_words(
    statistics: StatisticsByLanguage,
    lines: Iterable[str | None],
    texts: Iterable[str],
) -> None:
    """Add one pair to the statistics; without a translation, only the source."""
    for (before, after), line, text in zip(statistics.values(), lines, texts):
        before.add(line)
        after.add(text)


def _parallel_lines(source: Path, target: Path | None) -> Iterator[tuple[str, str | None]]:
    """Yield the lines of a text and its translation; None for a line without translation."""
    source_lines = chain.from_iterable(line_blocks(source))
    if target is None:
        for line in source_lines:
            yield line, None
        return

    target_lines = chain.from_iterable(line_blocks(target))
    pairs = zip_longest(source_lines, target_lines)
    for number, (source_line, target_line) in enumerate(pairs, start=1):
        if source_line is None:
            raise DataError(_length_message(source, target, source, number))
        if target_line is None:
            raise DataError(_length_message(source, target, target, number))
        yield source_line, target_line


def desymbolize_lines(
    blocks: Iterable[list[str]],
    rules: Path,
    *,
    language: str,
    place: str,
) -> Iterator[tuple[str, int]]:
    """Yield every line with its words, and the number of symbols without a rule.

    rules: file with the rules of each line. place: name of the text, for messages.
    Raises DataError if lines and rules do not match.
    """
    pairs = zip_longest(chain.from_iterable(blocks), chain.from_iterable(line_blocks(rules)))
    for number, (line, rule_line) in enumerate(pairs, start=1):
        if line is None:
            raise DataError(_length_message(place, rules, place, number))
        if rule_line is None:
            raise DataError(_length_message(place, rules, rules, number))
        line_rules = _line_rules(rules, number, rule_line, language)
        yield desymbolize(line, line_rules), count_without_rule(line, line_rules)


def _length_message(first: Path | str, second: Path, shorter: Path | str, number: int) -> str:
    return (
        f"{first} and {second}: have different numbers of lines; "
        f"{shorter} ends before line {number}"
    )


def _line_rules(path: Path, number: int, line: str, language: str) -> dict[str, str]:
    """Text of each symbol of a line; raises DataError if the language has no rules."""
    rules = parse_json_line(path, number, line)
    if isinstance(rules, dict) and isinstance(rules.get(language), dict):
        return {str(symbol): str(text) for symbol, text in rules[language].items()}

    hint = "`polyglot symbolize` writes them"
    if isinstance(rules, dict) and rules:
        hint = f"there are rules for {', '.join(rules)}"
    raise DataError(f"{path}, line {number}: no rules for {language}; {hint}")
