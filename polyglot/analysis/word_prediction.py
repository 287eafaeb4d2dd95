"""What a decoder predicts before its first word, what search among few words keeps, and whether numbers and names are copied.

The tables and figures of Weng et al. 2017: precision and recall of the likeliest words (table 5), BLEU and time by the number of words
(figures 4 and 5), and the attention of the initial state (figure 3).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy
import sacrebleu
import torch
from torch import Tensor

from polyglot.analysis.copy_accuracy import copied
from polyglot.analysis.figures import Panel, curves_png, panels_png
from polyglot.analysis.page import Page, Table
from polyglot.core.errors import ConfigError, DataError
from polyglot.data.corpora import Corpora
from polyglot.decoding.vocabulary_selection import most_probable_words
from polyglot.inference.translator import Translator
from polyglot.inference.types import SourceSentence
from polyglot.model.memory import Memory
from polyglot.runs.run import Run
from polyglot.tasks.batch import SPECIAL_TOKENS
from polyglot.tasks.pairs import LanguagePair

SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Numbers of words that are looked at, as far as the vocabulary has them."""
BATCH = 64  # sentences whose words are predicted together
SHOWN = 4  # sentences whose attention is shown
LONGEST = 24  # pieces of such a sentence
CHOOSERS = {"prediction": "predicted", "shortlist": "shortlist"}


def words_page(
    run: Run,
    translator: Translator,
    pair: LanguagePair,
    *,
    count: int,
    sizes: Sequence[int] = SIZES,
    beam: int | None = None,
) -> Page:
    """The first so many sentences of the run's test text, else of its validation text, in one direction.

    Raises ConfigError for a direction that the run does not have, DataError where there is no text for it.
    """
    translator.check(pair.source, pair.target)
    sources, references = held_out(run, pair, count)
    settings = {} if beam is None else {"beam": beam}
    choosers = _choosers(run, translator, pair)
    sentences = translator.sentences(sources, pair.source)
    vocabulary = len(translator.vocabularies[pair.target])
    sizes = [size for size in sizes if size < vocabulary - len(SPECIAL_TOKENS)]
    tables, values, pictures = (
        [],
        {"pair": str(pair), "sentences": len(sources), "vocabulary": vocabulary},
        {},
    )
    if choosers:
        wanted = _pieces(translator, references, sources, pair)
        found = {
            chooser: _precision_and_recall(translator, sentences, wanted, pair, chooser, sizes)
            for chooser in choosers
        }
        tables.append(_table_of_recall(found, sizes))
        values["precision and recall"] = {
            chooser: {str(size): one for size, one in zip(sizes, own)}
            for chooser, own in found.items()
        }
    quality, hypotheses = _quality(translator, sources, references, pair, choosers, sizes, settings)
    tables.append(_table_of_quality(quality))
    values["quality"] = quality
    if choosers:
        curves = {
            chooser: [one for one in quality if one["chooser"] in (chooser, "all")]
            for chooser in choosers
        }
        pictures["BLEU by the number of words"] = _curve(curves, "bleu", "BLEU", str(pair))
        pictures["Seconds by the number of words"] = _curve(curves, "seconds", "seconds", str(pair))
    accuracy = copied(sources, references, hypotheses, source=pair.source, target=pair.target)
    rows = [
        [
            kind,
            str(one.expected),
            str(one.right),
            f"{100 * one.right / one.expected:.1f} %" if one.expected else "–",
        ]
        for kind, one in accuracy.items()
    ]
    note = f"What stands on both sides of source and reference, and whether the translation has it. Symbols: {'yes' if run.symbols else 'no'}."
    tables.append(
        Table(
            "Numbers, names and acronyms that are copied",
            ["", "in the references", "in the translations", "share"],
            rows,
            note=note,
        )
    )
    values["copies"] = {
        kind: {"expected": one.expected, "right": one.right} for kind, one in accuracy.items()
    }
    values["symbols"], values["symbols without a rule"] = (
        run.symbols is not None,
        translator.symbols_without_rule,
    )
    if "prediction" in choosers and (panels := _attention(translator, sentences, pair)):
        pictures["Attention of the initial state"] = panels_png(
            panels, title=f"Attention of the initial state · {pair}"
        )
        values["attention"] = [
            {
                "sentence": panel.title,
                "columns": list(panel.columns),
                "weights": panel.values[0].tolist(),
            }
            for panel in panels
        ]
    return Page(f"words-{pair}", f"Words of {pair}", tables, values, pictures)


def held_out(run: Run, pair: LanguagePair, count: int) -> tuple[list[str], list[str]]:
    """Sources and references. Raises DataError where the run names no text, or has none for the direction."""
    text = Corpora(
        run.config.data.test or run.config.data.valid,
        folder=Path(run.config.data.folder),
        languages=run.config.languages,
    )
    if not (run.config.data.test or run.config.data.valid):
        raise DataError(f"{run.path}: data.test and data.valid name no corpus; name one to look at")
    sources, references = [], []
    for one in text.parallel(pair):
        rows = range(min(count - len(sources), len(one.source)))
        sources += one.source.select(rows)["text"]
        references += one.target.select(rows)["text"]
    return sources, references


def _choosers(run: Run, translator: Translator, pair: LanguagePair) -> list[str]:
    """What can choose words here."""
    predictor = translator.model.decoders[pair.target].word_predictor("initial_words")
    found = ["prediction"] if predictor is not None else []
    return found + (["shortlist"] if run.shortlist_file(pair).is_file() else [])


def _pieces(
    translator: Translator, references: Sequence[str], sources: Sequence[str], pair: LanguagePair
) -> list[set[int]]:
    """The different words of each reference, as the model was trained to write them."""
    source, target = translator.normalisers[pair.source], translator.normalisers[pair.target]
    lines = [source.pair(line, target, other)[1] for line, other in zip(sources, references)]
    return [
        set(pieces) - set(range(len(SPECIAL_TOKENS)))
        for pieces in translator.vocabularies[pair.target].encode(lines)
    ]


# Table 5 -----------------------------------------------------------------------------------------------------------------


@torch.inference_mode()
def _precision_and_recall(
    translator: Translator,
    sentences: Sequence[SourceSentence],
    wanted: Sequence[set[int]],
    pair: LanguagePair,
    chooser: str,
    sizes: Sequence[int],
) -> list[tuple[float, float]]:
    """Of the so many likeliest words, each the mean over the sentences, from 0 to 1."""
    config = translator.search_config_with({"select": max(sizes), "select_by": chooser})
    sums, count = numpy.zeros((len(sizes), 2)), 0
    rows = [
        row
        for row, (sentence, words) in enumerate(zip(sentences, wanted))
        if sentence.pieces and words
    ]
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        scores = translator.word_scores(
            translator.encode_sources([sentences[row] for row in part]), pair.target, config
        )
        truth = torch.zeros_like(scores, dtype=torch.bool)
        for row, sentence in enumerate(part):
            truth[row, list(wanted[sentence])] = True
        sums += numpy.array([_of_the_likeliest(scores, truth, size) for size in sizes])
        count += len(part)
    return [tuple(one) for one in (sums / max(1, count)).tolist()]


def _of_the_likeliest(scores: Tensor, truth: Tensor, size: int) -> tuple[float, float]:
    """Precision and recall, summed over the sentences. scores and truth (B, V)"""
    right = truth.gather(1, most_probable_words(scores, size)).sum(dim=1)
    return (right / size).sum().item(), (right / truth.sum(dim=1)).sum().item()


def _table_of_recall(found: dict[str, list[tuple[float, float]]], sizes: Sequence[int]) -> Table:
    head = [
        "words",
        *(f"{CHOOSERS[chooser]}: {what}" for chooser in found for what in ("precision", "recall")),
    ]
    rows = [
        [f"{size:,}", *(f"{100 * value:.1f} %" for own in found.values() for value in own[place])]
        for place, size in enumerate(sizes)
    ]
    note = (
        "Of the likeliest words, the share that the reference has; of the reference's words, the share that is among them. "
        "Means over the sentences."
    )
    return Table("Are the likeliest words those of the reference?", head, rows, note=note)


# Figures 4 and 5 ---------------------------------------------------------------------------------------------------------


def _quality(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    pair: LanguagePair,
    choosers: Sequence[str],
    sizes: Sequence[int],
    settings: dict,
) -> tuple[list[dict], list[str]]:
    """BLEU and seconds with each number of words, and the translations with all of them."""
    given = {"source": pair.source, "target": pair.target, **settings}
    whole = len(translator.vocabularies[pair.target])
    translator.translate(
        sources[:BATCH], **given, select=None
    )  # what is only slow the first time is not counted
    wanted = [
        ("all", whole, {"select": None}),
        *(
            (chooser, size, {"select": size, "select_by": chooser})
            for chooser in choosers
            for size in sizes
        ),
    ]
    found, first = [], None
    for chooser, size, select in wanted:
        started = time.perf_counter()
        lines = translator.translate(sources, **given, **select)
        seconds = time.perf_counter() - started
        metric = sacrebleu.BLEU(trg_lang=pair.target)
        score = metric.corpus_score(lines, [list(references)]).score
        first = lines if first is None else first
        same = sum(one == other for one, other in zip(lines, first)) / max(1, len(first))
        found.append(
            {
                "chooser": chooser,
                "words": size,
                "bleu": score,
                "seconds": seconds,
                "same": same,
                "signature": str(metric.get_signature()),
            }
        )
    return found, first


def _table_of_quality(quality: Sequence[dict]) -> Table:
    whole = quality[0]
    rows = [
        [
            CHOOSERS.get(one["chooser"], "all"),
            f"{one['words']:,}",
            f"{one['bleu']:.2f}",
            f"{one['seconds']:.2f}",
            f"{one['seconds'] / whole['seconds']:.2f}",
            f"{100 * one['same']:.1f} %",
        ]
        for one in quality
    ]
    head = ["chosen by", "words", "BLEU", "seconds", "of the time of all", "same translations"]
    return Table(
        "Search among few words",
        head,
        rows,
        note=f"{whole['signature']}; seconds as this machine was at the time.",
    )


def _curve(curves: dict[str, list[dict]], key: str, name: str, pair: str) -> bytes:
    lines = {
        CHOOSERS[chooser]: sorted((one["words"], one[key]) for one in own)
        for chooser, own in curves.items()
    }
    return curves_png(
        lines,
        title=f"{name} by the number of words · {pair}",
        across="words that search may write",
        up=name,
    )


# Figure 3 ----------------------------------------------------------------------------------------------------------------


@torch.inference_mode()
def _attention(
    translator: Translator, sentences: Sequence[SourceSentence], pair: LanguagePair
) -> list[Panel]:
    """Where the initial state looks in the first sentences of middling length."""
    decoder, panels = translator.model.decoders[pair.target], []
    for sentence in [one for one in sentences if 4 <= len(one.pieces) <= LONGEST][:SHOWN]:
        memory = translator.encode_sources([sentence]).memory
        _, weights = decoder.word_predictor("initial_words")(decoder.body.initial_state(memory), memory)
        pieces = translator.vocabularies[pair.source].pieces(sentence.pieces)
        shares = _over_the_source(weights, memory, len(pieces))[0].float().cpu().numpy()
        columns = (
            pieces
            if len(shares) == len(pieces)
            else [str(number) for number in range(1, len(shares) + 1)]
        )
        panels.append(
            Panel(
                sentence.line,
                shares[None],
                ["s₀"],
                [piece.replace("▁", "") or "▁" for piece in columns],
            )
        )
    return panels


def _over_the_source(weights: Tensor, memory: Memory, length: int) -> Tensor:
    """The attention over the rows of a bridge, brought to the source positions where it is known what they are mixed from.

    weights (B, K) -> (B, S), or (B, K) where the rows cannot be traced back
    """
    if memory.weights is not None:
        return (weights.unsqueeze(1) @ memory.weights).squeeze(1)[:, :length]
    return weights


def choose_pair(run: Run, source: str | None, target: str | None) -> LanguagePair:
    """What was named, or the first trained direction that fits. Raises ConfigError where none does."""
    for pair in run.config.pairs:
        if not pair.is_copy and source in (None, pair.source) and target in (None, pair.target):
            return pair
    if source and target:
        return LanguagePair(source, target)
    raise ConfigError(
        f"words: no trained direction {f'from {source}' if source else f'into {target}' if target else ''}; name both languages"
    )
