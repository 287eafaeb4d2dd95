"""What the tests of the benchmarks share."""

from __future__ import annotations

import machine
import pytest


@pytest.fixture(autouse=True)
def small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the limits of the machine with a few products of small matrices, to save time."""
    defaults = machine.matrix_product_limits.__kwdefaults__
    monkeypatch.setitem(defaults, "size", 64)
    monkeypatch.setitem(defaults, "seconds", 0.0)
