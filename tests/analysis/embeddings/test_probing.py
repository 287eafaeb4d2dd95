"""Linear probes: what a classifier can predict, and the files of labelled sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
import torch

from polyglot.analysis.embeddings.probing import (
    Probe,
    _fit,
    accuracy,
    labelled_probe,
    length_probe,
    word_content_probe,
)
from polyglot.core.errors import DataError

RANDOM = numpy.random.default_rng(0)
PARTS = ("tr", "tr", "va", "te")


def probe_with(labels: Sequence[str]) -> Probe:
    sentences = [f"sentence {number}" for number in range(len(labels))]
    parts = [PARTS[number % 4] for number in range(len(labels))]
    return Probe("x", "en", sentences, list(labels), parts)


# Classifier


def test_a_linear_property_is_predicted_and_noise_is_not() -> None:
    vectors = RANDOM.normal(size=(800, 5)).astype("float32")
    labels = ["left" if vector[0] > vector[1] else "right" for vector in vectors]
    probe = probe_with(labels)
    assert accuracy(probe, vectors) > 95
    assert accuracy(probe, 1e-3 * vectors + 7) > 90, "independent of scale and mean"
    assert 35 < accuracy(probe, RANDOM.normal(size=(800, 5))) < 65


def test_many_classes() -> None:
    classes = RANDOM.integers(0, 6, 900)
    vectors = numpy.eye(6)[classes] + RANDOM.normal(size=(900, 6), scale=0.1)
    probe = probe_with([f"class {number}" for number in classes])
    assert accuracy(probe, vectors) > 98


@pytest.mark.parametrize("penalty", [0.01, 0.5])
def test_the_classifier_minimises_the_penalised_cross_entropy(penalty: float) -> None:
    """At the minimum the gradient of −log p + penalty/2 · ‖W‖² is 0; the bias has no penalty."""
    inputs = RANDOM.normal(size=(60, 3)).astype("float32")
    labels = RANDOM.integers(0, 3, 60)
    weights = _fit(torch.tensor(inputs), torch.tensor(labels), classes=3, penalty=penalty).numpy()
    logits = inputs @ weights[:-1] + weights[-1]
    probabilities = numpy.exp(logits) / numpy.exp(logits).sum(axis=1, keepdims=True)
    errors = (probabilities - numpy.eye(3)[labels]) / 60
    numpy.testing.assert_allclose(inputs.T @ errors + penalty * weights[:-1], 0, atol=2e-3)
    numpy.testing.assert_allclose(errors.sum(axis=0), 0, atol=2e-3)


def test_the_test_part_is_not_used_for_training() -> None:
    """The vector of every sentence contains its label, except in the test part."""
    probe = probe_with(RANDOM.choice(["a", "b"], 400))
    vectors = numpy.zeros((400, 1))
    for row, (label, part) in enumerate(zip(probe.labels, probe.parts)):
        if part != "te":
            vectors[row] = (label == "a") - 0.5
    assert accuracy(probe, vectors) < 65


def test_the_majority_label_is_that_of_the_training_part() -> None:
    labels = ["no", "no", "yes", "yes", "yes", "no"]
    parts = ["tr", "tr", "tr", "va", "te", "te"]
    assert Probe("x", "en", list("abcdef"), labels, parts).majority == 50


# Length and word content


def test_length_classes_have_about_the_same_size() -> None:
    sentences = [" ".join(["word"] * (number % 12 + 1)) for number in range(240)]
    probe = length_probe(sentences, "en")
    assert Counter(probe.labels) == {label: 40 for label in "012345"}
    for sentence, label in zip(probe.sentences, probe.labels):
        assert int(label) == (len(sentence.split()) - 1) // 2


def test_word_content_uses_sentences_with_exactly_one_word() -> None:
    sentences = ["the Dog", "the cat", "the bird"] * 4
    sentences += ["the cat and the bird"] * 2
    sentences += ["the sea"] * 300
    probe = word_content_probe(sentences, "en")
    assert {"dog", "cat", "bird"} <= set(probe.labels)
    assert "the" not in probe.labels
    for sentence, label in zip(probe.sentences, probe.labels):
        assert label in sentence.lower().split()
        assert sentence != "the cat and the bird"


def test_word_content_uses_the_fifty_most_frequent_words() -> None:
    """60 words; word n is in 60 − n of 1830 sentences."""
    sentences = []
    for number in range(60):
        sentences += [f"word{number}"] * (60 - number)
    probe = word_content_probe(sentences, "en")
    assert set(probe.labels) == {f"word{number}" for number in range(50)}


# Labelled sentences


def test_a_file_with_parts(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("tr\tyes\tA dog\nva\tno\tIt rains\nte\tyes\tA cat\ntr\tno\tIt snows\n")
    probe = labelled_probe(path, name="animals", language="en")
    assert probe.sentences == ["A dog", "It rains", "A cat", "It snows"]
    assert probe.labels == ["yes", "no", "yes", "no"]
    assert probe.parts == ["tr", "va", "te", "tr"]


def test_a_file_without_parts_is_split(tmp_path: Path) -> None:
    (tmp_path / "two.tsv").write_text("yes\tA dog\nno\tIt rains\n" * 4)
    probe = labelled_probe(tmp_path / "two.tsv", name="animals", language="en")
    assert probe.parts == ["tr", "tr", "va", "te"] * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("yes\tA dog\nno\n", "line 2: 1 column; every line should have label and sentence"),
        ("xx\tyes\tA dog\n", "line 1: 3 columns"),
        ("tr\tyes\tA dog\nva\tno\tIt rains\n", "no sentences for te"),
        ("yes\tA dog\n" * 4, "own.tsv: all labels are 'yes'; a probe needs different labels"),
        (
            "tr\tyes\tA dog\nva\tno\tIt rains\nte\tno\tIt snows\n",
            "own.tsv: all labels of the training part are 'yes'",
        ),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "own.tsv").write_text(content)
    with pytest.raises(DataError) as error:
        labelled_probe(tmp_path / "own.tsv", name="x", language="en")
    assert message in str(error.value)
