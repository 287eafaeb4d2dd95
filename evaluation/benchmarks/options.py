"""Training cost of options: target tokens per second with and without an option.

    python evaluation/benchmarks/options.py WORK [--only roles] [--only graph] [--threads 2]

The models are those of the papers: the small Transformer of the role interaction layer (10 000
pieces, batches of 4 096 tokens) and the models of the latent graph (size 256, batches of 64
sentences). A step is a step of the trainer: forward, backward, clipping, Adam. Batches consist of
random pieces, with the sentence lengths of IWSLT'14. The table is written to WORK/options.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from machine import machine_now

from polyglot.core.markdown import table
from polyglot.model.config import ModelConfig
from polyglot.model.losses import Criterion, LossesConfig
from polyglot.model.translation_model import TranslationModel
from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.training.gradient_scaling import clip_gradients

PIECES = 10_000
PAIR = LanguagePair("de", "en")
TRANSFORMER = {
    "type": "transformer",
    "size": 256,
    "layers": 3,
    "heads": 4,
    "feed_forward": 512,
    "dropout": 0.3,
}
LSTM = {"type": "lstm", "size": 256, "layers": 1, "dropout": 0.3}
COMMON = {"embedding": {"size": 256, "dropout": 0.3}, "bridge": "none"}
MODELS = {
    "transformer": {**COMMON, "encoder": TRANSFORMER, "decoder": TRANSFORMER},
    "embedding": {**COMMON, "encoder": {"type": "embedding", "size": 256}, "decoder": LSTM},
    "cnn": {**COMMON, "encoder": {"type": "cnn", "size": 256, "dropout": 0.3}, "decoder": LSTM},
    "lstm": {**COMMON, "encoder": LSTM, "decoder": LSTM},
}
ROLES = {
    "roles, softmax": {"assignment": "softmax"},
    "roles, dense": {"assignment": "dense"},
    "roles, one-hot": {"assignment": "onehot"},
    "16 roles, softmax": {"assignment": "softmax", "roles": 16},
    "roles, softmax, convolutional context": {"assignment": "softmax", "context": "cnn"},
    "roles, dense, rank 1": {"assignment": "dense", "combination": "rank1"},
    "contextualized baseline": {"assignment": "dense", "combination": "additive"},
}
GRAPHS = {"latent graph": {}, "self-loops only": {"edges": "none"}}
GROUPS = ["roles", "graph", "gate"]

Step = Callable[[Batch], None]


class Case(NamedTuple):
    """A model, and an option that is added to it."""

    model: str
    name: str
    options: dict[str, Any]


def main() -> None:
    arguments = parse_arguments()
    arguments.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    cases = build_cases(arguments.only or GROUPS)

    # The first measurement of a process also allocates its memory, so it is repeated.
    measure(cases[0], arguments)
    rows = [measure(case, arguments) for case in cases]

    page = markdown(rows, arguments)
    (arguments.work / "options.md").write_text(page)
    print(page)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", choices=GROUPS, action="append")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=2, help="steps of each turn")
    parser.add_argument(
        "--turns", type=int, default=6, help="turns of each model; the first one is a warm-up"
    )
    parser.add_argument(
        "--precision",
        choices=["no", "bf16"],
        default="no",
        help="precision of matrix products, as training.precision",
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="measure processor time, for a machine that other programs use too",
    )
    return parser.parse_args()


def build_cases(groups: Sequence[str]) -> list[Case]:
    """Return the cases of some groups: roles, graph, gate."""
    cases = []
    if "roles" in groups:
        for name, settings in ROLES.items():
            options = on_both_sides({"type": "roles", "roles": 32, **settings})
            cases.append(Case("transformer", name, options))
    if "graph" in groups:
        for model in ("embedding", "cnn", "lstm", "transformer"):
            for name, settings in GRAPHS.items():
                options = {"encoder": [{"type": "latent_graph", **settings}]}
                cases.append(Case(model, name, options))
    if "gate" in groups:
        cases.append(Case("lstm", "context gate", on_both_sides({"type": "context_gate"})))
    return cases


def on_both_sides(option: dict[str, Any]) -> dict[str, Any]:
    return {"encoder": [option], "decoder": [option]}


def measure(case: Case, arguments: argparse.Namespace) -> list[str]:
    """Measure one case; return its row of the table.

    The model without the option and the model with it take turns. The factor is the median over
    the turns; each turn is compared with the turn just before it.
    """
    token_count = 4096 if case.model == "transformer" else None
    batches = random_batches(token_count, count=arguments.steps)
    model = MODELS[case.model]
    plain_step = training_step(model, precision=arguments.precision)
    option_step = training_step({**model, "options": case.options}, precision=arguments.precision)
    clock = time.process_time if arguments.processor_time else time.perf_counter

    plain_seconds = []
    option_seconds = []
    for _ in range(arguments.turns):
        plain_seconds.append(seconds_of(plain_step, batches, clock))
        option_seconds.append(seconds_of(option_step, batches, clock))
    del plain_seconds[0]  # the warm-up
    del option_seconds[0]

    tokens = sum(batch.target_tokens for batch in batches)
    factors = numpy.divide(option_seconds, plain_seconds)
    return [
        case.model,
        case.name,
        f"{tokens / statistics.median(plain_seconds):,.0f}",
        f"{tokens / statistics.median(option_seconds):,.0f}",
        f"{statistics.median(factors):.2f}",
    ]


def seconds_of(step: Step, batches: Sequence[Batch], clock: Callable[[], float]) -> float:
    """Return the seconds of one turn."""
    start = clock()
    for batch in batches:
        step(batch)
    return clock() - start


def training_step(model_settings: dict[str, Any], *, precision: str) -> Step:
    """Return a function that trains a new model on one batch."""
    model = TranslationModel(
        ModelConfig.model_validate(model_settings),
        vocabulary_sizes={"de": PIECES, "en": PIECES},
        pairs=[PAIR],
        seed=1,
    )
    model.train()
    criterion = Criterion(LossesConfig.model_validate({"translation": {"label_smoothing": 0.1}}))
    groups = parameter_groups(model.parameters(), hidden=model.hidden_weights())
    optimizer = OPTIMIZERS.build(OPTIMIZERS.configure("adam"), parameters=groups)

    def step(batch: Batch) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            losses = criterion(model(batch), batch)
        losses.total.backward()
        trained = [parameter for parameter in model.parameters() if parameter.grad is not None]
        clip_gradients(trained, 5.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def random_batches(token_count: int | None, *, count: int) -> list[Batch]:
    """Return batches of sentences of similar length; log lengths are normal around 22 pieces.

    token_count: tokens of a batch, or None for 64 sentences.
    """
    generator = numpy.random.default_rng(1)
    batches = []
    for _ in range(count):
        length = int(numpy.clip(generator.lognormal(3.1, 0.5), 4, 80))
        sentence_count = 64
        if token_count:
            sentence_count = token_count // (length + 1)
        sources = random_sentences(generator, sentence_count, length)
        targets = random_sentences(generator, sentence_count, length)
        batches.append(Batch.from_sentences(Task(PAIR), sources, targets))
    return batches


def random_sentences(
    generator: numpy.random.Generator, count: int, longest: int
) -> list[numpy.ndarray]:
    sentences = []
    for _ in range(count):
        length = max(2, longest - generator.integers(0, 4))
        sentences.append(generator.integers(4, PIECES, length))
    return sentences


def markdown(rows: Sequence[Sequence[str]], arguments: argparse.Namespace) -> str:
    clock = "processor time" if arguments.processor_time else "time"
    head = ["model", "option", "target tokens/s without", "with", "factor of the step time"]
    return "\n".join(
        [
            "# Training cost of options",
            "",
            f"`python evaluation/benchmarks/options.py WORK`, "
            f"{machine_now(arguments.threads)}. "
            f"Medians of {arguments.turns - 1} turns of {arguments.steps} steps, by {clock}, "
            f"precision {arguments.precision}. Options that exist on both sides are on both.",
            "",
            table(head, rows, words=["option"]),
            "",
        ]
    )


if __name__ == "__main__":
    main()
