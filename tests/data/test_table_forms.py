"""One rule for columns and nulls in every format of a table, cached and streamed."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from polyglot.core.errors import DataError
from polyglot.data.columns import MISSING, find_value, possible_columns
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.tasks.pairs import LanguagePair

DE = ["Ein Hund.", None, "zwei Zeilen", "", "Ende"]
EN = ["A dog.", "nothing", "two lines", None, "end"]
EXPECTED = [
    ("Ein Hund.", "A dog."),
    ("", "nothing"),
    ("zwei Zeilen", "two lines"),
    ("", ""),
    ("Ende", "end"),
]


def flat(de: list, en: list) -> dict[str, list]:
    return {"id": list(range(len(de))), "translation.de": de, "translation.en": en}


def nested(de: list, en: list) -> dict[str, list]:
    rows = []
    for de_text, en_text in zip(de, en, strict=True):
        rows.append({"de": de_text, "en": en_text})
    return {"id": list(range(len(de))), "translation": rows}


def write_jsonl(path: Path, columns: dict[str, list]) -> None:
    lines = []
    for values in zip(*columns.values(), strict=True):
        lines.append(json.dumps(dict(zip(columns, values, strict=True))))
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")  # a blank last line


def write_parquet(path: Path, columns: dict[str, list]) -> None:
    parquet.write_table(pyarrow.table(columns), path)


def corpus_settings(form: str, folder: Path, columns: dict[str, list]) -> dict:
    if form == "jsonl":
        write_jsonl(folder / "t.jsonl", columns)
        return {"type": "jsonl", "path": "t.jsonl"}
    if form == "parquet":
        write_parquet(folder / "t.parquet", columns)
        return {"type": "parquet", "path": "t.parquet"}
    (folder / "hub").mkdir()
    write_parquet(folder / "hub" / "train.parquet", columns)
    return {"type": "hub", "name": str(folder / "hub")}


def read(folder: Path, settings: dict, *, streaming: bool) -> list[tuple[str, str]]:
    options = dict(settings)
    name = options.pop("type")
    config = CORPORA.get(name).Config(**options, streaming=streaming)
    corpora = Corpora([config], folder=folder, languages=("de", "en"))
    assert corpora.check() == []
    return list(corpora.lines(LanguagePair("de", "en")))


every_form = pytest.mark.parametrize("form", ["jsonl", "parquet", "hub"])
both_ways = pytest.mark.parametrize("streaming", [False, True])


@both_ways
@every_form
@pytest.mark.parametrize("shape", [flat, nested])
def test_flat_and_nested_columns_with_nulls(shape, form, streaming, tmp_path, caplog):
    settings = corpus_settings(form, tmp_path, shape(DE, EN))
    with caplog.at_level(logging.INFO, logger="polyglot"):
        assert read(tmp_path, settings, streaming=streaming) == EXPECTED
    assert "null is read as an empty sentence: 1 de, 1 en" in caplog.text


@every_form
def test_nulls_are_counted_again_from_the_cache(form, tmp_path, caplog):
    settings = corpus_settings(form, tmp_path, flat(DE, EN))
    read(tmp_path, settings, streaming=False)
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="polyglot"):
        read(tmp_path, settings, streaming=False)
    assert "null is read as an empty sentence: 1 de, 1 en" in caplog.text


@both_ways
@every_form
def test_the_flat_column_is_preferred(form, streaming, tmp_path):
    columns = {**nested(["x"] * 5, ["y"] * 5), **flat(DE, EN)}
    settings = corpus_settings(form, tmp_path, columns)
    assert read(tmp_path, settings, streaming=streaming) == EXPECTED


@both_ways
@every_form
def test_a_null_in_place_of_all_fields(form, streaming, tmp_path):
    columns = nested(["x", *DE], ["y", *EN])
    columns["translation"][0] = None
    settings = corpus_settings(form, tmp_path, columns)
    assert read(tmp_path, settings, streaming=streaming) == [("", ""), *EXPECTED]


@both_ways
@every_form
def test_dots_at_several_depths(form, streaming, tmp_path):
    rows = []
    for de_text, en_text in zip(DE, EN, strict=True):
        rows.append({"text.de": de_text, "text": {"en": en_text}})
    settings = corpus_settings(form, tmp_path, {"a.b": rows})
    settings["columns"] = "a.b.text.{language}"
    assert read(tmp_path, settings, streaming=streaming) == EXPECTED


@both_ways
@pytest.mark.parametrize("form", ["parquet", "hub"])
@pytest.mark.parametrize("shape", ["flat", "nested"])
@pytest.mark.parametrize("layout", ["large_string", "string_view", "category"])
def test_every_layout_of_strings(layout, shape, form, streaming, tmp_path):
    arrays = {}
    for language, texts in (("de", DE), ("en", EN)):
        strings = pyarrow.array(texts)
        if layout == "category":
            arrays[language] = strings.dictionary_encode()
        else:
            arrays[language] = strings.cast(getattr(pyarrow, layout)())
    if shape == "flat":
        columns = {f"translation.{language}": array for language, array in arrays.items()}
    else:
        struct = pyarrow.StructArray.from_arrays(list(arrays.values()), list(arrays))
        columns = {"translation": struct}
    settings = corpus_settings(form, tmp_path, columns)
    assert read(tmp_path, settings, streaming=streaming) == EXPECTED


@both_ways
@every_form
def test_a_column_of_nulls_only(form, streaming, tmp_path):
    settings = corpus_settings(form, tmp_path, flat([None] * 5, EN))
    assert read(tmp_path, settings, streaming=streaming) == [("", en or "") for en in EN]


@both_ways
@every_form
def test_a_column_that_is_no_text(form, streaming, tmp_path):
    settings = corpus_settings(form, tmp_path, flat([1, 2, 3, 4, 5], EN))
    with pytest.raises(DataError, match="not text|not a text"):
        read(tmp_path, settings, streaming=streaming)


@both_ways
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n\n\n", "\n  \n", "\r\n\r\n"])
def test_blank_lines_at_the_end_of_a_table_are_no_rows(end, streaming, tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"translation.de\ttranslation.en\na\tb\n\t" + end.encode())
    settings = {"type": "tsv", "path": "t.tsv", "header": True}
    settings["columns"] = "translation.{language}"
    assert read(tmp_path, settings, streaming=streaming) == [("a", "b"), ("", "")]

    (tmp_path / "t.jsonl").write_bytes(b'{"de": "a", "en": "b"}' + end.encode())
    settings = {"type": "jsonl", "path": "t.jsonl", "columns": "{language}"}
    assert read(tmp_path, settings, streaming=streaming) == [("a", "b")]


@both_ways
def test_blank_lines_before_other_lines_are_rows(streaming, tmp_path):
    (tmp_path / "t.tsv").write_text("a\n\n\nb\n\n")
    settings = {"type": "tsv", "path": "t.tsv", "columns": {"de": 1, "en": 1}}
    rows = [("a", "a"), ("", ""), ("", ""), ("b", "b")]
    assert read(tmp_path, settings, streaming=streaming) == rows

    (tmp_path / "t.jsonl").write_text('{"de": "a", "en": "b"}\n\n{"de": "a", "en": "b"}\n')
    settings = {"type": "jsonl", "path": "t.jsonl", "columns": "{language}"}
    with pytest.raises(DataError, match="t.jsonl, line 2: no JSON"):
        read(tmp_path, settings, streaming=streaming)


@both_ways
def test_escaped_fields(streaming, tmp_path):
    (tmp_path / "t.tsv").write_text("a\\tb\tC:\\\\new\nx\\ny\tz\n")
    settings = {"type": "tsv", "path": "t.tsv", "columns": {"de": 1, "en": 2}}
    raw = [("a\\tb", "C:\\\\new"), ("x\\ny", "z")]
    assert read(tmp_path, settings, streaming=streaming) == raw
    settings["escaped"] = True
    texts = [("a\tb", "C:\\new"), ("x y", "z")]
    assert read(tmp_path, settings, streaming=streaming) == texts


@pytest.mark.parametrize(
    "value, name, expected",
    [
        ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ({"a": {"b": 2}}, "a.b", 2),
        ({"a": {"b.c": 3}}, "a.b.c", 3),
        ({"a.b": {"c": 3}, "a": {"b": {"c": 4}}}, "a.b.c", 3),
        ({"a.b": {}, "a": {"b": {"c": 4}}}, "a.b.c", 4),
        ({"a.b": None, "a": {"b": {"c": 4}}}, "a.b.c", 4),
        ({"a": None}, "a.b", None),
        ({"a": {}}, "a.b", MISSING),
        ({"a": "text"}, "a.b", MISSING),
        ({".a": 1}, ".a", 1),
        ([1], "a", MISSING),
    ],
)
def test_the_value_of_a_column(value, name, expected):
    assert find_value(value, name) is expected or find_value(value, name) == expected


def test_the_columns_that_a_name_may_refer_to():
    assert list(possible_columns("a.b.c")) == [("a.b.c", None), ("a.b", "c"), ("a", "b.c")]
