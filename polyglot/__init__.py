"""Polyglot: multilingual many-to-many machine translation with an attention bridge.

import polyglot
model = polyglot.load("runs/phrasebook")
model.translate("Der Hund schläft.", source="de", target="fr")
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyglot.core.errors import PolyglotError
from polyglot.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from polyglot.decoding.ensemble_decoder import Average
    from polyglot.evaluation.score_matrix import ScoreMatrix
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

__version__ = VERSION
__all__ = [
    "EnsembleTranslator",
    "PolyglotError",
    "Run",
    "ScoreMatrix",
    "Translator",
    "__version__",
    "ensemble",
    "load",
]

CLASSES = {
    "EnsembleTranslator": "polyglot.inference.ensemble",
    "Run": "polyglot.runs.run",
    "ScoreMatrix": "polyglot.evaluation.score_matrix",
    "Translator": "polyglot.inference.translator",
}
"""Module of each public class. PyTorch is imported only when one of them is used."""


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        return getattr(import_module(CLASSES[name]), name)
    raise AttributeError(f"module 'polyglot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load(
    run: str | Path | Run,
    *,
    checkpoint: str | int = "best",
    device: str | torch.device | None = None,
    precision: str = "float32",
) -> Translator:
    """Load the translator of a run directory: `translate`, `hypotheses` and `score`.

    It translates every direction whose encoder and decoder the run has.
    checkpoint: `best`, `last`, a step, or `average:N`.
    precision: of matrix products, `float32`, `bf16`, `int8`, or `auto` for the fastest one.
    Raises ConfigError if there is no run, CheckpointError if its checkpoint cannot be used.
    """
    from polyglot.inference.translator import Translator

    return Translator.load(run, checkpoint=checkpoint, device=device, precision=precision)


def ensemble(
    runs: Sequence[str | Path | Run],
    *,
    checkpoints: Sequence[str | int] = ("best",),
    average: Average = "log",
    device: str | torch.device | None = None,
    precision: str = "float32",
) -> EnsembleTranslator:
    """Load an ensemble of several runs, or of several checkpoints of a run.

    It has `translate` and `hypotheses`.
    average: of the log-probabilities (`log`) or of the probabilities (`linear`).
    precision: as for `load`.
    Raises ConfigError if the target vocabularies of the runs differ.
    """
    from polyglot.inference.ensemble import EnsembleTranslator

    return EnsembleTranslator.load(
        runs,
        checkpoints=checkpoints,
        average=average,
        device=device,
        precision=precision,
    )
