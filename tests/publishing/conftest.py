"""A hub on this machine, an evaluated run of three languages, and the same run on the hub."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.inference.translator import Translator
from polyglot.publishing.push import push
from polyglot.runs.run import Run
from polyglot.training.build import build_trainer
from polyglot.training.validation import Validator
from tests.builders.command_line import CONFIG, Program, write_text
from tests.builders.hub_server import Hub, use_hub
from tests.builders.pictures import limit_pictures

OVERRIDES = [
    "schedule={type: uniform, pairs: [de-en, en-de, en-fr]}",
    "validation.bleu_pairs=[]",
    "data.train.0.licence=CC BY 2.0",
]


@pytest.fixture(scope="session")
def published(tmp_path_factory) -> tuple[Path, dict[str, bytes], str]:
    """Folder with runs/mine, the files that were pushed to user/mine, and what push returned."""
    folder = tmp_path_factory.mktemp("published")
    write_text(folder)
    (folder / "mine.yaml").write_text(CONFIG, encoding="utf-8")
    run_path = folder / "runs" / "mine"
    overrides = [f"data.folder={folder}", f"run={run_path}", *OVERRIDES]
    run = Run.create(load_config(folder / "mine.yaml", overrides))
    build_trainer(run, Validator(run)).train()

    with Hub() as hub, pytest.MonkeyPatch.context() as patch:
        limit_pictures(patch)
        protocol = Protocol.model_validate({"metrics": ["bleu", "chrf"], "resamples": 0})
        results = run.evaluation / "default"
        evaluate(run, Translator.load(run), protocol, folder=results).save(results)
        use_hub(patch, hub.endpoint, folder / "cache")
        url = push(run, "user/mine", licence="cc-by-4.0", message="First version")
        files = hub.repositories["user/mine"].files()
    return folder, files, url


@pytest.fixture
def hub(monkeypatch, tmp_path) -> Iterator[Hub]:
    """An empty hub, an empty cache, and an empty working directory."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with Hub() as server:
        use_hub(monkeypatch, server.endpoint, tmp_path / "cache")
        yield server


@pytest.fixture
def hub_with_run(hub, published) -> Hub:
    """A hub with the run as user/mine."""
    _, files, _ = published
    hub.add("user/mine", dict(files))
    return hub


@pytest.fixture
def local_run(published, tmp_path) -> Path:
    """A copy of the run that was pushed."""
    folder, _, _ = published
    place = tmp_path / "work" / "runs" / "mine"
    shutil.copytree(folder / "runs" / "mine", place)
    return place


@pytest.fixture
def polyglot(monkeypatch, capsys, few_resamples, small_pictures) -> Program:
    """The program, called within the process of the test; its pictures have one pixel."""
    return Program(monkeypatch, capsys)
