"""Fingerprints of data sets, with and without the private attribute of the library."""

from __future__ import annotations

from datasets import Dataset

from polyglot.data import dataset_fingerprint as module
from polyglot.data.dataset_fingerprint import content_fingerprint, dataset_fingerprint


def test_fingerprint_is_that_of_the_library():
    dataset = Dataset.from_dict({"text": ["one", "two"]})
    assert dataset_fingerprint(dataset) == dataset._fingerprint


def test_without_the_private_attribute_the_content_is_hashed():
    dataset = Dataset.from_dict({"text": ["one", "two"]})
    expected = content_fingerprint(dataset)
    del dataset._fingerprint
    assert dataset_fingerprint(dataset) == expected


def test_content_fingerprint_depends_on_names_rows_and_their_order(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)
    contents = [
        {"text": ["one", "two", "three"]},
        {"text": ["two", "one", "three"]},
        {"text": ["one", "two", "four"]},
        {"text": ["one", "two"]},
        {"line": ["one", "two", "three"]},
    ]
    fingerprints = [content_fingerprint(Dataset.from_dict(content)) for content in contents]
    assert len(set(fingerprints)) == len(contents)
    assert content_fingerprint(Dataset.from_dict(contents[0])) == fingerprints[0]
