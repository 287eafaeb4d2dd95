"""Files of vectors are complete or do not exist."""

from __future__ import annotations

import json

import numpy
import pytest

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings.vector_files import FORMATS, open_vector_file, vector_format

SENTENCES = ["ein Hund", "Käse\u2028\"'", "", "one dog"]
LANGUAGES = ["de", "de", "de", "en"]
VECTORS = numpy.array([[1, -2, 3], [4, 5, 6], [0, 0, 0], [-7, 8, 127]])


def write_vectors(path, precision="float32"):
    """Write the vectors in two parts."""
    with open_vector_file(path, size=3, precision=precision) as file:
        for part in (slice(0, 3), slice(3, 4)):
            file.write(
                VECTORS[part].astype(precision),
                sentences=SENTENCES[part],
                languages=LANGUAGES[part],
            )


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_npy_files_contain_the_vectors(precision, tmp_path):
    path = tmp_path / "vectors.npy"
    write_vectors(path, precision)
    array = numpy.load(path, mmap_mode="r")
    assert array.dtype == precision
    numpy.testing.assert_array_equal(array, VECTORS)


def test_an_npy_file_may_have_no_rows(tmp_path):
    path = tmp_path / "vectors.npy"
    with open_vector_file(path, size=3, precision="int8"):
        pass
    assert numpy.load(path).shape == (0, 3)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_parquet_files_contain_languages_sentences_and_vectors(precision, tmp_path):
    from pyarrow import parquet

    path = tmp_path / "vectors.parquet"
    write_vectors(path, precision)
    table = parquet.read_table(path)
    assert table.column_names == ["language", "sentence", "embedding"]
    assert table["language"].to_pylist() == LANGUAGES
    assert table["sentence"].to_pylist() == SENTENCES
    assert table["embedding"].to_pylist() == VECTORS.tolist()
    assert table.schema.field("embedding").type.list_size == 3


def test_json_lines_contain_languages_sentences_and_vectors(tmp_path):
    path = tmp_path / "vectors.jsonl"
    write_vectors(path)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [record["language"] for record in records] == LANGUAGES
    assert [record["sentence"] for record in records] == SENTENCES
    assert [record["embedding"] for record in records] == VECTORS.tolist()
    assert "Käse" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", FORMATS)
def test_after_an_error_the_old_file_is_still_there_and_nothing_else(suffix, tmp_path):
    path = tmp_path / f"vectors{suffix}"
    path.write_text("old")
    with (
        pytest.raises(KeyboardInterrupt),
        open_vector_file(path, size=3, precision="float32") as file,
    ):
        file.write(
            VECTORS.astype("float32"),
            sentences=SENTENCES,
            languages=LANGUAGES,
        )
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_folder_that_does_not_exist_is_an_error(suffix, tmp_path):
    path = tmp_path / "missing" / f"vectors{suffix}"
    with pytest.raises(DataError, match=f"vectors{suffix}: cannot be written: "):
        write_vectors(path)


@pytest.mark.parametrize(
    ("name", "found"),
    [("vectors.csv", "the suffix '.csv'"), ("vectors", "a name without a suffix")],
)
def test_an_unknown_suffix_is_an_error(name, found, tmp_path):
    with pytest.raises(ConfigError) as error:
        vector_format(tmp_path / name)
    assert str(error.value) == (
        f"{tmp_path / name}: no format of vectors has {found}. Known: .npy, .parquet, .jsonl"
    )
