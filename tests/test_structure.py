"""Structure of the package: levels of its packages, no import cycles, no torch before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyglot

PACKAGE = Path(polyglot.__file__).parent
REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "develop" / "architecture.md"
LEVELS = [
    {"core"},
    {"tasks"},
    {"layers", "optim", "distributed", "phrasebook"},
    {"model", "text"},
    {"data", "decoding"},
    {"config"},
    {"runs"},
    {"inference"},
    {"evaluation", "report", "interop"},
    {"training", "analysis", "publishing"},
    {"experiments", "serving"},
    {"cli"},
]
"""Packages from the lowest level to the highest. A package imports only from lower levels."""
LEVEL = {package: number for number, packages in enumerate(LEVELS, 1) for package in packages}
LOOSE_MODULES = {"__init__.py", "__main__.py"}
COMPONENTS = {"encoders", "decoders", "bridges", "options"}


def python_files(package: Path) -> list[Path]:
    """Source files of the package, without the YAML presets of an installed wheel."""
    return sorted(package.rglob("*.py"))


FILES = python_files(PACKAGE)


def imported_modules(path: Path, package: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and dotted path below `polyglot` of each import, also inside functions and TYPE_CHECKING."""
    folder = path.relative_to(package).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, *rest = alias.name.split(".")
                if first == "polyglot":
                    yield node.lineno, tuple(rest)
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = folder[: len(folder) - node.level + 1] + module
            elif module[:1] == ("polyglot",):
                base = module[1:]
            else:
                continue
            for alias in node.names:
                yield node.lineno, (*base, alias.name)


def level_errors(path: Path, package: Path) -> list[str]:
    """One sentence for each import of a file that does not go to a lower level."""
    place = path.relative_to(package)
    importer = place.parts[0]
    errors = []
    for line, target in imported_modules(path, package):
        imported = target[0] if target else "__init__"
        if imported == importer:
            continue
        statement = f"{place}, line {line}: imports {'.'.join(target)}"
        if imported not in LEVEL:
            errors.append(f"{statement}, which has no level")
        elif LEVEL[imported] >= LEVEL[importer]:
            errors.append(f"{statement}; level {LEVEL[imported]} is not below {LEVEL[importer]}")
    return errors


def file_of(target: tuple[str, ...], package: Path) -> Path | None:
    """File that a dotted path names: a module, or the module that defines the last name."""
    for length in (len(target), len(target) - 1):
        place = package.joinpath(*target[:length])
        if length and place.with_suffix(".py").is_file():
            return place.with_suffix(".py")
        if (place / "__init__.py").is_file():
            return place / "__init__.py"
    return None


def import_graph(package: Path) -> dict[Path, set[Path]]:
    """Files that each file imports."""
    graph = {}
    for path in python_files(package):
        targets = {file_of(target, package) for _, target in imported_modules(path, package)}
        graph[path] = targets - {None, path}
    return graph


def find_cycle(graph: dict[Path, set[Path]]) -> list[Path]:
    """One import cycle, or an empty list."""
    finished: set[Path] = set()

    def visit(path: Path, trail: list[Path]) -> list[Path]:
        if path in trail:
            return [*trail[trail.index(path) :], path]
        if path in finished:
            return []
        for target in sorted(graph[path]):
            cycle = visit(target, [*trail, path])
            if cycle:
                return cycle
        finished.add(path)
        return []

    for path in graph:
        cycle = visit(path, [])
        if cycle:
            return cycle
    return []


def test_only_two_modules_are_outside_the_packages():
    assert {path.name for path in PACKAGE.glob("*.py")} == LOOSE_MODULES


def test_every_package_has_a_level():
    packages = {path.relative_to(PACKAGE).parts[0] for path in FILES if path.parent != PACKAGE}
    assert packages == LEVEL.keys()


def test_the_page_names_every_package_with_its_level():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    levels = [int(level) for level, _ in rows]
    assert levels == sorted(levels, reverse=True)
    assert {package: int(level) for level, package in rows} == LEVEL


def test_every_file_on_the_page_exists():
    names = re.findall(r"`([\w/]+/(?:\w+\.py)?)`", PAGE.read_text(encoding="utf-8"))
    assert len(names) > 20
    missing = []
    for name in names:
        if not (REPOSITORY / name).exists() and not (PACKAGE / name).exists():
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("package", sorted(LEVEL))
def test_imports_go_to_lower_levels(package):
    errors = []
    for path in python_files(PACKAGE / package):
        errors += level_errors(path, PACKAGE)
    assert errors == []


def test_no_import_cycles():
    cycle = find_cycle(import_graph(PACKAGE))
    assert [str(path.relative_to(PACKAGE)) for path in cycle] == []


WRONG_IMPORTS = {
    "tasks/x.py": "def f():\n    import polyglot.layers.linear",
    "layers/x.py": "from polyglot.model.translation_model import Output",
    "model/x.py": "from polyglot import data",
    "data/corpora/x.py": "from ...config.schema import Config",
    "training/x.py": "if TYPE_CHECKING:\n    from ..analysis.roles import Table",
    "core/x.py": "from polyglot.helpers import helper",
}
RIGHT_IMPORTS = {
    "data/corpora/y.py": (
        "from .base import CORPORA\nfrom ..text_files import line_blocks\n"
        "from ...tasks.pairs import Task\nimport torch"
    ),
    "training/y.py": "from polyglot.runs import checkpoint\nfrom polyglot.runs.run import Run",
}


@pytest.mark.parametrize("name", WRONG_IMPORTS | RIGHT_IMPORTS)
def test_level_errors_finds_absolute_relative_and_hidden_imports(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text((WRONG_IMPORTS | RIGHT_IMPORTS)[name])
    assert bool(level_errors(path, tmp_path)) == (name in WRONG_IMPORTS)


def test_find_cycle_sees_imports_for_type_checkers(tmp_path):
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "first.py").write_text("from polyglot.core import second")
    (tmp_path / "core" / "second.py").write_text(
        "if TYPE_CHECKING:\n    from polyglot.core.first import Name"
    )
    assert len(find_cycle(import_graph(tmp_path))) == 3


@pytest.mark.parametrize("kind", sorted(COMPONENTS))
def test_components_do_not_import_other_kinds(kind):
    for path in (PACKAGE / "model" / kind).glob("*.py"):
        for line, target in imported_modules(path, PACKAGE):
            is_other_kind = target[:1] == ("model",) and set(target[1:2]) & (COMPONENTS - {kind})
            assert not is_other_kind, f"{path}, line {line}: imports {'.'.join(target)}"


def loads_torch(code: str, *arguments: str) -> bool:
    """True if a new interpreter has loaded torch after running the code."""
    check = f"import sys\n{code}\nprint('torch' in sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", check, *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return {"True": True, "False": False}[result.stderr.splitlines()[-1]]


def test_core_and_the_package_itself_do_not_load_torch():
    assert loads_torch("import polyglot.tasks.batch"), "otherwise this test finds nothing"
    modules = sorted(path.stem for path in (PACKAGE / "core").glob("*.py"))
    names = ", ".join(f"polyglot.core.{name}" for name in modules if name != "__init__")
    assert not loads_torch(f"import polyglot, polyglot.tasks.pairs, {names}")


def test_help_does_not_load_torch():
    code = (
        "from polyglot.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert not loads_torch(code, "--help")
    assert not loads_torch(code, "train", "--help")
