"""Sections of the report in the order of the page.

To add a section: one file here, and its function in SECTIONS. The last section stays last.
"""

from collections.abc import Callable

from polyglot.report.files import RunFiles
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

SECTIONS: tuple[Callable[[RunFiles], Section | None], ...] = (
    headline,
    matrix,
    examples,
    curves,
    embeddings,
    attention,
    heads,
    analysis,
    data,
    configuration,
)
