"""Operations of PyTorch that need most time while a run translates, in one thread.

    python evaluation/benchmarks/search_profile.py RUN TEXT --from en --to de [--beam 5]
        [--precision int8]

TEXT has one sentence per line. Prints PyTorch's table of operations.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.profiler import profile

import polyglot

ROWS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--to", dest="target", required=True)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--sentences", type=int, default=300)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    model = polyglot.load(arguments.run, precision=arguments.precision)
    sentences = arguments.text.read_text(encoding="utf-8").splitlines()[: arguments.sentences]
    search = {"source": arguments.source, "target": arguments.target, "beam": arguments.beam}
    model.translate(sentences, **search)  # warm-up
    with profile() as recorded:
        model.translate(sentences, **search)
    print(recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=ROWS))


if __name__ == "__main__":
    main()
