"""What the shell offers when somebody presses the tab key, asked as the shell asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polyglot.core import presets
from polyglot.core.yaml import dump_yaml
from tests.builders.command_line import Program
from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Two runs, one with checkpoints; a configuration; and what nobody asks for."""
    monkeypatch.chdir(tmp_path)
    for name, languages in (("one", ["en", "de"]), ("other", ["fr", "fi"])):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "config.yaml").write_text(
            dump_yaml({"languages": languages, "training": {"checkpoint": {"keep": 2}}})
        )
    for name in (
        "step-00000050",
        "step-00000200",
        "step-00000200.bak",
        "step-00001000",
        ".step-00002000.writing",
        "best.json",
    ):
        (tmp_path / "runs" / "one" / "checkpoints" / name).mkdir(parents=True)
    (tmp_path / "mine.yaml").write_text("languages: [en]\n")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.en").write_text("a\n")
    return tmp_path


@pytest.fixture
def offered(monkeypatch, capsys):
    """What comes behind these words; the last of them is not finished."""

    def ask(line: str) -> list[str]:
        words = ["polyglot", *line.split(" ")]
        monkeypatch.setenv("_POLYGLOT_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        result = Program(monkeypatch, capsys)()
        assert result.status == 0 and result.errors == ""
        return result.output.split()

    return ask


@pytest.mark.parametrize(
    ("line", "found"),
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
        ("train multi30k/p", ["multi30k/paper"]),
        ("train runs/o", ["runs/one", "runs/other"]),
        ("translate runs/one --from ", ["en", "de"]),
        ("translate runs/other --to f", ["fr", "fi"]),
        ("translate nowhere --from ", []),
        ("embed runs/other --language ", ["fr", "fi"]),
        ("evaluate runs/other runs/one --pivot ", ["fr", "fi"]),
        ("translate runs/one --checkpoint ", ["best", "last", "50", "200", "1000", "average:2"]),
        ("translate runs/other --checkpoint ", ["best", "last"]),
        ("evaluate runs/one --checkpoint 1", ["1000"]),
        ("evaluate runs/one --protocol q", ["quick"]),
        ("experiment multi30k_eng", ["multi30k_english_centric"]),
        ("translate runs/one --device c", ["cpu", "cuda"]),
        ("show with_c", ["with_copies"]),
        ("show schedules/with_c", ["schedules/with_copies"]),
        ("show runs/ot", ["runs/other"]),
        ("trai", ["train"]),
    ],
)
def test_what_is_there_is_offered(line, found, folder, offered):
    assert offered(line) == found


def test_everything_that_is_shipped_is_offered_for_show(folder, offered):
    everything = {name for room in presets.CATEGORIES for name in presets.names(room)}
    assert everything <= set(offered("show "))


def test_a_run_that_cannot_be_read_offers_nothing_of_it(folder, offered):
    Path("runs/one/config.yaml").write_text("languages: [en\n")
    assert offered("translate runs/one --from ") == []
    assert offered("translate runs/one --checkpoint ") == ["best", "last", "50", "200", "1000"]


def test_it_needs_no_torch(folder):
    """Nobody waits seconds for a tab key."""
    code = "import sys\nfrom polyglot.cli import main\ntry:\n    main()\nfinally:\n    print('torch' in sys.modules, file=sys.stderr)"
    asked = {
        "_POLYGLOT_COMPLETE": "complete_bash",
        "COMP_WORDS": "polyglot translate runs/one --from ",
        "COMP_CWORD": "4",
    }
    command = [sys.executable, "-c", f"import sys\nsys.argv[0] = 'polyglot'\n{code}"]
    done = subprocess.run(
        command,
        env={**os.environ, **asked, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.split(), done.stderr.split()) == (["en", "de"], ["False"])
