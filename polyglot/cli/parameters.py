"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from polyglot.cli import completion
from polyglot.core.errors import ConfigError

# The packages that define these choices load torch; a test compares the two.
POOLINGS = ("flat", "mean", "max")
LAYERS = ("bridge", "states", "words")
SELECT_BY = ("prediction", "shortlist")
SELECT_FOR = ("sentence", "batch")
ENGINES = ("polyglot", "ctranslate2")
PRECISIONS = ("float32", "bf16", "int8", "auto")


def choice(choices: Sequence[str], *names: str, **settings: Any) -> Any:
    """Return an option with a few possible values: help and completion list them."""
    metavar = "|".join(choices)
    return typer.Option(
        *names, metavar=metavar, autocompletion=completion.choices(choices), **settings
    )


Overrides = Annotated[
    Optional[list[str]],
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings that replace those of the configuration, such as training.steps=5000. "
        "KEY+=VALUE appends to a list.",
    ),
]
RunPath = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run directory, such as runs/phrasebook, or a run on the hub: hub:user/name.",
        autocompletion=completion.runs,
    ),
]
Checkpoint = Annotated[
    str,
    typer.Option(
        metavar="CHECKPOINT",
        help="best, last, a step, or average:N for the mean of the newest N.",
        autocompletion=completion.checkpoints,
    ),
]
Device = Annotated[
    Optional[str],
    typer.Option(
        metavar="DEVICE",
        help="cpu, cuda, cuda:1 or mps. Default: a GPU if there is one.",
        autocompletion=completion.devices,
    ),
]
Precision = Annotated[
    str,
    choice(
        PRECISIONS,
        help="Precision of matrix products; auto is the fastest one of the processor or GPU.",
    ),
]
Engine = Annotated[
    str,
    choice(
        ENGINES,
        help="Program that searches for translations. ctranslate2 is faster with --precision int8; "
        "for Transformers without a bridge (pip install 'polyglot-nmt[ctranslate2]').",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Check everything, show the sizes and the memory, and do not train."
    ),
]
AcceptChanges = Annotated[
    bool,
    typer.Option(
        "--accept-changes",
        help="Use config.yaml although it was changed since the program wrote it.",
    ),
]
Select = Annotated[
    Optional[int],
    typer.Option(
        min=1,
        metavar="N",
        help="Restrict the search to the N most probable words (vocabulary selection). "
        "Default: the setting of the run.",
    ),
]
SelectBy = Annotated[
    Optional[str],
    choice(SELECT_BY, help="Choose these words with the word predictor or with a shortlist."),
]
SelectFor = Annotated[
    Optional[str],
    choice(SELECT_FOR, help="Choose these words for each sentence or for each batch."),
]
Pooling = Annotated[
    str,
    choice(
        POOLINGS, help="Concatenate all rows of the memory (flat), or take their mean or maximum."
    ),
]
Layer = Annotated[
    str,
    choice(LAYERS, help="The vectors to pool: bridge rows, encoder states, or word embeddings."),
]


def parse_sentences(arguments: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return the language and text of each `LANGUAGE=TEXT`. Raises ConfigError for other forms."""
    sentences = []
    for argument in arguments or ():
        language, _, text = argument.partition("=")
        if not language or not text.strip():
            raise ConfigError(
                f"--sentence: found {argument!r}; "
                "write language and text, such as de='Ein Hund rennt.'"
            )
        sentences.append((language, text))
    return sentences


def without_unset(**options: Any) -> dict[str, Any]:
    """Return the options that the user set."""
    return {name: value for name, value in options.items() if value is not None}
