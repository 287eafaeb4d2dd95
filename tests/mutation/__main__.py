"""Draw mutants by a seed, run the tests of their package, and print the ones that survive.

    python -m tests.mutation                       # 120 mutants, at least four for each package
    python -m tests.mutation --packages layers optim --count 20 --seed 7
    python -m tests.mutation --named               # only the mutants of tests/mutation/named.py

Mutants are made in a copy of the project, so the checkout is never changed. Exit status 1 if more
than 3 % of the mutants that are not equivalent survive.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

import pytest

from polyglot.core.environment import limit_shape_caches
from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.named import NAMED, find_named
from tests.mutation.operators import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
COPIED = ("polyglot", "tests", "configs", "schedules", "evaluation", "docs")
COPIED_FILES = ("pyproject.toml", "README.md", "Makefile", "LICENSE")
LIBRARIES = (
    "torch",
    "torch._dynamo",
    "accelerate",
    "pandas",
    "sacrebleu",
    "sentencepiece",
    "hypothesis",
    "rich",
)
"""Libraries that take long to import; not `datasets`, which reads the cache folder of the tests."""
NEEDED_LIBRARIES = {
    "opennmt.py": "onmt",
    "opennmt_models.py": "onmt",
    "ctranslate2.py": "ctranslate2",
    "sentence_transformers.py": "sentence_transformers",
}
"""Library of an extra that the tests of a file need, by the name of the file."""
LEAST_PER_PACKAGE = 4
ALLOWED_SURVIVORS = 0.03
TEST_FOLDERS = {
    "model": ["tests/model", "tests/contracts"],
    "layers": ["tests/layers", "tests/model"],
}
"""Test folders of a package, if they are not only `tests/PACKAGE`."""


def package_of(mutant: Mutant) -> str:
    return mutant.path.split("/")[1]


def missing_library(name: str) -> str | None:
    """Library that the tests of a file need and that is not installed; None if there is none."""
    library = NEEDED_LIBRARIES.get(name)
    if library is None or importlib.util.find_spec(library):
        return None
    return library


def source_files(package: str) -> list[Path]:
    """Files of a package; without those whose tests would be skipped."""
    files = sorted((ROOT / "polyglot" / package).rglob("*.py"))
    return [path for path in files if missing_library(path.name) is None]


def draw_mutants(packages: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants by a seed: at least four for each package, the rest in proportion to size."""
    generator = random.Random(seed)
    chosen = []
    remaining = []
    for package in packages:
        mutants = []
        for path in source_files(package):
            mutants += mutants_of(path, ROOT)
        generator.shuffle(mutants)
        valid_mutants = filter(compiles, mutants)  # lazily: most mutants are never drawn
        chosen += itertools.islice(valid_mutants, LEAST_PER_PACKAGE)
        remaining += [mutant for mutant in mutants if mutant not in chosen]
    generator.shuffle(remaining)
    missing = max(0, count - len(chosen))
    return chosen + list(itertools.islice(filter(compiles, remaining), missing))


def compiles(mutant: Mutant) -> bool:
    source = (ROOT / mutant.path).read_bytes()
    mutated = source[: mutant.start] + mutant.replacement.encode() + source[mutant.end :]
    try:
        ast.parse(mutated)
    except SyntaxError:
        return False
    return True


def copy_project(folder: Path) -> None:
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "*.png")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in COPIED_FILES:
        shutil.copy(ROOT / name, folder / name)


def tests_of(folder: Path, path: str) -> list[str]:
    """Test folders of the package of a file; first the tests named like the file, to save time."""
    package = path.split("/")[1]
    folders = TEST_FOLDERS.get(package, [f"tests/{package}"])
    name = f"test_{Path(path).stem}*.py"
    first = []
    for tests in folders:
        first += [str(file.relative_to(folder)) for file in sorted((folder / tests).rglob(name))]
    return first + folders


def run_tests(folder: Path, tests: list[str], timeout: float) -> str:
    """Run tests in the copy, until the first failure: `killed`, `survived` or `timeout`.

    They run in a forked process, which has the modules of all libraries already.
    """
    process = os.fork()
    if process == 0:
        os.setsid()
        run_pytest(folder, ["-x", "-q", "-p", "no:cacheprovider", *tests])
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        finished, status = os.waitpid(process, os.WNOHANG)
        if finished:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.1)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "timeout"


def run_pytest(folder: Path, arguments: list[str]) -> NoReturn:
    """Run pytest on the copy, without output, and end the process with its exit code."""
    exit_code = 1
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        for name in list(sys.modules):
            if name.partition(".")[0] in ("polyglot", "tests"):
                del sys.modules[name]
        temporary = folder / "temporary"
        temporary.mkdir(exist_ok=True)
        tempfile.tempdir = str(temporary)
        os.environ |= {"TMPDIR": str(temporary), "PYTHONPATH": str(folder)}
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.setdefault("POLYGLOT_DATA", str(ROOT.parent / "shared" / "data"))
        exit_code = int(pytest.main(arguments))
    finally:
        os._exit(exit_code)


def load_libraries() -> None:
    """Import LIBRARIES, for all forked processes."""
    limit_shape_caches()  # as the tests do before they import PyTorch
    for name in LIBRARIES:
        importlib.import_module(name)


def try_mutant(mutant: Mutant, folder: Path, timeout: float) -> str:
    """Apply a mutant in the copy, run the tests, and restore the file."""
    path = folder / mutant.path
    original = path.read_bytes()
    mutant.apply(folder)
    try:
        return run_tests(folder, tests_of(folder, mutant.path), timeout)
    finally:
        path.write_bytes(original)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120, help="number of mutants")
    parser.add_argument("--packages", nargs="+", help="default: all packages")
    parser.add_argument("--named", action="store_true", help="only the named mutants")
    parser.add_argument(
        "--skip-baseline", action="store_true", help="do not run the tests without a mutant first"
    )
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one mutant")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    folders = sorted(path.name for path in (ROOT / "polyglot").iterdir() if path.is_dir())
    packages = options.packages or [name for name in folders if name != "__pycache__"]
    for name in NEEDED_LIBRARIES:
        library = missing_library(name)
        if library:
            print(f"{name}: left out, because its tests need {library}", file=sys.stderr)
    mutants = [find_named(ROOT, *named) for named in NAMED]
    mutants = [mutant for mutant in mutants if package_of(mutant) in packages]
    if not options.named:
        mutants += draw_mutants(packages, options.count, options.seed)

    results = []
    with tempfile.TemporaryDirectory(prefix="polyglot-mutants-") as name:
        folder = Path(name)
        copy_project(folder)
        load_libraries()
        for package in sorted({package_of(mutant) for mutant in mutants}):
            if options.skip_baseline:
                break
            if run_tests(folder, tests_of(folder, f"polyglot/{package}/"), 1e4) != "survived":
                print(f"tests of {package} fail without a mutant; stopped", file=sys.stderr)
                return 2
        for number, mutant in enumerate(mutants, 1):
            start = time.monotonic()
            result = "equivalent" if mutant.key in EQUIVALENT else None
            result = result or try_mutant(mutant, folder, options.timeout)
            seconds = time.monotonic() - start
            results.append({"mutant": mutant.key, "line": mutant.line, "result": result})
            print(f"{number}/{len(mutants)} {result:10} {seconds:5.0f} s  {mutant.key}", flush=True)
            if options.output:
                options.output.write_text(json.dumps(results, indent=1))

    survivors = [result for result in results if result["result"] == "survived"]
    tried = [result for result in results if result["result"] != "equivalent"]
    print(f"\n{len(tried)} mutants tried, {len(survivors)} survived")
    for survivor in survivors:
        print(f"  line {survivor['line']}: {survivor['mutant']}")
    return int(len(survivors) > ALLOWED_SURVIVORS * len(tried))


if __name__ == "__main__":
    sys.exit(main())
