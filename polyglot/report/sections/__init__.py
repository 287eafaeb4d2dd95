"""Every section in the order of the page. A new one is a file here and a name below; the last stands after whatever `more` brings."""

from collections.abc import Callable

from polyglot.report.files import Files
from polyglot.report.section import Section

from .analysis import analysis
from .attention import attention
from .configuration import configuration
from .curves import curves
from .data import data
from .embeddings import embeddings
from .examples import examples
from .headline import headline
from .heads import heads
from .matrix import matrix

SECTIONS: tuple[Callable[[Files], Section | None], ...] = (
    headline, matrix, examples, curves, embeddings, attention, heads, analysis, data, configuration,
)  # fmt: skip
