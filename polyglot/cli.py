"""The verbs. They tie the rooms together and print; every import that needs torch waits until its verb is called."""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from polyglot.console import LogLines, aside
from polyglot.errors import ConfigError, PolyglotError, TrainingError, unknown_name
from polyglot.layers.allocation import collect_rarely, keep_freed_memory
from polyglot.version import VERSION


class Verbs(TyperGroup):
    """Each of them ends well when whoever reads its results has seen enough, as `head` has."""

    def invoke(self, context: typer.Context) -> None:
        try:
            super().invoke(context)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that what is left in the buffer disturbs nobody
            raise typer.Exit from None


class Screen(Console):
    """Standard output; `Verbs` deals with its reader's leaving."""

    def on_broken_pipe(self) -> None:
        raise  # what rich has just caught


app = typer.Typer(
    name="polyglot",
    cls=Verbs,
    help="Multilingual many-to-many translation: train language pairs from one YAML file, translate every direction.",
    epilog="Start with: polyglot train phrasebook · then: polyglot evaluate runs/phrasebook",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
screen = Screen()
OUT_OF_MEMORY = (
    "lower batching.size (by: tokens bounds the widest batch) or the sizes of the model, or the beam of a search; what training needs, `polyglot train … --dry-run` estimates"
)
logger = logging.getLogger("polyglot")

Overrides = Annotated[Optional[list[str]], typer.Argument(metavar="[KEY=VALUE]...", help="Settings that differ, such as training.steps=5000.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, such as runs/phrasebook.")]
Checkpoint = Annotated[str, typer.Option(help="best, last, a step, or average:N.")]


def main() -> None:
    """The program: mistakes of the user's end in one message and exit status 2."""
    keep_freed_memory()
    collect_rarely()
    sys.stdout.reconfigure(encoding="utf-8")  # text is UTF-8 going in, and so it comes out, whatever the terminal is set to
    try:
        app()
    except PolyglotError as error:
        aside.print("[bold red]error:[/] ", end="")
        aside.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        aside.print("[bold red]error:[/] ", end="")
        aside.print(f"not enough memory: {OUT_OF_MEMORY}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        aside.print("interrupted")
        sys.exit(130)


def _is_out_of_memory(error: Exception) -> bool:
    """PyTorch says it of a GPU in one way, of the machine's own memory in another."""
    return isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate memory" in str(error)


def _version(wanted: bool) -> None:
    if wanted:
        screen.print(f"polyglot {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only say what goes wrong.")] = False,
) -> None:
    lines = LogLines()
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(handlers=[lines], force=True)
    logger.setLevel(logging.ERROR if quiet else logging.INFO)


@app.command(epilog="polyglot train phrasebook training.steps=3400 · polyglot train runs/phrasebook --resume")
def train(
    config: Annotated[str, typer.Argument(metavar="CONFIG|RUN", help="A YAML file, the name of a shipped one, or with --resume a run directory.")],
    overrides: Overrides = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, count parameters and memory, and stop.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run exactly where its last checkpoint was written.")] = False,
) -> None:
    """Train a set of language pairs."""
    from polyglot import checkpoint as checkpoints
    from polyglot.config import load_config
    from polyglot.evaluate.validation import Validator
    from polyglot.run import Run
    from polyglot.training.plan import plan
    from polyglot.training.start import build_trainer

    if dry_run:
        if resume:
            settings = Run.reconfigure(config, overrides or ()).config
        else:
            settings = load_config(config, overrides or ())
            Run(settings.run, settings).check_new()
        screen.print(*plan(settings).tables(), sep="\n")
        return
    run = Run.reconfigure(config, overrides or ()) if resume else Run.create(load_config(config, overrides or ()))
    with run.locked():
        with nullcontext() if resume else run.removed_on_error():
            trainer = build_trainer(run, Validator(run))
        if resume and checkpoints.steps(run.checkpoints):
            trainer.resume(checkpoints.choose(run.checkpoints, "last")[0])
        if resume and overrides:
            run.write_config()  # only now that data and checkpoint agree with it
        trainer.train()
    logger.info(f"{run.path}: {trainer.progress.step} of {run.config.training.steps} steps in {trainer.progress.seconds:,.0f} s of training")
    if trainer.interrupted and trainer.progress.step < run.config.training.steps:
        logger.info(f"interrupted; continue with: polyglot train {run.path} --resume")
        raise typer.Exit(128 + trainer.interrupted)  # as shells say it, so that what should follow a trained model does not
    logger.info(f"next: polyglot evaluate {run.path}")


@app.command(epilog="polyglot translate runs/phrasebook --from de --to fr < sentences.de")
def translate(
    run: RunPath,
    file: Annotated[Optional[Path], typer.Argument(metavar="[FILE]", help="One sentence a line, plain or gzipped; by default standard input.")] = None,
    source: Annotated[str, typer.Option("--from", help="Language of the sentences.")] = ...,
    target: Annotated[str, typer.Option("--to", help="Language to translate into.")] = ...,
    beam: Annotated[Optional[int], typer.Option(min=1, help="Hypotheses kept for each sentence; 1 is greedy. Default: the run's.")] = None,
    length_penalty: Annotated[Optional[float], typer.Option(min=0, help="α of the length penalty. Default: the run's.")] = None,
    n_best: Annotated[Optional[int], typer.Option(min=1, help="Print so many for each line: number, score, log-probability, text, between tabs.")] = None,
    checkpoint: Checkpoint = "best",
) -> None:
    """Translate a file or standard input, line by line."""
    from polyglot.data.lines import line_blocks, portions, stream_blocks
    from polyglot.inference import Translator
    from polyglot.task import LanguagePair

    settings = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
    settings = {name: value for name, value in settings.items() if value is not None}
    translator = Translator.load(run, checkpoint=checkpoint, pairs=[LanguagePair(source, target)])
    total = None
    if file and not file.is_fifo():  # what comes through a pipe, as `<(zcat …)` does, can be read only once
        total = sum(map(len, line_blocks(file, empty=True)))  # which also finds what is no text before anything is printed
        blocks = line_blocks(file, empty=True)
    else:
        blocks = stream_blocks(file.open("rb") if file else sys.stdin.buffer, name=str(file or "standard input"))
    columns = TextColumn("lines"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    hidden = not aside.is_terminal or sys.stdout.isatty()  # there the translations show how far it is
    number = 0
    with Progress(*columns, console=aside, transient=True, redirect_stdout=False, disable=hidden) as bar:
        row = bar.add_task("lines", total=total)
        for lines in portions(blocks):
            for hypotheses in translator.hypotheses(lines, source=source, target=target, **settings):
                number += 1
                if n_best is None:
                    print(hypotheses[0].text)
                else:
                    for each in hypotheses:
                        print(number, f"{each.score:.4f}", f"{each.log_probability:.4f}", each.text, sep="\t")
            sys.stdout.flush()
            bar.update(row, completed=number)


@app.command(epilog="polyglot evaluate runs/phrasebook · polyglot evaluate runs/phrasebook --pivot en --protocol quick --checkpoint last")
def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories, such as runs/phrasebook; several are compared.")],
    protocol: Annotated[str, typer.Option(help="A YAML file or the name of a shipped protocol.")] = "default",
    checkpoint: Checkpoint = "best",
    pivot: Annotated[Optional[str], typer.Option(metavar="LANGUAGE", help="Also translate in two hops through it. Default: the protocol's.")] = None,
) -> None:
    """Score every direction into a matrix: tables here, JSON, CSV, Markdown and pictures in the run directory.

    What has been scored before with the same checkpoint, text and settings is not done again.
    """
    from polyglot.evaluate.comparison import compare
    from polyglot.evaluate.evaluation import evaluate as evaluate_run
    from polyglot.evaluate.protocol import Protocol
    from polyglot.evaluate.views import tables
    from polyglot.inference import Translator
    from polyglot.run import Run

    settings = Protocol.load(protocol)
    settings = settings.model_copy(update={"pivot": pivot} if pivot else {})
    matrices = {}
    for opened in map(Run.open, runs):
        translator = Translator.load(opened, checkpoint=checkpoint)
        for test_set in settings.corpora:
            folder = opened.evaluation / Path(protocol).stem / test_set
            with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=aside, transient=True) as bar:
                row = bar.add_task("directions")
                advance = lambda cell, done, of: bar.update(row, completed=done, total=of, description=cell.name)  # noqa: E731
                matrix = evaluate_run(opened, translator, settings, test_set=test_set, folder=folder, progress=advance)
            matrix.save(folder)
            matrices.setdefault(test_set, {})[str(opened.path)] = matrix
            screen.print(*tables(matrix), sep="\n")
            logger.info(f"written to {folder}: matrix.json, matrix.csv, matrix.md, a picture of each measure, hypotheses/, text/")
    if len(runs) > 1:
        for each in matrices.values():
            screen.print(compare(each).table())
    logger.info(f"next: polyglot report {runs[0]}")


@app.command(epilog="polyglot compare runs/phrasebook runs/phrasebook-without-copies --test randomisation")
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories that were evaluated; differences are from the first.")],
    protocol: Annotated[str, typer.Option(help="The protocol that they were evaluated under, and /NAME of a test set where it has several.")] = "default",
    measure: Annotated[Optional[str], typer.Option(help="Such as bleu, chrf++ or bleu-paper. Default: the first of the protocol.")] = None,
    test: Annotated[str, typer.Option(help="bootstrap or randomisation, each of sacreBLEU.")] = "bootstrap",
) -> None:
    """Put runs beside each other and mark what is significant, from matrices that are there."""
    from polyglot.evaluate.comparison import TESTS
    from polyglot.evaluate.comparison import compare as compare_matrices
    from polyglot.evaluate.conditions import Measure
    from polyglot.evaluate.matrix import Matrix
    from polyglot.run import Run

    if test not in TESTS:
        raise ConfigError(f"--test: {unknown_name('test', test, TESTS)}")
    name = Path(protocol).with_suffix("") if protocol.endswith(".yaml") else protocol
    matrices = {str(run): Matrix.load(Run.open(run).evaluation / name) for run in runs}
    known = [str(each) for each in next(iter(matrices.values())).measures]
    if measure is not None and measure not in known:
        raise ConfigError(f"--measure: {unknown_name('measure', measure, known)}")
    screen.print(compare_matrices(matrices, measure=Measure.parse(measure) if measure else None, test=test).table())


@app.command(epilog="polyglot experiment phrasebook · polyglot experiment mine.yaml --folder experiments/second --dry-run")
def experiment(
    file: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="A YAML file or the name of a shipped experiment.")],
    folder: Annotated[Optional[Path], typer.Option(metavar="DIR", help="Where runs and results go. Default: experiments/NAME.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it all, show what would be trained, and stop.")] = False,
) -> None:
    """Train what is missing of several runs, evaluate them alike, and write one result page; called again, it continues."""
    from polyglot.evaluate.experiments import Experiment, carry_out
    from polyglot.evaluate.experiments.experiment import is_complete, members_of
    from polyglot.evaluate.experiments.page import save

    settings = Experiment.load(file)
    folder = folder or Path("experiments") / Path(file).stem
    if dry_run:
        for member in list(members_of(settings, folder)):
            state = "as it is" if member.config is None else "complete" if is_complete(member) else shlex.join(["polyglot", "train", *member.arguments])
            screen.print(f"{member.name}: {state}", highlight=False, markup=False, soft_wrap=True)
        return
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=aside, transient=True) as bar:
        row = bar.add_task("directions", visible=False)
        results = carry_out(
            settings,
            folder,
            train=_train_in_a_process,
            tell=lambda sentence: logger.info(sentence),
            progress=lambda cell, done, of: bar.update(row, completed=done, total=of, description=cell.name, visible=done < of),
        )
    save(results, folder)
    if results.comparison:
        screen.print(results.comparison.table())
    logger.info(f"written to {folder}: result.md, result.json, result.png")


def _train_in_a_process(arguments: Sequence[str]) -> None:
    """`polyglot train` as a program of its own, so that no run is touched by another. Raises TrainingError when it was not completed."""
    with subprocess.Popen([sys.executable, "-m", "polyglot", "train", *arguments]) as process:
        try:
            status = process.wait()
        except KeyboardInterrupt:  # which the training has heard, too: it finishes its step and leaves a checkpoint
            process.wait()
            raise
    if status in (130, 143):  # it was stopped, and has said so
        raise KeyboardInterrupt
    if status != 0:
        raise TrainingError(f"polyglot train {shlex.join(arguments)}: ended with status {status}; what was wrong is said above")


@app.command(epilog="polyglot report runs/phrasebook --sentence de='Der alte Bauer schläft.'")
def report(
    run: RunPath,
    sentence: Annotated[Optional[list[str]], typer.Option(metavar="LANGUAGE=TEXT", help="Show the bridge's attention on it; may be repeated.")] = None,
) -> None:
    """Write a run as one web page: scores, curves, examples, attention, text and settings. It needs no network."""
    from polyglot import report as reports
    from polyglot.run import Run

    sentences = [tuple(each.split("=", 1)) for each in sentence or ()]
    for each in sentences:
        if len(each) != 2 or not each[1].strip():
            raise ConfigError(f"--sentence: found {'='.join(each)!r}; write language and text, such as de='Ein Hund rennt.'")
    path = reports.write(Run.open(run), sentences=sentences)
    logger.info(f"written to {path}: one file that any browser shows")


@app.command(epilog="polyglot fetch multi30k data/multi30k")
def fetch(
    name: Annotated[str, typer.Argument(help="The data set: multi30k.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where its files go.")],
    mirror: Annotated[Optional[str], typer.Option(help="Address of a folder with the same files.")] = None,
) -> None:
    """Download a public data set, checksums verified; called again, it continues where it stopped."""
    from polyglot.data.fetch import data_set
    from polyglot.data.fetch import fetch as fetch_files

    wanted = data_set(name)
    aside.print(f"{wanted.title}\nlicence: {wanted.licence}\ncite: {wanted.citation}", highlight=False, markup=False)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=aside, transient=True) as bar:
        rows = {file.name: bar.add_task(file.name, total=file.size) for file in wanted.files}
        paths = fetch_files(name, folder, progress=lambda file, here, total: bar.update(rows[file], completed=here, total=total), base_url=mirror)
    logger.info(f"{len(paths)} files in {folder}, checksums verified")


@app.command(epilog="polyglot show · polyglot show multi30k/paper · polyglot show runs/phrasebook")
def show(name: Annotated[Optional[str], typer.Argument(help="A configuration or a run directory; by default, what is shipped.")] = None) -> None:
    """List what is shipped, or show a configuration with every default filled in."""
    from polyglot import shipped

    if name is None:
        for room in shipped.ROOMS:
            screen.print(f"[bold]{room}[/]: {', '.join(shipped.names(room))}", highlight=False)
        return
    from polyglot.config import load_config
    from polyglot.run import Run

    config = Run.open(name).config if Path(name).is_dir() else load_config(name)
    print(config.to_yaml(), end="")
