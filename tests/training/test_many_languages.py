"""130 languages of streamed text in a process that may open 256 files."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from polyglot.runs import checkpoint as checkpoints
from tests.builders.runs import WORDS, sample_sentences, tiny_settings

LANGUAGES = 130
OPEN_FILES = 256
STEPS = 2 * (LANGUAGES - 1)
"""One update of each task: into and from the first language."""


def limit_open_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))


def run_program(*arguments: str, folder: Path) -> str:
    """Run a command under the limit, and return its messages. It must succeed."""
    result = subprocess.run(
        [sys.executable, "-m", "polyglot", *arguments],
        cwd=folder,
        preexec_fn=limit_open_files,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.mark.slow
def test_130_languages_are_streamed_with_256_open_files(tmp_path: Path) -> None:
    """Training, continuation and evaluation; the fast sisters are in tests/data/test_open_files."""
    languages = [f"l{number}" for number in range(LANGUAGES)]
    for number, language in enumerate(languages):
        words = sample_sentences(list(WORDS)[number % 3], lines=20)
        (tmp_path / f"train.{language}").write_text("\n".join(words) + "\n", encoding="utf-8")

    corpus = {"type": "text", "path": "train.{language}"}
    values = tiny_settings(
        tmp_path,
        languages=languages,
        data={"train": [{**corpus, "streaming": True}], "valid": [corpus], "test": [corpus]},
        schedule={"type": "round_robin", "pairs": ["l0-*", "*-l0"]},
        batching={"size": 4, "buffer": 8},
        training={"steps": STEPS, "log_every": STEPS, "checkpoint": {"every": STEPS // 2}},
        validation={"every": STEPS, "tasks": 4},
    )
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    dry_run = run_program("train", "many.yaml", "--dry-run", folder=tmp_path)
    assert "error" not in dry_run

    run_program("train", "many.yaml", f"training.steps={STEPS // 2}", folder=tmp_path)
    run_program("train", "run", "--resume", f"training.steps={STEPS}", folder=tmp_path)
    assert checkpoints.steps(tmp_path / "run" / "checkpoints")[-1] == STEPS

    (tmp_path / "few.yaml").write_text("pairs: [l0-l1, l2-l3]\nsentences: 2\nresamples: 0\n")
    run_program("evaluate", "run", "--protocol", "few.yaml", folder=tmp_path)
