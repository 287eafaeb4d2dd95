"""Few resamples in the evaluations of all trials."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders.resamples import limit_resamples


@pytest.fixture(scope="module", autouse=True)
def few_resamples_in_module() -> Iterator[None]:
    """Let the evaluations of a module, also those in forked processes, draw few resamples."""
    with pytest.MonkeyPatch.context() as patch:
        limit_resamples(patch)
        yield
