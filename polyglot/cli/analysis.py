"""Command `analyse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import Checkpoint, Device, choice, parse_sentences
from polyglot.cli.progress import described_progress
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.hub_address import is_hub_address
from polyglot.core.language_codes import resolve_language

if TYPE_CHECKING:
    from polyglot.analysis.embeddings.analysis import Analysis
    from polyglot.analysis.embeddings.config import AnalysisSettings
    from polyglot.analysis.page import Page
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

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

NEEDED_OPTION = {"roles": "roles", "graph": "latent_graph"}
"""Option of a component without which an analysis has nothing to show."""


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


@dataclass(frozen=True)
class Request:
    """Analysis that the arguments ask for."""

    runs: list[Path]
    kind: str
    word: str | None
    """word of a chart"""


@dataclass(frozen=True)
class PageOptions:
    """Options of the analyses of one run."""

    language: str | None
    side: str
    token: str | None
    into: str | None
    examples: list[tuple[str, str]]
    """language and text"""
    count: int

    def resolve_languages(self, languages: Sequence[str]) -> PageOptions:
        """Return the options with the languages as a run spells them."""
        examples = [(resolve_language(code, languages), text) for code, text in self.examples]
        return replace(
            self,
            language=self.language and resolve_language(self.language, languages),
            into=self.into and resolve_language(self.into, languages),
            examples=examples,
        )


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
        _analyse_embeddings(
            request.runs, settings_file, folder, output, checkpoint=checkpoint, device=device
        )
        return
    options = PageOptions(language, side, token, into, parse_sentences(examples), count)
    _analyse_run(request, options, checkpoint=checkpoint, device=device)


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


def _analyse_run(
    request: Request,
    options: PageOptions,
    *,
    checkpoint: str,
    device: str | None,
) -> None:
    """Analyse one run, print the page, and write it to the run directory."""
    from polyglot.core.terminal_markdown import FoldedMarkdown
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

    run = Run.open(request.runs[0])
    if len(request.runs) > 1:
        page = _compare_graphs(request.runs, options, checkpoint=checkpoint, device=device)
    else:
        translator = Translator.load(run, checkpoint=checkpoint, device=device)
        page = _build_page(
            run, translator, request, options.resolve_languages(run.config.languages)
        )
    place = page.save(run)
    screen.print(FoldedMarkdown(page.markdown()))
    pictures = ", pictures" if page.pictures else ""
    logger.info(
        f"written to {place}: page.md, page.json{pictures}; next: polyglot report {request.runs[0]}"
    )


def _compare_graphs(
    paths: Sequence[Path],
    options: PageOptions,
    *,
    checkpoint: str,
    device: str | None,
) -> Page:
    from polyglot.analysis.graph_comparison import LoadedRun, graph_comparison_page
    from polyglot.core.path_names import distinct_names
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

    runs = {}
    for name, path in zip(distinct_names(paths), paths, strict=True):
        run = Run.open(path)
        translator = Translator.load(run, checkpoint=checkpoint, device=device)
        runs[name] = LoadedRun(run, translator)
    return graph_comparison_page(
        runs,
        language=options.language,
        examples=options.examples,
        count=options.count,
    )


def _build_page(run: Run, translator: Translator, request: Request, options: PageOptions) -> Page:
    if request.kind == "words":
        from polyglot.analysis.word_prediction import choose_pair, words_page

        pair = choose_pair(run, options.language, options.into)
        return words_page(run, translator, pair, count=options.count)
    if request.kind == "heads":
        from polyglot.analysis.bridge_attention import heads_page

        return heads_page(run, translator, options.examples)

    language = _choose_language(run, translator, request, options)
    if request.kind == "roles":
        from polyglot.analysis.roles import roles_page

        return roles_page(
            run,
            translator,
            language,
            side=options.side,
            token=options.token,
            into=options.into,
            count=options.count,
        )
    if request.kind == "graph":
        from polyglot.analysis.latent_graph import graph_page

        return graph_page(run, translator, language, examples=options.examples, count=options.count)
    from polyglot.analysis.word_neighbours import chart_page

    return chart_page(
        translator, request.word, language, side=options.side, contexts=options.examples
    )


def _choose_language(
    run: Run,
    translator: Translator,
    request: Request,
    options: PageOptions,
) -> str:
    """Return the language of the option, of the first example, or the first possible one."""
    if options.language:
        return options.language
    # The contexts of a chart of a decoder are source sentences in another language.
    reads_examples = (request.kind, options.side) != ("chart", "decoder")
    if options.examples and reads_examples:
        language, _ = options.examples[0]
        return language
    return _first_possible_language(run, translator, request, options)


def _first_possible_language(
    run: Run,
    translator: Translator,
    request: Request,
    options: PageOptions,
) -> str:
    """Return the first language whose component has what the analysis needs.

    If none has it, the first of all, so that the error message names it.
    """
    is_decoder = options.side == "decoder"
    components = translator.model.decoders if is_decoder else translator.model.encoders
    languages = [language for language in run.config.languages if language in components]
    option = NEEDED_OPTION.get(request.kind)
    if request.kind == "chart":
        languages = _with_word_first(languages, translator, request.word)
        option = "context_gate" if options.examples else None

    for language in languages:
        # Without a needed option, the first language is as good as any.
        if option is None or option in components[language].options:
            return language
    return languages[0]


def _with_word_first(languages: Sequence[str], translator: Translator, word: str) -> list[str]:
    """Stable sort: languages whose vocabulary has the word come first."""
    from polyglot.analysis.word_neighbours import piece_of

    return sorted(
        languages, key=lambda language: piece_of(translator.vocabularies[language], word) is None
    )


def _analyse_embeddings(
    paths: Sequence[Path],
    settings_file: Path | None,
    folder: Path | None,
    output: Path | None,
    *,
    checkpoint: str,
    device: str | None,
) -> None:
    """Analyse the sentence embeddings of runs. Print the page of one run, or a comparison."""
    from polyglot.analysis.embeddings.config import AnalysisSettings
    from polyglot.analysis.embeddings.page import markdown
    from polyglot.core.terminal_markdown import FoldedMarkdown
    from polyglot.runs.run import Run

    if output and len(paths) < 2:
        raise ConfigError(
            "analyse: --output is for the comparison of several runs, and there is one; "
            "its page is in its run directory"
        )
    settings = AnalysisSettings.load(settings_file) if settings_file else AnalysisSettings()
    name = settings_file.stem if settings_file else "default"
    analyses = {}
    for run in [Run.open(path) for path in paths]:
        analyses[run.address] = _analyse_and_save(
            run, settings, name, folder=folder, checkpoint=checkpoint, device=device
        )
    if len(analyses) == 1:
        (analysis,) = analyses.values()
        screen.print(FoldedMarkdown(markdown(analysis)))
    if len(paths) > 1:
        _print_comparison(analyses, output)
    logger.info(f"next: polyglot report {paths[0]}")


def _analyse_and_save(
    run: Run,
    settings: AnalysisSettings,
    name: str,
    *,
    folder: Path | None,
    checkpoint: str,
    device: str | None,
) -> Analysis:
    from polyglot.analysis.embeddings.analysis import analyse as analyse_run
    from polyglot.analysis.embeddings.page import save
    from polyglot.inference.translator import Translator

    with described_progress("representations") as advance:
        translator = Translator.load(run, checkpoint=checkpoint, device=device)
        analysis = analyse_run(run, translator, settings, folder=folder, progress=advance)
    place = run.results / "analysis" / name
    save(analysis, place)
    logger.info(
        f"written to {place}: analysis.md, analysis.json, retrieval of each representation, "
        f"{', '.join(analysis.pictures)}"
    )
    return analysis


def _print_comparison(analyses: Mapping[str, Analysis], output: Path | None) -> None:
    from polyglot.analysis.embeddings.comparison import comparison
    from polyglot.core.atomic_files import replace_file
    from polyglot.core.terminal_markdown import FoldedMarkdown

    table = comparison(analyses)
    screen.print(FoldedMarkdown(table))
    if output:
        replace_file(output, f"# Sentence embeddings, run by run\n\n{table}\n")
        logger.info(f"written to {output}: the comparison of all runs")
