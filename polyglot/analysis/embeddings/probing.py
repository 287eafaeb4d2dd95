"""Linear probes: accuracy of a linear classifier on sentence embeddings.

Conneau et al. 2018, "What you can cram into a single $&!#* vector: Probing sentence embeddings for
linguistic properties".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from polyglot.core.errors import DataError, pluralize
from polyglot.data.row_files import without_blank_end
from polyglot.data.text_files import line_blocks

LENGTH_CLASSES = 6  # of about the same size
CONTENT_WORDS = 50
MAX_SHARE_OF_SENTENCES = 0.05  # a more frequent word says little about its sentence
PENALTIES = (1e-3, 1e-2, 1e-1)  # of the classifier; the validation part selects one

TRAIN = "tr"
VALID = "va"
TEST = "te"
PARTS = (TRAIN, VALID, TEST)
"""Parts of labelled sentences, named as in SentEval."""


@dataclass(frozen=True)
class Probe:
    """Labelled sentences in three parts."""

    name: str
    language: str
    sentences: list[str]
    labels: list[str]
    parts: list[str]
    """part of each sentence"""

    @property
    def majority(self) -> float:
        """Test accuracy in percent of always predicting the most frequent training label."""
        train_labels = self.labels_of(TRAIN)
        test_labels = self.labels_of(TEST)
        ((most_frequent, _),) = Counter(train_labels).most_common(1)
        return 100 * test_labels.count(most_frequent) / len(test_labels)

    def labels_of(self, part: str) -> list[str]:
        """Return the labels of the sentences of a part."""
        labels = []
        for label, name in zip(self.labels, self.parts):
            if name == part:
                labels.append(label)
        return labels

    @property
    def is_usable(self) -> bool:
        """True if no part is empty and there are at least two labels."""
        return set(PARTS) <= set(self.parts) and len(set(self.labels)) > 1


def accuracy(probe: Probe, vectors: numpy.ndarray) -> float:
    """Test accuracy in percent of a logistic regression on the training part. vectors: (N, D)."""
    names = sorted(set(probe.labels))
    labels = torch.tensor([names.index(label) for label in probe.labels])
    inputs = torch.from_numpy(numpy.asarray(vectors, dtype=numpy.float32))

    train_rows = _rows_of(probe, TRAIN)
    valid_rows = _rows_of(probe, VALID)
    test_rows = _rows_of(probe, TEST)

    mean = inputs[train_rows].mean(dim=0)
    deviation = inputs[train_rows].std(dim=0).clamp(min=1e-6)
    inputs = (inputs - mean) / deviation
    train = (inputs[train_rows], labels[train_rows])
    valid = (inputs[valid_rows], labels[valid_rows])
    test = (inputs[test_rows], labels[test_rows])
    candidates = []
    for penalty in PENALTIES:
        candidates.append(_fit(*train, classes=len(names), penalty=penalty))
    best = max(candidates, key=lambda weights: _accuracy(weights, *valid))
    return _accuracy(best, *test)


def _rows_of(probe: Probe, part: str) -> Tensor:
    rows = []
    for row, name in enumerate(probe.parts):
        if name == part:
            rows.append(row)
    return torch.tensor(rows)


def _fit(
    inputs: Tensor,
    labels: Tensor,
    *,
    classes: int,
    penalty: float,
) -> Tensor:
    """Weights (D + 1, classes) with the least regularised cross-entropy; the last row is the bias.

    inputs: (N, D). labels: (N,). The result depends only on the arguments.
    """
    inputs = functional.pad(inputs, (0, 1), value=1.0)
    weights = torch.zeros(inputs.shape[1], classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=50, line_search_fn="strong_wolfe")

    def compute_loss() -> Tensor:
        optimizer.zero_grad()
        cross_entropy = functional.cross_entropy(inputs @ weights, labels)
        loss = cross_entropy + penalty * weights[:-1].square().sum() / 2
        loss.backward()
        return loss

    optimizer.step(compute_loss)
    return weights.detach()


def _accuracy(
    weights: Tensor,
    inputs: Tensor,
    labels: Tensor,
) -> float:
    logits = inputs @ weights[:-1] + weights[-1]
    is_correct = logits.argmax(dim=1) == labels
    return 100 * float(is_correct.double().mean())


# Probes


def length_probe(sentences: Sequence[str], language: str) -> Probe:
    """Probe for the number of words, in six classes of about the same size."""
    counts = numpy.array([len(sentence.split()) for sentence in sentences])
    quantiles = numpy.linspace(0, 1, LENGTH_CLASSES + 1)[1:-1]
    edges = numpy.unique(numpy.quantile(counts, quantiles))
    labels = [str(number) for number in numpy.searchsorted(edges, counts)]
    return _split("length", language, list(sentences), labels)


def word_content_probe(sentences: Sequence[str], language: str) -> Probe:
    """Probe for the word of a list of fifty that the sentence contains.

    The words are frequent, but in at most every twentieth sentence. Only sentences with exactly
    one of the words are used.
    """
    words_of_sentences = []
    for sentence in sentences:
        words_of_sentences.append(set(re.findall(r"\w+", sentence.lower())))
    selected = _content_words(words_of_sentences)
    used = []
    labels = []
    for sentence, words in zip(sentences, words_of_sentences):
        content_words = words & selected
        if len(content_words) == 1:
            used.append(sentence)
            labels.append(content_words.pop())
    return _split("word content", language, used, labels)


def _content_words(words_of_sentences: Sequence[set[str]]) -> set[str]:
    """Most frequent words that are not in too many sentences."""
    counts: Counter[str] = Counter()
    for words in words_of_sentences:
        counts.update(words)
    limit = MAX_SHARE_OF_SENTENCES * len(words_of_sentences)
    candidates = [word for word, count in counts.items() if count <= limit]
    candidates.sort(key=lambda word: (-counts[word], word))
    return set(candidates[:CONTENT_WORDS])


def _split(
    name: str,
    language: str,
    sentences: list[str],
    labels: list[str],
) -> Probe:
    """Split in turns: of four sentences, two for training, one for validation, one for testing."""
    turn = (TRAIN, TRAIN, VALID, TEST)
    parts = [turn[number % len(turn)] for number in range(len(sentences))]
    return Probe(name, language, sentences, labels, parts)


def labelled_probe(
    path: Path,
    *,
    name: str,
    language: str,
) -> Probe:
    """Read a file in SentEval's format.

    Raises DataError for an invalid line, a part without sentences, and a training part with a
    single label.
    """
    rows = _labelled_rows(path)
    sentences = [row[-1] for row in rows]
    labels = [row[-2] for row in rows]
    if len(rows[0]) == 2:
        probe = _split(name, language, sentences, labels)
    else:
        probe = Probe(name, language, sentences, labels, [row[0] for row in rows])

    empty_parts = [part for part in PARTS if part not in probe.parts]
    if empty_parts:
        raise DataError(f"{path}: no sentences for {', '.join(empty_parts)}")
    train_labels = set(probe.labels_of(TRAIN))
    if len(train_labels) == 1:
        where = "" if len(set(labels)) == 1 else " of the training part"
        raise DataError(
            f"{path}: all labels{where} are {train_labels.pop()!r}; a probe needs different labels"
        )
    return probe


def _labelled_rows(path: Path) -> list[list[str]]:
    rows = []
    for block in without_blank_end(line_blocks(path)):
        for line in block:
            rows.append(line.split("\t"))
    for number, row in enumerate(rows, start=1):
        is_valid = len(row) == 2 or (len(row) == 3 and row[0] in PARTS)
        if not is_valid or len(row) != len(rows[0]):
            raise DataError(
                f"{path}, line {number}: {pluralize(len(row), 'column')}; every line should have "
                "label and sentence, or part (tr, va, te), label and sentence, separated by tabs"
            )
    return rows
