"""Steps that have a checkpoint."""

from __future__ import annotations

from polyglot.runs.steps import steps


def test_steps_are_numbers_in_ascending_order(tmp_path):
    for name in ("step-100000000", "step-99999999", "step-00000005", "step-00000000"):
        (tmp_path / name).mkdir()
    assert steps(tmp_path) == [0, 5, 99_999_999, 100_000_000]


def test_other_names_are_ignored(tmp_path):
    for name in (
        "step-notes",
        "step-5",
        "step-00000005.old",
        ".step-00000006.writing",
        "best.json",
    ):
        (tmp_path / name).mkdir()
    assert steps(tmp_path) == []


def test_a_missing_folder_has_no_steps(tmp_path):
    assert steps(tmp_path / "none") == []
