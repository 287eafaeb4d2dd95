"""Types of settings that many components have, with their bounds.

The upper bounds are far above any useful value. They turn a typing error into a message, before
the memory of the machine is exhausted.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Size = Annotated[int, Field(ge=1, le=65536)]
"""Size of a vector: states, embeddings, hidden layers."""

LayerCount = Annotated[int, Field(ge=1, le=256)]
"""Number of stacked layers."""

HeadCount = Annotated[int, Field(ge=1, le=1024)]
"""Number of attention heads, bridge heads or roles."""

WindowWidth = Annotated[int, Field(ge=1, le=1001)]
"""Number of words in the window of a convolution."""

PositionCount = Annotated[int, Field(ge=1, le=1_000_000)]
"""Number of learned positions."""

DropoutRate = Annotated[float, Field(ge=0, lt=1)]
"""Share of numbers that dropout sets to 0."""
