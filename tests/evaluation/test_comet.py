"""COMET: input and score of the package, and messages for missing parts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from polyglot.core.errors import ConfigError
from polyglot.evaluation import comet


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="comet: .*none.ckpt: no such file"):
        comet.Comet(str(tmp_path / "none.ckpt"))


def test_a_missing_package_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    (tmp_path / "model.ckpt").touch()
    message = r"needs a package that is not installed: pip install 'polyglot-nmt\[comet\]'"
    with pytest.raises(ConfigError, match=message):
        comet.Comet(str(tmp_path / "model.ckpt"))


def test_the_package_gets_source_translation_and_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = []

    def predict(rows: list[dict[str, str]], **settings: object) -> SimpleNamespace:
        received.extend(rows)
        return SimpleNamespace(system_score=0.875)

    model = SimpleNamespace(predict=predict)
    package = SimpleNamespace(load_from_checkpoint=lambda path: model)
    monkeypatch.setitem(sys.modules, "comet", package)
    monkeypatch.setattr(comet, "version", lambda name: "2.2.2")
    path = tmp_path / "wmt22" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    path.touch()

    score = comet.Comet(str(path)).score(["a"], ["b"], ["c"])
    assert received == [{"src": "c", "mt": "a", "ref": "b"}]
    assert score.value == 87.5
    assert score.signature == "model:wmt22|version:2.2.2"
