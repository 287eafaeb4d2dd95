"""Combinations of settings with which the contract tests build a component."""

from __future__ import annotations

import pytest

from tests.builders import models


@pytest.fixture(
    params=["any two settings", pytest.param("all settings", marks=pytest.mark.slow)],
)
def combinations(request, monkeypatch) -> None:
    """Any two alternatives of different settings occur together; or all combinations occur."""
    if request.param == "all settings":
        monkeypatch.setattr(models, "setting_pairs", models.setting_combinations)
