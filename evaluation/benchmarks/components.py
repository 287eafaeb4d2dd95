"""Every encoder with every bridge on the phrasebook: BLEU of trained and of zero-shot directions, speed and size.

    python evaluation/benchmarks/components.py WORK [--steps 6800] [--encoder NAME]… [--bridge NAME]…

Each pair is a run of the shipped phrasebook configuration that only the encoder and the bridge of it differ; runs that are there
already are not trained again. The table goes to WORK/components.md after each of them, so that an interrupted one says what it has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ENCODERS = {
    "lstm": "{type: lstm, size: 256, layers: 1, dropout: 0.1}",
    "gru": "{type: gru, size: 256, layers: 1, dropout: 0.1}",
    "transformer": "{type: transformer, size: 128, layers: 2, heads: 4, feed_forward: 256, dropout: 0.1}",
    "cnn": "{type: cnn, size: 128, layers: 2, width: 5, dropout: 0.1}",
    "embedding": "{type: embedding, size: 128}",
}
BRIDGES = {
    "attention": "{type: attention, heads: 20, hidden_size: 256}",
    "none": "none",
    "mean": "mean",
    "transformer": "{type: transformer, heads: 4, feed_forward: 128}",
    "perceiver": "{type: perceiver, rows: 20, heads: 4, feed_forward: 128}",
    "stack": "{type: stack, bridges: [{type: transformer, heads: 4, feed_forward: 128}, {type: attention, heads: 20, hidden_size: 256}]}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--steps", type=int, default=6800)
    parser.add_argument("--encoder", choices=list(ENCODERS), action="append")
    parser.add_argument("--bridge", choices=list(BRIDGES), action="append")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = []
    for encoder in options.encoder or ENCODERS:
        for bridge in options.bridge or BRIDGES:
            rows.append(row(trained(options, encoder, bridge), encoder, bridge))
            (options.work / "components.md").write_text(table(rows, options.steps))
            print(rows[-1], flush=True)


def trained(options: argparse.Namespace, encoder: str, bridge: str) -> Path:
    """The run, trained and evaluated."""
    run = options.work / f"{encoder}-{bridge}"
    settings = [f"run={run}", f"model.encoder={ENCODERS[encoder]}", f"model.bridge={BRIDGES[bridge]}", f"training.steps={options.steps}"]
    if not (run / "evaluation" / "default" / "matrix.json").exists():
        resumed = [str(run), "--resume"] if run.exists() else ["phrasebook", *settings]
        subprocess.run([sys.executable, "-m", "polyglot", "-q", "train", *resumed], check=True)
        subprocess.run([sys.executable, "-m", "polyglot", "-q", "evaluate", run], check=True, stdout=subprocess.DEVNULL)
    return run


def row(run: Path, encoder: str, bridge: str) -> dict[str, object]:
    """What is shown of it."""
    from polyglot.run import Run
    from polyglot.training.start import build_model

    opened = Run.open(run)
    parameters = sum(
        one.numel()
        for own in build_model(opened.config, opened.vocabularies, seed=None).component_parameters().values()
        for one in own.values()
    )
    lines = [json.loads(line) for line in opened.log.read_text().splitlines()]
    means = json.loads((run / "evaluation" / "default" / "matrix.json").read_text())["means"]["bleu"]
    speed = statistics.median(line["tokens_per_second"] for line in lines if line["kind"] == "training")
    return {"encoder": encoder, "bridge": bridge, "means": means, "speed": speed, "parameters": parameters}


def table(rows: list[dict], steps: int) -> str:
    lines = [
        "# Encoders and bridges on the phrasebook",
        "",
        f"`python evaluation/benchmarks/components.py WORK --steps {steps}`, {os.cpu_count()} cores; "
        "BLEU of the protocol `default`, beam 5.",
        "",
        "| encoder | bridge | BLEU supervised | BLEU zero-shot | target tokens/s | parameters |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for one in rows:
        means = one["means"]
        scores = f"{means['supervised']:.1f} | {means['zero-shot']:.1f}"
        lines.append(f"| {one['encoder']} | {one['bridge']} | {scores} | {one['speed']:,.0f} | {one['parameters']:,} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
