"""Filters of duplicates and of other languages, cached and streamed; monolingual text."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.data.batching import BatchingConfig
from polyglot.data.content_filters import (
    duplicates,
    in_other_language,
    pair_hashes,
    repeated_pairs,
    sentence_hashes,
)
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.filters import FilterConfig
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.data.streaming import StreamedBatches
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

PAIRS = [
    ("Der alte Mann liest ein Buch im Garten.", "The old man reads a book in the garden."),
    ("Heute scheint die Sonne über der Stadt.", "Today the sun is shining over the town."),
    ("Der alte Mann liest ein Buch im Garten.", "The old man reads a book in the garden."),
    ("Der alte Mann liest ein Buch im Garten.", "An old man is reading in the garden today."),
    ("Le vieil homme lit un livre dans le jardin.", "The old man reads a book in the garden."),
    ("Wir haben gestern zusammen gegessen.", "Wir haben gestern zusammen gegessen."),
    ("12 : 30", "12 : 30"),
]
WITHOUT_DUPLICATES = [0, 1, 3, 4, 5, 6]
WITHOUT_OTHER_LANGUAGES = [0, 1, 2, 3, 6]


@pytest.fixture(scope="module")
def vocabularies() -> dict[str, Vocabulary]:
    lines = [line for pair in PAIRS for line in pair]
    config = VocabularyConfig(type="char", size=60)
    vocabulary = Vocabulary.train(lines, config, language="de", seed=1)
    return {"de": vocabulary, "en": vocabulary}


def corpora_of(folder: Path, settings: dict, *, streaming: bool) -> Corpora:
    settings = dict(settings)
    config = CORPORA.get(settings.pop("type")).Config(**settings, streaming=streaming)
    return Corpora([config], folder=folder, languages=("de", "en"))


def write_pairs(folder: Path, pairs: Sequence[tuple[str, str]]) -> dict:
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (folder / "t.tsv").write_text(text, encoding="utf-8")
    return {"type": "tsv", "path": "t.tsv", "columns": {"de": 1, "en": 2}}


def kept_pairs(
    folder: Path,
    settings: dict,
    vocabularies: dict[str, Vocabulary],
    filters: FilterConfig,
    *,
    streaming: bool,
    pair: str = "de-en",
) -> tuple[list[tuple[str, str]], dict[str, int]]:
    corpora = corpora_of(folder, settings, streaming=streaming)
    task = Task(LanguagePair.parse(pair))
    normalisers = {language: Normaliser([], language) for language in vocabularies}
    if streaming:
        dataset = StreamedDataset(task, corpora, vocabularies, normalisers, filters=filters)
        sources, targets = dataset.first_pairs(len(PAIRS))
    else:
        dataset = TaskDataset(task, corpora, vocabularies, normalisers, filters=filters, seed=1)
        sources, targets = dataset.first_pairs(len(dataset))
    source_texts = vocabularies["de"].decode(sources)
    target_texts = vocabularies["en"].decode(targets)
    return list(zip(source_texts, target_texts, strict=True)), dict(dataset.dropped)


both_ways = pytest.mark.parametrize("streaming", [False, True])


@both_ways
@pytest.mark.parametrize(
    "settings, kept, reason",
    [
        ({}, range(len(PAIRS)), None),
        ({"remove_duplicates": True}, WITHOUT_DUPLICATES, "duplicate"),
        ({"max_other_language": 0.5}, WITHOUT_OTHER_LANGUAGES, "other language"),
    ],
)
def test_the_filters_keep_the_right_pairs(
    settings, kept, reason, streaming, tmp_path, vocabularies
):
    corpus = write_pairs(tmp_path, PAIRS)
    filters = FilterConfig(**settings)
    pairs, dropped = kept_pairs(tmp_path, corpus, vocabularies, filters, streaming=streaming)
    assert pairs == [PAIRS[number] for number in kept]
    if reason:
        assert dropped[reason] == len(PAIRS) - len(kept)


@both_ways
@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"max_unknown": 0.3}, [0, 1]),
        ({"max_unknown": 0.3, "unknown_of": "side"}, [0]),
        ({"max_unknown": 0.1}, [0]),
        ({}, [0, 1, 2]),
    ],
)
def test_pairs_with_many_unknown_words_are_left_out(settings, kept, streaming, tmp_path):
    """Shares of unknown words: 0, then 1 of 4 (half of the target), then 2 of 4."""
    pairs = [("der Hund", "the dog"), ("der Hund", "the zebra"), ("der Esel", "the zebra")]
    config = VocabularyConfig(type="word", size=100)
    lines = {"de": ["der Hund"], "en": ["the dog"]}
    vocabularies = {}
    for language, text in lines.items():
        vocabularies[language] = Vocabulary.train(text, config, language=language, seed=1)
    corpus = write_pairs(tmp_path, pairs)
    filters = FilterConfig(**settings)
    found, dropped = kept_pairs(tmp_path, corpus, vocabularies, filters, streaming=streaming)
    assert len(found) == len(kept)
    assert dropped["unknown words"] == 3 - len(kept) if settings else "unknown words" not in dropped


@both_ways
def test_a_copy_is_filtered_by_its_sentences(streaming, tmp_path, vocabularies):
    corpus = write_pairs(tmp_path, PAIRS)
    filters = FilterConfig(remove_duplicates=True, max_other_language=0.5)
    pairs, _ = kept_pairs(
        tmp_path, corpus, vocabularies, filters, streaming=streaming, pair="de-de"
    )
    assert [source for source, _ in pairs] == [PAIRS[n][0] for n in (0, 1, 5, 6)]


@both_ways
def test_text_without_a_pair_that_stays(streaming, tmp_path, vocabularies):
    corpus = write_pairs(tmp_path, [PAIRS[4]])
    filters = FilterConfig(max_other_language=0.5)
    with pytest.raises(DataError, match="leave none of 1 sentence pairs: 1 other language"):
        kept, _ = kept_pairs(tmp_path, corpus, vocabularies, filters, streaming=streaming)
        assert kept


def test_streamed_batches_have_no_duplicates_within_a_pool(tmp_path, vocabularies):
    corpus = write_pairs(tmp_path, PAIRS[:3] * 20)
    corpora = corpora_of(tmp_path, corpus, streaming=True)
    normalisers = {language: Normaliser([], language) for language in vocabularies}
    dataset = StreamedDataset(
        Task(LanguagePair("de", "en")),
        corpora,
        vocabularies,
        normalisers,
        filters=FilterConfig(remove_duplicates=True),
    )
    batches = StreamedBatches(dataset, BatchingConfig(size=8, buffer=30), seed=1)
    assert len(batches.take()) == 2  # of 30 pairs, two are different


@given(st.lists(st.tuples(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))))
def test_duplicates_are_found_exactly(pairs):
    expected = []
    seen = []
    for pair in pairs:
        expected.append(pair in seen)
        seen.append(pair)

    arrays = []
    for side in (0, 1):
        sentences = [numpy.array(pair[side], dtype=numpy.int32) for pair in pairs]
        arrays.append(sentences)
    assert repeated_pairs(*arrays, set()).tolist() == expected

    hashes = []
    for sentences in arrays:
        pieces = numpy.concatenate([numpy.array([7, 7], numpy.int32), *sentences])
        lengths = [len(sentence) for sentence in sentences]
        starts = numpy.cumsum([2, *lengths])  # a chunk that starts within the pieces
        hashes.append(sentence_hashes(pieces, starts))
    assert duplicates(pair_hashes(*hashes)).tolist() == expected


def test_hashes_of_many_similar_sentences_differ():
    generator = random.Random(1)
    sentences = set()
    while len(sentences) < 50_000:
        length = generator.randrange(1, 6)
        sentences.add(tuple(generator.randrange(30) for _ in range(length)))
    pieces = numpy.array([piece for sentence in sentences for piece in sentence], numpy.int32)
    starts = numpy.cumsum([0, *map(len, sentences)])
    hashes = sentence_hashes(pieces, starts)
    assert len(set(hashes.tolist())) == len(sentences)
    pairs = pair_hashes(hashes, hashes[::-1])
    assert len(set(pairs.tolist())) == len(sentences)


def test_a_language_that_the_identifier_does_not_know_is_not_filtered(caplog):
    with caplog.at_level(logging.INFO, logger="polyglot"):
        assert not in_other_language(["The old man reads a book."], "qqx", 0.0).any()
    assert "py3langid does not know qqx" in caplog.text


def test_other_spellings_of_a_language():
    for language in ("deu", "de-AT", "deu_Latn"):
        lines = [PAIRS[0][0], PAIRS[0][1]]
        assert in_other_language(lines, language, 0.5).tolist() == [False, True]


def test_the_description_of_old_settings_has_not_changed():
    old = '{"min_length":1,"max_length":100,"max_ratio":9.0}'
    assert FilterConfig().description == old
    assert FilterConfig(remove_duplicates=True).description != old
    assert FilterConfig(max_other_language=0.0).description != old
    assert FilterConfig(max_unknown=0.1).description != old


# Monolingual text


def monolingual_settings(form: str, folder: Path) -> dict:
    """Text of different lengths in two languages, without translations."""
    (folder / "mono.de").write_text("eins\nzwei\ndrei\n")
    (folder / "mono.en").write_text("one\n")
    (folder / "mono.tsv").write_text("eins\tone\nzwei\t\ndrei\t\n")
    (folder / "mono.jsonl").write_text(
        '{"de": "eins", "en": "one"}\n{"de": "zwei", "en": null}\n{"de": "drei", "en": null}\n'
    )
    return {
        "text": {"type": "text", "path": "mono.{language}"},
        "tsv": {"type": "tsv", "path": "mono.tsv", "columns": {"de": 1, "en": 2}},
        "jsonl": {"type": "jsonl", "path": "mono.jsonl", "columns": "{language}"},
    }[form]


@both_ways
@pytest.mark.parametrize("form", ["text", "tsv", "jsonl"])
def test_monolingual_text_serves_copies_only(form, streaming, tmp_path):
    settings = {**monolingual_settings(form, tmp_path), "monolingual": True}
    corpora = corpora_of(tmp_path, settings, streaming=streaming)
    assert corpora.check() == []
    assert corpora.pairs() == {LanguagePair("de", "de"), LanguagePair("en", "en")}
    lines = [source for source, _ in corpora.lines(LanguagePair("de", "de"))]
    assert lines == ["eins", "zwei", "drei"]
    assert list(corpora.sentences("de")) == lines
    with pytest.raises(DataError, match="no corpus has text for de-en"):
        list(corpora.lines(LanguagePair("de", "en")))


def test_monolingual_parts_need_no_counterpart(tmp_path):
    for name in ("a-1.de", "a-2.de", "a-3.en"):
        (tmp_path / name).write_text(f"{name}\n")
    settings = {"type": "text", "path": "a-*.{language}", "monolingual": True}
    corpora = corpora_of(tmp_path, settings, streaming=True)
    assert corpora.check() == []
    lines = [source for source, _ in corpora.lines(LanguagePair("de", "de"))]
    assert lines == ["a-1.de", "a-2.de"]
