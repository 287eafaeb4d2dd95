"""COMET (Rei et al. 2020) through the authors' package: `pip install 'polyglot-nmt[comet]'`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch

from polyglot.core.errors import ConfigError
from polyglot.evaluation.metrics import Score

BATCH_SIZE = 16  # sentences


class Comet:
    """A COMET model, loaded once."""

    def __init__(self, model: str) -> None:
        """model: file of a model, such as `checkpoints/model.ckpt`.

        PyTorch Lightning reads the file and can execute code in it: use only models from a source
        that you trust. Raises ConfigError if the file or the package is missing.
        """
        path = Path(model)
        if not path.is_file():
            raise ConfigError(
                f"comet: {model}: no such file; name the file of a COMET model, such as "
                "wmt22-comet-da/checkpoints/model.ckpt"
            )
        try:
            import comet
        except ImportError:
            raise ConfigError(
                "comet: the metric needs a package that is not installed: "
                "pip install 'polyglot-nmt[comet]'"
            ) from None
        self._model = comet.load_from_checkpoint(model)
        name = path.parent.parent.name or path.stem
        self._signature = f"model:{name}|version:{version('unbabel-comet')}"

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        sources: Sequence[str],
    ) -> Score:
        """Mean of all sentences, multiplied by 100 like all other scores."""
        rows = []
        for source, hypothesis, reference in zip(sources, hypotheses, references):
            rows.append({"src": source, "mt": hypothesis, "ref": reference})
        prediction = self._model.predict(
            rows, batch_size=BATCH_SIZE, gpus=int(torch.cuda.is_available()), progress_bar=False
        )
        return Score(100 * prediction.system_score, self._signature)
