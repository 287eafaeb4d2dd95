"""What is installed is all that a user needs: the shipped YAML files travel inside the package,
and the program finds them there.
"""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import polyglot
from polyglot.core.version import VERSION
from polyglot.inference.translator import Translator
from tests.builders.command_line import SMALL_PHRASEBOOK
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
LEFT = ("__pycache__", ".DS_Store")


def included() -> dict[str, Path]:
    """Every file that the wheel gets by force, by its place in it."""
    files: dict[str, Path] = {}
    for source, target in WHEEL["force-include"].items():
        path = ROOT / source
        assert path.exists(), source
        for file in (
            [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        ):
            files[target + file.as_posix().removeprefix(path.as_posix())] = file
    return files


def wanted() -> set[str]:
    """What can be asked for by name, and the tables that protocols name."""
    configs = [path for room in ("configs", "schedules") for path in (ROOT / room).rglob("*.yaml")]
    protocols = [
        *(ROOT / "evaluation").glob("*.yaml"),
        *(
            path
            for room in ("references", "experiments")
            for path in (ROOT / "evaluation" / room).glob("*.yaml")
        ),
    ]
    return {f"polyglot/shipped/{path.relative_to(ROOT).as_posix()}" for path in configs + protocols}


def test_the_wheel_carries_every_shipped_file_and_nothing_else():
    """So neither a new protocol is forgotten, nor do results and benchmarks travel."""
    assert set(included()) == wanted()


def test_the_package_has_what_it_reads_at_run_time():
    assert WHEEL["packages"] == ["polyglot"]
    assert (ROOT / "polyglot" / "data" / "download.yaml").is_file()


def test_its_types_are_for_whoever_imports_it():
    """PEP 561; and what a checker reads of `polyglot.load` is what the translator takes.

    Only directions are text there: `pairs=["de-en"]`.
    """
    assert (ROOT / "polyglot" / "py.typed").is_file()
    ours, own = (inspect.signature(each).parameters for each in (polyglot.load, Translator.load))
    assert list(ours) == ["run", "pairs", *(name for name in own if name not in ("run", "pairs"))]
    assert ours["pairs"].annotation == "Sequence[str] | None"
    assert {
        name: (one.annotation, one.default) for name, one in ours.items() if name != "pairs"
    } == {name: (one.annotation, one.default) for name, one in own.items() if name != "pairs"}


def test_the_command_is_named():
    assert PROJECT["project"]["scripts"] == {"polyglot": "polyglot.__main__:main"}
    assert PROJECT["project"]["name"] == "polyglot-nmt"


def test_extras_that_messages_and_pages_name_are_there():
    assert {"trackers", "test", "opennmt"} <= PROJECT["project"]["optional-dependencies"].keys()


def check_installed(site: Path, elsewhere: Path) -> None:
    """The program as it lies in `site`, called from a folder that is no clone."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "PYTHONSAFEPATH": "1",
        "OMP_NUM_THREADS": "1",
    }

    def call(*arguments: str) -> str:
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert Path(call("-c", "import polyglot; print(polyglot.__file__)").strip()).is_relative_to(
        site
    )
    shown = " ".join(call("-m", "polyglot", "show").split())
    assert (
        "multi30k/paper" in shown
        and "phrasebook" in shown
        and "with_copies" in shown
        and "attention_bridge" in shown
    )
    planned = call("-m", "polyglot", "train", "phrasebook", "--dry-run", *SMALL_PHRASEBOOK)
    assert "encoder.de" in planned and "en-fr" in planned
    assert not list(elsewhere.iterdir())


def test_a_copy_as_it_will_be_installed_works_without_the_clone(tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copytree(ROOT / "polyglot", site / "polyglot", ignore=shutil.ignore_patterns(*LEFT))
    for place, file in included().items():
        (site / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, site / place)
    check_installed(site, elsewhere)


@pytest.mark.slow  # the build backend comes from the package index
def test_the_wheel_itself(tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"polyglot_nmt-{VERSION}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [
        path
        for path in (ROOT / "polyglot").rglob("*")
        if path.is_file() and not set(path.parts) & set(LEFT)
    ]
    own = {path.relative_to(ROOT).as_posix() for path in files}
    assert {name for name in names if ".dist-info/" not in name} == own | wanted()
    assert "polyglot/data/download.yaml" in names
    subprocess.run(
        [*pip, "install", "-q", "--no-deps", "--target", str(site), str(wheel)],
        check=True,
        cwd=tmp_path,
    )
    check_installed(site, elsewhere)
