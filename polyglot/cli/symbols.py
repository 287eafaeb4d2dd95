"""Symbols in the place of numbers, names and acronyms, for files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from polyglot.cli.app import app, lines_bar, lines_of, logger, screen
from polyglot.core.errors import pluralize


@app.command(
    epilog="polyglot symbolize train.en train.de --from en --to de --output symbols/train · "
    "polyglot symbolize test.en --from en --to de --dictionary symbols/train/dictionary.json --output symbols/test"
)
def symbolize(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="One sentence a line, plain or gzipped.")
    ],
    other: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[TRANSLATION]",
            help="Line by line its translation; without, only the source is looked at.",
        ),
    ] = None,
    source: Annotated[str, typer.Option("--from", help="Language of the file.")] = ...,
    target: Annotated[str, typer.Option("--to", help="Language of its translation.")] = ...,
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Where lines, rules and dictionary go.")
    ] = ...,
    dictionary: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="What earlier text has shown. Default: what this text shows."
        ),
    ] = None,
    name_words: Annotated[
        int, typer.Option(min=1, max=10, help="Capitalised words that make a name.")
    ] = 2,
    most: Annotated[int, typer.Option(min=1, max=99, help="Symbols of each type in a line.")] = 9,
) -> None:
    """Put typed symbols in the place of numbers, names and acronyms, line by line; `desymbolize` takes them out again."""
    from polyglot.data.symbolize_files import symbolize_files, written_name
    from polyglot.text.symbols import SymbolsConfig
    from polyglot.text.symbols.statistics import table

    config = SymbolsConfig(name_words=name_words, most=most)
    with lines_bar() as bar:
        row = bar.add_task("lines", total=None)
        found = symbolize_files(
            (file, source),
            (other, target),
            output,
            config=config,
            dictionary=dictionary,
            progress=lambda done: bar.update(row, completed=done),
        )
    screen.print(table(found))
    logger.info(
        f"written to {output}: {', '.join(written_name(path) for path in (file, other) if path)}, rules.jsonl, dictionary.json"
    )


@app.command(
    epilog="polyglot desymbolize translated.de --language de --rules symbols/test/rules.jsonl"
)
def desymbolize(
    file: Annotated[
        Optional[Path],
        typer.Argument(metavar="[FILE]", help="Lines with symbols; by default standard input."),
    ] = None,
    language: Annotated[str, typer.Option(help="Language of these lines.")] = ...,
    rules: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The rules.jsonl that `symbolize` has written, of the same lines."
        ),
    ] = ...,
) -> None:
    """Put the words back in the place of symbols, line by line."""
    from polyglot.data.symbolize_files import desymbolize_lines

    _, blocks = lines_of(file)
    lost = 0
    for line, without in desymbolize_lines(
        blocks, rules, language=language, place=str(file or "standard input")
    ):
        print(line)
        lost += without
    if lost:
        logger.info(
            f"{pluralize(lost, 'symbol')} had no rule; another of its type that the line lacked stands there, or nothing"
        )
