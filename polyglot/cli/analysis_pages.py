"""Analyses of `analyse` that write a page: roles, graph, chart, heads and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.cli.app import logger, screen
from polyglot.core.language_codes import resolve_language

if TYPE_CHECKING:
    from polyglot.analysis.page import Page
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

NEEDED_OPTION = {"roles": "roles", "graph": "latent_graph"}
"""Option of a component without which an analysis has nothing to show."""


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


def analyse_run(
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
