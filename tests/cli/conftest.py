"""A small trained run, built once per test process; each test works in a copy of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest

from polyglot.config.loading import load_config
from polyglot.decoding.shortlist import Shortlist
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.views.export import save_with_views
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.build import build_trainer
from polyglot.training.validation import Validator
from tests.builders.command_line import CONFIG, Program, write_text


@pytest.fixture(scope="session")
def small_run_folder(tmp_path_factory) -> Path:
    """Folder with text, mine.yaml, and runs/mine with checkpoints 2 and 4. Do not change it."""
    folder = tmp_path_factory.mktemp("small_run")
    write_text(folder)
    (folder / "mine.yaml").write_text(CONFIG, encoding="utf-8")
    run_path = folder / "runs" / "mine"
    config = load_config(folder / "mine.yaml", [f"data.folder={folder}", f"run={run_path}"])
    run = Run.create(config)
    build_trainer(run, Validator(run)).train()
    assert checkpoints.steps(run.checkpoints) == [2, 4]
    return folder


@pytest.fixture
def folder(small_run_folder, tmp_path, monkeypatch) -> Path:
    """A copy of the folder with the small run; the working directory of the test."""
    shutil.copytree(small_run_folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def evaluated_run(small_run_folder, tmp_path_factory) -> Path:
    """Folder with a run that was evaluated. Do not change it."""
    folder = tmp_path_factory.mktemp("evaluated")
    shutil.copytree(small_run_folder, folder, dirs_exist_ok=True)
    run = Run.open(folder / "runs/mine")
    protocol = Protocol.model_validate({"pairs": ["de-en"], "metrics": ["chrf"], "resamples": 2})
    results = run.evaluation / "default"
    save_with_views(evaluate(run, Translator.load(run), protocol, folder=results), results)
    sentences = [numpy.array([4, 5], numpy.int32)]
    shortlist = Shortlist.learn(sentences, sentences, (50, 50), words_per_source=3)
    path = run.shortlist_file(LanguagePair("de", "en"))
    path.parent.mkdir()
    path.write_bytes(shortlist.to_bytes())
    return folder


@pytest.fixture
def evaluated(evaluated_run, tmp_path, monkeypatch) -> Path:
    """A copy of the folder with an evaluated run; the working directory of the test."""
    shutil.copytree(evaluated_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def polyglot(monkeypatch, capsys, few_resamples, small_pictures) -> Program:
    """The program, called within the process of the test; its pictures have one pixel."""
    return Program(monkeypatch, capsys)


@pytest.fixture(params=[(), ("--dry-run",)], ids=["train", "dry-run"])
def dry_run(request) -> tuple[str, ...]:
    """Options of `train`: none, or a dry run. Both find the same mistakes."""
    return request.param
