"""Command `clean`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.cli.embeddings import load_encoder
from polyglot.cli.held_out_text import LANGUAGE_PLACE, read_test_text
from polyglot.cli.parameters import Checkpoint, Device, choice, without_unset
from polyglot.cli.preparation import (
    Columns,
    Force,
    Gzip,
    Header,
    IgnoreShorter,
    Languages,
    OutputFolder,
    open_text,
    row_progress,
    yaml_text,
)
from polyglot.core.errors import ConfigError, pluralize, unknown_name
from polyglot.core.tables import FoldedTable

if TYPE_CHECKING:
    from polyglot.data.cleaned_files import CleanedNames, Examples
    from polyglot.data.cleaning import CleaningSettings, RemovedRows, Scorer
    from polyglot.data.parallel_files import ParallelText
    from polyglot.text.comparison_key import Hashes

# The package that defines these choices loads numpy; a test compares the two.
UNITS = ("words", "characters")

CleanedPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="A file for each language, line n of each the same sentence; or one table (TSV) with "
        "--columns. With --undo: the removed.tsv of an earlier call.",
    ),
]
MinLength = Annotated[
    Optional[int], typer.Option(min=0, metavar="N", help="Shortest line. Default: 1 word.")
]
MaxLength = Annotated[
    Optional[int],
    typer.Option(min=1, metavar="N", help="Longest line. Default: 100 words, or 600 characters."),
]
MaxRatio = Annotated[
    Optional[float],
    typer.Option(
        min=1,
        metavar="X",
        help="Largest ratio of the longest line of a row to the shortest. Default: 9.",
    ),
]
Unit = Annotated[
    Optional[str],
    choice(
        UNITS,
        help="Unit of lengths. Default: words, or characters if a language has no spaces between "
        "words.",
    ),
]
MinLetters = Annotated[
    float,
    typer.Option(
        min=0, max=1, metavar="SHARE", help="Smallest share of letters in a line; 0 for any."
    ),
]
KeepDuplicates = Annotated[
    bool, typer.Option("--keep-duplicates", help="Keep rows that are equal to an earlier row.")
]
NearDuplicates = Annotated[
    bool,
    typer.Option(
        "--near-duplicates",
        help="Also remove rows that differ from an earlier row only in case, punctuation, spaces "
        "or numbers.",
    ),
]
MaxOtherLanguage = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        metavar="P",
        help="Remove lines in another language with a larger probability than P; 1 for none.",
    ),
]
TestFiles = Annotated[
    Optional[list[str]],
    typer.Option(
        "--test",
        metavar="FILE",
        help="Remove rows with a sentence of this validation or test text. A name such as "
        "'data/test.{language}' means the file of each language. Can be repeated.",
    ),
]
RunOption = Annotated[
    Optional[Path],
    typer.Option(
        "--run",
        metavar="RUN",
        help="Score the rows with the sentence embeddings of this run; for --margin.",
        autocompletion=completion.runs,
    ),
]
Margin = Annotated[
    Optional[float],
    typer.Option(
        metavar="SCORE",
        help="Remove rows with a smaller ratio margin, such as 1.0; needs --run.",
    ),
]
Undo = Annotated[
    bool, typer.Option("--undo", help="Write the text of an earlier call as it was before.")
]
UndoRules = Annotated[
    Optional[list[str]],
    typer.Option(
        "--rule",
        metavar="RULE",
        help="With --undo: put back only the rows that this rule removed. Can be repeated.",
    ),
]


@command(
    "polyglot clean corpus.en corpus.fi --output cleaned",
    "polyglot clean corpus.en corpus.fi --output cleaned --test 'data/test.{language}'",
    "polyglot clean corpus.tsv --columns en=1,ja=2 --output cleaned --max-ratio 4 --gzip",
    "polyglot clean corpus.en corpus.fi --output cleaned --run runs/mine --margin 1.0",
    "polyglot clean cleaned/corpus.removed.tsv --undo --output restored",
)
def clean(
    files: CleanedPaths,
    output: OutputFolder = ...,
    languages: Languages = None,
    columns: Columns = None,
    header: Header = False,
    min_length: MinLength = None,
    max_length: MaxLength = None,
    max_ratio: MaxRatio = None,
    unit: Unit = None,
    min_letters: MinLetters = 0.5,
    keep_duplicates: KeepDuplicates = False,
    near_duplicates: NearDuplicates = False,
    max_other_language: MaxOtherLanguage = 0.5,
    test: TestFiles = None,
    ignore_shorter: IgnoreShorter = 0,
    run: RunOption = None,
    margin: Margin = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
    compress: Gzip = False,
    force: Force = False,
    undo: Undo = False,
    rules: UndoRules = None,
) -> None:
    """Remove bad rows from parallel text, and report them.

    Writes the kept rows, a report, and the removed rows with their rules. The text itself is never
    changed, and --undo puts the removed rows back.
    """
    if undo:
        _undo(files, output, rules, force=force)
        return
    _check_options(unit, rules, run, margin)
    text = open_text(files, languages, columns, header=header)
    limits = without_unset(min_length=min_length, max_length=max_length, max_ratio=max_ratio)
    settings = _settings(
        text.languages,
        limits,
        unit=unit,
        min_letters=min_letters,
        keep_duplicates=keep_duplicates,
        near_duplicates=near_duplicates,
        max_other_language=max_other_language,
        margin=margin,
    )
    test_hashes = read_test_text(test or (), text.languages, shortest=ignore_shorter)
    scorer = None
    if run is not None:
        scorer = _margin_scorer(run, text.languages, checkpoint=checkpoint, device=device)
    suffix = ".gz" if compress else ""
    _clean(text, settings, output, test_hashes, scorer, suffix=suffix, force=force)


def _clean(
    text: ParallelText,
    settings: CleaningSettings,
    folder: Path,
    test_hashes: dict[str, Hashes],
    scorer: Scorer | None,
    *,
    suffix: str,
    force: bool,
) -> None:
    """Apply the rules, write the files and print the counts."""
    from polyglot.data.cleaned_files import CleanedNames, write_cleaned
    from polyglot.data.cleaning import find_removed_rows
    from polyglot.data.cleaning_report import cleaning_report
    from polyglot.data.new_text_files import earlier_files

    names = CleanedNames(text.stem, text.languages, suffix)
    obsolete = earlier_files(text.paths, folder, names.all(), replace=force)

    def report(examples: Examples) -> str:
        return cleaning_report(removed, settings, names, sources=text.paths, examples=examples)

    with row_progress() as progress:
        removed = find_removed_rows(
            text,
            settings,
            test_hashes=test_hashes,
            scorer=scorer,
            progress=progress,
        )
        write_cleaned(
            text,
            removed,
            folder,
            names,
            report=report,
            obsolete=obsolete,
            progress=progress,
        )
    screen.print(_rule_table(removed))
    logger.info(f"written to {folder}: {', '.join(names.all())}")
    print(_corpus_yaml(folder, names))


def _check_options(
    unit: str | None,
    rules: Sequence[str] | None,
    run: Path | None,
    margin: float | None,
) -> None:
    """Raise ConfigError for options that do not fit together."""
    if rules:
        raise ConfigError("--rule: puts rows back; add --undo")
    if unit is not None and unit not in UNITS:
        raise ConfigError(f"--unit: {unknown_name('unit', unit, UNITS)}")
    if (run is None) != (margin is None):
        raise ConfigError("--run and --margin: one needs the other; give both or none")
    if margin is not None and not math.isfinite(margin):
        raise ConfigError(f"--margin: found {margin}; expected a number, such as 1.0")


def _settings(
    languages: Sequence[str],
    limits: dict[str, float],
    *,
    unit: str | None,
    min_letters: float,
    keep_duplicates: bool,
    near_duplicates: bool,
    max_other_language: float,
    margin: float | None,
) -> CleaningSettings:
    """Settings of the rules. Raises ConfigError for limits out of range.

    limits: those on lengths that the user set.
    """
    from pydantic import ValidationError

    from polyglot.config.pydantic_errors import validation_problems
    from polyglot.data.cleaning import (
        CHARACTERS,
        LONGEST_IN_CHARACTERS,
        CleaningSettings,
        default_unit,
    )
    from polyglot.data.filters import FilterConfig

    unit = unit or default_unit(languages)
    if unit == CHARACTERS:
        limits = {"max_length": LONGEST_IN_CHARACTERS, **limits}
    # A probability is never larger than 1, so nothing has to be identified.
    identifies = max_other_language < 1
    try:
        filters = FilterConfig(
            **limits,
            remove_duplicates=not keep_duplicates,
            max_other_language=max_other_language if identifies else None,
        )
    except ValidationError as error:
        problems = validation_problems(error, FilterConfig)
        raise ConfigError(problems, where="the limits of `polyglot clean`") from None
    return CleaningSettings(
        filters,
        unit=unit,
        min_letters=min_letters,
        near_duplicates=near_duplicates,
        margin=margin,
    )


def _margin_scorer(
    run: Path,
    languages: Sequence[str],
    *,
    checkpoint: str,
    device: str | None,
) -> Scorer:
    """Return a function that scores rows with the embeddings of a run."""
    from polyglot.inference.embeddings.bitext import score_pairs

    if len(languages) != 2:
        raise ConfigError(f"--margin: scores two languages, and the text has {len(languages)}")
    encoder = load_encoder(run, list(languages), checkpoint=checkpoint, device=device)
    return partial(score_pairs, encoder)


def _rule_table(removed: RemovedRows) -> FoldedTable:
    from polyglot.data.cleaning_report import removed_shares

    table = FoldedTable("rule", "rows", "%")
    for rule, (count, share) in removed_shares(removed).items():
        table.add_row(rule, f"{count:,}", f"{share:.2%}".removesuffix("%"))
    table.add_section()
    total = len(removed.codes)
    kept = removed.kept_count
    table.add_row("kept", f"{kept:,}", f"{kept / total:.2%}".removesuffix("%"))
    table.add_row("all", f"{total:,}", "100.00")
    return table


def _corpus_yaml(folder: Path, names: CleanedNames) -> str:
    """YAML lines of a configuration that uses the kept rows as training text."""
    path = json.dumps(f"{names.stem}.{LANGUAGE_PLACE}{names.suffix}", ensure_ascii=False)
    lines = [
        f"languages: [{', '.join(names.languages)}]",
        "data:",
        f"  folder: {yaml_text(str(folder))}",
        f"  train: [{{type: text, path: {path}}}]",
    ]
    return "\n".join(lines)


def _undo(
    files: Sequence[Path],
    folder: Path,
    rules: Sequence[str] | None,
    *,
    force: bool,
) -> None:
    """Write a cleaned text with its removed rows. Raises ConfigError for an unknown rule."""
    from polyglot.data.cleaned_files import CleanedText, restore
    from polyglot.data.cleaning import RULES
    from polyglot.data.new_text_files import earlier_files

    if len(files) != 1:
        raise ConfigError("--undo: name one file, the removed.tsv of an earlier call")
    for rule in rules or ():
        if rule not in RULES:
            raise ConfigError(f"--rule: {unknown_name('rule', rule, RULES)}")
    cleaned = CleanedText.open(files[0])
    obsolete = earlier_files(cleaned.paths, folder, cleaned.names.texts(), replace=force)
    with row_progress() as progress:
        count = restore(cleaned, folder, rules=rules, obsolete=obsolete, progress=progress)
    logger.info(
        f"{pluralize(count, 'row')} written to {folder}: {', '.join(cleaned.names.texts())}"
    )
