"""Short names for paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.core.errors import ConfigError
from polyglot.core.path_names import distinct_names


def test_names_are_the_shortest_distinct_ends_of_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [
        Path("/long/way/first/run"),
        Path("/long/way/second/run"),
        Path("/long/way/other"),
        Path("."),
    ]
    assert distinct_names(paths) == ["first/run", "second/run", "other", tmp_path.name]
    assert distinct_names([Path("/run"), Path("/a/run")]) == ["/run", "a/run"]


def test_a_path_that_is_named_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match="/a/b/../run: named twice; name each run once"):
        distinct_names([Path("/a/run"), Path("/a/b/../run")])
