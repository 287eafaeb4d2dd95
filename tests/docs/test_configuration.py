"""The page of all keys says what the classes say."""

from __future__ import annotations

import runpy

import pytest

from polyglot.config.schema import Config
from tests.conftest import ROOT

SCRIPT = ROOT / "docs" / "configuration.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_the_page_is_what_the_script_writes(script):
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"](), (
        "run: python docs/configuration.py"
    )


def test_a_default_is_written_as_a_file_has_it(script):
    assert "| `['*-*']` | Pairs that train" in script["page"]()


def test_every_registry_and_every_name_has_its_section(script):
    page = script["page"]()
    for title, (registry, _) in script["REGISTRIES"].items():
        section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
        for name in registry.names():
            assert f"### `{name}`" in section
            for key in registry.get(name).Config.model_fields.keys() - {"type"}:
                assert f"| `{key}` |" in section, (title, name, key)


def test_every_section_of_a_run_is_there(script):
    page = script["page"]()
    for key in Config.model_fields:
        assert f"| `{key}` |" in page
