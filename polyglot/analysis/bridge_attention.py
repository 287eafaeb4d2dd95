"""Where the heads of the bridge look, for sentences of several languages side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import torch

from polyglot.analysis.annotated_text import as_read, sentences, shown
from polyglot.analysis.figures import Panel, panels_png
from polyglot.analysis.page import Page, Table
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run


def heads_page(run: Run, translator: Translator, given: Sequence[tuple[str, str]] = ()) -> Page:
    """The bridge's attention on sentences, each a language and a text; by default the first of the test text in every language.

    Raises ConfigError for a language that is not read and for a bridge without heads, DataError for a sentence without pieces.
    """
    given = given or [
        (language, sentences(run, translator, language, count=1)[0].text)
        for language in translator.sources
    ]
    panels, values = [], []
    for language, text in given:
        translator.check(language, translator.targets[0])
        (sentence,) = as_read(translator, [text], language)
        if not sentence.ids:
            raise DataError(f"heads: the sentence of {language} is empty")
        tokens = torch.tensor([sentence.ids], device=translator.device)
        with torch.inference_mode():
            weights = translator.model.encode(
                language, tokens, torch.ones_like(tokens, dtype=torch.bool)
            ).weights
        if weights is None:
            raise ConfigError("heads: the bridge of this run has no heads that attend to positions")
        own, pieces = weights[0].float().cpu().numpy(), [shown(piece) for piece in sentence.pieces]
        panels.append(
            Panel(
                f"{language}: {text}",
                own,
                [str(number) for number in range(1, len(own) + 1)],
                pieces,
            )
        )
        values.append(
            {"language": language, "sentence": text, "pieces": pieces, "weights": own.tolist()}
        )
    rows = [
        [str(number + 1), *(_most(panel, number) for panel in panels)]
        for number in range(len(panels[0].values))
    ]
    table = Table(
        "What each head looks at most",
        ["head", *(panel.title for panel in panels)],
        rows,
        note="In brackets the share of its attention.",
    )
    return Page(
        "heads",
        "Heads of the bridge, side by side",
        [table],
        {"sentences": values},
        {"Attention of each head": panels_png(panels, title="Heads of the bridge")},
    )


def _most(panel: Panel, head: int) -> str:
    place = int(numpy.argmax(panel.values[head]))
    return f"{panel.columns[place]} ({panel.values[head, place]:.0%})"
