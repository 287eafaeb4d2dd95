"""A run for the report: trained for one update, and evaluated on text that looks like HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from polyglot.core.stored_json import with_checksum
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from tests.builders.runs import WORDS, make_trainer, tiny_run

HTML_TEXT = "<script>document.title='broken'</script> </script> & \"quoted\" {{ 7*7 }} <!-- -->"
"""A sentence of which nothing may be interpreted as HTML, script or template."""


def training_record(step: int) -> dict[str, Any]:
    return {
        "kind": "training",
        "step": step,
        "loss": 3 / step,
        "tokens_per_second": 900.0,
        "steps_per_second": 9.0,
        "learning_rate": 0.01,
        "gradient_norm": None,
        "seconds": 61.0 * step,
        "tasks": {
            "en-de": {"tokens": 9, "translation": 3 / step, "bridge": 1.0},
            "de-en": {"tokens": 9, "translation": 2 / step, "bridge": 2.0},
        },
    }


VALIDATION_RECORD = {
    "kind": "validation",
    "step": 6,
    "losses": {"en-de": 1.0},
    "bleu": {"de-fr": 12.5},
    "value": 1.0,
    "by": "loss",
    "best": True,
}
LOG = [*map(training_record, range(1, 7)), VALIDATION_RECORD]
PROTOCOL = {
    "pivot": "en",
    "metrics": ["bleu", "ter"],
    "conditions": ["cased", "paper"],
    "resamples": 20,
    "search": {"beam": 1},
    "reference": "attention_bridge_english_centric",
}


def report_run(folder: Path) -> Run:
    """Train and evaluate a run in three languages.

    The fourth line of every test text is HTML_TEXT, and so is a translation into French.
    """
    run = tiny_run(
        folder, data={"test": [{"type": "text", "path": "test.{language}"}]}, training={"steps": 1}
    )
    for language, words in WORDS.items():
        lines = [" ".join(words[:5]), " ".join(words[4:]), " ".join(words[2:8]), HTML_TEXT]
        content = "".join(f"{line}\n" for line in lines)
        (folder / f"test.{language}").write_text(content, encoding="utf-8")
    make_trainer(run).train()

    translator = Translator.load(run)
    _prefer_word(translator, "fr", "chien")
    evaluation = run.evaluation / "default"
    protocol = Protocol.model_validate(PROTOCOL)
    matrix = evaluate(run, translator, protocol, folder=evaluation)
    hypotheses = [HTML_TEXT, "chien", "chien", "chien"]
    matrix.hypotheses["de-fr"] = hypotheses  # its digest is stored, too
    matrix.save(evaluation)
    content = "".join(f"{line}\n" for line in hypotheses)
    (evaluation / "hypotheses" / "de-fr.txt").write_text(content, encoding="utf-8")

    log = "".join(json.dumps(record) + "\n" for record in LOG)
    run.log.write_text(log + '{"kind": "tra', encoding="utf-8")
    assert checkpoints.steps(run.checkpoints)
    return run


def _prefer_word(translator: Translator, language: str, word: str) -> None:
    """Make the decoder of a language repeat a word, so that its outputs are long and wrong."""
    token = translator.vocabularies[language].encode([word])[0][0]
    with torch.no_grad():
        translator.model.decoders[language].output.bias[token] += 20


def write_large_evaluation(run: Run, *, languages: int) -> None:
    """Write a made-up matrix of languages `l0`, `l1` … without hypotheses.

    All pairs with `l0` are supervised. Each off-target rate is 2.5 %.
    """
    names = [f"l{number}" for number in range(languages)]
    cells = []
    for source in names:
        for target in names:
            if source != target:
                cells.append(_made_up_cell(source, target))
    values = {
        "format": 2,
        "languages": names,
        "checkpoint": {"checkpoint": "best", "steps": [1]},
        "test": ["made up"],
        "search": {},
        "protocol": {"pivot": None},
        "measures": {"bleu": "BLEU", "ter": "TER"},
        "signatures": {"bleu": {"nrefs:1": names}, "ter": {"nrefs:1": names}},
        "cells": cells,
        "pivots": [],
        "versions": {},
        "machine": "made up",
        "reference": None,
    }
    folder = run.evaluation / "default"
    folder.mkdir(parents=True)
    content = json.dumps(with_checksum(values))
    (folder / "matrix.json").write_text(content, encoding="utf-8")


def _made_up_cell(source: str, target: str) -> dict[str, Any]:
    value = 10.0 + len(source) + len(target)
    is_supervised = "l0" in (source, target)
    score = {"value": value, "interval": 1.25}
    return {
        "pair": f"{source}-{target}",
        "kind": "supervised" if is_supervised else "zero-shot",
        "scores": {"bleu": score, "ter": score},
        "sentences": 20,
        "seconds": 0.1,
        "reason": None,
        "via": None,
        "outputs": {
            "off_target": 0.025,
            "off_target_references": 0.01,
            "copies": 0.0,
            "copies_references": 0.0,
            "empty": 0.0,
            "loops": 0.0,
            "loops_references": 0.0,
            "length_ratio": 1.0,
        },
        "source_text": "",
        "reference_text": "",
    }
