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
    "push",
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
    pairs: Sequence[str] | None = None,
    checkpoint: str | int = "best",
    device: str | torch.device | None = None,
    precision: str = "float32",
    engine: str = "polyglot",
) -> Translator:
    """Load the translator of a run: `translate`, `hypotheses` and `score`.

    It translates every direction whose encoder and decoder the run has.
    run: a run directory, or the address of a run on the hub, such as `hub:user/name@revision`.
    pairs: directions such as `de-en`, so that only their components are read and downloaded.
    checkpoint: `best`, `last`, a step, or `average:N`.
    precision: of matrix products, `float32`, `bf16`, `int8`, or `auto` for the fastest one.
    engine: program of the search: `polyglot`, or `ctranslate2` for Transformers without a bridge,
    which is faster with `int8`.
    Raises ConfigError if there is no run, CheckpointError if its checkpoint cannot be used,
    HubError if it cannot be downloaded.
    """
    from polyglot.inference.translator import Translator
    from polyglot.tasks.pairs import LanguagePair

    directions = None
    if pairs is not None:
        directions = [LanguagePair.parse(pair) for pair in pairs]
    return Translator.load(
        run,
        checkpoint=checkpoint,
        pairs=directions,
        device=device,
        precision=precision,
        engine=engine,
    )


def push(run: str | Path | Run, repository: str, **options: Any) -> str:
    """Publish a run on the hub, with a model card, and return the URL of the commit.

    repository: `user/name`. options: `private`, `revision`, `message`, `checkpoint`, `licence` and
    `with_text`, as for `polyglot.publishing.push.push`, whose errors it raises.
    """
    from polyglot.publishing.push import push as push_run

    return push_run(run, repository, **options)


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
