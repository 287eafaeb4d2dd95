"""Polyglot: multilingual many-to-many machine translation around an attention bridge.

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
    """The translator of a run directory: `translate`, `hypotheses` and `score` in every direction it has the components for.

    checkpoint: `best`, `last`, a step, or `average:N`. Raises ConfigError where there is no run, CheckpointError where its
    checkpoint cannot be used.
    """
    from polyglot.inference.translator import (
        Translator,
    )  # torch is only imported when somebody translates

    return Translator.load(run, checkpoint=checkpoint, device=device)


def ensemble(
    runs: Sequence[str | Path | Run],
    *,
    checkpoints: Sequence[str | int] = ("best",),
    average: Average = "log",
    device: str | torch.device | None = None,
) -> EnsembleTranslator:
    """Translators of several runs, or of several checkpoints of one, that write each translation together: `translate` and `hypotheses`.

    average: of their probabilities, `log` or `linear`. Raises ConfigError where their targets have different vocabularies.
    """
    from polyglot.inference.ensemble import EnsembleTranslator as Translators

    return Translators.load(runs, checkpoints=checkpoints, average=average, device=device)
