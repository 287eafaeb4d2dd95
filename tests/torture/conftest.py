"""Few resamples and small pictures in the evaluations of all trials."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders.pictures import limit_pictures
from tests.builders.resamples import limit_resamples


@pytest.fixture(scope="module", autouse=True)
def short_evaluations() -> Iterator[None]:
    """Let all evaluations, also those in forked processes, draw few resamples and no pictures."""
    with pytest.MonkeyPatch.context() as patch:
        limit_resamples(patch)
        limit_pictures(patch)
        yield
