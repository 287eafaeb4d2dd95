"""Log-probabilities of given translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from polyglot.inference.generation import max_hypotheses, search_batches
from polyglot.layers.cross_entropy import token_losses
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.transfers import to_host
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary

SCORED_SHARE = 8
"""A batch of sentence pairs has this fraction of the hypotheses of a batch in search: the decoder
computes all positions at once."""


def score_lines(
    model: TranslationModel,
    pair: LanguagePair,
    source_lines: Sequence[str],
    target_lines: Sequence[str],
    *,
    vocabularies: Mapping[str, Vocabulary],
    normalisers: Mapping[str, Normaliser],
) -> list[float]:
    """Return log p(target | source) of each sentence pair, summed over pieces and the end."""
    source_texts, target_texts = _preprocess_pairs(
        source_lines,
        target_lines,
        normalisers[pair.source],
        normalisers[pair.target],
    )
    source_pieces = vocabularies[pair.source].encode(source_texts)
    target_pieces = vocabularies[pair.target].encode(target_texts)

    task = Task(pair)
    scores = [0.0] * len(source_pieces)
    device = next(model.parameters()).device
    size = max_hypotheses(device) // SCORED_SHARE
    for rows in search_batches(target_pieces, size=size, keep_empty=True):
        batch = Batch.from_sentences(
            task,
            [source_pieces[row] for row in rows],
            [target_pieces[row] for row in rows],
        )
        for row, score in zip(rows, score_batch(model, batch)):
            scores[row] = score
    return scores


@torch.inference_mode()
def score_batch(model: TranslationModel, batch: Batch) -> list[float]:
    """Return the log-probability of each target of the batch."""
    batch = batch.to(next(model.parameters()).device)
    output = model(batch)
    projection = output.projection
    # Padding is not projected; the batch knows the number of real tokens.
    is_real = batch.target_mask.flatten()
    real = torch.nonzero_static(is_real, size=batch.target_tokens).squeeze(1)
    losses = token_losses(
        output.states.flatten(0, 1).index_select(0, real),
        projection.weight,
        projection.bias,
        batch.target_out.flatten().index_select(0, real),
    )
    sentences = real // batch.target_mask.shape[1]
    totals = losses.new_zeros(batch.sentences).index_add(0, sentences, losses)
    return (-to_host(totals)).tolist()


def _preprocess_pairs(
    source_lines: Sequence[str],
    target_lines: Sequence[str],
    source_steps: Normaliser,
    target_steps: Normaliser,
) -> tuple[list[str], list[str]]:
    """Preprocess sentence pairs, with matching symbols; a blank side stays empty."""
    source_texts = []
    target_texts = []
    for source_line, target_line in zip(source_lines, target_lines):
        source_text, target_text = source_steps.apply_to_pair(
            source_line, target_steps, target_line
        )
        source_texts.append(source_text if source_line.strip() else "")
        target_texts.append(target_text if target_line.strip() else "")
    return source_texts, target_texts
