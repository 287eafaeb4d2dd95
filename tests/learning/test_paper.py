"""The configuration of the paper trains, with smaller sizes and a smaller bound on the gradient."""

from __future__ import annotations

import gzip
import json

from polyglot.config.loading import load_config
from polyglot.runs.run import Run
from polyglot.training.build import build_trainer
from polyglot.training.validation import Validator
from tests.builders.command_line import TEXT

SMALL = [
    "languages=[en, de, fr]",
    "model.embedding.size=32",
    "model.encoder.size=32",
    "model.decoder.size=32",
    "model.bridge.hidden_size=32",
    "vocabulary.size=60",
    "training.steps=90",
    "training.log_every=30",
    "training.checkpoint.every=90",
    "validation.every=90",
    "validation.sentences=5",
    "training.clip_norm=0.4",  # the gradient of this small model is smaller than the paper's
]


def write_corpus(folder):
    for part in ("train", "val", "test_2016_flickr"):
        for language, lines in TEXT.items():
            text = "\n".join(lines * 4)
            (folder / f"{part}.{language}.gz").write_bytes(gzip.compress(text.encode()))


def test_loss_decreases_with_the_configuration_of_the_paper(tmp_path):
    write_corpus(tmp_path)
    overrides = [*SMALL, f"data.folder={tmp_path}", f"run={tmp_path / 'run'}"]
    run = Run.create(load_config("multi30k/paper", overrides))
    build_trainer(run, Validator(run)).train()

    losses = []
    for line in run.log.read_text().splitlines():
        entry = json.loads(line)
        if entry["kind"] == "training":
            losses.append(entry["loss"])
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.15
