"""Corpora: the same text from every format, and messages for problems."""

import gzip
import json
import os
import re
import socket
import sys
import time
import types

import datasets
import huggingface_hub
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from polyglot.core.errors import DataError
from polyglot.data import cache, text_files
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.data.dataset_fingerprint import dataset_fingerprint
from polyglot.tasks.pairs import LanguagePair

DE = [
    "Ein Hund rennt.",
    "",
    "Zwei\x85Katzen\u2028schlafen\x0b.",
    " Leerzeichen \t bleiben ",
    "letzte",
]
EN = ["A dog runs.", "empty on the other side", "Two cats sleep.", "spaces stay", "last"]
LANGUAGES = ("de", "en", "fr")


def corpora(folder, *configs, languages=LANGUAGES):
    return Corpora(
        [CORPORA.configure(**config) for config in configs], folder=folder, languages=languages
    )


def pair(text):
    return LanguagePair.parse(text)


def lines_of(texts):
    return tuple(dataset["text"][:] for dataset in texts)


def serve(corpus, text):
    [parallel] = corpus.parallel(pair(text))
    return lines_of((parallel.source, parallel.target))


def write(path, lines, *, end="\n", zipped=False):
    content = "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "train.de", DE)
    write(tmp_path / "train.en", EN)
    return tmp_path


def as_text(folder):
    write(folder / "a.de", DE)
    write(folder / "a.en", EN)
    return {"name": "text", "path": "a.{language}"}


def as_gzip(folder):
    write(folder / "a.de.gz", DE, zipped=True)
    write(folder / "a.en.gz", EN, zipped=True)
    return {"name": "text", "path": "a.{language}.gz"}


def as_files_of_a_pair(folder):
    return as_text(folder) and {"name": "text", "pairs": {"de-en": ["a.de", "a.en"]}}


def as_tsv(folder):
    write(
        folder / "a.tsv",
        [
            f"{number}\t{de}\t{en}"
            for number, (de, en) in enumerate(zip(clean(DE), EN, strict=True))
        ],
    )
    return {"name": "tsv", "path": "a.tsv", "columns": {"de": 2, "en": 3}}


def as_tsv_with_header(folder):
    write(
        folder / "a.tsv", ["de\ten", *(f"{de}\t{en}" for de, en in zip(clean(DE), EN, strict=True))]
    )
    return {"name": "tsv", "path": "a.tsv", "columns": "{language}", "header": True}


def as_jsonl(folder):
    write(
        folder / "a.jsonl",
        [json.dumps({"german": de, "english": en}) for de, en in zip(DE, EN, strict=True)],
    )
    return {"name": "jsonl", "path": "a.jsonl", "columns": {"de": "german", "en": "english"}}


def as_jsonl_with_translation(folder):
    write(
        folder / "a.jsonl",
        [json.dumps({"translation": {"de": de, "en": en}}) for de, en in zip(DE, EN, strict=True)],
    )
    return {"name": "jsonl", "path": "a.jsonl"}


def as_parquet(folder):
    pyarrow.parquet.write_table(
        pyarrow.table({"german": DE, "x": [1] * 5, "english": EN}),
        folder / "a.parquet",
        row_group_size=2,
    )
    return {"name": "parquet", "path": "a.parquet", "columns": {"de": "german", "en": "english"}}


def as_parquet_with_translation(folder):
    rows = [{"de": de, "en": en} for de, en in zip(DE, EN, strict=True)]
    pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), folder / "a.parquet")
    return {"name": "parquet", "path": "a.parquet"}


def as_hub(folder):
    as_parquet_with_translation(
        folder
    )  # a folder is loaded by the same call as a data set of the hub
    (folder / "set").mkdir()
    (folder / "a.parquet").rename(folder / "set" / "train.parquet")
    return {"type": "hub", "name": str(folder / "set")}


def clean(lines):
    return [line.replace("\t", " ") for line in lines]


KINDS = [
    as_text,
    as_gzip,
    as_files_of_a_pair,
    as_tsv,
    as_tsv_with_header,
    as_jsonl,
    as_jsonl_with_translation,
    as_parquet,
    as_parquet_with_translation,
    as_hub,
]


def configured(config):
    config = dict(config)
    kind = config.pop("type", None) or config.pop("name")
    return CORPORA.get(kind).Config(**config)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_text(kind, tmp_path):
    corpus = Corpora([configured(kind(tmp_path))], folder=tmp_path, languages=("de", "en"))
    german = clean(DE) if "tsv" in kind.__name__ else DE
    assert corpus.check() == []
    assert corpus.pairs() == {pair("de-en"), pair("en-de"), pair("de-de"), pair("en-en")}
    assert serve(corpus, "de-en") == (german, EN)
    assert serve(corpus, "en-de") == (EN, german)
    assert serve(corpus, "de-de") == (german, german)
    assert list(corpus.sentences("de")) == german
    with pytest.raises(
        DataError, match="^no corpus has text for de-fr; there is text for de-en, en-de$"
    ):
        corpus.parallel(pair("de-fr"))


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_read_once_and_then_cached(kind, tmp_path, monkeypatch):
    config = configured(kind(tmp_path))
    first = serve(Corpora([config], folder=tmp_path, languages=("de", "en")), "de-en")
    monkeypatch.setattr(cache, "_write", lambda *_: pytest.fail("read again"))
    assert serve(Corpora([config], folder=tmp_path, languages=("de", "en")), "de-en") == first


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff")),
        min_size=1,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    zipped=st.booleans(),
    block=st.sampled_from([1, 3, 1 << 20]),
)
def test_a_line_is_what_newlines_separate(lines, end, last, zipped, block, tmp_path, monkeypatch):
    if not last and lines[-1] == "":
        lines = [*lines, "x"]  # without its newline an empty last line is no line
    monkeypatch.setattr(text_files, "BLOCK", block)
    content = (end.join(lines) + (end if last else "")).encode()
    (tmp_path / "f").write_bytes(gzip.compress(content) if zipped else content)
    assert [line for some in text_files.line_blocks(tmp_path / "f") for line in some] == lines


def test_a_byte_order_mark_is_no_text(folder):
    (folder / "train.de").write_bytes(b"\xef\xbb\xbf" + (folder / "train.de").read_bytes())
    assert serve(corpora(folder, {"name": "text", "path": "train.{language}"}), "de-en") == (DE, EN)


def test_line_breaks_inside_a_text_become_spaces(tmp_path):
    write(tmp_path / "a.jsonl", [json.dumps({"de": "eins\r\nzwei", "en": "one\n\ntwo"})])
    assert serve(
        corpora(tmp_path, {"name": "jsonl", "path": "a.jsonl", "columns": "{language}"}), "de-en"
    ) == (["eins zwei"], ["one two"])
    table = pyarrow.table({"de": ["eins\r\nzwei", None], "en": ["one\n\ntwo", "no German"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    corpus = corpora(tmp_path, {"name": "parquet", "path": "a.parquet", "columns": "{language}"})
    assert serve(corpus, "de-en") == (["eins zwei", ""], ["one two", "no German"])


def test_a_file_that_changes_is_read_again(folder):
    config = {"name": "text", "path": "train.{language}"}
    assert serve(corpora(folder, config), "de-en") == (DE, EN)
    write(folder / "train.de", reversed(DE))
    assert serve(corpora(folder, config), "de-en") == (DE[::-1], EN)


def test_a_cache_that_was_cut_off_is_made_again(folder):
    config = {"name": "text", "path": "train.{language}"}
    [parallel] = corpora(folder, config).parallel(pair("de-en"))
    [cached] = parallel.source.cache_files
    os.truncate(cached["filename"], os.path.getsize(cached["filename"]) - 20)
    assert serve(corpora(folder, config), "de-en") == (DE, EN)


def test_files_of_pairs_serve_both_directions_unless_the_other_is_given(folder):
    write(folder / "back.en", ["one"])
    write(folder / "back.de", ["eins"])
    write(folder / "x.fr", EN)
    corpus = corpora(
        folder,
        {
            "name": "text",
            "pairs": {
                "de-en": ["train.de", "train.en"],
                "en-de": ["back.en", "back.de"],
                "fr-en": ["x.fr", "train.en"],
            },
        },
    )
    assert serve(corpus, "de-en") == (DE, EN)
    assert serve(corpus, "en-de") == (["one"], ["eins"])
    assert serve(corpus, "en-fr") == (EN, EN)
    assert pair("de-fr") not in corpus.pairs()
    assert sorted(serve(corpus, "en-en")[0]) == sorted(
        [*EN, "one"]
    )  # train.en once, although two pairs have it
    assert sorted(corpus.sentences("de")) == sorted([*DE, "eins"])


def test_several_corpora_serve_one_pair_each_with_its_weight_and_place(folder):
    corpus = corpora(
        folder, {"name": "text", "path": "train.{language}", "weight": 2.0}, as_jsonl(folder)
    )
    first, second = corpus.parallel(pair("de-en"))
    assert (first.weight, second.weight) == (2, 1)
    assert (
        first.name == f"{folder}/train.de + {folder}/train.en"
        and second.name == f"{folder}/a.jsonl"
    )
    assert list(corpus.sentences("en")) == EN + EN


def test_the_phrasebook_is_a_corpus(tmp_path, monkeypatch):
    class Sentence:
        def __init__(self, number):
            self.number = number

        def text(self, language):
            return f"{language} {self.number}"

    phrasebook = types.ModuleType("polyglot.phrasebook")
    phrasebook.__file__ = str(tmp_path / "phrasebook" / "__init__.py")
    phrasebook.LANGUAGES = ("de", "en", "fi")
    phrasebook.splits = lambda *, seed, **sizes: {
        name: [Sentence(seed + n) for n in range(size)] for name, size in sizes.items()
    }
    monkeypatch.setitem(sys.modules, "polyglot.phrasebook", phrasebook)
    monkeypatch.setattr("polyglot.phrasebook", phrasebook, raising=False)
    corpus = corpora(
        tmp_path,
        {"name": "phrasebook", "split": "valid", "valid": 2, "seed": 5},
        languages=("de", "fi"),
    )
    assert corpus.check() == []
    assert serve(corpus, "de-fi") == (["de 5", "de 6"], ["fi 5", "fi 6"])
    phrasebook.splits = lambda **_: pytest.fail("generated again")
    assert serve(
        corpora(
            tmp_path,
            {"name": "phrasebook", "split": "valid", "valid": 2, "seed": 5},
            languages=("de", "fi"),
        ),
        "de-fi",
    )
    [problem] = corpora(tmp_path, {"name": "phrasebook"}, languages=("sa",)).check()
    assert problem == "phrasebook train: has none of sa; it has de, en, fi"


# --- what is wrong is said, before reading where it can be ---


def test_all_problems_of_the_files_are_reported_together(tmp_path):
    (tmp_path / "e.de").touch()
    write(tmp_path / "e.en", EN)
    (tmp_path / "e.fr").mkdir()
    corpus = corpora(
        tmp_path,
        {"name": "text", "path": "e.{language}"},
        {"name": "jsonl", "path": "gone.jsonl"},
        languages=("de", "en", "fr", "cs"),
    )
    assert corpus.check() == [
        f"{tmp_path}/e.de: the file is empty",
        f"{tmp_path}/e.fr: a folder, not a file",
        f"{tmp_path}/gone.jsonl: no such file",
        f"{tmp_path}/e.cs: no such file; there are files for de, en, fr",
    ]


def test_a_pattern_without_files_is_one_problem_not_one_for_each_language_it_may_have(folder):
    languages = ("de", "en", "fr", "cs", "es", "it", "nl")
    pattern = {"name": "text", "path": "train.{language}"}
    mistyped = {"name": "text", "path": "trian.{language}"}
    [problem] = corpora(folder, pattern, mistyped, languages=languages).check()
    assert problem.startswith(f"{folder}/trian.{{language}}: nothing for any of de, en, fr, cs")
    empty = folder / "x.de"
    empty.touch()
    other = {"name": "text", "path": "x.{language}"}
    problems = corpora(folder, other, mistyped, languages=languages).check()
    assert problems[0] == f"{empty}: the file is empty"
    assert len(problems) == 2


def test_a_language_without_text_is_a_problem_only_when_no_corpus_has_it(folder):
    pattern = {"name": "text", "path": "train.{language}"}
    assert corpora(folder, pattern).check() == [
        f"{folder}/train.fr: no such file; there are files for de, en"
    ]
    write(folder / "x.fr", EN)
    assert (
        corpora(folder, pattern, {"name": "text", "pairs": {"fr-en": ["x.fr", "train.en"]}}).check()
        == []
    )


def test_files_of_pairs_say_which_language_is_not_among_them(folder):
    pairs = {"name": "text", "pairs": {"de-en": ["train.de", "train.en"]}}
    assert corpora(folder, pairs).check() == ["the text files of de-en: none of them is fr"]
    assert corpora(folder, pairs, languages=("fr", "cs")).check() == [
        f"the text files of de-en: nothing for any of fr, cs; looked in {folder.resolve()}"
    ]


def test_a_pattern_without_any_file_is_one_problem(tmp_path):
    assert corpora(tmp_path, {"name": "text", "path": "t.{language}"}).check() == [
        f"{tmp_path}/t.{{language}}: nothing for any of de, en, fr; looked in {tmp_path.resolve()}"
    ]


def test_missing_columns_are_reported_with_the_existing_columns(tmp_path):
    write(tmp_path / "a.jsonl", [json.dumps({"german": "x", "meta": {"fr": "y"}})])
    corpus = corpora(
        tmp_path,
        {"name": "jsonl", "path": "a.jsonl", "columns": {"de": "german", "en": "english"}},
        languages=("de", "en"),
    )
    assert corpus.check() == [
        f"{tmp_path}/a.jsonl, line 1: no column english; it has german, meta, meta.fr"
    ]
    [problem] = corpora(
        tmp_path,
        {"name": "jsonl", "path": "a.jsonl", "columns": "meta.{language}"},
        languages=("fr", "en"),
    ).check()
    assert problem == f"{tmp_path}/a.jsonl, line 1: no column for en; there are columns for fr"


def test_columns_of_a_parquet_file_stand_in_no_line(tmp_path):
    corpus = corpora(
        tmp_path,
        as_parquet(tmp_path) | {"columns": {"de": "german", "en": "anglais"}},
        languages=("de", "en"),
    )
    assert corpus.check() == [f"{tmp_path}/a.parquet: no column anglais; it has german, x, english"]


@pytest.mark.parametrize("kind", [as_files_of_a_pair, as_tsv, as_jsonl, as_parquet])
def test_text_of_a_language_that_the_run_lacks_is_ignored_with_a_message(kind, tmp_path):
    config = configured(kind(tmp_path))
    assert Corpora([config], folder=tmp_path, languages=("de", "en")).ignored_languages() == []
    without = Corpora([config], folder=tmp_path, languages=("de",))
    [sentence] = without.ignored_languages()
    assert str(tmp_path / "a.") in sentence or "text files of de-en" in sentence
    assert sentence.endswith(": en ignored; `languages` does not name it")
    [sentence] = Corpora([config], folder=tmp_path, languages=("fr",)).ignored_languages()
    assert sentence.endswith(
        (
            ": de, en ignored; `languages` does not name them",
            ": en, de ignored; `languages` does not name them",
        )
    )


@pytest.mark.parametrize("kind", [as_text, as_tsv_with_header, as_parquet_with_translation])
def test_a_pattern_names_no_language_of_its_own(kind, tmp_path):
    assert (
        Corpora(
            [configured(kind(tmp_path))], folder=tmp_path, languages=("de",)
        ).ignored_languages()
        == []
    )


def test_a_file_that_may_not_be_read(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    corpus = corpora(folder, {"name": "text", "path": "train.{language}"}, languages=("de", "en"))
    monkeypatch.setattr(text_files, "check_readable", refuse)
    assert corpus.check() == [
        f"{folder}/train.{one}: cannot be read: Permission denied" for one in ("de", "en")
    ]


def broken(folder, content, *, name="bad.de"):
    (folder / name).write_bytes(content)
    return corpora(folder, {"name": "text", "pairs": {"de-en": [name, "train.en"]}})


def test_lines_divide_a_text(folder):
    parts = {}
    for lines in ([1, 2], [3, 5]):
        text = {"name": "text", "path": "train.{language}", "lines": lines}
        (parts[lines[0]],) = corpora(folder, text).parallel(pair("de-en"))
    both_sides = (DE, EN)
    first, second = parts[1], parts[3]
    assert lines_of((first.source, first.target)) == tuple(side[:2] for side in both_sides)
    assert lines_of((second.source, second.target)) == tuple(side[2:5] for side in both_sides)
    assert (first.first_line, second.first_line) == (1, 3)
    assert dataset_fingerprint(first.source) != dataset_fingerprint(second.source)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lines": [3, 2]}, r"lines \[3, 2\]: the first line is after the last one"),
        ({"lines": [1, 2], "streaming": True}, "streamed files are read completely"),
        ({"lines": [0, 2]}, "greater than or equal to 1"),
    ],
)
def test_impossible_lines_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        CORPORA.configure("text", path="train.{language}", **settings)


def test_lines_behind_the_end_of_a_file(folder):
    text = {"name": "text", "path": "train.{language}", "lines": [2, 6]}
    message = "train.de has 5 lines, but lines names line 6; name an earlier last line"
    with pytest.raises(DataError, match=message):
        corpora(folder, text).parallel(pair("de-en"))


def test_files_of_different_lengths(folder):
    message = (
        f"{folder}/bad.de has 2 lines, but {folder}/train.en has 5; "
        f"line n of both must be one sentence pair"
    )
    with pytest.raises(DataError, match=f"^{message}$"):
        broken(folder, b"one\ntwo\n").parallel(pair("de-en"))


@pytest.mark.parametrize("block", [4, 1 << 20])
def test_invalid_utf8(folder, block, monkeypatch):
    monkeypatch.setattr("polyglot.data.text_files.BLOCK", block)
    with pytest.raises(
        DataError,
        match=r"bad.de, line 4: not UTF-8 \(invalid start byte 0xff\); write the file in UTF-8$",
    ):
        broken(folder, b"one\n\nthree\nf\xff\xfeur\nfive").parallel(pair("de-en"))


def test_a_gzip_file_that_was_cut_off(folder):
    whole = gzip.compress("\n".join(f"{n * n}" for n in range(1000)).encode())
    with pytest.raises(DataError, match="bad.de: the compressed file is damaged or was cut off: "):
        broken(folder, whole[:-30]).parallel(pair("de-en"))
    with pytest.raises(DataError, match="bad.de: the compressed file is damaged or was cut off: "):
        broken(folder, whole[:50] + b"\0\0\0" + whole[53:]).parallel(pair("de-en"))


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)], ids=["plain", "zipped"])
def test_an_empty_file(folder, content):
    with pytest.raises(DataError, match="bad.de: the file is empty$"):
        broken(folder, content).parallel(pair("de-en"))


def test_a_missing_file(folder):
    corpus = corpora(
        folder,
        {"name": "text", "pairs": {"de-en": ["gone.de", "train.en"]}},
        languages=("de", "en"),
    )
    assert corpus.check() == [f"{folder}/gone.de: no such file"]
    with pytest.raises(DataError, match="gone.de: no such file$"):
        corpus.parallel(pair("de-en"))


GOOD = '{"de": "x", "en": "y"}'


@pytest.mark.parametrize(
    "line, message",
    [
        ("{de: x}", r"line 3: no JSON: .* at character 2; every line is one object$"),
        ("", r"line 3: no JSON"),
        ('{"de": "x"}', r"line 3: no 'en' in this object; it has de$"),
        ('["x"]', r"line 3: no 'de' in this object$"),
        ("7", r"line 3: no 'de' in this object$"),
        ('{"de": "x", "en": [null]}', r"line 3: 'en' is \[null\], not a text$"),
        ('{"de": "x", "en": 7}', r"line 3: 'en' is 7, not a text$"),
        ('{"de": "x", "en": "\\ud800"}', r"line 3: 'en' contains half a character"),
    ],
)
def test_json_lines_that_are_wrong(line, message, tmp_path):
    write(tmp_path / "a.jsonl", [GOOD, GOOD, line, GOOD])
    corpus = corpora(
        tmp_path, {"name": "jsonl", "path": "a.jsonl", "columns": {"de": "de", "en": "en"}}
    )
    with pytest.raises(DataError, match=message):
        corpus.parallel(pair("de-en"))


def test_a_first_json_line_that_is_wrong_is_found_by_the_check(tmp_path):
    write(tmp_path / "a.jsonl", ["hello"])
    [problem] = corpora(tmp_path, {"name": "jsonl", "path": "a.jsonl"}).check()
    assert problem.startswith(f"{tmp_path}/a.jsonl, line 1: no JSON")


def test_tsv_rows_that_are_too_short(tmp_path):
    write(tmp_path / "a.tsv", ["de\ten", "eins\tone", "zwei"])
    with pytest.raises(
        DataError, match="a.tsv, line 3: 1 column, but column 2 is needed; tabs separate them"
    ):
        corpora(tmp_path, {"name": "tsv", "path": "a.tsv", "columns": {"de": 1, "en": 2}}).parallel(
            pair("de-en")
        )
    with pytest.raises(DataError, match="a.tsv, line 3: 1 column"):
        corpora(
            tmp_path, {"name": "tsv", "path": "a.tsv", "columns": "{language}", "header": True}
        ).parallel(pair("de-en"))
    corpus = corpora(
        tmp_path,
        {"name": "tsv", "path": "a.tsv", "columns": {"de": 1, "en": 3}},
        languages=("de", "en"),
    )
    assert corpus.check() == [f"{tmp_path}/a.tsv, line 1: no column 3; it has 1, 2"]


def test_files_that_are_not_parquet_are_reported(tmp_path):
    write(tmp_path / "a.parquet", DE)
    [problem] = corpora(tmp_path, {"name": "parquet", "path": "a.parquet"}).check()
    assert problem.startswith(f"{tmp_path}/a.parquet: no Parquet file: ")


def test_columns_that_are_no_text(tmp_path):
    pyarrow.parquet.write_table(
        pyarrow.table({"de": [1, 2], "en": ["a", "b"]}), tmp_path / "a.parquet"
    )
    with pytest.raises(DataError, match="a.parquet: the column de holds int64, not text"):
        corpora(
            tmp_path, {"name": "parquet", "path": "a.parquet", "columns": "{language}"}
        ).parallel(pair("de-en"))


def test_columns_that_are_not_utf8(tmp_path):
    offsets = pyarrow.array([0, 2], pyarrow.int32()).buffers()[1]
    bad = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, offsets, pyarrow.py_buffer(b"\xff\xfe")]
    )
    pyarrow.parquet.write_table(pyarrow.table({"de": bad, "en": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="a.parquet: the column de is damaged: .*Invalid UTF8"):
        corpora(
            tmp_path, {"name": "parquet", "path": "a.parquet", "columns": "{language}"}
        ).parallel(pair("de-en"))


def test_tables_without_rows(tmp_path):
    write(tmp_path / "a.tsv", ["de\ten"])
    with pytest.raises(DataError, match="a.tsv: no sentences"):
        corpora(
            tmp_path, {"name": "tsv", "path": "a.tsv", "columns": "{language}", "header": True}
        ).parallel(pair("de-en"))
    empty = pyarrow.table(
        {"de": pyarrow.array([], pyarrow.string()), "en": pyarrow.array([], pyarrow.string())}
    )
    pyarrow.parquet.write_table(empty, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="a.parquet: no sentences"):
        corpora(
            tmp_path, {"name": "parquet", "path": "a.parquet", "columns": "{language}"}
        ).parallel(pair("de-en"))


@pytest.fixture
def network(monkeypatch):
    """Allow requests, which the tests otherwise forbid."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def closed_port(network, monkeypatch):
    """Address of a hub without a server."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, so that nobody else gets it, but not listening
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(datasets.config, "HF_ENDPOINT", address)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
        yield address


def hub_corpus(folder, name="nobody/nothing_of_this_name"):
    return Corpora(
        [CORPORA.get("hub").Config(name=name, config="de-en")],
        folder=folder,
        languages=("de", "en"),
    )


def test_without_a_network_loading_from_the_hub_fails_quickly(closed_port, tmp_path):
    began = time.monotonic()
    [problem] = hub_corpus(tmp_path).check()
    assert time.monotonic() - began < 5
    assert re.fullmatch(
        f"hub data set nobody/nothing_of_this_name de-en train: "
        f"{closed_port} cannot be reached \\(.+\\), and there is no local "
        "copy; load it once where there is a network, or name files instead",
        problem,
    )
    assert not datasets.config.HF_HUB_OFFLINE and not huggingface_hub.constants.HF_HUB_OFFLINE, (
        "the next one is asked for again"
    )


def test_without_a_network_the_local_copy_of_a_hub_data_set_is_used(
    closed_port, monkeypatch, tmp_path
):
    """What the library has in its cache it finds where it may not ask; only then it does not try
    again and again.
    """

    def loaded(*arguments, **given):
        assert huggingface_hub.constants.is_offline_mode() and datasets.config.HF_HUB_OFFLINE
        return datasets.Dataset.from_dict({"translation": [{"de": "ja", "en": "yes"}]})

    monkeypatch.setattr(datasets, "load_dataset", loaded)
    corpus = hub_corpus(tmp_path)
    assert corpus.check() == [] and serve(corpus, "de-en") == (["ja"], ["yes"])


def test_hub_in_offline_mode(tmp_path):
    [problem] = hub_corpus(tmp_path).check()
    assert (
        ": the hub is not asked, because HF_HUB_OFFLINE is set, and there is no local copy; "
        in problem
    )


@pytest.mark.parametrize(
    "error", [ConnectionError("no way there"), FileNotFoundError("nothing there")]
)
def test_a_damaged_local_copy_is_told_apart_from_a_missing_copy(
    error, closed_port, monkeypatch, tmp_path
):
    def fails(*arguments, **given):
        raise errors.pop()

    monkeypatch.setattr(datasets, "load_dataset", fails)
    errors = [error]
    assert "and there is no local copy; load it once" in hub_corpus(tmp_path).check()[0]
    errors = [ValueError("Couldn't find cache for config 'de-en'\nAvailable configs: ['de-fr']")]
    [problem] = hub_corpus(tmp_path).check()
    assert problem.endswith(
        "and the local copy cannot be used: Couldn't find cache for config 'de-en'; "
        "correct the corpus, load it once where there is a network, or name files instead"
    )


def test_a_hub_data_set_that_fails_is_asked_for_once(network, monkeypatch, tmp_path):
    asked = []

    def fails(*arguments, **given):
        asked.append(arguments)
        raise datasets.exceptions.DatasetNotFoundError("no such data set")

    monkeypatch.setattr(datasets, "load_dataset", fails)
    monkeypatch.setattr(
        huggingface_hub,
        "get_session",
        lambda: types.SimpleNamespace(head=lambda address, timeout: None),
    )
    corpus = hub_corpus(tmp_path)
    assert len(corpus.check()) == len(corpus.check()) == 1 and len(asked) == 1


def test_only_the_first_line_of_an_error_of_the_hub_is_shown(network, monkeypatch, tmp_path):
    def refused(*arguments, **given):
        raise datasets.exceptions.DatasetNotFoundError("no such data set\nand much more")

    monkeypatch.setattr(datasets, "load_dataset", refused)
    monkeypatch.setattr(
        huggingface_hub,
        "get_session",
        lambda: types.SimpleNamespace(head=lambda address, timeout: None),
    )
    [problem] = hub_corpus(tmp_path).check()
    assert problem == (
        "hub data set nobody/nothing_of_this_name de-en train: cannot be loaded: no such data set"
    )


def test_a_cache_that_cannot_be_written(folder, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(folder / "train.de"))
    with pytest.raises(
        DataError, match="the cache cannot be used: .*; HF_DATASETS_CACHE may name another folder"
    ):
        corpora(folder, {"name": "text", "path": "train.{language}"}).parallel(pair("de-en"))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({}, "give either path"),
        ({"path": "a.{language}", "pairs": {"de-en": ["a", "b"]}}, "give either path"),
        ({"path": "a.de"}, "names no {language}"),
        ({"pairs": {"deen": ["a", "b"]}}, "'deen' is no language pair"),
        ({"pairs": {"de-en": ["a"]}}, "at least 2 items"),
        ({"path": "a.{language}", "weight": 0.0}, "greater than 0"),
        ({"path": "a.{language}", "wieght": 1.0}, "Extra inputs"),
    ],
)
def test_settings_of_text_files_that_make_no_sense(settings, message):
    with pytest.raises(ValidationError, match=message):
        CORPORA.configure("text", **settings)


def test_names_of_columns_need_a_header():
    with pytest.raises(ValidationError, match="columns have names only in a file with a header"):
        CORPORA.configure("tsv", path="a.tsv", columns={"de": "german"})


def test_a_pipe_is_no_corpus(tmp_path):
    os.mkfifo(tmp_path / "a.de")
    (tmp_path / "a.en").write_text("text")
    corpus = corpora(tmp_path, {"name": "text", "path": "a.{language}"}, languages=("de", "en"))
    [problem] = corpus.check()
    assert "a.de: a pipe or device, which cannot be read twice" in problem


def test_a_missing_file_of_one_language_has_a_message(tmp_path):
    for name in ("a.de", "a.en", "b.de", "b.en", "b.fr"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    settings = [
        configured({"type": "text", "path": "a.{language}"}),
        configured({"type": "text", "path": "b.{language}"}),
    ]
    corpora = Corpora(settings, folder=tmp_path, languages=("de", "en", "fr"))
    assert corpora.check() == []
    [message] = corpora.missing_files()
    assert f"no file for fr (such as {tmp_path}/a.fr)" in message
