"""Types of the arrays that describe sentence pairs."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

Indices = NDArray[numpy.int64]
"""Sentence pairs by number, (N,)."""

Lengths = NDArray[numpy.int32]
"""Number of pieces of each sentence, (N,)."""

PieceIds = NDArray[numpy.int32]
"""Piece ids of one sentence."""

Mask = NDArray[numpy.bool_]
"""True on the sentence pairs that are kept, (N,)."""
