"""The verbs. They tie the rooms together and print; every import that needs torch waits until its verb is called."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from polyglot.console import LogLines, aside
from polyglot.errors import PolyglotError
from polyglot.process import collect_rarely, keep_freed_memory
from polyglot.version import VERSION

if TYPE_CHECKING:
    from polyglot.inference import Translator


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
    "lower batching.size (by: tokens bounds the widest batch) or the sizes of the model, or the beam of a search; "
    "what training needs, `polyglot train … --dry-run` estimates"
)
logger = logging.getLogger("polyglot")

Overrides = Annotated[
    Optional[list[str]], typer.Argument(metavar="[KEY=VALUE]...", help="Settings that differ, such as training.steps=5000.")
]
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


def _lines_bar(*, hidden: bool = False) -> Progress:
    """How many lines are done, and how long the rest will take."""
    columns = TextColumn("lines"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=aside, transient=True, redirect_stdout=False, disable=hidden)


def _lines_of(file: Path | None) -> tuple[int | None, Iterator[list[str]]]:
    """How many lines there are, where that can be known, and the lines of a file or of standard input."""
    from polyglot.data.lines import line_blocks, pipe_blocks, stream_blocks

    if file and not file.is_fifo():  # what comes through a pipe, as `<(zcat …)` does, can be read only once
        total = sum(map(len, line_blocks(file, empty=True)))  # which also finds what is no text before anything is written
        return total, line_blocks(file, empty=True)
    return None, pipe_blocks(file) if file else stream_blocks(sys.stdin.buffer, name="standard input")


def _reader(run: Path, languages: list[str] | None, *, checkpoint: str) -> Translator:
    """What reads these languages, or all of the run's; a decoder comes along, since none is loaded without."""
    from polyglot.inference import Translator
    from polyglot.run import Run
    from polyglot.task import LanguagePair

    opened = Run.open(run)
    target = opened.config.pairs[0].target
    return Translator.load(opened, checkpoint=checkpoint, pairs=languages and [LanguagePair(language, target) for language in languages])


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
    config: Annotated[
        str, typer.Argument(metavar="CONFIG|RUN", help="A YAML file, the name of a shipped one, or with --resume a run directory.")
    ],
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
    logger.info(
        f"{run.path}: {trainer.progress.step} of {run.config.training.steps} steps in {trainer.progress.seconds:,.0f} s of training"
    )
    if trainer.interrupted and trainer.progress.step < run.config.training.steps:
        logger.info(f"interrupted; continue with: polyglot train {run.path} --resume")
        raise typer.Exit(128 + trainer.interrupted)  # as shells say it, so that what should follow a trained model does not
    logger.info(f"next: polyglot evaluate {run.path}")


@app.command(epilog="polyglot translate runs/phrasebook --from de --to fr < sentences.de")
def translate(
    run: RunPath,
    file: Annotated[
        Optional[Path], typer.Argument(metavar="[FILE]", help="One sentence a line, plain or gzipped; by default standard input.")
    ] = None,
    source: Annotated[str, typer.Option("--from", help="Language of the sentences.")] = ...,
    target: Annotated[str, typer.Option("--to", help="Language to translate into.")] = ...,
    beam: Annotated[Optional[int], typer.Option(min=1, help="Hypotheses kept for each sentence; 1 is greedy. Default: the run's.")] = None,
    length_penalty: Annotated[Optional[float], typer.Option(min=0, help="α of the length penalty. Default: the run's.")] = None,
    n_best: Annotated[
        Optional[int], typer.Option(min=1, help="Print so many for each line: number, score, log-probability, text, between tabs.")
    ] = None,
    checkpoint: Checkpoint = "best",
) -> None:
    """Translate a file or standard input, line by line."""
    from polyglot.data.lines import portions
    from polyglot.inference import Translator
    from polyglot.task import LanguagePair

    settings = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
    settings = {name: value for name, value in settings.items() if value is not None}
    translator = Translator.load(run, checkpoint=checkpoint, pairs=[LanguagePair(source, target)])
    total, blocks = _lines_of(file)
    hidden = not aside.is_terminal or sys.stdout.isatty()  # there the translations show how far it is
    number = 0
    with _lines_bar(hidden=hidden) as bar:
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


@app.command(epilog="polyglot embed runs/phrasebook sentences.de --language de --output vectors.npy")
def embed(
    run: RunPath,
    file: Annotated[
        Optional[Path], typer.Argument(metavar="[FILE]", help="One sentence a line, plain or gzipped; by default standard input.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where the vectors go; the ending decides: .npy, .parquet or .jsonl.")] = ...,
    language: Annotated[Optional[str], typer.Option(help="Language of all sentences.")] = None,
    language_column: Annotated[Optional[int], typer.Option(min=1, help="Instead: the column, between tabs, that names it.")] = None,
    text_column: Annotated[int, typer.Option(min=1, help="The column of the sentence, where a column names the language.")] = 2,
    pooling: Annotated[str, typer.Option(help="flat: all rows side by side; mean or max over them.")] = "flat",
    layer: Annotated[str, typer.Option(help="bridge, or what comes before it: states, words.")] = "bridge",
    precision: Annotated[str, typer.Option(help="float32, float16 or int8.")] = "float32",
    normalize: Annotated[bool, typer.Option("--normalize", help="Vectors of length 1.")] = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences computed together, at most.")] = 128,
    checkpoint: Checkpoint = "best",
) -> None:
    """Turn sentences into vectors, line by line: any number of them in constant memory."""
    from polyglot.embedding.ahead import ahead
    from polyglot.embedding.files import format_of, vector_file
    from polyglot.embedding.lines import portions_of, portions_of_columns
    from polyglot.errors import ConfigError, DataError

    if (language is None) == (language_column is None):
        raise ConfigError("embed: either --language for all sentences, or --language-column, is needed")
    if language_column == text_column:
        raise ConfigError(f"embed: column {text_column} cannot be both the language and the sentence")
    format_of(output)
    encoder = _reader(run, [language] if language else None, checkpoint=checkpoint)
    size = encoder.vector_size(layer=layer, pooling=pooling)
    place = str(file or "standard input")
    total, blocks = _lines_of(file)
    if language:
        portions = portions_of(blocks, language)
    else:
        portions = portions_of_columns(blocks, language=language_column, text=text_column, place=place, known=encoder.sources)
    settings = {"pooling": pooling, "layer": layer, "precision": precision, "normalize_embeddings": normalize, "batch_size": batch_size}
    found = encoder.encode_portions(portions, **settings)
    done = blank = 0
    with _lines_bar() as bar, vector_file(output, size=size, precision=precision) as written:
        row = bar.add_task("lines", total=total)
        for (sentences, languages), vectors in ahead(found):
            written.write(vectors.numpy(), sentences=sentences, languages=languages)
            done += len(sentences)
            blank += sum(not sentence.strip() for sentence in sentences)
            bar.update(row, completed=done)
        if not done:
            raise DataError(f"{place}: the file is empty")
    empty = f"; {blank} empty lines have vectors of zeros" if blank else ""
    logger.info(f"{done} vectors of {size} {precision} numbers written to {output}{empty}")


@app.command(
    epilog="polyglot similar runs/phrasebook sentences.de sentences.en --from de --to en · "
    "polyglot similar runs/phrasebook sentences.de sentences.en --from de --to en --mine --threshold 1.05"
)
def similar(
    run: RunPath,
    one: Annotated[Path, typer.Argument(metavar="A", help="One sentence a line, plain or gzipped.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="The same in the other language.")],
    source: Annotated[str, typer.Option("--from", help="Language of A.")] = ...,
    target: Annotated[str, typer.Option("--to", help="Language of B.")] = ...,
    mining: Annotated[
        bool, typer.Option("--mine", help="Bitext: pairs that are each other's best, the best first, no sentence twice.")
    ] = False,
    threshold: Annotated[Optional[float], typer.Option(help="Only what scores so high.")] = None,
    margin: Annotated[str, typer.Option(help="ratio: cosine over the mean cosine with the neighbours; or plain cosine.")] = "ratio",
    neighbours: Annotated[int, typer.Option(min=1, help="k nearest neighbours that are candidates, and that the margin looks at.")] = 4,
    top: Annotated[int, typer.Option(min=1, help="Print so many for each line of A, at most as many as the neighbours.")] = 1,
    search: Annotated[str, typer.Option(help="exact, or faiss: an index for millions, not always exact.")] = "exact",
    pooling: Annotated[str, typer.Option(help="flat: all rows side by side; mean or max over them.")] = "flat",
    layer: Annotated[str, typer.Option(help="bridge, or what comes before it: states, words.")] = "bridge",
    checkpoint: Checkpoint = "best",
) -> None:
    """Find for each sentence of A the nearest ones of B: score, line in A, line in B and both texts, between tabs."""
    from polyglot.embedding.between_files import compare

    encoder = _reader(run, [source, target], checkpoint=checkpoint)
    with _lines_bar() as bar:
        row = bar.add_task("lines", total=None)
        found = compare(
            encoder, (one, source), (other, target), pooling=pooling, layer=layer, neighbours=neighbours, margin=margin, search=search,
            progress=lambda done, total: bar.update(row, completed=done, total=total),
        )  # fmt: skip
    lowest = -float("inf") if threshold is None else threshold
    for pair in found.mined(threshold=lowest) if mining else found.nearest(top=top, threshold=lowest):
        print(f"{pair.score:.4f}", pair.source + 1, pair.target + 1, found.sources[pair.source], found.targets[pair.target], sep="\t")


@app.command(epilog="polyglot evaluate runs/phrasebook · polyglot evaluate runs/phrasebook --protocol quick --checkpoint last")
def evaluate(
    run: RunPath,
    protocol: Annotated[str, typer.Option(help="A YAML file or the name of a shipped protocol.")] = "default",
    checkpoint: Checkpoint = "best",
) -> None:
    """Score every direction into a matrix: a table here, JSON, CSV, Markdown and pictures in the run directory."""
    from polyglot.evaluate.evaluation import evaluate as evaluate_run
    from polyglot.evaluate.protocol import Protocol
    from polyglot.evaluate.views import table
    from polyglot.inference import Translator
    from polyglot.run import Run

    opened = Run.open(run)
    settings = Protocol.load(protocol)
    translator = Translator.load(opened, checkpoint=checkpoint)
    folder = opened.evaluation / Path(protocol).stem
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=aside, transient=True) as bar:
        row = bar.add_task("directions")
        advance = lambda cell, done, of: bar.update(row, completed=done, total=of, description=str(cell.pair))  # noqa: E731
        matrix = evaluate_run(opened, translator, settings, folder=folder, progress=advance)
    matrix.save(folder)
    for metric in matrix.metrics:
        screen.print(table(matrix, metric))
    logger.info(f"written to {folder}: matrix.json, matrix.csv, matrix.md, a picture of each metric, hypotheses/")


@app.command(epilog="polyglot analyse runs/phrasebook · polyglot analyse runs/phrasebook --checkpoint last")
def analyse(
    run: RunPath,
    settings: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="YAML: test text, similarity tests, labelled text, representations.")
    ] = None,
    folder: Annotated[
        Optional[Path], typer.Option(metavar="DIR", help="Where relative paths of text start; by default the run's data.folder.")
    ] = None,
    checkpoint: Checkpoint = "best",
) -> None:
    """Measure the sentence embeddings of a run: retrieval across languages, similarity, probes; a map, and the heads of the bridge."""
    from rich.markdown import Markdown

    from polyglot.evaluate.embeddings.analysis import analyse as analyse_run
    from polyglot.evaluate.embeddings.page import markdown, save
    from polyglot.evaluate.embeddings.settings import AnalysisSettings
    from polyglot.inference import Translator
    from polyglot.run import Run

    opened = Run.open(run)
    wanted = AnalysisSettings.load(settings) if settings else AnalysisSettings()
    translator = Translator.load(opened, checkpoint=checkpoint)
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=aside, transient=True) as bar:
        row = bar.add_task("representations")
        advance = lambda name, done, of: bar.update(row, completed=done, total=of, description=name)  # noqa: E731
        found = analyse_run(opened, translator, wanted, folder=folder, progress=advance)
    place = opened.path / "analysis" / (settings.stem if settings else "default")
    save(found, place)
    screen.print(Markdown(markdown(found)))
    logger.info(f"written to {place}: analysis.md, analysis.json, retrieval of each representation, map.png, heads.png")


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
        advance = lambda file, here, total: bar.update(rows[file], completed=here, total=total)  # noqa: E731
        paths = fetch_files(name, folder, progress=advance, base_url=mirror)
    logger.info(f"{len(paths)} files in {folder}, checksums verified")


@app.command(epilog="polyglot show · polyglot show multi30k/paper · polyglot show runs/phrasebook")
def show(
    name: Annotated[Optional[str], typer.Argument(help="A configuration or a run directory; by default, what is shipped.")] = None,
) -> None:
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
