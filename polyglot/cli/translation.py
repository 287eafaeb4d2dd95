"""Commands `translate` and `shortlist`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, is_out_of_memory, logger
from polyglot.cli.parameters import (
    AcceptChanges,
    Device,
    Engine,
    Precision,
    RunPath,
    Select,
    SelectBy,
    SelectFor,
    choice,
    without_unset,
)
from polyglot.cli.progress import line_progress
from polyglot.cli.translation_input import Files, Portion, read_portions, split_runs_and_files
from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, DataError, pluralize
from polyglot.core.hub_address import refuse_hub

if TYPE_CHECKING:
    from polyglot.decoding.base import SearchConfig
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.sentence_splitting import SentenceSplitter
    from polyglot.inference.summary import TranslationSummary
    from polyglot.inference.translator import Translator
    from polyglot.inference.types import Translation
    from polyglot.runs.run import Run

# The package that defines these choices loads torch; a test compares the two.
AVERAGES = ("log", "linear")

RunsAndFile = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN... [FILE]",
        help="Run directories, or runs on the hub (hub:user/name), several for an ensemble; then "
        "the text, one sentence per line, plain or compressed. Default text: standard input.",
        autocompletion=completion.runs,
    ),
]
Sources = Annotated[
    list[str],
    typer.Option(
        "--from",
        metavar="LANGUAGE[=FILE]",
        help="Source language. Repeat it with a file for each language if the same sentences "
        "exist in several languages (multi-source translation).",
        autocompletion=completion.languages,
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--to", metavar="LANGUAGE", help="Target language.", autocompletion=completion.languages
    ),
]
Beam = Annotated[
    Optional[int],
    typer.Option(
        min=1, metavar="N", help="Beam size; 1 is greedy search. Default: the setting of the run."
    ),
]
LengthPenalty = Annotated[
    Optional[float],
    typer.Option(
        min=0, max=10, metavar="α", help="Length penalty α. Default: the setting of the run."
    ),
]
NBest = Annotated[
    Optional[int],
    typer.Option(
        min=1,
        metavar="N",
        help="Print the N best hypotheses of each line, with tabs between line number, score, "
        "log-probability and text. In the text, a tab is written as \\t and a backslash as \\\\.",
    ),
]
Checkpoints = Annotated[
    list[str],
    typer.Option(
        "--checkpoint",
        metavar="CHECKPOINT",
        help="best, last, a step, or average:N for the mean of the newest N. "
        "Repeat it for an ensemble.",
        autocompletion=completion.checkpoints,
    ),
]
Average = Annotated[
    Optional[str],
    choice(
        AVERAGES,
        help="Mean of the probabilities of an ensemble: geometric (log) or arithmetic (linear). "
        "Default: log.",
    ),
]

SplitSentences = Annotated[
    bool,
    typer.Option(
        "--split-sentences",
        help="Lines are paragraphs: split them into sentences, and sentences longer than those of "
        "training at punctuation. The output has one line for each line of input.",
    ),
]


@command(
    "polyglot translate runs/phrasebook --from de --to fr < sentences.de",
    "polyglot translate runs/phrasebook runs/phrasebook-without-copies sentences.de "
    "--from de --to fr",
    "polyglot translate runs/phrasebook --from de=sentences.de --from en=sentences.en --to fr",
    "polyglot translate runs/phrasebook sentences.de --from de --to fr "
    "--select 200 --select-by shortlist",
    "polyglot translate runs/phrasebook sentences.de --from de --to fr --split-sentences",
    "polyglot translate runs/phrasebook sentences.de --from de --to fr --precision auto",
    "polyglot translate runs/mine sentences.de --from de --to en --engine ctranslate2",
)
def translate(
    paths: RunsAndFile,
    sources: Sources = ...,
    target: Target = ...,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    n_best: NBest = None,
    select: Select = None,
    select_by: SelectBy = None,
    select_for: SelectFor = None,
    checkpoints: Checkpoints = ["best"],  # noqa: B006
    average: Average = None,
    split_sentences: SplitSentences = False,
    device: Device = None,
    precision: Precision = "float32",
    engine: Engine = "polyglot",
    accept_changes: AcceptChanges = False,
) -> None:
    """Translate a file or standard input, line by line."""
    from polyglot.runs.run import Run
    from polyglot.runs.stored_settings import TRANSLATION

    settings = without_unset(
        beam=beam,
        length_penalty=length_penalty,
        n_best=n_best,
        select=select,
        select_by=select_by,
        select_for=select_for,
    )
    run_paths, files = split_runs_and_files(paths, sources)
    runs = [
        Run.open(path, sections=TRANSLATION, accept_changes=accept_changes) for path in run_paths
    ]
    translator = _load_translator(
        runs,
        list(files),
        target,
        checkpoints=checkpoints,
        average=average,
        device=device,
        precision=precision,
        engine=engine,
    )
    job = TranslationJob(translator, target, settings)
    if split_sentences:
        job.splitter = _sentence_splitter(translator, files, settings)
    summary = _translate_files(job, files)
    if translator.symbols_without_rule:
        logger.info(
            f"{pluralize(translator.symbols_without_rule, 'symbol')} had no rule in the source; "
            "each was replaced by another of its type that was left, or left out"
        )
    for line in summary.describe():
        logger.info(line)


@dataclass
class TranslationJob:
    """Translator and settings for all lines."""

    translator: Translator | EnsembleTranslator
    target: str
    settings: Mapping[str, object]
    """search settings of the command line"""
    splitter: SentenceSplitter | None = None
    """None for one sentence per line"""

    @property
    def search_config(self) -> SearchConfig:
        return self.translator.members[0].search_config_with(self.settings)

    def translate(self, portion: Portion) -> list[list[Translation]]:
        """Return the n best translations of each line."""
        if self.splitter is None:
            return self._hypotheses(portion.lines, portion.source)
        text = self.splitter.split(portion.lines)
        hypotheses = self._hypotheses(text.sentences, portion.source)
        return text.join(hypotheses, self.target)

    def _hypotheses(self, lines: Any, source: str | None) -> list[list[Translation]]:
        return self.translator.hypotheses(lines, source=source, target=self.target, **self.settings)


def _translate_files(job: TranslationJob, files: Files) -> TranslationSummary:
    """Print the translations of all lines in portions, and return their summary.

    Raises DataError for a line that is too long for the memory.
    """
    from polyglot.inference.sentence_splitting import common_training_length
    from polyglot.inference.summary import TranslationSummary

    total, portions = read_portions(files)
    summary = TranslationSummary(job.search_config, job.splitter)
    longest = common_training_length(job.translator.members)
    with_scores = "n_best" in job.settings

    # On a terminal, the translations themselves show the progress.
    hidden = not stderr_console.is_terminal or sys.stdout.isatty()
    with line_progress(hidden=hidden) as progress:
        row = progress.add_task("lines", total=total)
        for portion in portions:
            try:
                hypotheses = job.translate(portion)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise DataError(_too_long_message(files, portion, summary.lines)) from None
            _print_translations(hypotheses, summary.lines, with_scores=with_scores)
            summary.add(hypotheses, longest=longest)
            progress.update(row, completed=summary.lines)
    return summary


def _sentence_splitter(
    translator: Translator | EnsembleTranslator,
    files: Files,
    settings: Mapping[str, object],
) -> SentenceSplitter:
    """Return the splitter of the source language.

    Raises ConfigError for several languages, for n-best lists, and without the library.
    """
    from polyglot.inference.sentence_splitting import (
        SentenceSplitter,
        check_one_best,
        check_one_source,
    )

    check_one_source(files)
    if "n_best" in settings:
        check_one_best(translator.members[0].search_config_with(settings))
    [language] = files
    return SentenceSplitter.for_models(translator.members, language)


def _print_translations(
    hypotheses: Sequence[Sequence[Translation]],
    count: int,
    *,
    with_scores: bool,
) -> None:
    """Print the translations of a portion.

    count: number of lines before these.
    """
    from polyglot.data.tsv import tsv_line

    for line_hypotheses in hypotheses:
        count += 1
        if not with_scores:
            print(line_hypotheses[0].text)
            continue
        for hypothesis in line_hypotheses:
            score = f"{hypothesis.score:.4f}"
            log_probability = f"{hypothesis.log_probability:.4f}"
            print(tsv_line([count, score, log_probability, hypothesis.text]))
    sys.stdout.flush()


def _too_long_message(files: Files, portion: Portion, count: int) -> str:
    """Message that names the longest line of a portion, on which the memory was spent.

    count: number of lines before the portion.
    """
    longest = -1
    place = ""
    for language, file in files.items():
        for row, line in enumerate(portion.lines_in(language), start=1):
            if len(line) > longest:
                longest = len(line)
                place = f"{file or 'standard input'}, line {count + row}"
    return (
        f"{place}: not enough memory to translate its {longest:,} characters; "
        "divide it, or lower --beam"
    )


def _load_translator(
    runs: list[Run],
    sources: list[str],
    target: str,
    *,
    checkpoints: list[str],
    average: str | None,
    device: str | None,
    precision: str,
    engine: str,
) -> Translator | EnsembleTranslator:
    from polyglot.inference.devices import check_ensemble_engine
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.tasks.pairs import LanguagePair

    if len(runs) > 1 or len(sources) > 1 or len(checkpoints) > 1:
        check_ensemble_engine(engine)
        return EnsembleTranslator.load(
            runs,
            checkpoints=checkpoints,
            sources=sources,
            target=target,
            average=average or "log",
            device=device,
            precision=precision,
        )
    if average is not None:
        raise ConfigError(
            "--average: needs an ensemble, and there is one model; name several runs, "
            "or --checkpoint average:N for the mean of its parameters"
        )
    pair = LanguagePair(sources[0], target)
    return Translator.load(
        runs[0],
        checkpoint=checkpoints[0],
        pairs=[pair],
        device=device,
        precision=precision,
        engine=engine,
    )


@command("polyglot shortlist runs/phrasebook de-fr")
def shortlist(
    run: RunPath,
    pair: Annotated[
        str,
        typer.Argument(
            metavar="PAIR",
            help="Source and target language, such as de-fr. The training text of the run "
            "contains both.",
        ),
    ],
    sentences: Annotated[
        int, typer.Option(min=1, metavar="N", help="Learn from the first N sentences of the text.")
    ] = 500_000,
    best: Annotated[
        int, typer.Option(min=1, metavar="N", help="Keep N target words for each source word.")
    ] = 100,
) -> None:
    """Learn the shortlist (likely target words per source word) from the training text.

    `translate --select-by shortlist` uses the result.
    """
    from polyglot.runs.run import Run
    from polyglot.tasks.pairs import LanguagePair, resolve_pair
    from polyglot.training.shortlist import write_shortlist

    refuse_hub(run, "shortlist writes into the run")
    opened = Run.open(run)
    languages = opened.config.languages
    path, count = write_shortlist(
        opened,
        resolve_pair(LanguagePair.parse(pair), sources=languages, targets=languages),
        sentences=sentences,
        words_per_source=best,
    )
    logger.info(f"written to {path}: from {count} sentences")
