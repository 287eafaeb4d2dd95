"""Estimate for 200 languages with English, both ways, on 8 machines with 8 GPUs each.

Parameters are counted with the placement of the program; time and memory are calculated from them
and from assumptions about the machines.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyglot.core.markdown import table

PROCESSES = 64
VOCABULARY = 8000
LAYERS = {"type": "transformer", "size": 512, "layers": 6, "heads": 8, "feed_forward": 2048}
TOKENS_PER_BATCH = 8192
DEVICE_FLOPS = 4e14 * 0.3
"""Floating-point operations per second of a device: 30 % of its peak."""
MACHINE_BANDWIDTH = 25e9
"""Bytes per second between machines."""


def estimate() -> dict[str, float]:
    """Count the parameters of all components, of a process, of a task, and of the exchange."""
    import torch

    from polyglot.config.loading import check_config
    from polyglot.model.translation_model import TranslationModel
    from polyglot.tasks.schedule import SCHEDULES
    from polyglot.tasks.sharing import component_names
    from polyglot.training.placement import build_placement

    config = check_config(_config_values(), where="200 languages")
    languages = config.languages
    sizes = {task.pair: 1 for task in config.tasks}
    schedule = SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=languages, sizes=sizes, seed=1
    )
    placement = build_placement(schedule, config, PROCESSES)
    with torch.device("meta"):
        model = TranslationModel(
            config.model,
            vocabulary_sizes=dict.fromkeys(languages, VOCABULARY),
            pairs=config.pairs,
            seed=None,
        )

    counts = {}
    for name, parameters in model.component_parameters().items():
        counts[name] = sum(parameter.numel() for parameter in parameters.values())
    counts_of_ranks = [0] * PROCESSES
    for name, count in counts.items():
        for rank in placement.ranks_of(name):
            counts_of_ranks[rank] += count
    exchanged = set()
    for _, task in placement.batches_at(0):
        for name in component_names(task.pair):
            if len(placement.ranks_of(name)) > 1:
                exchanged.add(name)
    first_pair = config.tasks[0].pair
    return {
        "parameters": sum(counts.values()),
        "largest_process": max(counts_of_ranks),
        "task": sum(counts.get(name, 0) for name in component_names(first_pair)),
        "exchanged": sum(counts.get(name, 0) for name in exchanged),
        "states_per_position": 2 * LAYERS["layers"] * LAYERS["size"] + config.model.embedding.size,
    }


def _config_values() -> dict:
    return {
        "languages": ["en", *(f"l{number}" for number in range(199))],
        "data": {"train": [{"type": "phrasebook"}]},
        "training": {"steps": 1},
        "schedule": {"pairs": ["en-*", "*-en"]},
        "model": {
            "embedding": {"size": 512, "tie_output": True},
            "encoder": LAYERS,
            "decoder": LAYERS,
            "bridge": {"type": "attention", "heads": 10},
        },
        "parallel": {"placement": "partitioned"},
    }


def estimate_page(counts: dict[str, float]) -> Iterator[str]:
    """Yield the page: assumptions, and time and memory of an update."""
    yield "## 200 languages on 8 × 8 GPUs, calculated\n"
    yield (
        "- English with 199 languages, both ways; Transformers of 6 + 6 layers, size 512, "
        "feed-forward 2 048, 8 000 pieces per language; `placement: partitioned`"
    )
    yield (
        f"- counted: {counts['parameters'] / 1e9:.1f} billion parameters, "
        f"{counts['largest_process'] / 1e6:,.0f} million (P) on the largest process, "
        f"{counts['task'] / 1e6:,.0f} million (A) of a task, "
        f"{counts['exchanged'] / 1e6:,.0f} million (X) exchanged in an update"
    )
    yield (
        f"- assumed, not measured: batches of {TOKENS_PER_BATCH:,} target tokens (n), "
        f"{DEVICE_FLOPS / 1e12:.0f} TFLOP/s per device (F), "
        f"{MACHINE_BANDWIDTH / 1e9:.0f} GB/s between machines (B)\n"
    )
    compute_seconds = 6 * counts["task"] * TOKENS_PER_BATCH / DEVICE_FLOPS
    send_seconds = 2 * 4 * counts["exchanged"] / MACHINE_BANDWIDTH
    rows = [*_memory_rows(counts), *_time_rows(compute_seconds, send_seconds)]
    yield table(["per update and process", "formula", "value"], rows, words=["formula"])
    yield ""
    yield _conclusion(compute_seconds, send_seconds)
    yield (
        "Only the encoder and decoder of English and the bridge are exchanged, for any number of "
        "languages: with more languages only P grows, by the languages of a process. Larger "
        "batches (or `tasks_per_update`) reduce the share of the exchange.\n"
    )


def _memory_rows(counts: dict[str, float]) -> list[list[str]]:
    largest = counts["largest_process"]
    gradients = 8 * (counts["task"] / 2 + counts["exchanged"])
    activations = 64 * counts["states_per_position"] * TOKENS_PER_BATCH
    scores = 8 * VOCABULARY * TOKENS_PER_BATCH
    replicated = f"replicated: {_gibibytes(12 * counts['parameters'], 0)}"
    return [
        ["parameters and Adam's state", "12 P", f"{_gibibytes(12 * largest, 1)} ({replicated})"],
        ["gradients and the copies that are sent", "8 (A / 2 + X)", _gibibytes(gradients, 2)],
        [
            "activations, as `--dry-run` estimates them",
            "4 · 16 n (layers · width + width)",
            _gibibytes(activations, 1),
        ],
        ["logits and their gradient", "8 n V", _gibibytes(scores, 1)],
    ]


def _time_rows(compute_seconds: float, send_seconds: float) -> list[list[str]]:
    both = max(compute_seconds, compute_seconds / 3 + send_seconds)
    return [
        ["computation", "6 A n / F", _milliseconds(compute_seconds)],
        [
            "communication; two thirds of the computation can overlap with it",
            "2 · 4 X / B",
            _milliseconds(send_seconds),
        ],
        ["both", "max(6 A n / F, 2 A n / F + 8 X / B)", _milliseconds(both)],
    ]


def _conclusion(compute_seconds: float, send_seconds: float) -> str:
    total = compute_seconds / 3 + send_seconds
    if total <= compute_seconds:
        return f"The computation ({_milliseconds(compute_seconds)}) hides the communication."
    return (
        f"The computation takes {_milliseconds(compute_seconds)} of {_milliseconds(total)}; "
        f"{_milliseconds(total - compute_seconds)} of the communication remain. On faster devices "
        "or slower connections, the exchange is the limit."
    )


def _gibibytes(size: float, digits: int) -> str:
    return f"{size / 2**30:.{digits}f} GiB"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
