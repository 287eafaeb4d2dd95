"""Every encoder with every bridge on the phrasebook: BLEU of trained and of zero-shot directions, speed and size.

    python evaluation/benchmarks/components.py WORK [--steps 6800] [--encoder NAME]… [--bridge NAME]…

Each pair is a run of the shipped phrasebook configuration in which only the encoder and the bridge differ; a run that is there is not
trained again, one that was interrupted goes on, and one that fails has no figures. With fewer steps the phases of the schedule shrink
alike. The table goes to WORK/components.md after each run. OpenNMT-py's encoders take part where they are named.
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
    "onmt_rnn": "{type: onmt_rnn, size: 256, layers: 1, dropout: 0.1}",
    "onmt_cnn": "{type: onmt_cnn, size: 128, layers: 2, width: 5, dropout: 0.1}",
    "onmt_transformer": "{type: onmt_transformer, size: 128, layers: 2, heads: 4, feed_forward: 256, dropout: 0.1, attention_dropout: 0.0}",
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
    for encoder in options.encoder or [name for name in ENCODERS if not name.startswith("onmt_")]:
        for bridge in options.bridge or BRIDGES:
            run = trained(options, encoder, bridge)
            rows.append(row(run, encoder, bridge) if run else {"encoder": encoder, "bridge": bridge})
            (options.work / "components.md").write_text(table(rows, options.steps))
            print(rows[-1], flush=True)


def trained(options: argparse.Namespace, encoder: str, bridge: str) -> Path | None:
    """The run, trained and evaluated; none where that failed."""
    run, steps = options.work / f"{encoder}-{bridge}", options.steps
    settings = [
        f"run={run}",
        f"model.encoder={ENCODERS[encoder]}",
        f"model.bridge={BRIDGES[bridge]}",
        f"training.steps={steps}",
        f"schedule.phases=[{{until_step: {steps // 4}, pairs: ['*-en']}}]",
        f"training.checkpoint.every={max(1, steps // 2)}",
        f"training.log_every={max(1, steps // 34)}",
        f"validation.every={steps}",
    ]
    resumed = [run, "--resume"] if run.exists() else ["phrasebook", *settings]
    polyglot = [sys.executable, "-m", "polyglot", "-q"]
    for command in ([*polyglot, "train", *resumed], [*polyglot, "evaluate", run]):
        if not matrix(run).exists() and subprocess.run(list(map(str, command)), check=False, stdout=subprocess.DEVNULL).returncode:
            return None
    return run


def matrix(run: Path) -> Path:
    return run / "evaluation" / "default" / "matrix.json"


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
    means = json.loads(matrix(run).read_text())["means"]["bleu"]
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
        if "means" not in one:
            lines.append(f"| {one['encoder']} | {one['bridge']} | failed | | | |")
            continue
        means = one["means"]
        scores = f"{means['supervised']:.1f} | {means['zero-shot']:.1f}"
        lines.append(f"| {one['encoder']} | {one['bridge']} | {scores} | {one['speed']:,.0f} | {one['parameters']:,} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
