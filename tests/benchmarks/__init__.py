"""Tests of the benchmarks in `evaluation/benchmarks`, which import each other as scripts do."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "evaluation" / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
