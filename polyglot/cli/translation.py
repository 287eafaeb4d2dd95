"""Translate text line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import Device, RunPath, app, is_out_of_memory, lines_bar, lines_of, logger
from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, DataError, pluralize


@app.command(
    epilog="polyglot translate runs/phrasebook --from de --to fr < sentences.de · "
    "polyglot translate runs/phrasebook runs/phrasebook-without-copies sentences.de --from de --to fr · "
    "polyglot translate runs/phrasebook --from de=sentences.de --from en=sentences.en --to fr · "
    "polyglot translate runs/phrasebook --from de --to fr --select 200 --select-by shortlist sentences.de"
)
def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... [FILE]",
            help="Run directories, of which several write together; one sentence a line, plain or gzipped, by default standard input.",
            autocompletion=completion.runs,
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Option(
            "--from",
            metavar="LANGUAGE[=FILE]",
            help="Language of the sentences; several, each with its file, for the same sentences in several languages.",
            autocompletion=completion.languages,
        ),
    ] = ...,
    target: Annotated[
        str,
        typer.Option(
            "--to", help="Language to translate into.", autocompletion=completion.languages
        ),
    ] = ...,
    beam: Annotated[
        Optional[int],
        typer.Option(
            min=1, help="Hypotheses kept for each sentence; 1 is greedy. Default: the run's."
        ),
    ] = None,
    length_penalty: Annotated[
        Optional[float],
        typer.Option(min=0, max=10, help="α of the length penalty. Default: the run's."),
    ] = None,
    n_best: Annotated[
        Optional[int],
        typer.Option(
            min=1,
            help="Print so many for each line: number, score, log-probability, text, between tabs.",
        ),
    ] = None,
    select: Annotated[
        Optional[int],
        typer.Option(
            min=1,
            help="Search among so many words, the likeliest for each sentence. Default: the run's.",
        ),
    ] = None,
    select_by: Annotated[
        Optional[str],
        typer.Option(
            help="Which words: by prediction of the decoder, or by a shortlist that was counted."
        ),
    ] = None,
    select_for: Annotated[
        Optional[str], typer.Option(help="Words of each sentence, or of the batch together.")
    ] = None,
    checkpoint: Annotated[
        list[str],
        typer.Option(
            help="best, last, a step, or average:N; several write together.",
            autocompletion=completion.checkpoints,
        ),
    ] = ["best"],  # noqa: B006
    average: Annotated[
        Optional[str],
        typer.Option(help="Of the probabilities of several models: log, the default, or linear."),
    ] = None,
    device: Device = None,
) -> None:
    """Translate a file or standard input, line by line."""
    settings = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
    settings |= {"select": select, "select_by": select_by, "select_for": select_for}
    settings = {name: value for name, value in settings.items() if value is not None}
    runs, texts = _runs_and_texts(runs, sources)
    translator = _translator(
        runs, list(texts), target, checkpoints=checkpoint, average=average, device=device
    )
    total, portions = _portions(texts)
    hidden = (
        not stderr_console.is_terminal or sys.stdout.isatty()
    )  # there the translations show how far it is
    number = 0
    with lines_bar(hidden=hidden) as bar:
        row = bar.add_task("lines", total=total)
        for sentences, given in portions:
            try:
                found = translator.hypotheses(sentences, **given, target=target, **settings)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise DataError(
                    f"{_too_long(texts, sentences, number)}; divide it, or lower --beam"
                ) from None
            for hypotheses in found:
                number += 1
                if n_best is None:
                    print(hypotheses[0].text)
                else:
                    for each in hypotheses:
                        print(
                            number,
                            f"{each.score:.4f}",
                            f"{each.log_probability:.4f}",
                            each.text,
                            sep="\t",
                        )
            sys.stdout.flush()
            bar.update(row, completed=number)
    if lost := translator.symbols_without_rule:
        logger.info(
            f"{pluralize(lost, 'symbol')} had no rule in the source; another of its type that was left stands there, or nothing"
        )


def _too_long(texts: dict[str, Path | None], sentences: Any, before: int) -> str:
    """The longest of some lines, by its file and its number there: what the memory went to."""
    by_language = sentences if isinstance(sentences, dict) else dict.fromkeys(texts, sentences)
    places = [
        (len(line), row, language)
        for language, lines in by_language.items()
        for row, line in enumerate(lines)
    ]
    length, row, language = max(places, key=itemgetter(0))
    return f"{texts[language] or 'standard input'}, line {before + row + 1}: not enough memory to translate its {length:,} characters"


def _runs_and_texts(
    paths: list[Path], sources: list[str]
) -> tuple[list[Path], dict[str, Path | None]]:
    """Which of the paths are runs, and the file of each language. Raises ConfigError where a file is missing or one too many."""
    texts = {
        language: Path(file) if file else None
        for language, _, file in (one.partition("=") for one in sources)
    }
    if len(texts) < len(sources):
        raise ConfigError("--from: a language is named twice; each has one file")
    runs = paths[:1] + paths[1:-1] + [path for path in paths[1:][-1:] if path.is_dir()]
    if len(runs) < len(paths):
        if any(texts.values()):
            raise ConfigError(f"{paths[-1]}: --from names a file, too; give the text in one place")
        texts = dict.fromkeys(texts, paths[-1])
    if len(texts) > 1 and (len(runs) < len(paths) or not all(texts.values())):
        raise ConfigError(
            f"--from: {' and '.join(texts)} need a file each: {' '.join(f'--from {language}=FILE' for language in texts)}"
        )
    return runs, texts


def _translator(
    runs: list[Path],
    sources: list[str],
    target: str,
    *,
    checkpoints: list[str],
    average: str | None,
    device: str | None,
) -> Any:
    """One model's, or that of several together."""
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.tasks.pairs import LanguagePair

    if len(runs) == len(sources) == len(checkpoints) == 1:
        if average is not None:
            raise ConfigError(
                "--average: one model writes alone; name several runs, or to average its parameters --checkpoint average:N"
            )
        return Translator.load(
            runs[0],
            checkpoint=checkpoints[0],
            pairs=[LanguagePair(sources[0], target)],
            device=device,
        )
    return EnsembleTranslator.load(
        runs,
        checkpoints=checkpoints,
        sources=sources,
        target=target,
        average=average or "log",
        device=device,
    )


def _portions(
    texts: dict[str, Path | None],
) -> tuple[int | None, Iterator[tuple[Any, dict[str, str]]]]:
    """How many lines there are, where that can be known, and what is translated together, with its language unless there are several."""
    from polyglot.data.text_files import PORTION, portions

    if len(texts) == 1:
        [(language, file)] = texts.items()
        total, blocks = lines_of(file)
        return total, ((lines, {"source": language}) for lines in portions(blocks))
    read = {language: lines_of(file) for language, file in texts.items()}
    totals = {language: total for language, (total, _) in read.items()}
    if len(set(totals.values())) > 1:
        found = ", ".join(f"{texts[language]} {total}" for language, total in totals.items())
        raise DataError(
            f"--from: the files have different numbers of lines: {found}; line n of each is the same sentence"
        )
    lines = {language: chain.from_iterable(blocks) for language, (_, blocks) in read.items()}

    def together() -> Iterator[tuple[Any, dict[str, str]]]:
        while any(
            (
                part := {language: list(islice(own, PORTION)) for language, own in lines.items()}
            ).values()
        ):
            yield part, {}

    return next(iter(totals.values())), together()


@app.command(epilog="polyglot shortlist runs/phrasebook de-fr")
def shortlist(
    run: RunPath,
    direction: Annotated[
        str,
        typer.Argument(
            metavar="PAIR",
            help="Source and target, such as de-fr; the run's training text has both.",
        ),
    ],
    sentences: Annotated[
        int, typer.Option(min=1, help="How many of its sentences are counted, from the first on.")
    ] = 500_000,
    best: Annotated[int, typer.Option(min=1, help="Target words kept for each source word.")] = 100,
) -> None:
    """Count from a run's training text which target words go with which source words, for `--select-by shortlist`."""
    from polyglot.runs.run import Run
    from polyglot.tasks.pairs import LanguagePair
    from polyglot.training.shortlist import write_shortlist

    path, count = write_shortlist(
        Run.open(run), LanguagePair.parse(direction), sentences=sentences, best=best
    )
    logger.info(f"written to {path}: from {count} sentences")
