"""The paper's configuration learns, with everything but its sizes and its bound on the gradient."""

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
    "model.embedding.size=32", "model.encoder.size=32", "model.decoder.size=32", "model.bridge.hidden_size=32", "vocabulary.size=60",
    "training.steps=90", "training.log_every=30", "training.checkpoint.every=90", "validation.every=90", "validation.sentences=5",
    "training.clip_norm=0.4",  # these parameters are small beside the paper's
]  # fmt: skip


def test_its_loss_falls(tmp_path):
    for part in ("train", "val", "test_2016_flickr"):
        for language, lines in TEXT.items():
            (tmp_path / f"{part}.{language}.gz").write_bytes(
                gzip.compress("\n".join(lines * 4).encode())
            )
    run = Run.create(
        load_config(
            "multi30k/paper", [*SMALL, f"data.folder={tmp_path}", f"run={tmp_path / 'run'}"]
        )
    )
    build_trainer(run, Validator(run)).train()
    lines = [json.loads(line) for line in run.log.read_text().splitlines()]
    losses = [line["loss"] for line in lines if line["kind"] == "training"]
    assert (
        len(losses) == 3
        and losses == sorted(losses, reverse=True)
        and losses[-1] < losses[0] - 0.15
    ), losses
