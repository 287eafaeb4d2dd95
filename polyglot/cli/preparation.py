"""Command `split`, and the options of the commands that prepare parallel text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli.app import command, logger, screen
from polyglot.cli.progress import line_progress
from polyglot.core.errors import ConfigError
from polyglot.core.tables import FoldedTable

if TYPE_CHECKING:
    from polyglot.data.parallel_files import ParallelText
    from polyglot.data.splitting import Split, SplitSettings

PLAIN_YAML = re.compile(r"[A-Za-z./~_][\w./~-]*")
"""Text that YAML reads without quotes."""

BLANK_LINES = "blank-lines"

TextPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="A file for each language, line n of each the same sentence; or one table (TSV) with "
        "--columns. Plain or compressed.",
    ),
]
Languages = Annotated[
    Optional[str],
    typer.Option(
        metavar="CODE,...",
        help="Language of each file, in order. Default: the endings of their names.",
    ),
]
Columns = Annotated[
    Optional[str],
    typer.Option(
        metavar="CODE=COLUMN,...",
        help="Column of each language in a table, by number from 1, or by name with --header.",
    ),
]
Header = Annotated[
    bool, typer.Option("--header", help="The first line of the table names its columns.")
]
OutputFolder = Annotated[
    Path, typer.Option("--output", metavar="DIR", help="Folder for the new files.")
]
Gzip = Annotated[bool, typer.Option("--gzip", help="Compress the new files (.gz).")]
IgnoreShorter = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Do not compare sentences with fewer than N letters, such as 'Yes.'.",
    ),
]
ValidationRows = Annotated[
    int, typer.Option(min=0, metavar="N", help="Rows of the validation text; 0 for none.")
]
TestRows = Annotated[int, typer.Option(min=0, metavar="N", help="Rows of the test text.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Another seed draws other rows.")]
Documents = Annotated[
    Optional[str],
    typer.Option(
        metavar="WHERE",
        help="Keep documents together: blank-lines between them, a file with the document of "
        "each line, or the column of a table that names the document.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the files of an earlier call.")]


@command(
    "polyglot split corpus.en corpus.fi --output data --validation 1000 --test 1000 --seed 1",
    "polyglot split corpus.en.gz corpus.fi.gz corpus.se.gz --output data --gzip",
    "polyglot split corpus.tsv --columns en=1,fi=2 --output data",
    "polyglot split talks.tsv --header --columns en=english,fi=finnish --documents talk "
    "--output data",
    "polyglot split news.en news.fi --documents blank-lines --ignore-shorter 20 --output data",
)
def split(
    files: TextPaths,
    output: OutputFolder = ...,
    validation: ValidationRows = 1000,
    test: TestRows = 1000,
    seed: Seed = 1,
    languages: Languages = None,
    columns: Columns = None,
    header: Header = False,
    documents: Documents = None,
    ignore_shorter: IgnoreShorter = 0,
    compress: Gzip = False,
    force: Force = False,
) -> None:
    """Divide parallel text into training, validation and test text.

    Rows with a common sentence in any language stay together, also if case, punctuation, spaces or
    numbers differ. The same text and seed give the same files.
    """
    from polyglot.data.splitting import SplitSettings, earlier_split, plan_split, write_split

    text = open_text(files, languages, columns, header=header, documents=documents)
    settings = SplitSettings(
        validation=validation,
        test=test,
        seed=seed,
        ignore_shorter=ignore_shorter,
        blank_lines=documents == BLANK_LINES,
    )
    if not validation and not test:
        raise ConfigError("--validation and --test: both are 0; nothing is to be divided")
    obsolete = earlier_split(text, output, replace=force)
    with row_progress() as progress:
        result = plan_split(text, settings, progress=progress)
        names = write_split(
            text,
            result,
            output,
            suffix=".gz" if compress else "",
            obsolete=obsolete,
            progress=progress,
        )
    screen.print(_split_table(result))
    _report_split(result, settings)
    print(_split_yaml(text.languages, output, names))


def open_text(
    files: Sequence[Path],
    languages: str | None,
    columns: str | None,
    *,
    header: bool,
    documents: str | None = None,
) -> ParallelText:
    """Open the text that the arguments name. Raises ConfigError for options that do not fit."""
    from polyglot.data.parallel_files import TextFiles, TsvTable, check_languages, name_languages

    if columns is None:
        if header:
            raise ConfigError("--header: for a table; name its columns with --columns")
        names = languages.split(",") if languages is not None else None
        document_file = None
        if documents not in (None, BLANK_LINES):
            document_file = Path(documents)
        return TextFiles(name_languages(files, names), documents=document_file)

    if languages is not None:
        raise ConfigError("--languages: for a file of each language; --columns names those here")
    if len(files) != 1:
        raise ConfigError(f"--columns: for one table, and {len(files)} files are named")
    if documents == BLANK_LINES:
        raise ConfigError(
            "--documents blank-lines: for a file of each language; in a table, name the column "
            "with the document of each row"
        )
    language_columns = _parse_columns(columns)
    check_languages([language for language, _ in language_columns])
    return TsvTable(files[0], dict(language_columns), header=header, documents=documents)


def _parse_columns(text: str) -> list[tuple[str, str]]:
    """Return language and column of each `CODE=COLUMN`."""
    columns = []
    for item in text.split(","):
        language, equals, column = item.partition("=")
        if not equals or not column:
            raise ConfigError(
                f"--columns: found {item!r}; write language and column, such as en=1,fi=2"
            )
        columns.append((language.strip(), column.strip()))
    return columns


@contextmanager
def row_progress() -> Iterator[Callable[[int], None]]:
    """Show a progress bar and yield the function that sets the number of rows."""
    with line_progress() as bar:
        row = bar.add_task("lines", total=None)
        yield lambda done: bar.update(row, completed=done)


def yaml_text(text: str) -> str:
    """Return a text as YAML on one line."""
    if PLAIN_YAML.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _split_table(split: Split) -> FoldedTable:
    from polyglot.data.splitting import PART_NAMES

    table = FoldedTable("part", "rows", "groups")
    for name, rows, groups in zip(PART_NAMES, split.row_counts, split.group_counts):
        if rows:
            table.add_row(name, f"{rows:,}", f"{groups:,}")
    return table


def _report_split(split: Split, settings: SplitSettings) -> None:
    """Log groups of several rows, and parts with fewer rows than requested."""
    from polyglot.data.splitting import PART_NAMES, TEST, VALIDATION

    if split.repeated_rows:
        logger.info(
            f"{split.repeated_rows:,} rows have a sentence or document in common with another row; "
            f"the largest group has {split.largest_group:,} rows"
        )
    for part, wanted in ((VALIDATION, settings.validation), (TEST, settings.test)):
        rows = split.row_counts[part]
        if rows < wanted:
            logger.warning(
                f"{PART_NAMES[part]} has {rows:,} of {wanted:,} rows: no other group fits"
            )


def _split_yaml(languages: Sequence[str], folder: Path, names: Sequence[str]) -> str:
    """YAML lines of a configuration that uses the new files."""
    from polyglot.data.splitting import PART_NAMES

    suffix = ".gz" if names[0].endswith(".gz") else ""
    lines = [
        f"languages: [{', '.join(languages)}]",
        "data:",
        f"  folder: {yaml_text(str(folder))}",
    ]
    for key, part in zip(("train", "valid", "test"), PART_NAMES):
        if any(name.startswith(f"{part}.") for name in names):
            path = f"{part}.{{language}}{suffix}"
            lines.append(f'  {key}: [{{type: text, path: "{path}"}}]')
    return "\n".join(lines)
