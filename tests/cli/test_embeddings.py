"""`polyglot embed` and `polyglot similar` as a user meets them."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy
import pytest

import polyglot as package
from tests.builders.command_line import TEXT, Program
from tests.builders.runs import train
from tests.evaluation.tiny import tiny_run

LINES = ["Ein Hund schläft", "", "es regnet", "zwei Katzen sehen einen Vogel"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("verbs")
    train(tiny_run(folder))
    (folder / "a.de").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def polyglot(trained, tmp_path, monkeypatch, capsys) -> Program:
    """Called from a folder with a link to the run and to the text."""
    for path in trained.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


@pytest.fixture
def model(trained):
    return package.load(trained / "run")


EMBED = ("embed", "run", "a.de", "--language", "de")


def test_embed_writes_what_encode_gives(polyglot, model):
    result = polyglot(*EMBED, "--output", "v.npy")
    assert (result.status, result.output) == (0, "")
    assert (
        "4 vectors of 16 float32 numbers written to v.npy; 1 empty line with a vector of zeros"
        in " ".join(result.errors.split())
    )
    found = numpy.load("v.npy")
    assert (
        found.dtype == "float32"
        and numpy.array_equal(found, model.encode(LINES, language="de"))
        and not found[1].any()
    )
    assert numpy.array_equal(numpy.load("v.npy", mmap_mode="r")[2:], found[2:])


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_the_three_formats_hold_the_same(polyglot, model, precision):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    settings = ("--precision", precision, "--pooling", "mean", "--normalize")
    for ending in ("npy", "parquet", "jsonl"):
        assert polyglot(*EMBED, *settings, "--output", f"v.{ending}").status == 0
    expected = model.encode(
        LINES, language="de", precision=precision, pooling="mean", normalize_embeddings=True
    )
    table = pyarrow.read_table("v.parquet").to_pydict()
    lines = [json.loads(line) for line in Path("v.jsonl").read_text(encoding="utf-8").splitlines()]
    assert table["sentence"] == [line["sentence"] for line in lines] == LINES and set(
        table["language"]
    ) == {"de"}
    assert numpy.load("v.npy").dtype == precision
    for found in (
        numpy.load("v.npy"),
        numpy.array(table["embedding"]),
        numpy.array([line["embedding"] for line in lines]),
    ):
        assert numpy.array_equal(found.astype(precision), expected)


def test_embed_reads_gzip_and_standard_input_in_order(polyglot):
    text = "".join(f"{TEXT['de'][number % 5]}\n" for number in range(5000))
    Path("many.gz").write_bytes(gzip.compress(text.encode()))
    assert (
        polyglot("embed", "run", "many.gz", "--language", "de", "--output", "one.npy").status == 0
    )
    assert (
        polyglot("embed", "run", "--language", "de", "--output", "two.npy", stdin=text).status == 0
    )
    one, two = numpy.load("one.npy"), numpy.load("two.npy")
    assert one.shape == (5000, 16) and numpy.array_equal(one, two)
    assert numpy.allclose(one, numpy.tile(one[:5], (1000, 1)), atol=1e-6) and not numpy.allclose(
        one[0], one[1], atol=1e-3
    )


def test_a_column_may_name_the_language(polyglot, model):
    Path("mixed.tsv").write_text("x\tde\tes regnet\nx\ten\tit rains\nx\tde\t\n", encoding="utf-8")
    assert (
        polyglot(
            "embed",
            "run",
            "mixed.tsv",
            "--language-column",
            2,
            "--text-column",
            3,
            "--output",
            "v.jsonl",
        ).status
        == 0
    )
    lines = [json.loads(line) for line in Path("v.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["language"], line["sentence"]) for line in lines] == [
        ("de", "es regnet"),
        ("en", "it rains"),
        ("de", ""),
    ]
    numpy.testing.assert_allclose(
        lines[1]["embedding"], model.encode("it rains", language="en"), atol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("--language", "de", "--output", "v.npy"), "", "standard input: the file is empty"),
        (("empty", "--language", "de", "--output", "v.npy"), "", "empty: the file is empty"),
        (("none.de", "--language", "de", "--output", "v.npy"), "", "none.de: no such file"),
        (
            ("a.de", "--language", "xx", "--output", "v.npy"),
            "",
            "no encoder named 'xx'. Known: de, en, fr",
        ),
        (
            ("a.de", "--language", "de", "--output", "v.csv"),
            "",
            "v.csv: no format of vectors has the suffix '.csv'. Known: .npy, .parquet, .jsonl",
        ),
        (
            ("a.de", "--language", "de", "--output", "away/v.npy"),
            "",
            "away/v.npy: cannot be written: No such file or directory",
        ),
        (
            ("a.de", "--language", "de", "--pooling", "all", "--output", "v.npy"),
            "",
            "pooling: no pooling named 'all'",
        ),
        (
            ("a.de", "--language", "de", "--precision", "int4", "--output", "v.npy"),
            "",
            "precision: no precision named 'int4'",
        ),
        (
            ("a.de", "--output", "v.npy"),
            "",
            "either --language for all sentences, or --language-column, is needed",
        ),
        (
            ("a.de", "--language", "de", "--language-column", "1", "--output", "v.npy"),
            "",
            "either --language",
        ),
        (("--language-column", "2", "--output", "v.npy"), "x\tde\n", "column 2 cannot be both"),
        (
            ("--language-column", "1", "--output", "v.npy"),
            "de\tes regnet\nes regnet\n",
            "standard input, line 2: found 1 columns between tabs; expected 2",
        ),
        (
            ("--language-column", "1", "--output", "v.npy"),
            "de\tes regnet\nxx\tes regnet\n",
            "standard input, line 2: language 'xx' has no encoder",
        ),
        (
            ("--language", "de", "--output", "v.npy"),
            b"gut\n\xff\n",
            "standard input, line 2: not UTF-8",
        ),
    ],
)
def test_what_cannot_be_embedded(polyglot, arguments, stdin, sentence):
    Path("empty").touch()
    before = sorted(os.listdir())
    assert sentence in " ".join(polyglot.refuses("embed", "run", *arguments, stdin=stdin).split())
    assert sorted(os.listdir()) == before, "no half file, under whatever name"


def test_a_bridge_without_fixed_size_says_which_poolings_work(tmp_path, monkeypatch, capsys):
    train(tiny_run(tmp_path, model={"bridge": {"type": "none"}}))
    monkeypatch.chdir(tmp_path)
    program = Program(monkeypatch, capsys)
    assert "use mean or max" in program.refuses(
        "embed", "run", "test.de", "--language", "de", "--output", "v.npy"
    )
    assert (
        program(
            "embed", "run", "test.de", "--language", "de", "--output", "v.npy", "--pooling", "mean"
        ).status
        == 0
    )
    assert numpy.load("v.npy").shape == (5, 8)


@pytest.mark.parametrize("ending", ["npy", "parquet", "jsonl"])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(polyglot, ending):
    """The operating system itself refuses: no file of this process may grow past 4 kB."""
    words = sorted({word for line in TEXT["de"] for word in line.split()})
    lines = [
        " ".join(Random(number).sample(words, 5)) for number in range(1000)
    ]  # what is all the same would be compressed to nothing
    Path("many.de").write_text("\n".join(lines), encoding="utf-8")
    Path(f"v.{ending}").write_text("what was there")
    program = (
        "import sys; from polyglot.cli import main; sys.argv = ['polyglot', *sys.argv[1:]]; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "embed", "run", "many.de", "--language", "de", "--output", f"v.{ending}"],
        capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))),
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    assert f"v.{ending}: cannot be written: " in ended.stderr and "Traceback" not in ended.stderr
    assert Path(f"v.{ending}").read_text() == "what was there" and not [
        name for name in os.listdir() if name.startswith(".v")
    ]


# similar -----------------------------------------------------------------------------------------------------------------

SIMILAR = ("similar", "run", "test.de", "a.de", "--from", "de", "--to", "de")


def columns(output: str) -> list[list[str]]:
    return [line.split("\t") for line in output.splitlines()]


def test_a_sentence_is_nearest_to_itself_and_blank_lines_are_left_out(polyglot):
    """test.de has lines 1, 2 and 4 of a.de as its 1st, 4th and 2nd."""
    result = polyglot(*SIMILAR, "--margin", "cosine")
    assert result.status == 0
    rows = columns(result.output)
    assert [row[1] for row in rows] == ["1", "2", "3", "4", "5"] and "2" not in [
        row[2] for row in rows
    ]
    assert {(row[1], row[2]) for row in rows} >= {("1", "1"), ("4", "3"), ("2", "4")}
    assert float(rows[0][0]) == pytest.approx(1, abs=1e-4) and rows[0][3:] == [
        "Ein Hund schläft",
        "Ein Hund schläft",
    ]


def test_more_neighbours_the_best_first(polyglot):
    rows = columns(polyglot(*SIMILAR, "--top", 3).output)
    assert [row[1] for row in rows] == [number for number in "12345" for _ in range(3)]
    for start in range(0, 15, 3):
        scores = [float(row[0]) for row in rows[start : start + 3]]
        assert scores == sorted(scores, reverse=True)


def test_mining_pairs_each_line_once(polyglot):
    rows = columns(polyglot(*SIMILAR, "--mine").output)
    assert {(row[1], row[2]) for row in rows} >= {("1", "1"), ("4", "3"), ("2", "4")}
    assert len({row[1] for row in rows}) == len({row[2] for row in rows}) == len(rows) == 3
    best = float(rows[0][0])
    assert len(columns(polyglot(*SIMILAR, "--mine", "--threshold", best + 1).output)) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
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
def test_what_cannot_be_compared(polyglot, arguments, sentence):
    Path("blank").write_text("\n \n")
    assert sentence in polyglot.refuses("similar", "run", *arguments)
