"""The page of all keys is generated from the classes that read them."""

from __future__ import annotations

import runpy

import pytest

from polyglot.config.schema import Config
from tests.conftest import ROOT

SCRIPT = ROOT / "docs" / "configuration.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def page(script):
    return script["page"]()


def test_the_page_is_the_output_of_the_script(script, page):
    written = script["PAGE"].read_text(encoding="utf-8")
    assert written == page, "run: python docs/configuration.py"


def test_a_default_is_written_as_in_a_file(page):
    assert "| `['*-*']` | Pairs that train" in page


def test_a_type_is_described_with_its_bounds(page):
    assert (
        "| `validation.tasks` | whole number, at least 1 and at most 1000000000, or null | `null` |"
        in page
    )
    assert "| `seed` | whole number, at least 0 and less than 18446744073709551616 | `1` |" in page


def test_every_registry_and_every_name_has_a_section(script, page):
    for title, (registry, _) in script["REGISTRIES"].items():
        _, _, rest = page.partition(f"\n## {title}\n")
        section, _, _ = rest.partition("\n## ")
        for name in registry.names():
            assert f"### `{name}`" in section
            keys = registry.get(name).Config.model_fields.keys() - {"type"}
            for key in keys:
                assert f"| `{key}` |" in section, (title, name, key)


def test_every_section_of_a_run_is_on_the_page(page):
    for key in Config.model_fields:
        assert f"| `{key}` |" in page
