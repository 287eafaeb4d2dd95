"""The only file that uses the private fingerprint of the library `datasets`.

Tested with `datasets` 5.2.0. A version without this attribute gives the fingerprint of the content,
which needs only the public interface but reads the whole text.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Dataset

ROWS = 1 << 16
"""Rows that are hashed at a time."""


def dataset_fingerprint(dataset: Dataset) -> str:
    """Fingerprint of the text of a dataset, under which derived tables are cached.

    The library computes it from the source of the data and from all operations on it. A cached
    table has the fingerprint that it was opened with.
    """
    stored = getattr(dataset, "_fingerprint", None)
    if isinstance(stored, str):
        return stored
    return content_fingerprint(dataset)


def content_fingerprint(dataset: Dataset) -> str:
    """Hash of the columns and rows of a dataset; equal for equal content, wherever it is stored."""
    digest = hashlib.sha256(repr(dataset.features).encode())
    for row in range(0, len(dataset), ROWS):
        block = dataset[row : row + ROWS]
        digest.update(repr(block).encode())
    return digest.hexdigest()[:32]
