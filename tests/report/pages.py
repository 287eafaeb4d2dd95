"""A run directory that was trained for no step, evaluated on text that nobody would like in a page."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from tests.builders.runs import WORDS, make_trainer, tiny_run

NASTY = "<script>document.title='broken'</script> </script> & \"quoted\" {{ 7*7 }} <!-- -->"
LOG = [
    {"kind": "training", "step": step, "loss": 3 / step, "tokens_per_second": 900.0, "steps_per_second": 9.0, "learning_rate": 0.01, "gradient_norm": None,
     "seconds": 61.0 * step, "tasks": {"en-de": {"tokens": 9, "translation": 3 / step, "bridge": 1.0}, "de-en": {"tokens": 9, "translation": 2 / step, "bridge": 2.0}}}
    for step in range(1, 7)
] + [{"kind": "validation", "step": 6, "losses": {"en-de": 1.0}, "bleu": {"de-fr": 12.5}, "value": 1.0, "by": "loss", "best": True}]  # fmt: skip


def nasty_run(folder: Path) -> Run:
    """Three languages; the fourth line of every test text is `NASTY`, and French says nothing but that."""
    run = tiny_run(
        folder, data={"test": [{"type": "text", "path": "test.{language}"}]}, training={"steps": 1}
    )
    for language, words in WORDS.items():
        lines = [" ".join(words[:5]), " ".join(words[4:]), " ".join(words[2:8]), NASTY]
        (folder / f"test.{language}").write_text(
            "".join(f"{line}\n" for line in lines), encoding="utf-8"
        )
    make_trainer(run).train()
    translator = Translator.load(run)
    with torch.no_grad():  # so that outputs are long, wrong and the same
        translator.model.decoders["fr"].output.bias[
            run.vocabularies["fr"].encode(["chien"])[0][0]
        ] += 20
    given = Protocol.model_validate(
        {
            "pivot": "en",
            "metrics": ["bleu", "ter"],
            "conditions": ["cased", "paper"],
            "resamples": 20,
            "search": {"beam": 1},
            "reference": "attention_bridge_english_centric",
        }
    )
    place = run.evaluation / "default"
    evaluate(run, translator, given, folder=place).save(place)
    (place / "hypotheses" / "de-fr.txt").write_text(
        f"{NASTY}\nchien\nchien\nchien\n", encoding="utf-8"
    )
    run.log.write_text(
        "".join(json.dumps(line) + "\n" for line in LOG) + '{"kind": "tra', encoding="utf-8"
    )
    assert checkpoints.steps(run.checkpoints)
    return run
