"""Sentences per second of a loaded model, in two processes of one thread each.

    python evaluation/benchmarks/two_workers.py RUN TEXT OUTPUT --beam 5 --precision int8

Each process translates every second line of TEXT: with the search of OpenNMT-py, which CTranslate2
has too, or with another engine. The time starts when both have loaded the model. The translations
are written to OUTPUT.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyglot.core.environment import keep_freed_memory, limit_shape_caches

WORKERS = 2
WARM_UP = 64
"""Sentences that are translated before the measurement."""


def main(words: Sequence[str] | None = None, context: Any = None) -> None:
    """context: `multiprocessing`, or a module with the same classes."""
    arguments = parse_arguments(words)
    context = context or multiprocessing.get_context("spawn")
    barrier = context.Barrier(WORKERS + 1)
    finished = context.Queue()
    workers = []
    for number in range(WORKERS):
        values = (arguments, number, barrier, finished)
        workers.append(context.Process(target=translate_part, args=values))
    for worker in workers:
        worker.start()
    barrier.wait()

    start = time.perf_counter()
    parts = dict(finished.get() for _ in workers)
    seconds = time.perf_counter() - start
    for worker in workers:
        worker.join()
    lines = sum(parts.values(), [])
    for number, part in parts.items():
        lines[number::WORKERS] = part
    arguments.output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(len(lines) / seconds)


def parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--engine", default="polyglot")
    return parser.parse_args(words)


def translate_part(arguments: argparse.Namespace, number: int, barrier: Any, finished: Any) -> None:
    """Load the model, wait for the other worker, and translate every second sentence."""
    try:
        keep_freed_memory()
        limit_shape_caches()
        import torch

        import polyglot

        torch.set_num_threads(1)
        search = {"source": "en", "target": "de", "beam": arguments.beam}
        # Earlier versions do not know these settings.
        options = {}
        if arguments.precision != "float32":
            options["precision"] = arguments.precision
        if arguments.engine != "polyglot":
            options["engine"] = arguments.engine
        else:
            search["like"] = "opennmt"
        model = polyglot.load(arguments.run, **options)
        sentences = arguments.text.read_text(encoding="utf-8").splitlines()[number::WORKERS]
        model.translate(sentences[:WARM_UP], **search)
    except BaseException:
        barrier.abort()  # the other processes would wait for ever
        raise
    barrier.wait()
    finished.put((number, model.translate(sentences, **search)))


if __name__ == "__main__":
    main()
