"""Shell completion, called as bash calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polyglot.core import presets
from polyglot.core.yaml import dump_yaml
from tests.conftest import ROOT

CHECKPOINT_ENTRIES = (
    "step-00000050",
    "step-00000200",
    "step-00000200.bak",
    "step-00001000",
    ".step-00002000.writing",
    "best.json",
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Folder with configurations, text, and two runs; one of them has checkpoints."""
    monkeypatch.chdir(tmp_path)
    for name, languages in (("one", ["en", "de"]), ("other", ["fr", "fi"])):
        config = {"languages": languages, "training": {"checkpoint": {"keep": 2}}}
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        (run / "config.yaml").write_text(dump_yaml(config))
    for name in CHECKPOINT_ENTRIES:
        (tmp_path / "runs" / "one" / "checkpoints" / name).mkdir(parents=True)
    (tmp_path / "mine.yaml").write_text("languages: [en]\n")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.en").write_text("a\n")
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "large.yml").write_text("languages: [en]\n")
    (tmp_path / "settings" / "notes.txt").write_text("a\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.fixture
def complete(monkeypatch, polyglot) -> Callable[[str], list[str]]:
    """Function that returns the completions of the last, incomplete word of a line."""

    def complete_line(line: str) -> list[str]:
        words = ["polyglot", *line.split(" ")]
        monkeypatch.setenv("_POLYGLOT_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        result = polyglot()
        assert (result.status, result.errors) == (0, "")
        return result.output.split()

    return complete_line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("translate r", ["runs/", "runs/one", "runs/other"]),
        ("translate runs/", ["runs/one", "runs/other"]),
        ("translate runs/ot", ["runs/other"]),
        ("translate x", []),
        ("translate nowhere/", []),
        ("evaluate runs/one runs/ot", ["runs/other"]),
        ("compare runs/on", ["runs/one"]),
        ("train phra", ["phrasebook"]),
        ("train mi", ["mine.yaml"]),
        ("train se", ["settings/"]),
        ("train settings/", ["settings/large.yml"]),
        ("train te", []),
        ("train em", []),
        ("train multi30k/ti", ["multi30k/tiny"]),
        ("train runs/o", ["runs/one", "runs/other"]),
        ("translate runs/one --from ", ["en", "de"]),
        ("translate runs/other --to f", ["fr", "fi"]),
        ("translate nowhere --from ", []),
        ("embed runs/other --language ", ["fr", "fi"]),
        ("evaluate runs/other runs/one --pivot ", ["fr", "fi"]),
        ("analyse runs/other roles --language ", ["fr", "fi"]),
        ("analyse runs/other he", ["heads"]),
        ("translate runs/one --checkpoint ", ["best", "last", "50", "200", "1000", "average:2"]),
        ("translate runs/other --checkpoint ", ["best", "last"]),
        ("evaluate runs/one --checkpoint 1", ["1000"]),
        ("evaluate runs/one --protocol q", ["quick"]),
        ("experiment multi30k_eng", ["multi30k_english_centric"]),
        ("translate runs/one --device c", ["cpu", "cuda"]),
        ("embed runs/one --pooling m", ["mean", "max"]),
        ("show with_c", ["with_copies"]),
        ("show schedules/with_c", ["schedules/with_copies"]),
        ("show runs/ot", ["runs/other"]),
        ("trai", ["train"]),
    ],
)
def test_completions(line, expected, folder, complete):
    assert complete(line) == expected


def test_show_completes_all_presets(folder, complete):
    names = set()
    for category in presets.CATEGORIES:
        names.update(presets.names(category))
    assert names <= set(complete("show "))


def test_run_that_cannot_be_read_completes_its_steps_only(folder, complete):
    Path("runs/one/config.yaml").write_text("languages: [en\n")
    assert complete("translate runs/one --from ") == []
    assert complete("translate runs/one --checkpoint ") == ["best", "last", "50", "200", "1000"]


def test_completion_does_not_load_torch(folder):
    code = """
import sys
sys.argv[0] = 'polyglot'
from polyglot.cli import main
try:
    main()
finally:
    print('torch' in sys.modules, file=sys.stderr)
"""
    variables = {
        "_POLYGLOT_COMPLETE": "complete_bash",
        "COMP_WORDS": "polyglot translate runs/one --from ",
        "COMP_CWORD": "4",
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert process.stdout.split() == ["en", "de"]
    assert process.stderr.split() == ["False"]
