"""What the options of a component cost: training tokens a second with and without them, in turns on the same batches.

    python evaluation/benchmarks/options.py WORK [--only roles] [--only graph] [--threads 2]

Each model is that of its paper: the small Transformer of the role interaction layer (10 000 pieces, 4 096 tokens a batch) and the
256-unit models of the latent graph (64 sentences a batch). A step is the trainer's: forward, backward, clipping, Adam. Batches are
of random pieces, with lengths as IWSLT'14 has them. The table goes to WORK/options.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch

PIECES = 10_000
TRANSFORMER = {
    "type": "transformer",
    "size": 256,
    "layers": 3,
    "heads": 4,
    "feed_forward": 512,
    "dropout": 0.3,
}
LSTM = {"type": "lstm", "size": 256, "layers": 1, "dropout": 0.3}
SIZES = {"embedding": {"size": 256, "dropout": 0.3}, "bridge": "none"}
MODELS = {
    "transformer": {**SIZES, "encoder": TRANSFORMER, "decoder": TRANSFORMER},
    "embedding": {**SIZES, "encoder": {"type": "embedding", "size": 256}, "decoder": LSTM},
    "cnn": {**SIZES, "encoder": {"type": "cnn", "size": 256, "dropout": 0.3}, "decoder": LSTM},
    "lstm": {**SIZES, "encoder": LSTM, "decoder": LSTM},
}
ROLES = {
    "roles, softmax": {"assignment": "softmax"},
    "roles, dense": {"assignment": "dense"},
    "roles, one-hot": {"assignment": "onehot"},
    "roles, softmax, 16 of them": {"assignment": "softmax", "roles": 16},
    "roles, softmax, convolutional context": {"assignment": "softmax", "context": "cnn"},
    "roles, dense, rank 1": {"assignment": "dense", "combination": "rank1"},
    "contextualized baseline": {"assignment": "dense", "combination": "additive"},
}
GRAPHS = {"latent graph": {}, "self-loops only": {"edges": "none"}}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", choices=["roles", "graph", "gate"], action="append")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=2, help="steps of each turn")
    parser.add_argument(
        "--turns", type=int, default=6, help="turns of each model; the first warms up"
    )
    parser.add_argument(
        "--precision",
        choices=["no", "bf16"],
        default="no",
        help="of the products, as training.precision",
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="count the processor's time, where others use the machine, too",
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    wanted = cases(options.only or ["roles", "graph", "gate"])
    row(
        options, *wanted[0]
    )  # what is measured first in a process pays for memory that nobody has touched yet, and that less evenly
    rows = [row(options, *case) for case in wanted]
    (options.work / "options.md").write_text(table(rows, options))
    print(table(rows, options))


def cases(wanted: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Model, what is put on it, and that as `options`."""
    both = lambda own: {"encoder": [own], "decoder": [own]}  # noqa: E731
    found = {
        "roles": [
            ("transformer", name, both({"type": "roles", "roles": 32, **own}))
            for name, own in ROLES.items()
        ],
        "graph": [
            (model, name, {"encoder": [{"type": "latent_graph", **own}]})
            for model in ("embedding", "cnn", "lstm", "transformer")
            for name, own in GRAPHS.items()
        ],
        "gate": [("lstm", "context gate", both({"type": "context_gate"}))],
    }
    return [case for name in wanted for case in found[name]]


def row(
    options: argparse.Namespace, model: str, name: str, put_on: dict[str, Any]
) -> dict[str, Any]:
    """Both models take turns; the factor is the median over the turns, each with the plain turn just before it."""
    batches = random_batches(4096 if model == "transformer" else None, count=options.steps)
    models = {"plain": {}, "with": put_on}
    steps = {
        what: trainer(MODELS[model] | {"options": own}, precision=options.precision)
        for what, own in models.items()
    }
    clock = time.process_time if options.processor_time else time.perf_counter
    seconds: dict[str, list[float]] = {what: [] for what in steps}
    for _ in range(options.turns):
        for what, step in steps.items():
            started = clock()
            for batch in batches:
                step(batch)
            seconds[what].append(clock() - started)
    tokens = sum(batch.target_tokens for batch in batches)
    plain, own = (seconds[what][1:] for what in ("plain", "with"))
    speeds = {what: tokens / statistics.median(each[1:]) for what, each in seconds.items()}
    return {
        "model": model,
        "name": name,
        "speeds": speeds,
        "factor": statistics.median(one / other for one, other in zip(own, plain)),
    }


def trainer(model: dict[str, Any], *, precision: str) -> Callable[[Any], None]:
    """A step of training of that model."""
    from polyglot.model.config import ModelConfig
    from polyglot.model.losses import Criterion, LossesConfig
    from polyglot.model.translation_model import TranslationModel
    from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
    from polyglot.tasks.pairs import LanguagePair
    from polyglot.training.gradient_scaling import clip_gradients

    built = TranslationModel(
        ModelConfig.model_validate(model),
        vocabulary_sizes=dict.fromkeys(("de", "en"), PIECES),
        pairs=[LanguagePair("de", "en")],
        seed=1,
    )
    built.train()
    criterion = Criterion(LossesConfig.model_validate({"translation": {"label_smoothing": 0.1}}))
    optimizer = OPTIMIZERS.build(
        OPTIMIZERS.configure("adam"),
        parameters=parameter_groups(built.parameters(), hidden=built.hidden_weights()),
    )

    def step(batch: Any) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            losses = criterion(built(batch), batch)
        losses.total.backward()
        clip_gradients([one for one in built.parameters() if one.grad is not None], 5.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def random_batches(tokens: int | None, *, count: int) -> list[Any]:
    """Batches of similar lengths, whose logarithms are normal around 22 pieces; of 64 sentences, or of so many tokens."""
    from polyglot.tasks.batch import Batch
    from polyglot.tasks.pairs import LanguagePair, Task

    random, found = numpy.random.default_rng(1), []
    for _ in range(count):
        length = int(numpy.clip(random.lognormal(3.1, 0.5), 4, 80))
        sentences = tokens // (length + 1) if tokens else 64
        sides = [
            [
                random.integers(4, PIECES, max(2, length - random.integers(0, 4)))
                for _ in range(sentences)
            ]
            for _ in range(2)
        ]
        found.append(Batch.of(Task(LanguagePair("de", "en")), *sides))
    return found


def table(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    clock = "processor time" if options.processor_time else "time"
    lines = [
        "# What options cost in training",
        "",
        f"`python evaluation/benchmarks/options.py WORK`, {options.threads} threads of {os.cpu_count()} cores "
        f"({platform.machine()}), PyTorch "
        f"{torch.__version__}; medians of {options.turns - 1} turns of {options.steps} steps each, by {clock}, precision "
        f"{options.precision}. On both sides where the option has both.",
        "",
        "| model | option | target tokens/s without | with | a step costs |",
        "|---|---|---:|---:|---:|",
    ]
    for one in rows:
        without, put_on = (one["speeds"][what] for what in ("plain", "with"))
        lines.append(
            f"| {one['model']} | {one['name']} | {without:,.0f} | {put_on:,.0f} | {one['factor']:.2f} times |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
