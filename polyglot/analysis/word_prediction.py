"""Predicted words, vocabulary selection and copied items of one direction.

Tables and figures of Weng et al. 2017: precision and recall of the predicted words (table 5), BLEU
and time by the number of words (figures 4 and 5), attention of the initial state (figure 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyglot.analysis.copy_accuracy import CopyCount, count_copies
from polyglot.analysis.figures import Panel, panels_png
from polyglot.analysis.page import Page, Table
from polyglot.analysis.predicted_words import (
    FIRST_STEP,
    initial_attention,
    precision_and_recall,
    recall_table,
    reference_words,
)
from polyglot.analysis.selection_quality import measure_quality, quality_pictures, quality_table
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.score_tables import format_percent
from polyglot.data.corpora import Corpora
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.batch import SPECIAL_TOKENS
from polyglot.tasks.pairs import LanguagePair

SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Numbers of selected words; those larger than the vocabulary are left out."""


def words_page(
    run: Run,
    translator: Translator,
    pair: LanguagePair,
    *,
    count: int,
    sizes: Sequence[int] = SIZES,
    beam: int | None = None,
) -> Page:
    """Analyse the first sentences of the run's test text, else of its validation text.

    beam: instead of the run's. Raises ConfigError if the run has no such direction, DataError
    if there is no text for it.
    """
    pair = translator.resolve(pair.source, pair.target)
    sources, references = held_out(run, pair, count)
    selectors = _selectors(run, translator, pair)
    vocabulary_size = len(translator.vocabularies[pair.target])
    sizes = [size for size in sizes if size < vocabulary_size - len(SPECIAL_TOKENS)]

    tables = []
    pictures = {}
    values: dict[str, Any] = {
        "pair": str(pair),
        "sentences": len(sources),
        "vocabulary": vocabulary_size,
    }
    if sizes:
        recall = _recall(translator, sources, references, pair, selectors=selectors, sizes=sizes)
        tables.append(recall_table(recall, sizes))
        values["precision and recall"] = _by_size(recall, sizes)

    quality, hypotheses = measure_quality(
        translator,
        sources,
        references,
        pair,
        selectors=selectors,
        sizes=sizes,
        search_settings={} if beam is None else {"beam": beam},
    )
    tables.append(quality_table(quality))
    values["quality"] = quality
    if selectors:
        pictures |= quality_pictures(quality, selectors, pair)

    copies = count_copies(sources, references, hypotheses, source=pair.source, target=pair.target)
    tables.append(_copies_table(copies, has_symbols=run.symbols is not None))
    values["copies"] = _copies_values(copies)
    values["symbols"] = run.symbols is not None
    values["symbols without a rule"] = translator.symbols_without_rule

    if "prediction" in selectors:
        sentences = translator.sentences(sources, pair.source)
        panels = initial_attention(translator, sentences, pair)
        pictures |= _attention_picture(panels, pair)
        if panels:
            values["attention"] = list(map(_attention_values, panels))
    return Page(f"words-{pair}", f"Words of {pair}", tables, values, pictures)


def held_out(
    run: Run,
    pair: LanguagePair,
    count: int,
) -> tuple[list[str], list[str]]:
    """Return the first sources and references of the run's test or validation text.

    Raises DataError if the run names no such text, or none of this pair.
    """
    data = run.config.data
    if not (data.test or data.valid):
        raise DataError(
            f"{run.path}: data.test and data.valid name no corpus; name a corpus to analyse"
        )
    corpora = Corpora(
        data.test or data.valid, folder=Path(data.folder), languages=run.config.languages
    )
    sources: list[str] = []
    references: list[str] = []
    for text in corpora.parallel(pair):
        rows = range(min(count - len(sources), len(text.source)))
        sources += text.source.select(rows)["text"]
        references += text.target.select(rows)["text"]
    return sources, references


def choose_pair(
    run: Run,
    source: str | None,
    target: str | None,
) -> LanguagePair:
    """Return the first trained direction with this source and target; None is any language.

    Raises ConfigError if there is no such direction.
    """
    for pair in run.config.pairs:
        is_source = source in (None, pair.source)
        is_target = target in (None, pair.target)
        if is_source and is_target and not pair.is_copy:
            return pair
    if source and target:
        return LanguagePair(source, target)
    languages = ""
    if source:
        languages = f" from {source}"
    if target:
        languages = f" into {target}"
    raise ConfigError(f"words: no trained direction{languages}; name both languages")


def _selectors(
    run: Run,
    translator: Translator,
    pair: LanguagePair,
) -> list[str]:
    """Return the values of `select_by` that this run supports for the pair."""
    selectors = []
    if translator.model.decoders[pair.target].word_predictor("initial_words") is not None:
        selectors.append("prediction")
    if run.shortlist_file(pair).is_file():
        selectors.append("shortlist")
    return selectors


def _recall(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    pair: LanguagePair,
    *,
    selectors: Sequence[str],
    sizes: Sequence[int],
) -> dict[str, list[tuple[float, float]]]:
    """Precision and recall for each size, by source of words: selectors, or the first step."""
    word_sources = list(selectors)
    if "prediction" not in selectors:
        word_sources.append(FIRST_STEP)
    sentences = translator.sentences(sources, pair.source)
    words = reference_words(translator, sources, references, pair)
    results = {}
    for selector in word_sources:
        results[selector] = precision_and_recall(
            translator,
            sentences,
            words,
            pair,
            selector,
            sizes,
        )
    return results


def _by_size(
    results: Mapping[str, Sequence[tuple[float, float]]],
    sizes: Sequence[int],
) -> dict[str, dict[str, tuple[float, float]]]:
    names = list(map(str, sizes))
    by_size = {}
    for selector, values in results.items():
        by_size[selector] = dict(zip(names, values))
    return by_size


def _copies_table(copies: Mapping[str, CopyCount], *, has_symbols: bool) -> Table:
    rows = []
    for kind, count in copies.items():
        share = count.correct / count.expected if count.expected else None
        rows.append([kind, str(count.expected), str(count.correct), format_percent(share)])
    head = ["", "in the references", "in the translations", "share"]
    note = (
        "Items that are the same in source and reference, and how many of them the translation "
        f"contains. The run {'has' if has_symbols else 'has no'} symbols."
    )
    return Table("Copied numbers, names and acronyms", head, rows, note=note)


def _copies_values(copies: Mapping[str, CopyCount]) -> dict[str, dict[str, int]]:
    values = {}
    for kind, count in copies.items():
        values[kind] = {"expected": count.expected, "right": count.correct}
    return values


def _attention_picture(panels: Sequence[Panel], pair: LanguagePair) -> dict[str, bytes]:
    if not panels:
        return {}
    title = "Attention of the initial state"
    return {title: panels_png(panels, title=f"{title} · {pair}")}


def _attention_values(panel: Panel) -> dict[str, Any]:
    return {
        "sentence": panel.title,
        "columns": list(panel.columns),
        "weights": panel.values[0].tolist(),
    }
