"""The commands of the program. Imports that need torch wait until their command is called."""

# In the order in which `--help` lists them:
from polyglot.cli import (
    analysis,
    embeddings,
    evaluation,
    experiments,
    export,
    show,
    symbols,
    training,
    translation,
)  # noqa: F401, I001
from polyglot.cli.app import main

__all__ = ["main"]
