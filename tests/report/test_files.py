"""Descriptions of the files of a run directory."""

from __future__ import annotations

import pytest

from polyglot.report.files import describe_checkpoint


@pytest.mark.parametrize(
    ("checkpoint", "expected"),
    [
        ({"checkpoint": "best", "steps": [4000]}, "best checkpoint, step 4,000"),
        ({"checkpoint": "average:2", "steps": [3, 6]}, "average:2 checkpoint, steps 3, 6"),
        ({"checkpoint": 4000, "steps": [4000]}, "checkpoint of step 4,000"),
        ({"checkpoint": "last"}, "last checkpoint"),
    ],
)
def test_a_checkpoint_is_described_with_its_steps(checkpoint, expected):
    assert describe_checkpoint({"checkpoint": checkpoint}) == expected
