"""Processor of this machine, and its fastest matrix products: the limit of every benchmark.

    python evaluation/benchmarks/machine.py

A busy machine, or one whose clock changes, computes slower for a while. So a limit is the best of
many products, and it is measured next to every reading that is compared with it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from polyglot.core.errors import pluralize

CPU_INFO = Path("/proc/cpuinfo")
SIZE = 1024
"""Rows and columns of the matrices, and rows of the inputs."""
SECONDS = 0.3
"""Time for the products of one precision."""
FEWEST = 5
"""Smallest number of products, also where they take longer."""
INSTRUCTION_SETS = {
    "avx2": "AVX2",
    "avx512f": "AVX512",
    "avx_vnni": "AVX_VNNI",
    "avx512_vnni": "AVX512_VNNI",
    "avx512_bf16": "AVX512_BF16",
    "avx512_fp16": "AVX512_FP16",
    "amx_bf16": "AMX_BF16",
    "amx_int8": "AMX_INT8",
    "asimd": "NEON",
    "sve": "SVE",
    "bf16": "BF16",
    "i8mm": "I8MM",
}
"""Flags of the processor that decide the speed of matrix products, and their usual names."""

Product = Callable[[], object]


@dataclass(frozen=True)
class Processor:
    """Processor, as the system describes it."""

    model: str
    instruction_sets: tuple[str, ...]
    cores: int

    def __str__(self) -> str:
        instruction_sets = " ".join(self.instruction_sets) or "instruction sets not known"
        return f"{self.model}, {pluralize(self.cores, 'core')}, {instruction_sets}"


def find_processor() -> Processor:
    """Read model name and instruction sets from Linux; other systems give the architecture only."""
    model = platform.machine()
    flags: set[str] = set()
    if CPU_INFO.exists():
        text = CPU_INFO.read_text(encoding="utf-8", errors="replace")
        model_line = re.search(r"model name\s*: (.+)", text)
        if model_line:
            model = model_line[1]
        flag_line = re.search(r"(?:flags|Features)\s*: (.+)", text)
        if flag_line:
            flags = set(flag_line[1].split())
    instruction_sets = [name for flag, name in INSTRUCTION_SETS.items() if flag in flags]
    return Processor(model, tuple(instruction_sets), os.cpu_count() or 1)


def describe_machine(threads: int) -> dict[str, object]:
    """Return processor, threads, PyTorch and the limits of this moment, as results record them."""
    import torch

    return {
        **asdict(find_processor()),
        "threads": threads,
        "torch": torch.__version__,
        "limits": matrix_product_limits(threads),
    }


def machine_now(threads: int) -> str:
    """Return the machine and its limits of this moment in one line, for a page."""
    return machine_line(describe_machine(threads))


def machine_line(machine: Mapping[str, object]) -> str:
    """Write the values of `describe_machine` in one line."""
    processor = Processor(
        str(machine["model"]), tuple(machine["instruction_sets"]), int(machine["cores"])
    )
    threads = pluralize(int(machine["threads"]), "thread")
    words = [str(processor), threads, f"torch {machine['torch']}"]
    for precision, limit in machine["limits"].items():
        words.append(f"{precision} {limit:.0f} GFLOP/s")
    return ", ".join(words)


# Matrix products


def matrix_product_limits(
    threads: int, *, size: int = SIZE, seconds: float = SECONDS, only: str | None = None
) -> dict[str, float]:
    """Return the GFLOP/s of the fastest matrix product, for each precision of this processor.

    size: of the square matrices; seconds: time for the products of one precision; only: the
    only precision.

    These are the products of PyTorch's oneDNN that Polyglot uses in training and search, with
    matrices in a prepared layout. int8: the product of `onednn.multiply_int8` without the
    conversion of its inputs.
    """
    import torch

    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    limits = {}
    with torch.inference_mode():
        for precision, product in matrix_products(size).items():
            if only in (None, precision):
                limits[precision] = 2 * size**3 / fastest_seconds(product, seconds) / 1e9
    torch.set_num_threads(threads_before)
    return limits


def matrix_products(size: int) -> dict[str, Product]:
    """Return one product of square matrices for each precision that this processor computes."""
    import torch

    from polyglot.layers import onednn

    inputs = torch.randn(size, size)
    weight = torch.randn(size, size)
    products: dict[str, Product] = {}
    if onednn.AVAILABLE:
        packed = onednn.pack(weight)
        products["float32"] = lambda: onednn.multiply(inputs, packed, None)
    else:
        products["float32"] = lambda: inputs @ weight
    if onednn.HAS_BFLOAT16:
        short_inputs = inputs.bfloat16()
        short_packed = onednn.pack(weight.bfloat16())
        products["bf16"] = lambda: onednn.multiply(short_inputs, short_packed, None)
    if onednn.HAS_INT8:
        integers = torch.randint(-127, 128, (size, size), dtype=torch.int8)
        matrix = onednn.pack_int8(integers, torch.ones(size))
        unsigned = torch.randint(1, 256, (size, size), dtype=torch.uint8)
        products["int8"] = lambda: onednn.multiply_unsigned(unsigned, matrix)
    return products


def fastest_seconds(product: Product, seconds: float) -> float:
    """Return the shortest time of many calls, after one call as a warm-up."""
    product()
    fastest = float("inf")
    count = 0
    end = time.perf_counter() + seconds
    while count < FEWEST or time.perf_counter() < end:
        start = time.perf_counter()
        product()
        fastest = min(fastest, time.perf_counter() - start)
        count += 1
    return fastest


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    print(machine_now(parser.parse_args().threads))
