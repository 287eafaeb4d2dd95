"""How much memory training with word prediction takes: 32 000 words, batches of 4 096 target tokens.

    python evaluation/benchmarks/words.py [--predict none initial states both] [--size 1024] [--words 32000] [--tokens 4096]

The model is that of Weng et al. 2017 (embeddings 512, GRUs 1 024 wide, Adam) or one of another size, embeddings half as wide, its
parameters random, a sentence 25 random words. Each
kind has a process of its own; what is told is the largest resident size after a few steps, and of that what parameters, gradients and
Adam keep.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

LENGTH = 25
MEBIBYTE = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--predict",
        choices=["none", "initial", "states", "both"],
        nargs="+",
        default=["none", "initial", "states", "both"],
    )
    parser.add_argument("--size", type=int, default=1024, help="of the GRUs")
    parser.add_argument("--words", type=int, default=32_000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(options)))
        return
    print(
        "| predicted from | parameters, million | parameters, gradients and Adam, MiB | largest resident size, MiB | seconds of a step |"
    )
    print("|---|---:|---:|---:|---:|")
    for predict in options.predict:
        given = [
            f"--{name}={getattr(options, name)}" for name in ("size", "words", "tokens", "steps")
        ]
        command = [sys.executable, __file__, "--alone", *given, "--predict", predict]
        found = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        kept = 16 * found["parameters"] / MEBIBYTE
        print(
            f"| {predict} | {found['parameters'] / 1e6:.1f} | {kept:,.0f} | {found['mib']:,.0f} | {found['seconds']:.1f} |",
            flush=True,
        )


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """A few steps in this process."""
    from polyglot.core.environment import keep_freed_memory, limit_shape_caches

    keep_freed_memory()
    limit_shape_caches()
    import numpy

    from polyglot.model.config import ModelConfig
    from polyglot.model.losses import Criterion, LossesConfig
    from polyglot.model.translation_model import TranslationModel
    from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
    from polyglot.tasks.batch import Batch
    from polyglot.tasks.pairs import LanguagePair, Task

    pair = LanguagePair("de", "en")
    gru = {"type": "gru", "size": options.size, "layers": 1}
    (predict,) = options.predict
    own = (
        {}
        if predict == "none"
        else {"options": {"decoder": [{"type": "word_prediction", "predict": predict}]}}
    )
    config = {
        "embedding": {"size": options.size // 2},
        "encoder": gru,
        "bridge": "none",
        "decoder": {**gru, "attention": "mlp"},
        **own,
    }
    model = TranslationModel(
        ModelConfig.model_validate(config),
        vocabulary_sizes=dict.fromkeys(("de", "en"), options.words),
        pairs=[pair],
        seed=1,
    )
    model.train()
    criterion, random = Criterion(LossesConfig()), numpy.random.default_rng(1)
    optimizer = OPTIMIZERS.build(
        OPTIMIZERS.configure("adam"),
        parameters=parameter_groups(model.parameters(), hidden=model.hidden_weights()),
    )
    for _ in range(options.steps):
        sides = [
            random.integers(4, options.words, (options.tokens // (LENGTH + 1), LENGTH))
            for _ in range(2)
        ]
        batch = Batch.of(Task(pair), *map(list, sides))
        started = time.perf_counter()
        criterion(model(batch), batch).total.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds = time.perf_counter() - started
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "parameters": sum(one.numel() for one in model.parameters()),
        "mib": largest,
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
