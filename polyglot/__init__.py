"""Polyglot: multilingual many-to-many machine translation around an attention bridge.

    import polyglot
    model = polyglot.load("runs/phrasebook")
    model.translate(["Der Hund schläft."], source="de", target="fr")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.version import VERSION

if TYPE_CHECKING:
    import torch

    from polyglot.inference import Translator
    from polyglot.run import Run

__version__ = VERSION
__all__ = ["__version__", "load"]


def load(run: str | Path | Run, *, checkpoint: str | int = "best", device: str | torch.device | None = None) -> Translator:
    """The translator of a run directory: `translate`, `hypotheses` and `score` in every direction it has the components for.

    checkpoint: `best`, `last`, a step, or `average:N`. Raises ConfigError where there is no run, CheckpointError where its
    checkpoint cannot be used.
    """
    from polyglot.inference import Translator  # torch is only imported when somebody translates

    return Translator.load(run, checkpoint=checkpoint, device=device)
