"""Run that the tests of exports and new languages share."""

from __future__ import annotations

import pytest

from tests.builders.runs import tiny_run, train


@pytest.fixture(scope="session")
def english_german(tmp_path_factory):
    """Run with both directions and copies, and with checkpoints of three steps."""
    run = tiny_run(
        tmp_path_factory.mktemp("english_german"),
        languages=["en", "de"],
        schedule={"pairs": ["*-*"], "copies": True},
        training={"steps": 3, "checkpoint": {"every": 1}},
    )
    train(run)
    return run
