"""Sentences per second of CTranslate2 with a loaded model, in two workers of one thread each.

    python evaluation/benchmarks/ctranslate2_workers.py FOLDER TEXT OUTPUT --beam 5 --precision int8

FOLDER is a model that `polyglot export --ctranslate2` wrote; TEXT and OUTPUT are lines of pieces.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

BATCHES = {"cpu": (32, 64, 128), "cuda": (1024,)}
"""Sentences of a batch, by device; the fastest counts."""
WARM_UP = 64
"""Sentences that are translated before the measurement."""


def main(words: Sequence[str] | None = None) -> None:
    import ctranslate2

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("text", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--device", choices=sorted(BATCHES), default="cpu")
    arguments = parser.parse_args(words)
    lines = []
    for line in arguments.text.read_text(encoding="utf-8").splitlines():
        lines.append(line.split())
    translator = ctranslate2.Translator(
        arguments.folder,
        device=arguments.device,
        compute_type=arguments.precision,
        inter_threads=2,
        intra_threads=1,
    )
    translator.translate_batch(lines[:WARM_UP], beam_size=arguments.beam)

    durations = []
    for batch in BATCHES[arguments.device]:
        start = time.perf_counter()
        results = translator.translate_batch(lines, beam_size=arguments.beam, max_batch_size=batch)
        durations.append(time.perf_counter() - start)
    with arguments.output.open("w", encoding="utf-8") as file:
        for result in results:
            file.write(" ".join(result.hypotheses[0]) + "\n")
    print(len(lines) / min(durations))


if __name__ == "__main__":
    main()
