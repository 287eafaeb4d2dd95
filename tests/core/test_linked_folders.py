"""Links to folders: a run directory of somebody else cannot redirect writes out of itself."""

from __future__ import annotations

import pytest

from polyglot.core.errors import CheckpointError
from polyglot.core.file_locks import folder_lock, output_lock
from polyglot.core.linked_folders import is_inside


@pytest.fixture
def run(tmp_path):
    """Run directory with a folder of results, beside a folder of somebody else."""
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "evaluation" / "default" / "text").mkdir(parents=True)
    (run / "config.yaml").touch()
    (tmp_path / "outside" / "default").mkdir(parents=True)
    return run


@pytest.mark.parametrize(
    "name", ["checkpoints", "evaluation", "evaluation/default", "evaluation/default/text"]
)
def test_a_linked_folder_of_a_run_is_not_written_into(name, run, tmp_path):
    (run / name).rename(tmp_path / "before")
    (run / name).symlink_to(tmp_path / "outside")
    message = f"{run / name}.*it is a link to a folder outside of|outside of {run}"
    with pytest.raises(CheckpointError, match=message), folder_lock(run, work="testing"):
        pass
    if name != "checkpoints":
        folder = run / "evaluation" / "default"
        with pytest.raises(CheckpointError, match=message), output_lock(folder, work="testing"):
            pass
    assert [path.name for path in (tmp_path / "outside").rglob("*")] == ["default"]


def test_a_run_directory_may_be_a_link_and_have_links_inside(run, tmp_path):
    (run / "evaluation" / "best").symlink_to("default")
    link = tmp_path / "link"
    link.symlink_to(run)
    with folder_lock(link, work="testing"):
        pass
    with output_lock(link / "evaluation" / "best", work="testing"):
        pass


def test_a_folder_that_belongs_to_no_run_may_be_a_link(tmp_path):
    (tmp_path / "config.yaml").touch()
    (tmp_path / "target").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "results").symlink_to(tmp_path / "target")
    with output_lock(tmp_path / "folder" / "results", work="testing"):
        pass


def test_a_name_that_no_file_can_have_is_not_inside(tmp_path):
    assert is_inside(tmp_path / "name", tmp_path)
    assert not is_inside(tmp_path / "a\0b", tmp_path)
    assert not is_inside(tmp_path / "\ud800", tmp_path)
    assert not is_inside(tmp_path / ".." / "name", tmp_path)
