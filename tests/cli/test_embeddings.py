"""`polyglot embed` and `polyglot similar`."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
from pathlib import Path
from random import Random

import numpy
import pytest

import polyglot as package
from tests.builders.command_line import TEXT, Program
from tests.builders.runs import train
from tests.cli.small_run import one_line, start_program
from tests.evaluation.tiny import tiny_run

LINES = ["Ein Hund schläft", "", "es regnet", "zwei Katzen sehen einen Vogel"]
EMBED = ("embed", "run", "a.de", "--language", "de")
GERMAN = ("--language", "de")
TO_NPY = ("--output", "v.npy")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Folder with a trained run and text. Do not change it."""
    folder = tmp_path_factory.mktemp("embeddings")
    train(tiny_run(folder))
    (folder / "a.de").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def polyglot(trained, tmp_path, monkeypatch, capsys) -> Program:
    """The program in a working directory with links to the run and to the text."""
    for path in trained.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


@pytest.fixture(scope="module")
def model(trained):
    return package.load(trained / "run")


def read_json_lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


# embed -----------------------------------------------------------------------------------------


def test_embed_writes_the_vectors_of_encode(polyglot, model):
    result = polyglot(*EMBED, *TO_NPY)
    assert (result.status, result.output) == (0, "")
    assert (
        "4 vectors of 16 float32 numbers written to v.npy; 1 empty line with a vector of zeros"
    ) in one_line(result.errors)
    vectors = numpy.load("v.npy")
    assert vectors.dtype == "float32"
    assert numpy.array_equal(vectors, model.encode(LINES, language="de"))
    assert not vectors[1].any()
    assert numpy.array_equal(numpy.load("v.npy", mmap_mode="r")[2:], vectors[2:])


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_file_formats_have_the_same_vectors(polyglot, model, precision):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    options = ("--precision", precision, "--pooling", "mean", "--normalize")
    for suffix in ("npy", "parquet", "jsonl"):
        assert polyglot(*EMBED, *options, "--output", f"v.{suffix}").status == 0

    vectors = numpy.load("v.npy")
    assert vectors.dtype == precision
    table = pyarrow.read_table("v.parquet").to_pydict()
    records = read_json_lines("v.jsonl")
    assert table["sentence"] == LINES
    assert set(table["language"]) == {"de"}
    assert [record["sentence"] for record in records] == LINES

    expected = model.encode(
        LINES, language="de", precision=precision, pooling="mean", normalize_embeddings=True
    )
    from_parquet = numpy.array(table["embedding"])
    from_json = numpy.array([record["embedding"] for record in records])
    for stored in (vectors, from_parquet, from_json):
        assert numpy.array_equal(stored.astype(precision), expected)


def test_gzip_file_and_standard_input_are_read_in_order(polyglot):
    text = "".join(f"{line}\n" for line in TEXT["de"] * 1000)
    Path("many.gz").write_bytes(gzip.compress(text.encode()))
    assert polyglot("embed", "run", "many.gz", *GERMAN, "--output", "file.npy").status == 0
    assert polyglot("embed", "run", *GERMAN, "--output", "stdin.npy", stdin=text).status == 0
    vectors = numpy.load("file.npy")
    assert vectors.shape == (5000, 16)
    assert numpy.array_equal(vectors, numpy.load("stdin.npy"))
    assert numpy.allclose(vectors, numpy.tile(vectors[:5], (1000, 1)), atol=1e-6)
    assert not numpy.allclose(vectors[0], vectors[1], atol=1e-3)


def test_language_can_be_in_a_column(polyglot, model):
    Path("mixed.tsv").write_text("x\tde\tes regnet\nx\ten\tit rains\nx\tde\t\n", encoding="utf-8")
    options = ("--language-column", 2, "--text-column", 3, "--output", "v.jsonl")
    assert polyglot("embed", "run", "mixed.tsv", *options).status == 0
    records = read_json_lines("v.jsonl")
    assert [(record["language"], record["sentence"]) for record in records] == [
        ("de", "es regnet"),
        ("en", "it rains"),
        ("de", ""),
    ]
    expected = model.encode("it rains", language="en")
    numpy.testing.assert_allclose(records[1]["embedding"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("empty", *GERMAN, *TO_NPY), "empty: the file is empty"),
        (("none.de", *GERMAN, *TO_NPY), "none.de: no such file"),
        (
            ("a.de", "--language", "xx", *TO_NPY),
            "no encoder named 'xx'. Known: de, en, fr",
        ),
        (
            ("a.de", *GERMAN, "--output", "v.csv"),
            "v.csv: no format of vectors has the suffix '.csv'. Known: .npy, .parquet, .jsonl",
        ),
        (
            ("a.de", *GERMAN, "--output", "away/v.npy"),
            "away/v.npy: cannot be written: No such file or directory",
        ),
        (
            ("a.de", *GERMAN, "--pooling", "all", *TO_NPY),
            "pooling: no pooling named 'all'",
        ),
        (
            ("a.de", *GERMAN, "--precision", "int4", *TO_NPY),
            "precision: no precision named 'int4'",
        ),
        (
            ("a.de", *TO_NPY),
            "either --language for all sentences, or --language-column, is needed",
        ),
        (("a.de", *GERMAN, "--language-column", "1", *TO_NPY), "either --language"),
    ],
)
def test_file_or_option_that_cannot_be_used(polyglot, arguments, message):
    Path("empty").touch()
    before = sorted(os.listdir())
    assert message in one_line(polyglot.refuses("embed", "run", *arguments))
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("options", "stdin", "message"),
    [
        (GERMAN, "", "standard input: the file is empty"),
        (("--language-column", "2"), "x\tde\n", "column 2 cannot be both"),
        (
            ("--language-column", "1"),
            "de\tes regnet\nes regnet\n",
            "standard input, line 2: found 1 columns between tabs; expected 2",
        ),
        (
            ("--language-column", "1"),
            "de\tes regnet\nxx\tes regnet\n",
            "standard input, line 2: language 'xx' has no encoder",
        ),
        (GERMAN, b"gut\n\xff\n", "standard input, line 2: not UTF-8"),
    ],
)
def test_standard_input_that_cannot_be_embedded(polyglot, options, stdin, message):
    before = sorted(os.listdir())
    errors = polyglot.refuses("embed", "run", *options, *TO_NPY, stdin=stdin)
    assert message in one_line(errors)
    assert sorted(os.listdir()) == before


def test_bridge_without_fixed_size_needs_mean_or_max(tmp_path, monkeypatch, capsys):
    train(tiny_run(tmp_path, model={"bridge": {"type": "none"}}))
    monkeypatch.chdir(tmp_path)
    program = Program(monkeypatch, capsys)
    embed = ("embed", "run", "test.de", *GERMAN, *TO_NPY)
    assert "use mean or max" in program.refuses(*embed)
    assert program(*embed, "--pooling", "mean").status == 0
    assert numpy.load("v.npy").shape == (5, 8)


def limit_file_size() -> None:
    """Let the system refuse files above 4 kB, with an error instead of a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("suffix", ["npy", "parquet", "jsonl"])
def test_full_disk_leaves_the_old_file(polyglot, suffix):
    words = sorted({word for line in TEXT["de"] for word in line.split()})
    # Different sentences, because Parquet would compress equal ones to less than 4 kB.
    lines = [" ".join(Random(number).sample(words, 5)) for number in range(1000)]
    Path("many.de").write_text("\n".join(lines), encoding="utf-8")
    path = Path(f"v.{suffix}")
    path.write_text("the old file")
    arguments = ["embed", "run", "many.de", *GERMAN, "--output", str(path)]
    process = start_program(*arguments, text=True, preexec_fn=limit_file_size)
    _, errors = process.communicate()
    assert process.returncode == 2, errors
    assert f"{path}: cannot be written: " in errors
    assert "Traceback" not in errors
    assert path.read_text() == "the old file"
    assert not [name for name in os.listdir() if name.startswith(".v")]


# similar ---------------------------------------------------------------------------------------

SIMILAR = ("similar", "run", "test.de", "a.de", "--from", "de", "--to", "de")
EQUAL_LINES = {("1", "1"), ("4", "3"), ("2", "4")}
"""Line in test.de and the equal line in a.de."""


def table_of(output: str) -> list[list[str]]:
    return [line.split("\t") for line in output.splitlines()]


def test_equal_sentences_are_nearest_and_blank_lines_are_skipped(polyglot):
    result = polyglot(*SIMILAR, "--margin", "cosine")
    assert result.status == 0
    rows = table_of(result.output)
    assert [row[1] for row in rows] == ["1", "2", "3", "4", "5"]
    assert "2" not in [row[2] for row in rows]
    assert {(row[1], row[2]) for row in rows} >= EQUAL_LINES
    assert float(rows[0][0]) == pytest.approx(1, abs=1e-4)
    assert rows[0][3:] == ["Ein Hund schläft", "Ein Hund schläft"]


def test_several_neighbours_are_sorted_by_score(polyglot):
    rows = table_of(polyglot(*SIMILAR, "--top", 3).output)
    assert [row[1] for row in rows] == list("111222333444555")
    for start in range(0, 15, 3):
        scores = [float(row[0]) for row in rows[start : start + 3]]
        assert scores == sorted(scores, reverse=True)


def test_mining_uses_each_line_once(polyglot):
    rows = table_of(polyglot(*SIMILAR, "--mine").output)
    assert {(row[1], row[2]) for row in rows} >= EQUAL_LINES
    assert len(rows) == 3
    assert len({row[1] for row in rows}) == 3
    assert len({row[2] for row in rows}) == 3
    best_score = float(rows[0][0])
    assert polyglot(*SIMILAR, "--mine", "--threshold", best_score + 1).output == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("test.de", "blank", "--from", "de", "--to", "de"), "blank: every line is empty"),
        (("test.de", "none", "--from", "de", "--to", "en"), "none: no such file"),
        (("test.de", "a.de", "--from", "de", "--to", "xx"), "no encoder named 'xx'"),
        (
            ("test.de", "a.de", "--from", "de", "--to", "de", "--margin", "ratoi"),
            "margin: no margin named 'ratoi'. Did you mean 'ratio'?",
        ),
        (
            ("test.de", "a.de", "--from", "de", "--to", "de", "--search", "annoy"),
            "search: no search named 'annoy'. Known: exact, faiss",
        ),
    ],
)
def test_files_that_cannot_be_compared(polyglot, arguments, message):
    Path("blank").write_text("\n \n")
    assert message in polyglot.refuses("similar", "run", *arguments)


@pytest.mark.parametrize(
    "command",
    [(*EMBED, *TO_NPY), ("similar", "run", "a.de", "a.de", "--from", "de", "--to", "de")],
    ids=["embed", "similar"],
)
def test_messages_in_a_pipe_have_no_blank_line_of_a_progress_bar(command, polyglot):
    result = polyglot(*command)
    assert result.status == 0, result.errors
    assert all(line.strip() for line in result.errors.splitlines())
