"""Attention of the bridge heads, for sentences of several languages side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import torch

from polyglot.analysis.annotated_text import display, load_sentences, split_into_pieces
from polyglot.analysis.figures import Panel, panels_png
from polyglot.analysis.page import Page, Table
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.score_tables import format_percent
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.batch import EOS


def heads_page(
    run: Run,
    translator: Translator,
    examples: Sequence[tuple[str, str]] = (),
) -> Page:
    """Show which positions of the examples the bridge heads attend to.

    examples: language and text; by default the first sentence of the test text in every source
    language. Raises ConfigError for a language without an encoder and a bridge without heads,
    DataError for an empty sentence.
    """
    if not examples:
        examples = _first_sentences(run, translator)

    panels = []
    values = []
    for language, text in examples:
        panel = head_weights(translator, language, text)
        panels.append(panel)
        values.append(
            {
                "language": language,
                "sentence": text,
                "pieces": panel.columns,
                "weights": panel.values.tolist(),
            }
        )
    pictures = {"Attention of the heads": panels_png(panels, title="Heads of the bridge")}
    title = "Attention of the bridge heads"
    return Page("heads", title, [_table(panels)], {"sentences": values}, pictures)


def _first_sentences(run: Run, translator: Translator) -> list[tuple[str, str]]:
    examples = []
    for language in translator.sources:
        (sentence,) = load_sentences(run, translator, language, count=1)
        examples.append((language, sentence.text))
    return examples


def head_weights(translator: Translator, language: str, text: str) -> Panel:
    """Return the attention weights (K, S) of one sentence: rows are heads, columns are pieces.

    Raises ConfigError for a language without an encoder and a bridge without heads, DataError for
    an empty sentence.
    """
    language = translator.resolve(language, translator.targets[0]).source
    (sentence,) = split_into_pieces(translator, [text], language)
    if not sentence.ids:
        raise DataError(f"heads: the sentence of {language} is empty")
    weights = _memory_weights(translator, language, sentence.ids)
    if weights is None:
        raise ConfigError("heads: the bridge of this run has no heads that attend to positions")

    matrix = weights[0].float().cpu().numpy()
    heads = [str(number) for number in range(1, len(matrix) + 1)]
    pieces = list(map(display, sentence.pieces))
    return Panel(f"{language}: {text}", matrix, heads, pieces)


def has_heads(translator: Translator) -> bool:
    """True if the bridge has heads that attend to positions of a sentence."""
    return _memory_weights(translator, translator.sources[0], [EOS]) is not None


@torch.inference_mode()
def _memory_weights(
    translator: Translator,
    language: str,
    ids: Sequence[int],
) -> torch.Tensor | None:
    """Attention weights (1, K, S) of a sentence in vocabulary entries; None without heads."""
    tokens = torch.tensor([ids], device=translator.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    return translator.model.encode(language, tokens, mask).weights


def _table(panels: Sequence[Panel]) -> Table:
    rows = []
    for head, name in enumerate(panels[0].rows):
        cells = [_strongest_position(panel, head) for panel in panels]
        rows.append([name, *cells])
    return Table(
        "Position with the most attention",
        ["head", *(panel.title for panel in panels)],
        rows,
        note="In brackets: the share of the attention of the head.",
    )


def _strongest_position(panel: Panel, head: int) -> str:
    """`Haus (35 %)`."""
    position = int(numpy.argmax(panel.values[head]))
    share = format_percent(panel.values[head, position], digits=0)
    return f"{panel.columns[position]} ({share})"
