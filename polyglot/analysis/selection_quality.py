"""BLEU and translation time with vocabulary selection: figures 4 and 5 of Weng et al. 2017."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import sacrebleu

from polyglot.analysis.figures import curves_png
from polyglot.analysis.page import Table
from polyglot.analysis.predicted_words import SELECTOR_TITLES
from polyglot.core.score_tables import format_percent
from polyglot.inference.translator import Translator
from polyglot.tasks.pairs import LanguagePair

WARM_UP_SENTENCES = 64  # translated first: the first call also loads kernels
ALL_WORDS = "all"


def measure_quality(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    pair: LanguagePair,
    *,
    selectors: Sequence[str],
    sizes: Sequence[int],
    search_settings: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Translate with all words, then with each selector and number of words.

    Returns BLEU, seconds and share of unchanged translations of each, and the translations with
    all words.
    """
    settings = {"source": pair.source, "target": pair.target, **search_settings}
    translator.translate(sources[:WARM_UP_SENTENCES], **settings, select=None)

    started = time.perf_counter()
    hypotheses = translator.translate(sources, **settings, select=None)
    seconds = time.perf_counter() - started
    size = len(translator.vocabularies[pair.target])
    row = {"chooser": ALL_WORDS, "words": size}
    rows = [row | _scores(hypotheses, references, hypotheses, pair, seconds=seconds)]

    for selector in selectors:
        for size in sizes:
            started = time.perf_counter()
            lines = translator.translate(sources, **settings, select=size, select_by=selector)
            seconds = time.perf_counter() - started
            row = {"chooser": selector, "words": size}
            rows.append(row | _scores(lines, references, hypotheses, pair, seconds=seconds))
    return rows, hypotheses


def _scores(
    lines: Sequence[str],
    references: Sequence[str],
    hypotheses: Sequence[str],
    pair: LanguagePair,
    *,
    seconds: float,
) -> dict[str, Any]:
    """Return the scores of translations. hypotheses: translations with all words."""
    metric = sacrebleu.BLEU(trg_lang=pair.target)
    score = metric.corpus_score(lines, [list(references)]).score
    unchanged = sum(line == hypothesis for line, hypothesis in zip(lines, hypotheses))
    return {
        "bleu": score,
        "seconds": seconds,
        "same": unchanged / max(1, len(hypotheses)),
        "signature": str(metric.get_signature()),
    }


def quality_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of `measure_quality`."""
    all_words = rows[0]
    cells = []
    for row in rows:
        relative_time = row["seconds"] / all_words["seconds"]
        cells.append(
            [
                SELECTOR_TITLES.get(row["chooser"], ALL_WORDS),
                f"{row['words']:,}",
                f"{row['bleu']:.2f}",
                f"{row['seconds']:.2f}",
                f"{relative_time:.2f}",
                format_percent(row["same"]),
            ]
        )
    head = ["selected by", "words", "BLEU", "seconds", "relative time", "same translations"]
    note = (
        f"{all_words['signature']}. "
        "Relative time and same translations: compared with the search among all words. "
        "The times were measured once."
    )
    return Table("Search with vocabulary selection", head, cells, note=note)


def quality_pictures(
    rows: Sequence[Mapping[str, Any]],
    selectors: Sequence[str],
    pair: LanguagePair,
) -> dict[str, bytes]:
    """Return figures of BLEU and seconds by the number of words."""
    pictures = {}
    for key, name in (("bleu", "BLEU"), ("seconds", "Seconds")):
        curves = {}
        for selector in selectors:
            points = []
            for row in rows:
                if row["chooser"] in (selector, ALL_WORDS):
                    points.append((row["words"], row[key]))
            curves[SELECTOR_TITLES[selector]] = sorted(points)
        title = f"{name} by the number of words"
        pictures[title] = curves_png(
            curves,
            title=f"{title} · {pair}",
            x_label="words that the search may choose",
            y_label=name,
        )
    return pictures
