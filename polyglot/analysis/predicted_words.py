"""Words that a decoder predicts from its initial state: precision, recall and attention.

Table 5 and figure 3 of Weng et al. 2017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy
import torch
from torch import Tensor

from polyglot.analysis.annotated_text import display
from polyglot.analysis.figures import Panel
from polyglot.analysis.page import Table
from polyglot.core.score_tables import format_percent
from polyglot.decoding.vocabulary_selection import most_probable_words
from polyglot.inference.translator import Translator
from polyglot.inference.types import SourceSentence
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, SPECIAL_TOKENS
from polyglot.tasks.pairs import LanguagePair

BATCH_SIZE = 64  # sentences
ATTENTION_EXAMPLES = 4  # sentences
SHORTEST_EXAMPLE = 4  # pieces
LONGEST_EXAMPLE = 24  # pieces
FIRST_STEP = "first step"
"""Source of words in a decoder without word prediction: its first step, from the initial state."""

SELECTOR_TITLES = {
    "prediction": "predicted",
    "shortlist": "shortlist",
    FIRST_STEP: "first step of the decoder",
}
"""Titles of the sources of words: the values of `select_by`, and the first step."""


# Precision and recall


def reference_words(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    pair: LanguagePair,
) -> list[set[int]]:
    """Return the vocabulary entries of each reference, after the preprocessing of training."""
    source_steps = translator.normalisers[pair.source]
    target_steps = translator.normalisers[pair.target]
    lines = []
    for source, reference in zip(sources, references):
        _, line = source_steps.apply_to_pair(source, target_steps, reference)
        lines.append(line)

    special = set(range(len(SPECIAL_TOKENS)))
    pieces_of_lines = translator.vocabularies[pair.target].encode(lines)
    return [set(pieces) - special for pieces in pieces_of_lines]


@torch.inference_mode()
def precision_and_recall(
    translator: Translator,
    sentences: Sequence[SourceSentence],
    references: Sequence[set[int]],
    pair: LanguagePair,
    selector: str,
    sizes: Sequence[int],
) -> list[tuple[float, float]]:
    """Compute precision and recall of the most probable words, for each number of words.

    Means over the sentences, from 0 to 1. selector: source of the words, a key of SELECTOR_TITLES.
    references: words of each sentence, from `reference_words`. Empty sentences and references are
    left out.
    """
    nonempty = []
    for sentence, words in zip(sentences, references):
        if sentence.pieces and words:
            nonempty.append((sentence, words))

    sums = numpy.zeros((len(sizes), 2))
    for start in range(0, len(nonempty), BATCH_SIZE):
        batch = nonempty[start : start + BATCH_SIZE]
        scores, is_reference = _scores_and_references(
            translator,
            batch,
            pair.target,
            selector,
            count=max(sizes),
        )
        sums += numpy.array([count_correct(scores, is_reference, size) for size in sizes])
    means = sums / max(1, len(nonempty))
    return [tuple(row) for row in means.tolist()]


def _scores_and_references(
    translator: Translator,
    batch: Sequence[tuple[SourceSentence, set[int]]],
    target: str,
    selector: str,
    *,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Score of every word (B, V), and a mask of the words of the references (B, V)."""
    sources = translator.encode_sources([sentence for sentence, _ in batch])
    if selector == FIRST_STEP:
        scores = first_step_scores(translator, sources.memory, target)
    else:
        config = translator.search_config_with({"select": count, "select_by": selector})
        scores = translator.word_scores(sources, target, config)
    is_reference = torch.zeros_like(scores, dtype=torch.bool)
    for row, (_, words) in enumerate(batch):
        is_reference[row, list(words)] = True
    return scores, is_reference


def first_step_scores(translator: Translator, memory: Memory, target: str) -> Tensor:
    """Logits of the first word (B, V), from the initial state and BOS.

    Weng et al. 2017 let models without word prediction predict words with "the initial state", and
    do not name the layers. Such a model has only the layers of its first step for this.
    """
    decoder = translator.model.decoders[target]
    tokens = torch.full((len(memory.states),), BOS, device=memory.states.device)
    logits, _ = decoder.step(tokens, decoder.start(memory), memory)
    return logits.float()


def count_correct(
    scores: Tensor,
    is_reference: Tensor,
    size: int,
) -> tuple[float, float]:
    """Return precision and recall of the `size` most probable words, summed over sentences.

    scores and is_reference: (B, V).
    """
    correct = is_reference.gather(1, most_probable_words(scores, size)).sum(dim=1)
    precision = correct / size
    recall = correct / is_reference.sum(dim=1)
    return precision.sum().item(), recall.sum().item()


def recall_table(
    results: Mapping[str, Sequence[tuple[float, float]]],
    sizes: Sequence[int],
) -> Table:
    """Return the table of `precision_and_recall`. results: by selector, for each size."""
    head = ["words"]
    for selector in results:
        title = SELECTOR_TITLES[selector]
        head += [f"{title}: precision", f"{title}: recall"]
    rows = []
    for number, size in enumerate(sizes):
        row = [f"{size:,}"]
        for values in results.values():
            precision, recall = values[number]
            row += [format_percent(precision), format_percent(recall)]
        rows.append(row)
    note = (
        "Precision: share of the most probable words that the reference contains. "
        "Recall: share of the words of the reference that are among the most probable words. "
        "Means over the sentences."
    )
    return Table("Precision and recall of the most probable words", head, rows, note=note)


# Attention of the initial state


@torch.inference_mode()
def initial_attention(
    translator: Translator,
    sentences: Sequence[SourceSentence],
    pair: LanguagePair,
) -> list[Panel]:
    """Return the attention of the initial state for the first sentences of medium length."""
    examples = []
    for sentence in sentences:
        if SHORTEST_EXAMPLE <= len(sentence.pieces) <= LONGEST_EXAMPLE:
            examples.append(sentence)

    decoder = translator.model.decoders[pair.target]
    predictor = decoder.word_predictor("initial_words")
    panels = []
    for sentence in examples[:ATTENTION_EXAMPLES]:
        memory = translator.encode_sources([sentence]).memory
        _, weights = predictor(decoder.body.initial_state(memory), memory)
        shares = trace_to_source(weights, memory, len(sentence.pieces))
        shares = shares[0].float().cpu().numpy()

        columns = translator.vocabularies[pair.source].pieces(sentence.pieces)
        if len(shares) != len(columns):
            columns = [str(number) for number in range(1, len(shares) + 1)]
        panels.append(Panel(sentence.line, shares[None], ["s₀"], list(map(display, columns))))
    return panels


def trace_to_source(
    weights: Tensor,
    memory: Memory,
    length: int,
) -> Tensor:
    """Convert attention over the rows of a bridge to attention over the source positions.

    weights (B, K) -> (B, S), or unchanged if the rows are not weighted sums of positions.
    """
    if memory.weights is None:
        return weights
    return (weights.unsqueeze(1) @ memory.weights).squeeze(1)[:, :length]
