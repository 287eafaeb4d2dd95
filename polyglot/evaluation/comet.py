"""COMET (Rei et al. 2020), through the package of its authors, which is an extra: `pip install 'polyglot-nmt[comet]'`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch

from polyglot.core.errors import ConfigError
from polyglot.evaluation.metrics import Score

ROWS = 16  # sentences scored together


class Comet:
    """One COMET model, loaded once."""

    def __init__(self, model: str) -> None:
        """model: the file of a model, such as `checkpoints/model.ckpt`. Raises ConfigError when file or package are not there.

        The file is read by PyTorch Lightning, which trusts it: take models only from whom you trust.
        """
        if not Path(model).is_file():
            raise ConfigError(
                f"comet: {model}: no such file; name the file of a COMET model, such as wmt22-comet-da/checkpoints/model.ckpt"
            )
        try:
            import comet
        except ImportError:
            raise ConfigError(
                "comet: the metric needs a package that is not installed: pip install 'polyglot-nmt[comet]'"
            ) from None
        self._model = comet.load_from_checkpoint(model)
        self._signature = f"model:{Path(model).parent.parent.name or Path(model).stem}|version:{version('unbabel-comet')}"

    def score(
        self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]
    ) -> Score:
        """The mean of all sentences, times 100 as all other scores are."""
        rows = [
            {"src": source, "mt": line, "ref": reference}
            for source, line, reference in zip(sources, hypotheses, references)
        ]
        found = self._model.predict(
            rows, batch_size=ROWS, gpus=int(torch.cuda.is_available()), progress_bar=False
        )
        return Score(100 * found.system_score, self._signature)
