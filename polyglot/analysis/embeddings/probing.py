"""What can be read off a vector by a linear classifier (Conneau et al. 2018, "What you can cram into a single $&!#* vector")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from torch import Tensor

from polyglot.core.errors import DataError, pluralize
from polyglot.data.text_files import line_blocks

LENGTHS = 6  # classes of sentence length, each with as many sentences, as far as ties allow
WORDS = 50  # that word content asks for
TOO_COMMON = 0.05  # words in more sentences than this say little about which sentence it is
PENALTIES = (1e-3, 1e-2, 1e-1)  # of the classifier; the validation part chooses
PARTS = ("tr", "va", "te")


@dataclass(frozen=True)
class Probe:
    """Sentences with labels, in three parts."""

    name: str
    language: str
    sentences: list[str]
    labels: list[str]
    parts: list[str]
    """`tr`, `va` or `te` of each sentence"""

    @property
    def majority(self) -> float:
        """Accuracy in percent of always saying the most frequent label of training."""
        common = Counter(
            label for label, part in zip(self.labels, self.parts) if part == "tr"
        ).most_common(1)[0][0]
        tested = [label for label, part in zip(self.labels, self.parts) if part == "te"]
        return 100 * tested.count(common) / len(tested)


def accuracy(probe: Probe, vectors: numpy.ndarray) -> float:
    """Of the test part in percent, by logistic regression on the training part. vectors (N, D)"""
    names = sorted(set(probe.labels))
    labels = torch.tensor([names.index(label) for label in probe.labels])
    rows = {
        part: torch.tensor([row for row, one in enumerate(probe.parts) if one == part])
        for part in PARTS
    }
    inputs = torch.from_numpy(numpy.asarray(vectors, dtype=numpy.float32))
    known = inputs[rows["tr"]]
    inputs = (inputs - known.mean(dim=0)) / known.std(dim=0).clamp(min=1e-6)
    given = {part: (inputs[own], labels[own]) for part, own in rows.items()}
    fitted = [_fit(*given["tr"], classes=len(names), penalty=penalty) for penalty in PENALTIES]
    best = max(fitted, key=lambda weights: _accuracy(weights, *given["va"]))
    return _accuracy(best, *given["te"])


def _fit(inputs: Tensor, labels: Tensor, *, classes: int, penalty: float) -> Tensor:
    """Weights (D + 1, classes) of least cross-entropy, the last row the biases; the same for the same numbers."""
    inputs = torch.nn.functional.pad(inputs, (0, 1), value=1.0)
    weights = torch.zeros(inputs.shape[1], classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=50, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = (
            torch.nn.functional.cross_entropy(inputs @ weights, labels)
            + penalty * weights[:-1].square().sum() / 2
        )
        value.backward()
        return value

    optimizer.step(loss)
    return weights.detach()


def _accuracy(weights: Tensor, inputs: Tensor, labels: Tensor) -> float:
    return 100 * float(
        ((inputs @ weights[:-1] + weights[-1]).argmax(dim=1) == labels).double().mean()
    )


# What is asked --------------------------------------------------------------------------------------------------------------


def length_probe(sentences: Sequence[str], language: str) -> Probe:
    """In which of six classes the number of words is."""
    counts = numpy.array([len(sentence.split()) for sentence in sentences])
    edges = numpy.unique(numpy.quantile(counts, numpy.linspace(0, 1, LENGTHS + 1)[1:-1]))
    return _probe(
        "length", language, list(sentences), [str(one) for one in numpy.searchsorted(edges, counts)]
    )


def word_content_probe(sentences: Sequence[str], language: str) -> Probe:
    """Which of fifty words is in the sentence: frequent ones, but not in more than every twentieth; exactly one of them is."""
    words = [set(re.findall(r"\w+", sentence.lower())) for sentence in sentences]
    counts = Counter(word for own in words for word in own)
    asked = {word for word, _ in sorted(
        ((word, count) for word, count in counts.items() if count <= TOO_COMMON * len(sentences)), key=lambda item: (-item[1], item[0])
    )[:WORDS]}  # fmt: skip
    chosen = [
        (sentence, *own & asked) for sentence, own in zip(sentences, words) if len(own & asked) == 1
    ]
    return _probe(
        "word content", language, [sentence for sentence, _ in chosen], [word for _, word in chosen]
    )


def _probe(name: str, language: str, sentences: list[str], labels: list[str]) -> Probe:
    """In turns: two of four sentences for training, one for validation, one for the test."""
    return Probe(
        name,
        language,
        sentences,
        labels,
        [("tr", "tr", "va", "te")[number % 4] for number in range(len(sentences))],
    )


def labelled_probe(path: Path, *, name: str, language: str) -> Probe:
    """A file in SentEval's form. Raises DataError for a line that is not, a part without sentences, and training with one label only."""
    rows = [line.split("\t") for lines in line_blocks(path) for line in lines]
    for number, row in enumerate(rows, start=1):
        if (
            len(row) not in (2, 3)
            or len(row) != len(rows[0])
            or (len(row) == 3 and row[0] not in PARTS)
        ):
            raise DataError(
                f"{path}, line {number}: {pluralize(len(row), 'column')}; every line should be label and sentence, or tr, va or te, label "
                "and sentence, between tabs"
            )
    sentences, labels = [row[-1] for row in rows], [row[-2] for row in rows]
    if len(rows[0]) == 2:
        probe = _probe(name, language, sentences, labels)
    else:
        probe = Probe(name, language, sentences, labels, [row[0] for row in rows])
    if lacking := [part for part in PARTS if part not in probe.parts]:
        raise DataError(f"{path}: no sentences for {', '.join(lacking)}")
    if len(learnt := {label for label, part in zip(labels, probe.parts) if part == "tr"}) == 1:
        where = "" if len(set(labels)) == 1 else " of the training part"
        raise DataError(
            f"{path}: all labels{where} are the same, {learnt.pop()!r}; a probe tells two or more apart"
        )
    return probe
