"""Memory of training with word prediction: 32 000 words, batches of 4 096 target tokens.

    python evaluation/benchmarks/words.py [--predict none initial states both] [--size 1024]
        [--layers own] [--words 32000] [--tokens 4096]

The model is that of Weng et al. 2017 (embeddings 512, GRUs 1 024, Adam), or one of another size
with embeddings half as wide. Parameters are random; a sentence has 25 random words. Each kind of
prediction is measured in a separate process: its peak memory after a few steps, and the part of
it that parameters, gradients and Adam need.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

from machine import find_processor

LENGTH = 25
MEBIBYTE = 2**20
KINDS = ["none", "initial", "states", "both"]
BYTES_PER_PARAMETER = 16
"""Parameter, gradient and both moments of Adam, in float32."""


def main() -> None:
    arguments = parse_arguments()
    if arguments.child:
        print(json.dumps(measure(arguments)))
        return
    print(
        "| prediction from | parameters, million | parameters, gradients and Adam, MiB "
        "| peak memory, MiB | seconds per step |"
    )
    print("|---|---:|---:|---:|---:|")
    for predict in arguments.predict:
        result = measure_in_child(arguments, predict)
        parameters = result["parameters"]
        stored = BYTES_PER_PARAMETER * parameters / MEBIBYTE
        print(
            f"| {predict} | {parameters / 1e6:.1f} | {stored:,.0f} | {result['mib']:,.0f} "
            f"| {result['seconds']:.1f} |",
            flush=True,
        )
    print(f"\n{find_processor()}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--predict", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--layers", choices=["decoder", "own"], default="decoder")
    parser.add_argument("--decoder", choices=["gru", "rnnsearch"], default="gru")
    parser.add_argument("--size", type=int, default=1024, help="size of the GRUs")
    parser.add_argument("--words", type=int, default=32_000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_in_child(arguments: argparse.Namespace, predict: str) -> dict[str, Any]:
    """Return the result of `measure` in a new process."""
    command = [sys.executable, __file__, "--child", "--predict", predict]
    for name in ("size", "words", "tokens", "steps", "layers", "decoder"):
        command.append(f"--{name}={getattr(arguments, name)}")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train a few steps; return number of parameters, peak memory, and seconds of the last step."""
    from polyglot.core.environment import keep_freed_memory, limit_shape_caches

    keep_freed_memory()  # before PyTorch loads, as in the commands
    limit_shape_caches()
    import numpy

    from polyglot.model.losses import Criterion, LossesConfig
    from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
    from polyglot.tasks.batch import Batch
    from polyglot.tasks.pairs import LanguagePair, Task

    (predict,) = arguments.predict
    pair = LanguagePair("de", "en")
    sizes = {"size": arguments.size, "words": arguments.words}
    model = build_model(pair, predict, layers=arguments.layers, decoder=arguments.decoder, **sizes)
    model.train()
    criterion = Criterion(LossesConfig())
    groups = parameter_groups(model.parameters(), hidden=model.hidden_weights())
    optimizer = OPTIMIZERS.build(OPTIMIZERS.configure("adam"), parameters=groups)

    generator = numpy.random.default_rng(1)
    shape = (arguments.tokens // (LENGTH + 1), LENGTH)
    for _ in range(arguments.steps):
        sources = generator.integers(4, arguments.words, shape)
        targets = generator.integers(4, arguments.words, shape)
        batch = Batch.from_sentences(Task(pair), list(sources), list(targets))
        start = time.perf_counter()
        losses = criterion(model(batch), batch)
        losses.total.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "mib": usage.ru_maxrss / 1024,
        "seconds": seconds,
    }


def build_model(
    pair: Any, predict: str, *, layers: str, decoder: str, size: int, words: int
) -> Any:
    """Return a model of the paper's size, with one kind of word prediction or none.

    decoder: `gru`, or `rnnsearch` for the model of the paper's program (`wmt14/words_program`).
    """
    from polyglot.model.config import ModelConfig
    from polyglot.model.translation_model import TranslationModel

    gru = {"type": "gru", "size": size, "layers": 1}
    settings = {
        "embedding": {"size": size // 2},
        "encoder": gru,
        "bridge": "none",
        "decoder": {**gru, "attention": "mlp"},
    }
    if decoder == "rnnsearch":
        settings["encoder"] = {**gru, "size": 2 * size}
        settings["decoder"] = {
            "type": "rnnsearch",
            "size": size,
            "form": "conditional",
            "output_size": size // 2,
            "start": "tanh",
        }
    if predict != "none":
        option = {"type": "word_prediction", "predict": predict, "layers": layers}
        settings["options"] = {"decoder": [option]}
    return TranslationModel(
        ModelConfig.model_validate(settings),
        vocabulary_sizes={pair.source: words, pair.target: words},
        pairs=[pair],
        seed=1,
    )


if __name__ == "__main__":
    main()
