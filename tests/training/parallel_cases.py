"""Settings of tiny runs that several processes train, by name."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tests.builders.runs import WORDS, sample_sentences

STEPS = 8
STREAMED_STEPS = 20
"""steps with streamed text: enough for several pools and epochs"""
STOP_STEP = 13
"""step at which runs of streamed text are stopped: inside a pool, in the second epoch"""
PARTS = (9, 3, 6, 4, 10)
"""lines of the files with streamed text; each process reads its own files"""

BASE = {
    "data": {"valid": []},
    "training": {"steps": STEPS, "log_every": 4, "checkpoint": {"every": 6}},
    "parallel": {"verify": 1},
    # Adam divides by gradients that may be nothing but rounding, and sums of four gradients are
    # rounded differently: so the usual learning rate, not the 0.01 of tiny runs.
    "optimizer": {"type": "adam", "learning_rate": 0.001},
}
VALIDATED = {
    "data": {"valid": [{"type": "text", "path": "valid.{language}"}]},
    "validation": {"every": 6, "bleu_pairs": ["de-fr", "fr-en"], "sentences": 4},
}
DROPOUT = {part: {"dropout": 0.3} for part in ("embedding", "encoder", "decoder")}
TRANSFORMER = {
    "type": "transformer",
    "size": 16,
    "layers": 2,
    "heads": 2,
    "feed_forward": 24,
    "dropout": 0.1,
}
PARTITIONED = {"parallel": {"placement": "partitioned"}}
SHARED_ENCODER = {"vocabulary": {"west": ["en", "fr"]}, "encoder": {"west": ["en", "fr"]}}


def streamed(path: str) -> dict[str, object]:
    """Settings of streamed text; the buffer is small, for several pools in few updates."""
    return {
        "data": {"train": [{"type": "text", "path": path, "streaming": True}]},
        "batching": {"buffer": 12},
        "training": {"steps": STREAMED_STEPS},
    }


CASES = {
    "mixed": VALIDATED,
    "same": {
        "parallel": {"tasks": "same"},
        "losses": {
            "bridge": {"weight": 5.0},
            "agreement": {"weight": 5.0},
            "consistency": {"weight": 1.0},
            "reference_consistency": {"weight": 1.0},
        },
    },
    "plain updates": {
        "optimizer": {"type": "sgd", "learning_rate": 0.5},
        "training": {"steps": 8, "clip_norm": None, "checkpoint": {"every": 1, "keep": 9}},
    },
    "copies and dropout": {
        "schedule": {
            "copies": True,
            "copy_noise": {"drop": 0.2, "mask": 0.2, "shuffle": 2},
        },
        "model": {**DROPOUT, "embedding": {"dropout": 0.3, "tie_sides": True}},
    },
    "back-translation": {
        "schedule": {
            "back_translation": {
                "weight": 0.6,
                "from_step": 2,
                "search": "sample",
                "max_length_ratio": 0.5,
                "max_length_extra": 1,
            },
        },
        "model": DROPOUT,
    },
    "frozen": {
        "freeze": ["encoder.de", "bridge"],
        "optimizer": {
            "type": "sgd",
            "learning_rate": 0.1,
            "momentum": 0.9,
            "weight_decay": 0.01,
        },
    },
    "sharing": {"sharing": "all", "parallel": {"bucket": 0.002}},
    "several tasks": {
        "schedule": {"tasks_per_update": 2, "copies": True},
        "parallel": {"bucket": 0.001},
    },
    "partitioned": {**VALIDATED, **PARTITIONED, "schedule": {"copies": True}},
    "partitioned and shared": {
        **PARTITIONED,
        "sharing": SHARED_ENCODER,
        "training": {"clip_norm": 0.1},
    },
    "streamed": streamed("part-*.{language}"),
    "streamed and same": {**streamed("whole.{language}"), "parallel": {"tasks": "same"}},
    "streamed and partitioned": {**streamed("part-*.{language}"), **PARTITIONED},
    "transformer": {
        "model": {"embedding": {"size": 16}, "encoder": TRANSFORMER, "decoder": TRANSFORMER},
        "batching": {"by": "tokens", "size": 60},
        "optimizer": {"type": "muon", "learning_rate": 0.01},
    },
    "options": {"model": {"options": {"encoder": ["roles"], "decoder": ["word_prediction"]}}},
    # Two of three processes share components.
    "all pairs": {
        **VALIDATED,
        **PARTITIONED,
        "schedule": {"pairs": ["*-*"], "copies": True},
        "training": {"clip_norm": 0.1},
    },
    "all pairs, encoders shared": {
        **VALIDATED,
        **PARTITIONED,
        "schedule": {"pairs": ["*-*"]},
        "sharing": SHARED_ENCODER,
    },
}
"""settings of each case, laid over BASE"""
CASES_BY_NUMBER = {
    2: [
        "mixed",
        "same",
        "plain updates",
        "copies and dropout",
        "back-translation",
        "frozen",
        "sharing",
        "several tasks",
        "partitioned",
        "partitioned and shared",
        "streamed",
        "streamed and same",
        "streamed and partitioned",
        "transformer",
        "options",
    ],
    3: ["mixed", "same", "all pairs", "all pairs, encoders shared"],
}
"""cases by the number of processes that train them"""
SLOW_CASES = {
    (2, "sharing"): "partitioned and shared",
    (2, "streamed"): "streamed and partitioned",
    (2, "streamed and same"): "streamed and partitioned",
    (2, "transformer"): "mixed",
    (2, "options"): "mixed",
    (3, "mixed"): "mixed",
    (3, "same"): "same",
    (3, "all pairs, encoders shared"): "all pairs",
}
"""cases of `make test-slow`, each with the case of `make test` that exchanges in the same way"""


def settings(name: str) -> dict[str, object]:
    """Settings of a case, laid over those of all cases."""
    result = dict(BASE)
    for key, value in CASES[name].items():
        base = result.get(key)
        if isinstance(base, dict) and isinstance(value, dict):
            value = {**base, **value}
        result[key] = value
    return result


def half_settings() -> dict[str, object]:
    """Settings of half of a partitioned run, without validation."""
    half = settings("partitioned")
    half["data"] = {"valid": []}
    half["validation"] = {}
    half["training"] = {**half["training"], "steps": STEPS // 2}
    return half


def write_streamed_text(folder: Path) -> None:
    """Write the text of the streamed runs, once as one file and once as several."""
    for language in WORDS:
        sentences = sample_sentences(language, seed=2, lines=sum(PARTS))
        lines = [f"{sentence}\n" for sentence in sentences]
        (folder / f"whole.{language}").write_text("".join(lines), encoding="utf-8")

        remaining = iter(lines)
        for number, length in enumerate(PARTS):
            part = folder / f"part-{number}.{language}"
            part.write_text("".join(islice(remaining, length)), encoding="utf-8")
