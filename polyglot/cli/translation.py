"""Translate text line by line."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from polyglot.cli.completion import languages
from polyglot.cli.program import Checkpoint, Device, RunPath, app, is_out_of_memory, lines_bar, lines_of
from polyglot.console import aside
from polyglot.errors import ConfigError, DataError


def _number(value: float | None) -> float | None:
    """Not a number is neither too small nor too large for a range."""
    if value is not None and math.isnan(value):
        raise ConfigError("--length-penalty: found nan; expected a number from 0 to 10")
    return value


@app.command(epilog="polyglot translate runs/phrasebook --from de --to fr < sentences.de")
def translate(
    run: RunPath,
    file: Annotated[
        Optional[Path], typer.Argument(metavar="[FILE]", help="One sentence a line, plain or gzipped; by default standard input.")
    ] = None,
    source: Annotated[str, typer.Option("--from", help="Language of the sentences.", autocompletion=languages)] = ...,
    target: Annotated[str, typer.Option("--to", help="Language to translate into.", autocompletion=languages)] = ...,
    beam: Annotated[Optional[int], typer.Option(min=1, help="Hypotheses kept for each sentence; 1 is greedy. Default: the run's.")] = None,
    length_penalty: Annotated[
        Optional[float], typer.Option(min=0, max=10, callback=_number, help="α of the length penalty. Default: the run's.")
    ] = None,
    n_best: Annotated[
        Optional[int], typer.Option(min=1, help="Print so many for each line: number, score, log-probability, text, between tabs.")
    ] = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Translate a file or standard input, line by line."""
    from polyglot.data.lines import portions
    from polyglot.inference import Translator
    from polyglot.task import LanguagePair

    settings = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
    settings = {name: value for name, value in settings.items() if value is not None}
    translator = Translator.load(run, checkpoint=checkpoint, pairs=[LanguagePair(source, target)], device=device)
    total, blocks = lines_of(file)
    hidden = not aside.is_terminal or sys.stdout.isatty()  # there the translations show how far it is
    number = 0
    with lines_bar(hidden=hidden) as bar:
        row = bar.add_task("lines", total=total)
        for lines in portions(blocks):
            try:
                found = translator.hypotheses(lines, source=source, target=target, **settings)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise DataError(f"{file or 'standard input'}, {_too_long(lines, number)}; divide it, or lower --beam") from None
            for hypotheses in found:
                number += 1
                if n_best is None:
                    print(hypotheses[0].text)
                else:
                    for each in hypotheses:
                        print(number, f"{each.score:.4f}", f"{each.log_probability:.4f}", each.text, sep="\t")
            sys.stdout.flush()
            bar.update(row, completed=number)


def _too_long(lines: list[str], before: int) -> str:
    """The longest of some lines, by its number in the file: what the memory went to."""
    longest = max(range(len(lines)), key=lambda row: len(lines[row]))
    return f"line {before + longest + 1}: not enough memory to translate its {len(lines[longest]):,} characters"
