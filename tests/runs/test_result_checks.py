"""Check of stored results and of the files that they list."""

from __future__ import annotations

import hashlib
import json

from polyglot.core.file_checks import DAMAGED, INTACT, MISSING, UNCHECKED
from polyglot.core.stored_json import with_checksum
from polyglot.runs.result_checks import check_results


def write(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")


def states(run):
    """State of each file below `evaluation`, by its path there, in the order of the check."""
    folder = run / "evaluation"
    results = check_results(run, folder)
    return [(result.path.relative_to(folder).as_posix(), result.state) for result in results]


def test_files_are_in_the_order_of_their_names(tmp_path):
    names = ["m/f", "b", "z", "m/a", "a", "y", "c", "m/k", "x", "d"]  # no order of a file system
    for name in names:
        write(tmp_path / "evaluation" / f"{name}.json", {})
    expected = [(f"{name}.json", UNCHECKED) for name in sorted(names)]
    assert states(tmp_path) == expected


def test_a_result_has_a_checksum_or_none(tmp_path):
    folder = tmp_path / "evaluation"
    intact = with_checksum({"scores": [1.5]})
    write(folder / "a.json", intact)
    write(folder / "b.json", {**intact, "scores": [2.5]})
    write(folder / "c.json", {"scores": [1.5]})
    write(folder / "d.json", [1.5])
    (folder / "e.json").write_text("{")
    assert states(tmp_path) == [
        ("a.json", INTACT),
        ("b.json", DAMAGED),
        ("c.json", UNCHECKED),
        ("d.json", DAMAGED),
        ("e.json", DAMAGED),
    ]


def test_files_that_a_result_lists(tmp_path):
    """In the order of their names, and only in the folder of the result."""
    content = b"a text\n"
    digest = hashlib.sha256(content).hexdigest()
    folder = tmp_path / "evaluation" / "default"
    files = dict.fromkeys(["z.txt", "text/c.txt", "missing.txt", "a.txt", "../out.txt"], digest)
    write(folder / "matrix", {})
    (folder / "text").mkdir()
    for name in ("z.txt", "text/c.txt", "../out.txt"):
        (folder / name).write_bytes(content)
    (folder / "a.txt").write_bytes(b"another text\n")
    write(folder / "result.json", {"files": files})
    assert states(tmp_path) == [
        ("default/result.json", UNCHECKED),
        ("default", DAMAGED),  # it names `../out.txt`
        ("default/a.txt", DAMAGED),
        ("default/missing.txt", MISSING),
        ("default/text/c.txt", INTACT),
        ("default/z.txt", INTACT),
    ]
