"""What a run has learnt: its sentence embeddings, its roles and graphs, the neighbours of its words, the heads of its bridge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import MofNCompleteColumn, Progress

from polyglot.cli.completion import languages
from polyglot.cli.program import Checkpoint, Device, RunPath, app, logger, screen, sentences_of
from polyglot.console import aside
from polyglot.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from polyglot.inference import Translator
    from polyglot.run import Run

KINDS = ("embeddings", "roles", "graph", "chart", "heads")
EXAMPLES = (
    "polyglot analyse runs/phrasebook · polyglot analyse runs/mine roles --language de --token der · "
    "polyglot analyse runs/mine graph --sentence de='Der alte Bauer schläft.' · polyglot analyse runs/mine chart bank --language en · "
    "polyglot analyse runs/phrasebook heads"
)


@app.command(epilog=EXAMPLES)
def analyse(
    run: RunPath,
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]",
            help="embeddings, roles, graph, chart or heads.",
            autocompletion=lambda incomplete: [one for one in KINDS if one.startswith(incomplete)],
        ),
    ] = "embeddings",
    word: Annotated[Optional[str], typer.Argument(metavar="[WORD]", help="chart: the word in the middle.")] = None,
    language: Annotated[
        Optional[str], typer.Option(help="roles, graph, chart: whose words; by default the first language that has them.", autocompletion=languages)
    ] = None,
    side: Annotated[str, typer.Option(help="roles, chart: encoder or decoder.")] = "encoder",
    token: Annotated[Optional[str], typer.Option(help="roles: of this piece alone, with its contexts and how they are translated.")] = None,
    into: Annotated[
        Optional[str], typer.Option(metavar="LANGUAGE", help="roles --token: what is translated into.", autocompletion=languages)
    ] = None,
    sentence: Annotated[Optional[list[str]], typer.Option(metavar="LANGUAGE=TEXT", help="graph, chart, heads: a sentence to show; may be repeated.")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="roles, graph: so many sentences of the test text.")] = 500,
    settings: Annotated[Optional[Path], typer.Option(metavar="FILE", help="embeddings: YAML with test text, similarity tests, labelled text, representations.")] = None,
    folder: Annotated[Optional[Path], typer.Option(metavar="DIR", help="embeddings: where relative paths of text start; by default the run's data.folder.")] = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Look at what a run has learnt: tables here, with JSON, Markdown and pictures in its folder `analysis`, and in its report.

    embeddings: retrieval across languages, similarity, probes, a map. roles: which words take which, and do they tell senses apart.
    graph: who is whose head. chart WORD: the neighbours of a word, and their axes. heads: where the bridge looks.
    """
    from rich.markdown import Markdown

    from polyglot.inference import Translator
    from polyglot.run import Run

    if what not in KINDS:
        raise ConfigError(unknown_name("analysis", what, KINDS))
    if side not in ("encoder", "decoder"):
        raise ConfigError(f"--side: found {side!r}; encoder or decoder")
    if (word is None) == (what == "chart"):
        raise ConfigError("analyse: chart needs a word, such as `polyglot analyse RUN chart bank`, and nothing else takes one")
    opened, chosen = Run.open(run), sentences_of(sentence)
    translator = Translator.load(opened, checkpoint=checkpoint, device=device)
    if what == "embeddings":
        _embeddings(opened, translator, settings, folder)
        return
    owner = language or next((one for one, _ in chosen), None) or _first(translator, what, side)
    texts = [text for one, text in chosen if one == owner]
    if what == "roles":
        from polyglot.analysis.roles import roles

        page = roles(opened, translator, owner, side=side, token=token, into=into, count=sentences)
    elif what == "graph":
        from polyglot.analysis.graphs import graph

        page = graph(opened, translator, owner, texts=texts, count=sentences)
    elif what == "chart":
        from polyglot.analysis.charts import chart

        page = chart(translator, word, owner, side=side, texts=texts)
    else:
        from polyglot.analysis.heads import heads

        page = heads(opened, translator, chosen)
    place = page.save(opened)
    screen.print(Markdown(page.markdown()))
    logger.info(f"written to {place}: page.md, page.json{', pictures' if page.pictures else ''}; next: polyglot report {run}")


def _first(translator: Translator, what: str, side: str) -> str:
    """The first language that has what is looked at; where none has, the first of all, so that the message is about it."""
    components = translator.model.encoders if side == "encoder" else translator.model.decoders
    option = {"roles": "roles", "graph": "latent_graph"}.get(what)
    return next((one for one, component in components.items() if option in component.options), next(iter(components)))


def _embeddings(run: Run, translator: Translator, settings: Path | None, folder: Path | None) -> None:
    from rich.markdown import Markdown

    from polyglot.evaluate.embeddings.analysis import analyse as analyse_run
    from polyglot.evaluate.embeddings.page import markdown, save
    from polyglot.evaluate.embeddings.settings import AnalysisSettings

    wanted = AnalysisSettings.load(settings) if settings else AnalysisSettings()
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=aside, transient=True) as bar:
        row = bar.add_task("representations")
        advance = lambda name, done, of: bar.update(row, completed=done, total=of, description=name)  # noqa: E731
        found = analyse_run(run, translator, wanted, folder=folder, progress=advance)
    place = run.path / "analysis" / (settings.stem if settings else "default")
    save(found, place)
    screen.print(Markdown(markdown(found)))
    logger.info(f"written to {place}: analysis.md, analysis.json, retrieval of each representation, map.png, heads.png")
