"""Every encoder with every bridge on the phrasebook: BLEU of trained and of zero-shot directions, speed and size.

    python evaluation/benchmarks/components.py WORK [--steps 6800] [--encoder NAME]… [--bridge NAME]…

Each pair is a run of the shipped phrasebook configuration in which only the encoder and the bridge differ; a run that is there is not
trained again, one that was interrupted goes on, and one that fails has no figures. With fewer steps the phases of the schedule shrink
alike. The table goes to WORK/components.md after each run. OpenNMT-py's encoders take part where they are named. Tokens a second are those
of the training; with --speed, for when nothing else runs, those of a short one that is made for it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--steps", type=int, default=6800)
    parser.add_argument(
        "--speed",
        type=int,
        metavar="STEPS",
        help="train each so many steps once more, alone, and show how fast that is",
    )
    parser.add_argument("--encoder", choices=list(ENCODERS), action="append")
    parser.add_argument("--bridge", choices=list(BRIDGES), action="append")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = []
    for encoder in options.encoder or [name for name in ENCODERS if not name.startswith("onmt_")]:
        for bridge in options.bridge or BRIDGES:
            run = trained(options, encoder, bridge)
            rows.append(
                row(run, encoder, bridge) if run else {"encoder": encoder, "bridge": bridge}
            )
            if run and options.speed:
                rows[-1]["speed"] = speed_alone(options, encoder, bridge)
            (options.work / "components.md").write_text(table(rows, options.steps))
            print(rows[-1], flush=True)


def trained(options: argparse.Namespace, encoder: str, bridge: str) -> Path | None:
    """The run, trained and evaluated; none where that failed."""
    run = options.work / f"{encoder}-{bridge}"
    settings = settings_of(run, options.steps, encoder, bridge, windows=34)
    resumed = [run, "--resume"] if run.exists() else ["phrasebook", *settings]
    polyglot = [sys.executable, "-m", "polyglot", "-q"]
    for command in ([*polyglot, "train", *resumed], [*polyglot, "evaluate", run]):
        if (
            not matrix(run).exists()
            and subprocess.run(
                list(map(str, command)), check=False, stdout=subprocess.DEVNULL
            ).returncode
        ):
            return None
    return run


def settings_of(run: Path, steps: int, encoder: str, bridge: str, *, windows: int) -> list[str]:
    """The phrasebook configuration with other components. windows: lines of the log."""
    return [
        f"run={run}",
        f"model.encoder={ENCODERS[encoder]}",
        f"model.bridge={BRIDGES[bridge]}",
        f"training.steps={steps}",
        f"schedule.phases=[{{until_step: {steps // 4}, pairs: ['*-en']}}]",
        f"training.checkpoint.every={max(1, steps // 2)}",
        f"training.log_every={max(1, steps // windows)}",
        f"validation.every={steps}",
    ]


def speed_alone(options: argparse.Namespace, encoder: str, bridge: str) -> float:
    """Target tokens a second in the second half of a short training; measured once."""
    known = options.work / "speed.json"
    speeds = json.loads(known.read_text()) if known.exists() else {}
    if (name := f"{encoder}-{bridge}, {options.speed} steps") not in speeds:
        run = options.work / "speed"
        shutil.rmtree(run, ignore_errors=True)
        settings = settings_of(run, options.speed, encoder, bridge, windows=8)
        unseen = ["data.valid=[]", "validation.bleu_pairs=[]", "validation.best_by=loss"]
        subprocess.run(
            [sys.executable, "-m", "polyglot", "-q", "train", "phrasebook", *settings, *unseen],
            check=True,
        )
        speeds[name] = tokens_per_second(run / "log.jsonl", after=options.speed // 2)
        known.write_text(json.dumps(speeds, indent=1))
    return speeds[name]


def tokens_per_second(log: Path, *, after: int = 0) -> float:
    """The median of the lines of a log, from a step on."""
    lines = map(json.loads, log.read_text().splitlines())
    return statistics.median(
        line["tokens_per_second"]
        for line in lines
        if line["kind"] == "training" and line["step"] > after
    )


def matrix(run: Path) -> Path:
    return run / "evaluation" / "default" / "matrix.json"


def row(run: Path, encoder: str, bridge: str) -> dict[str, object]:
    """What is shown of it."""
    from polyglot.runs.run import Run
    from polyglot.training.build import build_model

    opened = Run.open(run)
    parameters = sum(
        one.numel()
        for own in build_model(opened.config, opened.vocabularies, seed=None)
        .component_parameters()
        .values()
        for one in own.values()
    )
    means = json.loads(matrix(run).read_text())["means"]["bleu"]
    return {
        "encoder": encoder,
        "bridge": bridge,
        "means": means,
        "speed": tokens_per_second(opened.log),
        "parameters": parameters,
    }


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
        lines.append(
            f"| {one['encoder']} | {one['bridge']} | {scores} | {one['speed']:,.0f} | {one['parameters']:,} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
