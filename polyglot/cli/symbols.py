"""Commands `symbolize` and `desymbolize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from polyglot.cli.app import command, logger, screen
from polyglot.cli.lines import read_lines
from polyglot.cli.progress import line_progress
from polyglot.core.errors import pluralize

SourceFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Source text: one sentence per line, plain or compressed."),
]
TranslationFile = Annotated[
    Optional[Path],
    typer.Argument(
        metavar="TRANSLATION",
        help="Its translation, line by line. Without it, only the source gets symbols.",
    ),
]
SourceLanguage = Annotated[
    str, typer.Option("--from", metavar="LANGUAGE", help="Language of FILE.")
]
TargetLanguage = Annotated[
    str, typer.Option("--to", metavar="LANGUAGE", help="Language of TRANSLATION.")
]
OutputFolder = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder for the text, the rules and the dictionary.")
]
Dictionary = Annotated[
    Optional[Path],
    typer.Option(
        metavar="FILE", help="Dictionary of an earlier call. Default: learn it from this text."
    ),
]
NameWords = Annotated[
    int,
    typer.Option(min=1, max=10, metavar="N", help="Number of capitalised words that make a name."),
]
MostSymbols = Annotated[
    int,
    typer.Option(
        "--most", min=1, max=99, metavar="N", help="Maximum of symbols of one type per line."
    ),
]


@command(
    "polyglot symbolize train.en train.de --from en --to de --output symbols/train",
    "polyglot symbolize test.en --from en --to de --dictionary symbols/train/dictionary.json "
    "--output symbols/test",
)
def symbolize(
    file: SourceFile,
    translation: TranslationFile = None,
    source: SourceLanguage = ...,
    target: TargetLanguage = ...,
    output: OutputFolder = ...,
    dictionary: Dictionary = None,
    name_words: NameWords = 2,
    most_symbols: MostSymbols = 9,
) -> None:
    """Replace numbers, names and acronyms by typed symbols, line by line.

    `desymbolize` restores the words in the translation.
    """
    from polyglot.data.symbolize_files import symbolize_files, written_name
    from polyglot.text.symbols import SymbolsConfig
    from polyglot.text.symbols.statistics import table

    config = SymbolsConfig(name_words=name_words, most=most_symbols)
    with line_progress() as progress:
        row = progress.add_task("lines", total=None)
        counts = symbolize_files(
            (file, source),
            (translation, target),
            output,
            config=config,
            dictionary=dictionary,
            progress=lambda done: progress.update(row, completed=done),
        )
    screen.print(table(counts))
    names = [written_name(path) for path in (file, translation) if path]
    logger.info(f"written to {output}: {', '.join(names)}, rules.jsonl, dictionary.json")


@command(
    "polyglot desymbolize translated.de --language de --rules symbols/test/rules.jsonl",
)
def desymbolize(
    file: Annotated[
        Optional[Path],
        typer.Argument(metavar="FILE", help="Lines with symbols. Default: standard input."),
    ] = None,
    language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="Language of these lines.")
    ] = ...,
    rules: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The rules.jsonl that `symbolize` has written for these lines."
        ),
    ] = ...,
) -> None:
    """Replace symbols by the words that they stand for, line by line."""
    from polyglot.data.symbolize_files import desymbolize_lines

    _, blocks = read_lines(file)
    place = str(file or "standard input")
    total_without_rule = 0
    for line, without_rule in desymbolize_lines(blocks, rules, language=language, place=place):
        print(line)
        total_without_rule += without_rule
    if total_without_rule:
        logger.info(
            f"{pluralize(total_without_rule, 'symbol')} had no rule; "
            "each was replaced by another of its type that was left, or left out"
        )
