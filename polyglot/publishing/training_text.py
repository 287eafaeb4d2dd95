"""Corpora of a run with their licences, as the model card names them."""

from __future__ import annotations

from collections.abc import Sequence

from polyglot.core.markdown import escape, table
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora.hub import HubCorpus
from polyglot.evaluation.provenance import describe_corpus

NO_LICENCE = "not named"


def training_text_table(corpora: Sequence[ComponentConfig]) -> str:
    """Table with one row for each corpus; equal rows appear once."""
    rows: dict[tuple[str, str], None] = {}
    for corpus in corpora:
        row = (escape(describe_corpus(corpus)), escape(corpus.licence or NO_LICENCE))
        rows[row] = None
    head = ["corpus", "licence"]
    return table(head, rows, words=head)


def hub_data_sets(corpora: Sequence[ComponentConfig]) -> list[str]:
    """Names of the corpora that are data sets of the hub, each once."""
    names: dict[str, None] = {}
    for corpus in corpora:
        if isinstance(corpus, HubCorpus.Config):
            names[corpus.name] = None
    return list(names)
