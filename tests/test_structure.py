"""Who may import whom: each floor of the house sees the floors below it, as the table of the style guide says."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyglot

PACKAGE = Path(polyglot.__file__).parent
FLOORS = [
    {
        "errors",
        "registry",
        "task",
        "shipped",
        "yaml_file",
        "problems",
        "version",
        "console",
        "process",
        "interruption",
        "sharing",
        "checkpoint_names",
        "synced",
        "markdown",
    },
    {"text", "layers", "batch", "distributed"},
    {"model", "data", "schedule", "optim"},
    {"decoding", "embedding"},  # below `config`, which holds the settings of the search
    {"config", "contradictions"},
    {"checkpoint", "run"},
    {"inference", "readings", "together", "validation", "sentence_transformer", "derive", "convert"},
    {"training", "evaluate", "analysis", "report"},
    {"cli", "__init__", "__main__"},
]
STRANGERS = [FLOORS[2], FLOORS[7]]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "shipped" not in path.relative_to(PACKAGE).parts[:-1]]


def room_of(parts: tuple[str, ...]) -> str:
    """The room or file of the top level that a module is in."""
    return parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and path below `polyglot` of every import of our own, also those inside functions."""
    package = path.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "polyglot":
                    yield node.lineno, tuple(alias.name.split(".")[1:])
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else None
            module = tuple(node.module.split(".")) if node.module else ()
            if base is None and module[:1] == ("polyglot",):
                base, module = (), module[1:]
            if base is not None:
                yield from ((node.lineno, (*base, *module, alias.name)) for alias in node.names)


def violations(path: Path) -> list[str]:
    place = path.relative_to(PACKAGE).parts
    own = room_of(place)
    found = []
    for line, target in imports(path):
        other = room_of(target) if target else "__init__"
        where = f"{'/'.join(place)}, line {line}: imports {'.'.join(target)}"
        if other not in FLOOR:
            found.append(f"{where}, which stands on no floor")
        elif other == own:
            continue
        elif FLOOR[other] > FLOOR[own]:
            found.append(f"{where}, which is {FLOOR[other] - FLOOR[own]} floors above it")
        elif any({own, other} <= rooms for rooms in STRANGERS):
            found.append(f"{where}, but {own} and {other} are strangers")
    return found


def test_every_room_stands_on_a_floor():
    assert {room_of(path.relative_to(PACKAGE).parts) for path in FILES} <= FLOOR.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nobody_imports_from_above(path):
    assert violations(path) == []


def test_what_the_test_must_find(tmp_path, monkeypatch):
    """The reading itself: absolute, relative, inside functions, for type checkers."""
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    for folder in ("model", "data/corpora", "training"):
        (tmp_path / folder).mkdir(parents=True)
    bad = {
        "task.py": "def f():\n    import polyglot.batch",
        "layers/x.py": "from polyglot.model.translation_model import Output",
        "model/x.py": "from polyglot import data",
        "data/corpora/x.py": "from ...schedule import Phase",
        "training/x.py": "if TYPE_CHECKING:\n    from ..evaluate.matrix import Matrix",
        "errors.py": "from polyglot.utils import helper",
    }
    good = {
        "data/corpora/y.py": "from .base import CORPORA\nfrom ..lines import line_blocks\nfrom ...task import Task\nimport torch",
        "training/y.py": "from polyglot import checkpoint\nfrom polyglot.runs.run import Run",
    }
    for name, text in (bad | good).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [name for name in bad | good if violations(tmp_path / name)] == list(bad)


@pytest.mark.parametrize("room", ["encoders", "decoders", "bridges", "options"])
def test_components_never_import_a_neighbour(room):
    neighbours = {"encoders", "decoders", "bridges", "options"} - {room}
    for path in (PACKAGE / "model" / room).glob("*.py"):
        for line, target in imports(path):
            assert not (target[:1] == ("model",) and set(target[1:2]) & neighbours), f"{path}, line {line}: imports {'.'.join(target)}"


def loads_torch(code: str, *arguments: str) -> bool:
    """Whether a fresh interpreter has torch loaded after that code."""
    check = f"import sys\n{code}\nprint('torch' in sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", check, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return {"True": True, "False": False}[result.stderr.splitlines()[-1]]


def test_the_ground_floor_and_the_front_door_need_no_torch():
    assert loads_torch("import polyglot.batch"), "otherwise this test finds nothing"
    assert not loads_torch(f"import polyglot, {', '.join(f'polyglot.{room}' for room in sorted(FLOORS[0]))}")


def test_help_needs_no_torch():
    code = "from polyglot.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    assert not loads_torch(code, "--help")
    assert not loads_torch(code, "train", "--help")
