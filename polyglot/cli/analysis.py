"""What a run has learnt: its sentence embeddings, its roles and graphs, the neighbours of its words, the heads of its bridge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import MofNCompleteColumn, Progress

from polyglot.cli import completion
from polyglot.cli.app import Checkpoint, Device, app, logger, screen, sentences_of
from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from polyglot.analysis.page import Page
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

KINDS = ("embeddings", "roles", "graph", "chart", "heads", "words")
USED_BY = {
    "language": ("roles", "graph", "chart", "words"),
    "side": ("roles", "chart"),
    "token": ("roles",),
    "into": ("roles", "words"),
    "sentence": ("graph", "chart", "heads"),
    **dict.fromkeys(("settings", "folder", "output"), ("embeddings",)),
}
"""What looks at which setting."""
EXAMPLES = (
    "polyglot analyse runs/phrasebook · polyglot analyse runs/4-heads runs/20-heads --output comparison.md · "
    "polyglot analyse runs/mine roles --language de --token der · "
    "polyglot analyse runs/mine graph --sentence de='Der alte Bauer schläft.' · "
    "polyglot analyse runs/mine chart bank --language en · polyglot analyse runs/phrasebook heads · "
    "polyglot analyse runs/mine words --language de --into en"
)


def _offered(incomplete: str) -> list[str]:
    return [*completion.runs(incomplete), *(kind for kind in KINDS if kind.startswith(incomplete))]


@app.command(epilog=EXAMPLES)
def analyse(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [WHAT [WORD]]",
            help="Run directories, such as runs/phrasebook; then embeddings, roles, graph, chart, heads or words; "
            "of a chart the word in the middle.",
            autocompletion=_offered,
        ),
    ],
    language: Annotated[
        Optional[str],
        typer.Option(
            help="roles, graph, chart: whose words; by default the first language that has them. words: the source.",
            autocompletion=completion.languages,
        ),
    ] = None,
    side: Annotated[str, typer.Option(help="roles, chart: encoder or decoder.")] = "encoder",
    token: Annotated[
        Optional[str],
        typer.Option(
            help="roles: of this piece alone, with its contexts and how they are translated."
        ),
    ] = None,
    into: Annotated[
        Optional[str],
        typer.Option(
            metavar="LANGUAGE",
            help="roles --token, words: what is translated into.",
            autocompletion=completion.languages,
        ),
    ] = None,
    sentence: Annotated[
        Optional[list[str]],
        typer.Option(
            metavar="LANGUAGE=TEXT",
            help="graph, chart, heads: a sentence to show; may be repeated.",
        ),
    ] = None,
    sentences: Annotated[
        int,
        typer.Option(
            min=1, help="roles, graph, words: the first so many sentences of the test text."
        ),
    ] = 500,
    settings: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE",
            help="embeddings: YAML with test text, similarity tests, labelled text, representations.",
        ),
    ] = None,
    folder: Annotated[
        Optional[Path],
        typer.Option(
            metavar="DIR",
            help="embeddings: where relative paths of text start; by default the run's data.folder.",
        ),
    ] = None,
    output: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="embeddings: write the comparison of several runs there, too."
        ),
    ] = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Look at what runs have learnt: tables here, with JSON, Markdown and pictures in their folder `analysis`, and in their report.

    embeddings (the default): retrieval across languages, similarity, probes, a map; several runs are compared. roles: which words take
    which, and do they tell senses apart. graph: who is whose head. chart WORD: its neighbours, and their axes. heads: where the bridge
    looks. words: are the likeliest words those of the reference, what search among few keeps, which numbers and names are copied.
    """
    runs, what, word = _understood(arguments)
    _check_used(
        what, language=language, side=side != "encoder", token=token, into=into, sentence=sentence
    )
    _check_used(what, settings=settings, folder=folder, output=output)
    if what == "roles" and into and token is None:
        raise ConfigError("--into: roles translates nothing without --token")
    if side not in ("encoder", "decoder"):
        raise ConfigError(f"--side: found {side!r}; encoder or decoder")
    if what == "embeddings":
        _embeddings(runs, settings, folder, output, checkpoint=checkpoint, device=device)
        return
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

    opened, chosen = Run.open(runs[0]), sentences_of(sentence)
    translator = Translator.load(opened, checkpoint=checkpoint, device=device)
    if what == "words":
        from polyglot.analysis.word_prediction import choose_pair, words_page

        pair = choose_pair(opened, language, into)
        _show(words_page(opened, translator, pair, count=sentences), opened)
        return
    read_first = (
        None if (what, side) == ("chart", "decoder") else next((one for one, _ in chosen), None)
    )
    owner = (
        language
        or read_first
        or _first(translator, opened, what, side, word=word, contexts=bool(chosen))
    )
    if what == "roles":
        from polyglot.analysis.roles import roles_page

        page = roles_page(
            opened, translator, owner, side=side, token=token, into=into, count=sentences
        )
    elif what == "graph":
        from polyglot.analysis.latent_graph import graph_page

        page = graph_page(opened, translator, owner, examples=chosen, count=sentences)
    elif what == "chart":
        from polyglot.analysis.word_neighbours import chart_page

        page = chart_page(translator, word, owner, side=side, contexts=chosen)
    else:
        from polyglot.analysis.bridge_attention import heads_page

        page = heads_page(opened, translator, chosen)
    _show(page, opened)


def _check_used(what: str, **given: object) -> None:
    """Raises ConfigError for a setting that would change nothing."""
    for name, value in given.items():
        if value and what not in USED_BY[name]:
            raise ConfigError(
                f"--{name}: {what} has no use for it, only {' and '.join(USED_BY[name])}"
            )


def _show(page: Page, run: Run) -> None:
    from rich.markdown import Markdown

    place = page.save(run)
    screen.print(Markdown(page.markdown()))
    logger.info(
        f"written to {place}: page.md, page.json{', pictures' if page.pictures else ''}; next: polyglot report {run.path}"
    )


def _understood(arguments: Sequence[str]) -> tuple[list[Path], str, str | None]:
    """Runs, what is looked at, and a word. Raises ConfigError for what is none of them."""
    place = next(
        (number for number, one in enumerate(arguments) if number and one in KINDS), len(arguments)
    )
    runs, (what, *words) = list(arguments[:place]), arguments[place:] or ("embeddings",)
    for one in runs[1:]:
        if not Path(one).exists():
            raise ConfigError(
                f"{one}: there is no such run; or, if that is what to look at: {unknown_name('analysis', one, KINDS)}"
            )
    if len(runs) > 1 and what != "embeddings":
        raise ConfigError(f"analyse: {what} takes one run, found {len(runs)}: {', '.join(runs)}")
    if len(words) != (what == "chart") or not all(word.strip() for word in words):
        raise ConfigError(
            "analyse: chart needs one word, such as `polyglot analyse RUN chart bank`, and nothing else takes one"
        )
    return [Path(run) for run in runs], what, next(iter(words), None)


def _first(
    translator: Translator, run: Run, what: str, side: str, *, word: str | None, contexts: bool
) -> str:
    """The first language that has what is looked at; where none has, the first of all, so that the message is about it."""
    components = translator.model.decoders if side == "decoder" else translator.model.encoders
    languages = [one for one in run.config.languages if one in components]
    if what == "chart":
        from polyglot.analysis.word_neighbours import piece_of

        languages.sort(
            key=lambda one: piece_of(translator.vocabularies[one], word) is None
        )  # stable: those that have it come first
    option = {
        "roles": "roles",
        "graph": "latent_graph",
        "chart": "context_gate" if contexts else None,
    }.get(what)
    return next((one for one in languages if option in components[one].options), languages[0])


def _embeddings(
    runs: Sequence[Path],
    settings: Path | None,
    folder: Path | None,
    output: Path | None,
    *,
    checkpoint: str,
    device: str | None,
) -> None:
    """Of one run its page, of several a comparison."""
    from rich.markdown import Markdown

    from polyglot.analysis.embeddings.analysis import analyse as analyse_run
    from polyglot.analysis.embeddings.comparison import comparison
    from polyglot.analysis.embeddings.config import AnalysisSettings
    from polyglot.analysis.embeddings.page import markdown, save
    from polyglot.core.atomic_files import replace_file
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

    if output and len(runs) < 2:
        raise ConfigError(
            "analyse: --output is for the comparison of several runs, and there is one; its page is in its run directory"
        )
    wanted = AnalysisSettings.load(settings) if settings else AnalysisSettings()
    found = {}
    for opened in [Run.open(run) for run in runs]:
        with Progress(
            *Progress.get_default_columns(), MofNCompleteColumn(), console=stderr_console, transient=True
        ) as bar:
            row = bar.add_task("representations")
            advance = lambda name, done, of: bar.update(
                row, completed=done, total=of, description=name
            )  # noqa: E731
            translator = Translator.load(opened, checkpoint=checkpoint, device=device)
            one = found[str(opened.path)] = analyse_run(
                opened, translator, wanted, folder=folder, progress=advance
            )
        place = opened.path / "analysis" / (settings.stem if settings else "default")
        save(one, place)
        if len(runs) == 1:
            screen.print(Markdown(markdown(one)))
        logger.info(
            f"written to {place}: analysis.md, analysis.json, retrieval of each representation, {', '.join(one.pictures)}"
        )
    if len(runs) > 1:
        side_by_side = comparison(found)
        screen.print(Markdown(side_by_side))
        if output:
            replace_file(output, f"# Sentence embeddings, run by run\n\n{side_by_side}\n")
            logger.info(f"written to {output}: all of them side by side")
    logger.info(f"next: polyglot report {runs[0]}")
