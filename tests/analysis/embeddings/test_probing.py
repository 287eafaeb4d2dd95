"""A linear classifier finds what is there and nothing that is not."""

from __future__ import annotations

import numpy
import pytest

from polyglot.analysis.embeddings.probing import (
    Probe,
    accuracy,
    labelled_probe,
    length_probe,
    word_content_probe,
)
from polyglot.core.errors import DataError

RANDOM = numpy.random.default_rng(0)


def probe(labels) -> Probe:
    parts = [("tr", "tr", "va", "te")[number % 4] for number in range(len(labels))]
    return Probe(
        "x", "en", [f"sentence {number}" for number in range(len(labels))], list(labels), parts
    )


def test_what_is_linear_is_found_and_noise_is_chance():
    vectors = RANDOM.normal(size=(800, 5)).astype("float32")
    asked = probe(["left" if one > other else "right" for one, other, *_ in vectors])
    assert accuracy(asked, vectors) > 95
    assert accuracy(asked, 1e-3 * vectors + 7) > 90, "whatever the scale"
    assert 35 < accuracy(asked, RANDOM.normal(size=(800, 5))) < 65


def test_many_classes():
    kinds = RANDOM.integers(0, 6, 900)
    assert (
        accuracy(
            probe([f"class {kind}" for kind in kinds]),
            numpy.eye(6)[kinds] + RANDOM.normal(size=(900, 6), scale=0.1),
        )
        > 98
    )


def test_the_test_part_is_never_learnt_from():
    """The right label of every sentence stands in its vector, but only outside of the test part."""
    asked = probe(RANDOM.choice(["a", "b"], 400))
    vectors = numpy.array(
        [
            [(label == "a") - 0.5 if part != "te" else 0.0]
            for label, part in zip(asked.labels, asked.parts)
        ]
    )
    assert accuracy(asked, vectors) < 65


def test_the_majority_is_of_training():
    asked = Probe(
        "x",
        "en",
        list("abcdef"),
        ["no", "no", "yes", "yes", "yes", "no"],
        ["tr", "tr", "tr", "va", "te", "te"],
    )
    assert asked.majority == 50


def test_length_has_classes_of_about_the_same_size():
    found = length_probe([" ".join(["word"] * (number % 12 + 1)) for number in range(240)], "en")
    assert sorted(set(found.labels)) == list("012345") and {
        found.labels.count(label) for label in set(found.labels)
    } == {40}
    by_length = [int(label) for _, label in sorted(zip(map(len, found.sentences), found.labels))]
    assert by_length == sorted(by_length)


def test_word_content_asks_for_exactly_one_word():
    sentences = (
        ["the Dog", "the cat", "the bird"] * 4 + ["the cat and the bird"] * 2 + ["the sea"] * 300
    )
    found = word_content_probe(sentences, "en")
    assert {"dog", "cat", "bird"} <= set(found.labels) and "the" not in found.labels
    for sentence, label in zip(found.sentences, found.labels):
        assert label in sentence.lower().split() and sentence != "the cat and the bird"


def test_the_form_of_senteval(tmp_path):
    (tmp_path / "own.tsv").write_text(
        "tr\tyes\tA dog\nva\tno\tIt rains\nte\tyes\tA cat\ntr\tno\tIt snows\n"
    )
    found = labelled_probe(tmp_path / "own.tsv", name="animals", language="en")
    assert (found.sentences, found.labels, found.parts) == (
        ["A dog", "It rains", "A cat", "It snows"],
        ["yes", "no", "yes", "no"],
        ["tr", "va", "te", "tr"],
    )
    (tmp_path / "two.tsv").write_text("yes\tA dog\nno\tIt rains\n" * 4)
    assert (
        labelled_probe(tmp_path / "two.tsv", name="animals", language="en").parts
        == ["tr", "tr", "va", "te"] * 2
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("yes\tA dog\nno\n", "line 2: 1 column; every line should be label and sentence"),
        ("xx\tyes\tA dog\n", "line 1: 3 columns"),
        ("tr\tyes\tA dog\nva\tno\tIt rains\n", "no sentences for te"),
        (
            "yes\tA dog\n" * 4,
            "own.tsv: all labels are the same, 'yes'; a probe tells two or more apart",
        ),
        (
            "tr\tyes\tA dog\nva\tno\tIt rains\nte\tno\tIt snows\n",
            "own.tsv: all labels of the training part are the same, 'yes'",
        ),
    ],
)
def test_what_is_no_labelled_text(tmp_path, text, sentence):
    (tmp_path / "own.tsv").write_text(text)
    with pytest.raises(DataError) as error:
        labelled_probe(tmp_path / "own.tsv", name="x", language="en")
    assert sentence in str(error.value)
