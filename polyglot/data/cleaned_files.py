"""Files of a cleaned text: kept rows, removed rows with their rules, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path

from polyglot.core.errors import DataError, abbreviate
from polyglot.data.cleaning import KEPT, RULE_NAMES, RemovedRows
from polyglot.data.new_text_files import NewTextFile, new_text_files
from polyglot.data.parallel_files import ParallelText, RowBlock, TextFiles, check_languages
from polyglot.data.text_files import SMALL_BLOCK, line_blocks
from polyglot.data.tsv import tsv_line, unescape

REMOVED = "removed.tsv"
REPORT = "report.md"
HEAD = ("row", "rule")
"""Names of the first columns of the removed rows; those of the languages follow."""

EXAMPLES = 3
"""Removed rows of each rule that the report shows."""

ROWS = 1 << 14
"""Rows that are written at a time."""

Progress = Callable[[int], None]
"""Called with the number of rows that are done."""

Examples = dict[str, list[tuple[int, list[str]]]]
"""First removed rows of each rule: number of the row, from 1, and its lines."""


@dataclass(frozen=True)
class CleanedNames:
    """Names of the files of a cleaned text."""

    stem: str
    languages: Sequence[str]
    suffix: str = ""
    """`.gz` for compressed files"""

    def text(self, language: str) -> str:
        return f"{self.stem}.{language}{self.suffix}"

    @property
    def removed(self) -> str:
        return f"{self.stem}.{REMOVED}{self.suffix}"

    @property
    def report(self) -> str:
        return f"{self.stem}.{REPORT}"

    def texts(self) -> list[str]:
        """Names of the files with the kept rows, in the order of the languages."""
        return [self.text(language) for language in self.languages]

    def all(self) -> list[str]:
        """Names of all files."""
        return [*self.texts(), self.removed, self.report]


def write_cleaned(
    text: ParallelText,
    removed: RemovedRows,
    folder: Path,
    names: CleanedNames,
    *,
    report: Callable[[Examples], str],
    obsolete: Sequence[Path] = (),
    progress: Progress = lambda done: None,
) -> None:
    """Read the text again, and write the kept rows, the removed rows and the report.

    report: returns the report, given examples of removed rows. obsolete: files that the new ones
    replace. Raises DataError if a file cannot be written, or if the text has changed.
    """
    examples: Examples = {rule: [] for rule in RULE_NAMES}
    row = 0
    with new_text_files(folder, names.all(), obsolete=obsolete) as files:
        removed_file = files[names.removed]
        removed_file.write([tsv_line([*HEAD, *text.languages])])
        for block in text.blocks():
            codes = removed.codes[row : row + len(block)].tolist()
            is_kept = [code == KEPT for code in codes]
            for language, lines in block.texts.items():
                files[names.text(language)].write(compress(lines, is_kept))
            _write_removed(removed_file, block, codes, row + 1, examples)
            row += len(block)
            progress(row)
        if row != len(removed.codes):
            raise DataError(f"{text.paths[0]}: the file has changed while it was being read")
        files[names.report].write([report(examples)])


def _write_removed(
    file: NewTextFile,
    block: RowBlock,
    codes: Sequence[int],
    first_row: int,
    examples: Examples,
) -> None:
    """Write the removed rows of a block. first_row: number of its first row, from 1."""
    table_lines = []
    for number, code in enumerate(codes):
        if code == KEPT:
            continue
        rule = RULE_NAMES[code - 1]
        row = first_row + number
        texts = [lines[number] for lines in block.texts.values()]
        table_lines.append(tsv_line([row, rule, *texts]))
        if len(examples[rule]) < EXAMPLES:
            examples[rule].append((row, texts))
    file.write(table_lines)


# The way back


@dataclass(frozen=True)
class CleanedText:
    """Cleaned text with the table of its removed rows."""

    kept: TextFiles
    table: Path
    names: CleanedNames

    @classmethod
    def open(cls, table: Path) -> CleanedText:
        """Open the table of removed rows; the text is in the same folder.

        Raises DataError if the table or the text cannot be used.
        """
        plain_name = table.name.removesuffix(".gz")
        if not plain_name.endswith(f".{REMOVED}"):
            raise DataError(
                f"{table}: not the removed rows of `polyglot clean`, "
                f"whose name ends with .{REMOVED}"
            )
        head = next(line_blocks(table, block=SMALL_BLOCK))[0].split("\t")
        languages = head[len(HEAD) :]
        if tuple(head[: len(HEAD)]) != HEAD or not languages:
            raise DataError(
                f"{table}, line 1: found {abbreviate(head)}; the columns of removed rows are "
                f"{', '.join(HEAD)} and the languages"
            )
        check_languages(languages)
        suffix = table.name[len(plain_name) :]
        names = CleanedNames(plain_name.removesuffix(f".{REMOVED}"), languages, suffix)
        files = {language: table.parent / names.text(language) for language in languages}
        return cls(TextFiles(files), table, names)

    @property
    def paths(self) -> list[Path]:
        return [*self.kept.paths, self.table]

    def restored_rows(self, rules: Collection[str] | None) -> Iterator[list[str]]:
        """Yield the lines of the kept rows and of removed ones, in their first order.

        rules: those whose rows come back; None for all.
        Raises DataError if the table does not belong to the text.
        """
        kept_rows = self._kept_rows()
        row = 1
        for number, rule, texts in self._removed_rows():
            while row < number:
                kept_row = next(kept_rows, None)
                if kept_row is None:
                    raise DataError(
                        f"{self.table}: names row {number}, but the cleaned text ends at row {row};"
                        " they do not belong together"
                    )
                yield kept_row
                row += 1
            if rules is None or rule in rules:
                yield texts
            row += 1
        yield from kept_rows

    def _kept_rows(self) -> Iterator[list[str]]:
        for block in self.kept.blocks():
            for texts in zip(*block.texts.values(), strict=True):
                yield list(texts)

    def _removed_rows(self) -> Iterator[tuple[int, str, list[str]]]:
        """Yield number, rule and lines of each removed row. Raises DataError for other tables."""
        lines = chain.from_iterable(line_blocks(self.table, block=SMALL_BLOCK))
        next(lines)
        columns = len(HEAD) + len(self.names.languages)
        last_row = 0
        for line_number, line in enumerate(lines, start=2):
            fields = line.split("\t")
            number, rule = fields[:2] if len(fields) == columns else ("", "")
            if not number.isdecimal() or rule not in RULE_NAMES or int(number) <= last_row:
                raise DataError(
                    f"{self.table}, line {line_number}: found {line[:60]!r}; expected a row number "
                    f"larger than {last_row}, a rule and {columns - len(HEAD)} texts"
                )
            last_row = int(number)
            yield last_row, rule, [unescape(field) for field in fields[len(HEAD) :]]


def restore(
    cleaned: CleanedText,
    folder: Path,
    *,
    rules: Collection[str] | None = None,
    obsolete: Sequence[Path] = (),
    progress: Progress = lambda done: None,
) -> int:
    """Write the text with removed rows put back; return its number of rows.

    rules: those whose rows come back; None for all. Raises DataError as `restored_rows` does.
    """
    names = cleaned.names.texts()
    row_count = 0
    with new_text_files(folder, names, obsolete=obsolete) as files:
        rows: list[list[str]] = []
        for row in cleaned.restored_rows(rules):
            rows.append(row)
            if len(rows) == ROWS:
                _write_rows(files, names, rows)
                row_count += len(rows)
                progress(row_count)
                rows = []
        _write_rows(files, names, rows)
    return row_count + len(rows)


def _write_rows(
    files: dict[str, NewTextFile],
    names: Sequence[str],
    rows: Sequence[list[str]],
) -> None:
    for column, name in enumerate(names):
        files[name].write(row[column] for row in rows)
