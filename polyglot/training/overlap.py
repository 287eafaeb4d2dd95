"""Report of a dry run: validation and test sentences that are also in the training text."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from polyglot.config.schema import Config
from polyglot.core.tables import FoldedTable
from polyglot.data.corpora import Corpora
from polyglot.data.overlap import Overlap, find_overlaps
from polyglot.runs.run import Run
from polyglot.training.preflight import held_out_corpora

logger = logging.getLogger("polyglot")

MOST_ROWS = 20
"""Rows of the table; with many languages, those with the largest shares."""


def training_overlaps(config: Config, train: Corpora, run: Run | None) -> list[Overlap]:
    """Find the overlap of `data.valid` and `data.test` with the training text; log a warning.

    run: a continued run. Returns the parts and languages with shared sentences, the largest share
    first. Raises DataError for text that cannot be used.
    """
    overlaps = find_overlaps(train, held_out_corpora(config, run), config.languages)
    shared = [overlap for overlap in overlaps if overlap.shared_count]
    shared.sort(key=lambda overlap: overlap.share, reverse=True)
    if shared:
        parts = dict.fromkeys(f"data.{overlap.part}" for overlap in shared)
        logger.warning(
            f"{' and '.join(parts)}: some sentences are also in the training text; "
            "`polyglot clean … --test FILE` removes them there"
        )
    elif overlaps:
        logger.info("no validation or test sentence is in the training text")
    return shared


def overlap_table(overlaps: Sequence[Overlap]) -> FoldedTable:
    """Table of the held-out sentences that are in the training text."""
    table = FoldedTable(
        "held-out text",
        "language",
        "sentences",
        "in training text",
        "%",
        title="Held-out sentences in the training text, equal or nearly equal",
        text_columns={"language"},
    )
    for overlap in overlaps[:MOST_ROWS]:
        table.add_row(
            f"data.{overlap.part}",
            overlap.language,
            f"{overlap.sentence_count:,}",
            f"{overlap.shared_count:,}",
            f"{100 * overlap.share:.1f}",
        )
    return table
