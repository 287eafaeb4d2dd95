"""Matrix products of this processor, and those of one update of a model.

    python evaluation/benchmarks/products.py [DATA] WORK [--only ROW]

The rows are part of `make benchmarks`: docs/develop/benchmarks.md.
"""

from __future__ import annotations

import sys

from machine import fastest_seconds, matrix_product_limits
from programs import Reading
from suite import QUICK_SECONDS, Bench, Systems, main, row

GFLOPS = "GFLOP/s"
SIZE = 2048
QUICK_SIZE = 128
SECONDS = 1.0
SHAPES = {
    "64 rows by 2048 × 1024": (64, 1024, 2048),
    "5 rows by 8000 × 512": (5, 512, 8000),
}
"""Rows, inputs and outputs of products in training and in search."""


@row("products", unit=GFLOPS)
def products(bench: Bench) -> Systems:
    """Product of 2048³, best of many"""
    size = QUICK_SIZE if bench.quick else SIZE
    seconds = QUICK_SECONDS if bench.quick else SECONDS
    systems: Systems = {}
    for precision in reversed(list(bench.limits())):

        def measure(precision: str = precision) -> Reading:
            limits = matrix_product_limits(
                bench.threads, size=size, seconds=seconds, only=precision
            )
            return Reading(limits[precision])

        systems[precision] = measure
    return systems


@row("linear", unit=GFLOPS, only_by_name=True)
def linear(bench: Bench) -> Systems:
    """Products of single steps, best of many: a layer of Polyglot, packed or not, and PyTorch"""
    systems: Systems = {}
    for name, shape in SHAPES.items():
        for method in ("packed", "Polyglot", "PyTorch"):

            def measure(shape=shape, method: str = method) -> Reading:
                return Reading(linear_speed(bench, shape, method))

            systems[f"{method}, {name}"] = measure
    return systems


def linear_speed(bench: Bench, shape: tuple[int, int, int], method: str) -> float:
    """Return the GFLOP/s of a linear layer in float32."""
    import torch
    from torch.nn import functional

    from polyglot.layers.linear import PackedLinear, product

    rows, width, height = shape
    torch.set_num_threads(bench.threads)
    with torch.inference_mode():
        inputs = torch.randn(rows, width)
        weight = torch.randn(height, width)
        bias = torch.randn(height)
        packed = PackedLinear(weight, bias)
        methods = {
            "packed": lambda: packed(inputs),
            "Polyglot": lambda: product(inputs, weight, bias),
            "PyTorch": lambda: functional.linear(inputs, weight, bias),
        }
        seconds = QUICK_SECONDS if bench.quick else SECONDS
        return 2 * rows * weight.numel() / fastest_seconds(methods[method], seconds) / 1e9


if __name__ == "__main__":
    sys.exit(main(["products", "linear"]))
