"""The lists of named and equivalent mutants fit the present source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.named import NAMED, find_named
from tests.mutation.operators import mutants_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("named", NAMED, ids=lambda named: f"{named[0]}:{named[1][:20]}")
def test_a_named_mutant_occurs_once_and_changes_the_source(named, tmp_path):
    path, original, replacement = named
    source = (ROOT / path).read_text(encoding="utf-8")
    copy = tmp_path / path
    copy.parent.mkdir(parents=True)
    copy.write_text(source, encoding="utf-8")
    find_named(ROOT, path, original, replacement).apply(tmp_path)
    mutated = copy.read_text(encoding="utf-8")
    assert mutated == source.replace(original, replacement)
    compile(mutated, path, "exec")


@pytest.mark.parametrize("key", EQUIVALENT)
def test_an_equivalent_mutant_is_one_of_its_file(key):
    """An entry that fits several mutants would hide those that are not equivalent."""
    path = key.partition("::")[0]
    keys = [mutant.key for mutant in mutants_of(ROOT / path, ROOT)]
    assert keys.count(key) == 1
