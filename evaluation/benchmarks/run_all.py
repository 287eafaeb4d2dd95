"""All rows of the benchmarks: this version next to an earlier one, OpenNMT-py and CTranslate2.

    make benchmarks BENCHMARKS="--peer BIN --previous REV"
    python evaluation/benchmarks/run_all.py [DATA] WORK [--peer BIN] [--previous REV] [--only ROW]
        [--repetitions 3] [--threads 2] [--quick] [--list]

Writes WORK/benchmarks.md and WORK/benchmarks.json. docs/develop/benchmarks.md explains the page.
"""

from __future__ import annotations

import sys

import limit_shares  # noqa: F401
import multi30k  # noqa: F401
import products  # noqa: F401

# Each module adds its rows, in the order of the page.
import speed  # noqa: F401, I001
import transformer  # noqa: F401
from suite import main

if __name__ == "__main__":
    sys.exit(main())
