"""The verbs. They tie the rooms together and print; every import that needs torch waits until its verb is called."""

# In the order in which `--help` lists them:
from polyglot.cli import training, translation, evaluation, experiments, embeddings, analysis, reuse, symbols, looking  # noqa: F401, I001
from polyglot.cli.program import app, main

__all__ = ["app", "main"]
