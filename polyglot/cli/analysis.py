"""Command `analyse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.analysis_pages import PageOptions, Request, analyse_run
from polyglot.cli.app import command
from polyglot.cli.embeddings_analysis import analyse_embeddings
from polyglot.cli.parameters import Checkpoint, Device, choice, parse_sentences
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.hub_address import is_hub_address

KINDS = ("embeddings", "roles", "graph", "chart", "heads", "words")
SIDES = ("encoder", "decoder")
USED_BY = {
    "language": ("roles", "graph", "chart", "words"),
    "side": ("roles", "chart"),
    "token": ("roles",),
    "into": ("roles", "words"),
    "sentence": ("graph", "chart", "heads"),
    "settings": ("embeddings",),
    "folder": ("embeddings",),
    "output": ("embeddings",),
}
"""Analyses that use an option; the other options are for all of them."""

SEVERAL_RUNS = ("embeddings", "graph")
"""Analyses that compare several runs."""


def _complete_arguments(incomplete: str) -> list[str]:
    kinds = [kind for kind in KINDS if kind.startswith(incomplete)]
    return [*completion.runs(incomplete), *kinds]


Arguments = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN... [ANALYSIS [WORD]]",
        help="Run directories, or runs on the hub (hub:user/name); then embeddings (the default), "
        "roles, graph, chart, heads or words. A chart needs a word.",
        autocompletion=_complete_arguments,
    ),
]
Language = Annotated[
    Optional[str],
    typer.Option(
        metavar="LANGUAGE",
        help="roles, graph, chart: analyse this language; default the first possible one. "
        "words: the source language.",
        autocompletion=completion.languages,
    ),
]
Side = Annotated[
    str, choice(SIDES, help="roles, chart: analyse the encoder or the decoder of the language.")
]
Token = Annotated[
    Optional[str],
    typer.Option(
        metavar="PIECE",
        help="roles: show this piece of the vocabulary with its contexts and their translations.",
    ),
]
Into = Annotated[
    Optional[str],
    typer.Option(
        metavar="LANGUAGE",
        help="words, and roles with --token: the target language.",
        autocompletion=completion.languages,
    ),
]
ExampleSentences = Annotated[
    Optional[list[str]],
    typer.Option(
        "--sentence",
        metavar="LANGUAGE=TEXT",
        help="graph, chart, heads: show this sentence. Can be repeated.",
    ),
]
SentenceCount = Annotated[
    int,
    typer.Option(
        "--sentences",
        min=1,
        metavar="N",
        help="roles, graph, words: use the first N sentences of the test text; roles: of the "
        "validation text.",
    ),
]
SettingsFile = Annotated[
    Optional[Path],
    typer.Option(
        "--settings",
        metavar="FILE",
        help="embeddings: a YAML file with test text, similarity tests, labelled text and "
        "representations.",
    ),
]
TextFolder = Annotated[
    Optional[Path],
    typer.Option(
        metavar="DIR",
        help="embeddings: the folder for relative paths of text. Default: data.folder of the run.",
    ),
]
ComparisonFile = Annotated[
    Optional[Path],
    typer.Option(
        metavar="FILE", help="embeddings: also write the comparison of several runs to this file."
    ),
]


@command(
    "polyglot analyse runs/phrasebook",
    "polyglot analyse runs/4-heads runs/20-heads --output comparison.md",
    "polyglot analyse runs/mine roles --language de --token der",
    "polyglot analyse runs/mine graph --sentence de='Der alte Bauer schläft.'",
    "polyglot analyse runs/cnn runs/lstm graph --sentence de='Der alte Bauer schläft.'",
    "polyglot analyse runs/mine chart bank --language en",
    "polyglot analyse runs/phrasebook heads",
    "polyglot analyse runs/mine words --language de --into en",
)
def analyse(
    arguments: Arguments,
    language: Language = None,
    side: Side = "encoder",
    token: Token = None,
    into: Into = None,
    examples: ExampleSentences = None,
    count: SentenceCount = 500,
    settings_file: SettingsFile = None,
    folder: TextFolder = None,
    output: ComparisonFile = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Analyse what runs have learnt.

    Tables are printed. The folder `analysis` of the run gets them as JSON and Markdown, with
    pictures; the report shows them too.

    embeddings: retrieval between languages, similarity, probing, a map; several runs are compared.

    roles: the words of each role, and whether roles separate word senses.

    graph: the head of each word in the latent graph; several runs are compared, and the first one
    gets the page.

    chart WORD: the nearest neighbours of a word, and their principal axes.

    heads: the attention of the bridge.

    words: precision and recall of the word predictor, vocabulary selection, copied numbers and
    names.
    """
    request = _parse_arguments(arguments)
    used_options = {
        "language": language,
        "side": side != "encoder",
        "token": token,
        "into": into,
        "sentence": examples,
        "settings": settings_file,
        "folder": folder,
        "output": output,
    }
    _check_options(request.kind, used_options)
    if side not in SIDES:
        raise ConfigError(f"--side: found {side!r}; expected encoder or decoder")

    if request.kind == "embeddings":
        analyse_embeddings(
            request.runs, settings_file, folder, output, checkpoint=checkpoint, device=device
        )
        return
    options = PageOptions(language, side, token, into, parse_sentences(examples), count)
    analyse_run(request, options, checkpoint=checkpoint, device=device)


def _parse_arguments(arguments: Sequence[str]) -> Request:
    """Divide the arguments into runs, analysis and word. Raises ConfigError for other arguments."""
    runs = list(arguments[:1])
    rest = list(arguments[1:])
    while rest and rest[0] not in KINDS:
        runs.append(rest.pop(0))
    kind = rest.pop(0) if rest else "embeddings"

    for run in runs[1:]:
        if not is_hub_address(run) and not Path(run).exists():
            raise ConfigError(
                f"{run}: neither a run nor an analysis: {unknown_name('analysis', run, KINDS)}"
            )
    if len(runs) > 1 and kind not in SEVERAL_RUNS:
        raise ConfigError(f"analyse: {kind} takes one run; found {len(runs)}: {', '.join(runs)}")
    words = [word for word in rest if word.strip()]
    expected_words = 1 if kind == "chart" else 0
    if len(rest) != expected_words or len(words) != expected_words:
        raise ConfigError(
            "analyse: chart needs one word, such as `polyglot analyse RUN chart bank`; "
            "the other analyses take no word"
        )
    return Request([Path(run) for run in runs], kind, words[0] if words else None)


def _check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Raise ConfigError for an option that the analysis does not use."""
    for name, value in options.items():
        if value and kind not in USED_BY[name]:
            raise ConfigError(
                f"--{name}: {kind} does not use it; it is for {' and '.join(USED_BY[name])}"
            )
    if kind == "roles" and options["into"] and options["token"] is None:
        raise ConfigError("--into: roles translates only with --token")
