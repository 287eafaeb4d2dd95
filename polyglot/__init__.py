"""Polyglot: multilingual many-to-many machine translation with an attention bridge.

import polyglot
model = polyglot.load("runs/phrasebook")
model.translate(["Der Hund schläft."], source="de", target="fr")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from polyglot.decoding.ensemble_decoder import Average
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

__version__ = VERSION
__all__ = ["__version__", "ensemble", "load"]


def load(
    run: str | Path | Run,
    *,
    checkpoint: str | int = "best",
    device: str | torch.device | None = None,
) -> Translator:
    """Load the translator of a run directory: `translate`, `hypotheses` and `score`.

    It translates every direction whose encoder and decoder the run has.
    checkpoint: `best`, `last`, a step, or `average:N`.
    Raises ConfigError if there is no run, CheckpointError if its checkpoint cannot be used.
    """
    # PyTorch is imported only when it is needed.
    from polyglot.inference.translator import Translator

    return Translator.load(run, checkpoint=checkpoint, device=device)


def ensemble(
    runs: Sequence[str | Path | Run],
    *,
    checkpoints: Sequence[str | int] = ("best",),
    average: Average = "log",
    device: str | torch.device | None = None,
) -> EnsembleTranslator:
    """Load an ensemble of several runs, or of several checkpoints of a run.

    It has `translate` and `hypotheses`.
    average: of the log-probabilities (`log`) or of the probabilities (`linear`).
    Raises ConfigError if the target vocabularies of the runs differ.
    """
    from polyglot.inference.ensemble import EnsembleTranslator

    return EnsembleTranslator.load(runs, checkpoints=checkpoints, average=average, device=device)
