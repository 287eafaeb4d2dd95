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

LONGEST_RUN = 10**12  # steps
StepCount = Annotated[int, Field(ge=1, le=LONGEST_RUN)]
"""Number of updates, or an interval in updates."""

StepNumber = Annotated[int, Field(ge=0, le=LONGEST_RUN)]
"""Number of an update."""

LossWeight = Annotated[float, Field(ge=0, le=1e6)]
"""Weight of a term of the loss."""

LearningRate = Annotated[float, Field(gt=0, le=1000)]

Epsilon = Annotated[float, Field(ge=1e-20, le=1)]
"""Number that is added to a denominator; a smaller one would vanish in float32."""

DropoutRate = Annotated[float, Field(ge=0, lt=1)]
"""Share of numbers that dropout sets to 0."""
