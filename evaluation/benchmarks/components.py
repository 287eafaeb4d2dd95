"""Every encoder with every bridge on the phrasebook: BLEU, speed and size.

    python evaluation/benchmarks/components.py WORK [--steps 6800] [--encoder NAME] [--bridge NAME]

Each combination is a run of the preset `phrasebook` with another encoder and bridge. A complete
run is not trained again; an interrupted run continues; a run that fails has no values. With fewer
steps, the phases of the schedule shrink in proportion. The table is written to WORK/components.md
after each run. The encoders of OpenNMT-py are included only if `--encoder` names them. Tokens per
second are those of the training; with --speed, those of a separate short training, for a time when
no other program runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from machine import find_processor

from polyglot.core.markdown import table

TRANSFORMER = "size: 128, layers: 2, heads: 4, feed_forward: 256, dropout: 0.1"
ENCODERS = {
    "lstm": "{type: lstm, size: 256, layers: 1, dropout: 0.1}",
    "gru": "{type: gru, size: 256, layers: 1, dropout: 0.1}",
    "transformer": f"{{type: transformer, {TRANSFORMER}}}",
    "cnn": "{type: cnn, size: 128, layers: 2, width: 5, dropout: 0.1}",
    "embedding": "{type: embedding, size: 128}",
    "onmt_rnn": "{type: onmt_rnn, size: 256, layers: 1, dropout: 0.1}",
    "onmt_cnn": "{type: onmt_cnn, size: 128, layers: 2, width: 5, dropout: 0.1}",
    "onmt_transformer": f"{{type: onmt_transformer, {TRANSFORMER}, attention_dropout: 0.0}}",
}
TRANSFORMER_BRIDGE = "{type: transformer, heads: 4, feed_forward: 128}"
ATTENTION_BRIDGE = "{type: attention, heads: 20, hidden_size: 256}"
BRIDGES = {
    "attention": ATTENTION_BRIDGE,
    "none": "none",
    "mean": "mean",
    "transformer": TRANSFORMER_BRIDGE,
    "perceiver": "{type: perceiver, rows: 20, heads: 4, feed_forward: 128}",
    "stack": f"{{type: stack, bridges: [{TRANSFORMER_BRIDGE}, {ATTENTION_BRIDGE}]}}",
}
POLYGLOT = [sys.executable, "-m", "polyglot", "-q"]


def main() -> None:
    arguments = parse_arguments()
    arguments.work.mkdir(parents=True, exist_ok=True)
    encoders = arguments.encoder
    if not encoders:
        encoders = [name for name in ENCODERS if not name.startswith("onmt_")]
    rows = []
    for encoder in encoders:
        for bridge in arguments.bridge or BRIDGES:
            rows.append(measure(arguments, encoder, bridge))
            page = markdown(rows, arguments.steps)
            (arguments.work / "components.md").write_text(page)
            print(rows[-1], flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--steps", type=int, default=6800)
    parser.add_argument(
        "--speed",
        type=int,
        metavar="STEPS",
        help="measure the speed in a separate training of this many steps",
    )
    parser.add_argument("--encoder", choices=list(ENCODERS), action="append")
    parser.add_argument("--bridge", choices=list(BRIDGES), action="append")
    return parser.parse_args()


def measure(arguments: argparse.Namespace, encoder: str, bridge: str) -> list[str]:
    """Train and evaluate one combination; return its row of the table."""
    from polyglot.runs.run import Run
    from polyglot.training.build import build_model

    path = train_and_evaluate(arguments, encoder, bridge)
    if path is None:
        return [encoder, bridge, "failed", "", "", ""]
    run = Run.open(path)
    model = build_model(run.config, run.vocabularies, seed=None)
    parameter_count = 0
    for parameters in model.component_parameters().values():
        for parameter in parameters.values():
            parameter_count += parameter.numel()
    means = json.loads(matrix_file(path).read_text())["means"]["bleu"]
    if arguments.speed:
        speed = speed_of_short_training(arguments, encoder, bridge)
    else:
        speed = tokens_per_second(run.log)
    return [
        encoder,
        bridge,
        f"{means['supervised']:.1f}",
        f"{means['zero-shot']:.1f}",
        f"{speed:,.0f}",
        f"{parameter_count:,}",
    ]


def train_and_evaluate(arguments: argparse.Namespace, encoder: str, bridge: str) -> Path | None:
    """Return the directory of the run; None if training or evaluation failed."""
    run = arguments.work / f"{encoder}-{bridge}"
    if matrix_file(run).exists():
        return run
    if run.exists():
        train = [*POLYGLOT, "train", str(run), "--resume"]
    else:
        settings = run_settings(run, arguments.steps, encoder, bridge, windows=34)
        train = [*POLYGLOT, "train", "phrasebook", *settings]
    evaluate = [*POLYGLOT, "evaluate", str(run)]
    for command in (train, evaluate):
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            return None
    return run


def run_settings(run: Path, steps: int, encoder: str, bridge: str, *, windows: int) -> list[str]:
    """Return the overrides of the preset. windows: number of lines of the log."""
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


def speed_of_short_training(arguments: argparse.Namespace, encoder: str, bridge: str) -> float:
    """Return target tokens per second in the second half of a short training; measured once."""
    steps = arguments.speed
    file = arguments.work / "speed.json"
    speeds = {}
    if file.exists():
        speeds = json.loads(file.read_text())
    name = f"{encoder}-{bridge}, {steps} steps"
    if name not in speeds:
        run = arguments.work / "speed"
        shutil.rmtree(run, ignore_errors=True)
        settings = run_settings(run, steps, encoder, bridge, windows=8)
        settings += ["data.valid=[]", "validation.bleu_pairs=[]", "validation.best_by=loss"]
        subprocess.run([*POLYGLOT, "train", "phrasebook", *settings], check=True)
        speeds[name] = tokens_per_second(run / "log.jsonl", after=steps // 2)
        file.write_text(json.dumps(speeds, indent=1))
    return speeds[name]


def tokens_per_second(log: Path, *, after: int = 0) -> float:
    """Return the median of the lines of a log after a step."""
    rates = []
    for line in map(json.loads, log.read_text().splitlines()):
        if line["kind"] == "training" and line["step"] > after:
            rates.append(line["tokens_per_second"])
    return statistics.median(rates)


def matrix_file(run: Path) -> Path:
    return run / "evaluation" / "default" / "matrix.json"


def markdown(rows: Sequence[Sequence[str]], steps: int) -> str:
    head = [
        "encoder",
        "bridge",
        "BLEU supervised",
        "BLEU zero-shot",
        "target tokens/s",
        "parameters",
    ]
    return "\n".join(
        [
            "# Encoders and bridges on the phrasebook",
            "",
            f"`python evaluation/benchmarks/components.py WORK --steps {steps}`, "
            f"{find_processor()}; BLEU of the protocol `default`, beam 5.",
            "",
            table(head, rows, words=["bridge"]),
            "",
        ]
    )


if __name__ == "__main__":
    main()
