"""COMET is asked as its package wants it, and what is missing is a sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from polyglot.core.errors import ConfigError
from polyglot.evaluation import comet


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="comet: .*none.ckpt: no such file"):
        comet.Comet(str(tmp_path / "none.ckpt"))


def test_a_missing_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    (tmp_path / "model.ckpt").touch()
    with pytest.raises(
        ConfigError,
        match=r"comet: the metric needs a package that is not installed: pip install 'polyglot-nmt\[comet\]'",
    ):
        comet.Comet(str(tmp_path / "model.ckpt"))


def test_it_is_given_source_translation_and_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def predict(rows: list[dict[str, str]], **settings: object) -> SimpleNamespace:
        asked.extend(rows)
        return SimpleNamespace(system_score=0.875)

    monkeypatch.setitem(
        sys.modules,
        "comet",
        SimpleNamespace(load_from_checkpoint=lambda path: SimpleNamespace(predict=predict)),
    )
    monkeypatch.setattr(comet, "version", lambda name: "2.2.2")
    (tmp_path / "wmt22" / "checkpoints").mkdir(parents=True)
    (tmp_path / "wmt22" / "checkpoints" / "model.ckpt").touch()
    score = comet.Comet(str(tmp_path / "wmt22" / "checkpoints" / "model.ckpt")).score(
        ["a"], ["b"], ["c"]
    )
    assert asked == [{"src": "c", "mt": "a", "ref": "b"}]
    assert (score.value, score.signature) == (87.5, "model:wmt22|version:2.2.2")
