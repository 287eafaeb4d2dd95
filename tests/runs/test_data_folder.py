"""Relative corpus paths: from the present folder, and from the folder where the run was started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polyglot.config.loading import check_config
from polyglot.core.errors import DataError
from polyglot.evaluation.held_out import HeldOut
from polyglot.report.files import RunFiles
from polyglot.report.page import page
from polyglot.runs.data_folder import data_folders, find_data_folder, start_folder, tried_folders
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.preflight import check_and_open_corpora
from tests.builders.runs import tiny_settings, write_corpus

PAIR = LanguagePair("en", "de")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Two folders: a run was started in the first, the present folder is the second."""
    first = tmp_path / "first"
    second = tmp_path / "second"
    (first / "text").mkdir(parents=True)
    second.mkdir()
    write_corpus(first / "text")
    monkeypatch.chdir(first)
    values = tiny_settings(Path("text"))
    values["run"] = "runs/mine"
    Run.create(check_config(values, where="mine"))
    monkeypatch.chdir(second)
    return first, second


def test_the_run_stores_the_folder_and_no_absolute_path_in_its_configuration(places):
    first, _ = places
    run = Run.open(first / "runs/mine")
    assert start_folder(run) == first
    assert run.config.data.folder == "text"
    assert str(first) not in run.config_file.read_text()


def test_the_text_is_found_where_the_run_was_started(places):
    first, second = places
    run = Run.open(first / "runs/mine")
    held_out = HeldOut(run, run.config.data.valid, sentences=None)
    held_out.check([PAIR])
    assert len(held_out.lines(PAIR)[0]) == 10
    assert check_and_open_corpora(run.config, resuming=True, run=run).pairs() >= {PAIR}


def test_a_moved_run_finds_its_text_too(places, tmp_path):
    first, _ = places
    (first / "runs/mine").rename(tmp_path / "moved")
    run = Run.open(tmp_path / "moved")
    assert find_data_folder(run, run.config.data.train) == first / "text"


def test_the_present_folder_comes_first(places):
    first, second = places
    (second / "text").mkdir()
    write_corpus(second / "text")
    run = Run.open(first / "runs/mine")
    assert find_data_folder(run, run.config.data.train) == Path("text")


def test_the_error_names_both_places_and_the_key(places):
    first, second = places
    (first / "text").rename(first / "elsewhere")
    run = Run.open(first / "runs/mine")
    expected = (
        f"; relative paths were tried in {second / 'text'}, and in {first / 'text'}, "
        "where the run was started: set data.folder"
    )
    with pytest.raises(DataError) as error:
        HeldOut(run, run.config.data.valid, sentences=None).check([PAIR])
    assert str(error.value).endswith(expected)
    with pytest.raises(DataError) as error:
        check_and_open_corpora(run.config, resuming=True, run=run)
    assert str(error.value).endswith(expected)


def test_the_report_names_both_places_and_the_key(places):
    first, second = places
    (first / "text").rename(first / "elsewhere")
    html = page(RunFiles(Run.open(first / "runs/mine")))
    assert (
        f"relative paths were tried in {second / 'text'}, and in {first / 'text'}, "
        "where the run was started: set data.folder"
    ) in html


def test_in_the_folder_of_the_start_there_is_one_place(places, monkeypatch):
    first, _ = places
    monkeypatch.chdir(first)
    assert data_folders(Run.open("runs/mine")) == [Path("text")]


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"folder": 3}'])
def test_older_and_damaged_runs_know_only_the_present_folder(content, places):
    first, _ = places
    run = Run.open(first / "runs/mine")
    run.start_file.unlink()
    if content is not None:
        run.start_file.write_text(content)
    assert start_folder(run) is None
    assert data_folders(run) == [Path("text")]


def test_a_link_to_itself_is_one_of_the_places(places, tmp_path):
    first, _ = places
    link = tmp_path / "link"
    link.symlink_to(link)
    run = Run.open(first / "runs/mine")
    run.start_file.write_text(json.dumps({"folder": str(link)}))
    assert data_folders(run) == [Path("text"), link / "text"]
    assert str(link) in tried_folders(run)


def test_an_absolute_folder_is_one_place(places):
    first, _ = places
    run = Run.open_with_overrides(first / "runs/mine", [f"data.folder={first}/text"])
    assert data_folders(run) == [first / "text"]
    assert json.loads(run.start_file.read_text()) == {"folder": str(first)}
