"""The commands of the program. Imports that need torch wait until their command is called."""

# isort: off
# The order of the imports is the order of the commands in `--help`.
from polyglot.cli import training  # noqa: F401
from polyglot.cli import translation  # noqa: F401
from polyglot.cli import evaluation  # noqa: F401
from polyglot.cli import results  # noqa: F401
from polyglot.cli import experiments  # noqa: F401
from polyglot.cli import embeddings  # noqa: F401
from polyglot.cli import analysis  # noqa: F401
from polyglot.cli import export  # noqa: F401
from polyglot.cli import publishing  # noqa: F401
from polyglot.cli import serving  # noqa: F401
from polyglot.cli import preparation  # noqa: F401
from polyglot.cli import cleaning  # noqa: F401
from polyglot.cli import symbols  # noqa: F401
from polyglot.cli import check  # noqa: F401
from polyglot.cli import show  # noqa: F401
from polyglot.cli.app import main
# isort: on

__all__ = ["main"]
