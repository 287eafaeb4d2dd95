"""The program as a user calls it, within this process; and a small run that takes a second or two
to train.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from polyglot import cli

TEXT = {
    "en": [
        "a dog sleeps",
        "two cats see a bird",
        "the child reads a book",
        "it rains",
        "a bird sees two cats and a dog",
    ],
    "de": [
        "Ein Hund schläft",
        "zwei Katzen sehen einen Vogel",
        "das Kind liest ein Buch",
        "es regnet",
        "ein Vogel sieht zwei Katzen und einen Hund",
    ],
    "fr": [
        "un chien dort",
        "deux chats voient un oiseau",
        "l' enfant lit un livre",
        "il pleut",
        "un oiseau voit deux chats et un chien",
    ],
}
"""Three languages, line n of each the same sentence."""

CONFIG = """\
languages: [en, de, fr]
data:
  train: [{type: text, path: "train.{language}"}]
  valid: [{type: text, path: "train.{language}"}]
  test: [{type: text, path: "train.{language}"}]
vocabulary: {type: word, size: 100}
schedule: with_copies
model:
  embedding: {size: 8, dropout: 0}
  encoder: {type: gru, size: 8, layers: 1, dropout: 0}
  bridge: {type: attention, heads: 2, hidden_size: 8}
  decoder: {type: gru, size: 8, layers: 1, dropout: 0}
batching: {size: 4}
training: {steps: 4, log_every: 2, checkpoint: {every: 2}}
validation: {every: 2, bleu_pairs: [de-fr]}
search: {beam: 2, max_length_ratio: 1, max_length_extra: 4}
"""
"""Everything small, nothing left out."""

SMALL_RUN = [
    "model.embedding.size=8",
    "model.encoder.size=8",
    "model.decoder.size=8",
    "model.bridge.hidden_size=8",
    "batching.size=8",
    "training.steps=4",
    "training.checkpoint.every=2",
    "validation.every=4",
    "validation.sentences=4",
    # A model that has learnt nothing translates up to the largest length.
    "search.max_length_ratio=1",
    "search.max_length_extra=4",
]
SMALL_PHRASEBOOK = [
    f"data.{part}=[{{type: phrasebook, split: {part}, train: 60, valid: 6, test: 4}}]"
    for part in ("train", "valid", "test")
]
"""Overrides that make a run of the shipped phrasebook configuration a matter of seconds."""


@dataclass(frozen=True)
class Result:
    """How a call ended."""

    status: int
    output: str
    errors: str


class Program:
    """`polyglot` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> Result:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        self.monkeypatch.setattr(sys, "argv", ["polyglot", *map(str, arguments)])
        self.monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        )
        self.capsys.readouterr()
        handlers = logging.root.handlers[:]
        level = logging.getLogger("polyglot").level
        try:
            cli.main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        finally:
            logging.root.handlers[:] = handlers
            logging.getLogger("polyglot").setLevel(level)
        return Result(status, *self.capsys.readouterr())

    def refuses(self, *arguments: object, **given: str | bytes) -> str:
        """What it says to something that cannot be meant: status 2, nothing on standard output, no
        traceback.
        """
        result = self(*arguments, **given)
        assert (result.status, result.output) == (2, ""), result
        assert "Traceback" not in result.errors
        return result.errors


def write_text(folder: Path, text: dict[str, Sequence[str]] = TEXT, *, part: str = "train") -> None:
    for language, lines in text.items():
        (folder / f"{part}.{language}").write_text(
            "".join(f"{line}\n" for line in lines), encoding="utf-8"
        )
