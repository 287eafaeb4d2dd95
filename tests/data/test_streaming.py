"""Streamed text in every format: content, order, exact continuation, memory, problems."""

import gzip
import json
import re
from collections import Counter

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from polyglot.core.errors import DataError
from polyglot.data import streaming
from polyglot.data.batching import BatchingConfig
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.data.filters import FilterConfig
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.data.streaming import StreamedBatches
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

LINES = 300
LANGUAGES = ("de", "en")
FILTERS = FilterConfig(max_length=40)


def line(language, number):
    """Sentence with a unique number and another length than its neighbours."""
    return " ".join([{"de": "wort", "en": "word"}[language]] * (number % 7) + [str(number)])


@pytest.fixture(scope="session")
def vocabularies():
    config = VocabularyConfig(type="char", size=60)
    return {
        one: Vocabulary.train(
            [line(one, number) for number in range(LINES)], config, language=one, seed=1
        )
        for one in LANGUAGES
    }


@pytest.fixture
def folder(tmp_path):
    """The same sentences in every form, in three files each, of unequal sizes."""
    for part, rows in enumerate((range(120), range(120, 130), range(130, LINES))):
        write(tmp_path, str(part), rows)
    return tmp_path


def write(folder, part, rows):
    texts = {one: [line(one, number) for number in rows] for one in LANGUAGES}
    for one, lines in texts.items():
        text = "".join(f"{each}\n" for each in lines)
        (folder / f"text-{part}.{one}").write_text(text)
        (folder / f"zipped-{part}.{one}.gz").write_bytes(gzip.compress(text.encode()))
    both = list(zip(*texts.values()))
    (folder / f"{part}.tsv").write_text(
        "de\ten\n" + "".join("\t".join(pair) + "\n" for pair in both)
    )
    (folder / f"{part}.jsonl").write_text(
        "".join(json.dumps({"translation": dict(zip(LANGUAGES, pair))}) + "\n" for pair in both)
    )
    (folder / "parquet").mkdir(exist_ok=True)
    pyarrow.parquet.write_table(
        pyarrow.table(texts), folder / "parquet" / f"{part}.parquet", row_group_size=50
    )


def corpora(folder, *configs):
    """name: the kind; a folder of Parquet files is loaded as what is on the hub."""
    kinds = [
        (
            CORPORA.get(config["name"]).Config,
            {key: value for key, value in config.items() if key != "name"},
        )
        for config in configs
    ]
    hub = {"name": str(folder / "parquet")}
    return Corpora(
        [kind(**own, **(hub if "Hub" in kind.__name__ else {})) for kind, own in kinds],
        folder=folder,
        languages=LANGUAGES,
    )


def streamed(folder, *configs, vocabularies, pair="de-en", filters=FILTERS):
    given = vocabularies, {one: Normaliser([], one) for one in LANGUAGES}
    return StreamedDataset(
        Task(LanguagePair.parse(pair)), corpora(folder, *configs), *given, filters=filters
    )


def batches(dataset, buffer=64, size=8, **given):
    return StreamedBatches(
        dataset, BatchingConfig(size=size, buffer=buffer), seed=given.pop("seed", 1), **given
    )


TEXT = {"name": "text", "path": "text-*.{language}", "streaming": True}
FORMS = {
    "text": TEXT,
    "zipped": {**TEXT, "path": "zipped-*.{language}.gz"},
    "pairs": {"name": "text", "pairs": {"en-de": ["text-*.en", "text-*.de"]}, "streaming": True},
    "tsv": {
        "name": "tsv",
        "path": "*.tsv",
        "header": True,
        "columns": "{language}",
        "streaming": True,
    },
    "jsonl": {"name": "jsonl", "path": "*.jsonl", "streaming": True},
    "hub": {"name": "hub", "columns": "{language}", "streaming": True},
    "parquet": {
        "name": "parquet",
        "path": "parquet/*.parquet",
        "columns": "{language}",
        "streaming": True,
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_sentences_from_any_row_on(form, folder):
    corpus = corpora(folder, FORMS[form])
    assert corpus.check() == []
    for pair in (LanguagePair("de", "en"), LanguagePair("en", "de"), LanguagePair("en", "en")):
        assert corpus.is_streamed(pair)
        [text] = corpus.streamed(pair)
        assert text.estimate_rows() == (None if form == "hub" else pytest.approx(LINES, rel=0.3))
        expected = [
            (line(pair.source, number), line(pair.target, number)) for number in range(LINES)
        ]
        assert [both for shard in text.shards for both in shard.rows(0)] == expected
        assert list(text.first_pairs(384)) == expected[: 130 + 128]
        assert list(text.first_pairs(30)) == expected[:30]
        for start in (1, 49, 50, 51, 119, 120):
            assert list(text.shards[0].rows(start)) == expected[start:120]
    assert sorted(corpus.sentences("de")) == sorted(line("de", number) for number in range(LINES))
    assert sorted(corpus.lines(LanguagePair("en", "de"))) == sorted(
        (line("en", number), line("de", number)) for number in range(LINES)
    )


def test_reading_in_small_blocks_changes_nothing(folder, monkeypatch):
    for module in ("shards", "tables", "table_files"):
        monkeypatch.setattr(f"polyglot.data.corpora.{module}.SMALL_BLOCK", 7)
    for module in ("shards", "table_files"):
        monkeypatch.setattr(f"polyglot.data.corpora.{module}.ROWS", 7)
    for form in ("text", "zipped", "tsv", "jsonl", "parquet"):
        [text] = corpora(folder, FORMS[form]).streamed(LanguagePair("de", "en"))
        for start in (0, 1, 17, 60, 119, 120):
            assert list(text.shards[0].rows(start)) == [
                (line("de", number), line("en", number)) for number in range(start, 120)
            ]


def sentences_of(stream, number):
    """The numbers that the sentences of so many batches end in."""
    numbers = Counter()
    for _ in range(number):
        taken = stream.take()
        batch = stream.batch(taken)
        assert batch.sentences == len(taken)
        vocabulary = stream.dataset._source_vocabulary
        numbers.update(
            int(text.rpartition(" ")[2]) for text in vocabulary.decode(batch.source.tolist())
        )
    return numbers


def test_every_sentence_is_used_once_per_epoch_and_batches_mix_the_files(folder, vocabularies):
    stream = batches(streamed(folder, TEXT, vocabularies=vocabularies), buffer=100, size=10)
    assert sentences_of(stream, 30) == Counter(range(LINES))
    assert sentences_of(stream, 30) == Counter(range(LINES))
    taken = [tuple(row[1:3]) for row in stream.take().tolist()]
    assert len(set(taken)) == 10 and stream.names(stream.take())[0].startswith(
        str(folder / "text-")
    )


@pytest.mark.parametrize("readers", [2, 4])
def test_every_sentence_is_used_once_per_epoch_by_a_single_process(readers, folder, vocabularies):
    whole = Counter()
    for reader in range(readers):
        stream = batches(
            streamed(folder, TEXT, vocabularies=vocabularies),
            buffer=1,
            size=1,
            reader_index=reader,
            reader_count=readers,
        )
        [text] = stream.position[str(reader)]["texts"].values()
        own = sum(
            len(range(part, [120, 10, 170][shard], parts)) for shard, _, part, parts in text["left"]
        )
        whole += sentences_of(stream, own)
    assert whole == Counter(range(LINES))
    told = [
        (
            f"{folder}/text-*.{{language}} has 3 parts for 4 processes: "
            f"each process reads all of it and uses one line of every 4"
        )
    ]
    assert list(
        streamed(folder, TEXT, vocabularies=vocabularies).shared_file_messages(readers)
    ) == (told if readers == 4 else [])


@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_a_stream_continues_from_its_position(data, folder_of_all, vocabularies):
    """Exactly, after any number of batches and whatever the sizes; through JSON, as a checkpoint
    keeps it.
    """
    size, buffer = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 150))
    configs = [TEXT, {**FORMS["tsv"], "weight": 0.3}, {"name": "text", "path": "text-1.{language}"}]
    straight, resumed = (
        batches(
            streamed(folder_of_all, *configs, vocabularies=vocabularies), buffer=buffer, size=size
        )
        for _ in range(2)
    )
    for _ in range(data.draw(st.integers(0, 60))):
        straight.take()
    resumed.seek(json.loads(json.dumps(straight.position)))
    assert resumed.position == straight.position
    for _ in range(10):
        own, other = straight.take(), resumed.take()
        assert own.tolist() == other.tolist()
        assert straight.batch(own).source.tolist() == resumed.batch(other).source.tolist()
    assert resumed.position == straight.position


@pytest.fixture(scope="session")
def folder_of_all(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    for part, rows in enumerate((range(120), range(120, 130), range(130, LINES))):
        write(folder, str(part), rows)
    return folder


def order(folder, vocabularies, **given):
    stream = batches(streamed(folder, TEXT, vocabularies=vocabularies), **given)
    return [stream.take()[:, 1:3].tolist() for _ in range(20)]


def test_the_order_is_a_function_of_the_seed(folder, vocabularies, tmp_path_factory):
    assert (
        order(folder, vocabularies)
        == order(folder, vocabularies)
        != order(folder, vocabularies, seed=2)
    )
    moved = tmp_path_factory.mktemp("moved") / "text"
    folder.rename(moved)
    assert order(moved, vocabularies) == order(moved, vocabularies, seed=1)


def test_no_more_is_in_memory_than_two_pools(folder, vocabularies, monkeypatch):
    monkeypatch.setattr(streaming, "PORTION", 4)
    stream = batches(streamed(folder, TEXT, vocabularies=vocabularies), buffer=40, size=10)
    ahead = []
    for _ in range(60):
        stream.take()
        assert (
            len(stream._pool.sources)
            == len(stream._pool.locations)
            == 40
            >= len(stream._next_pool.sources)
        )
        ahead.append(len(stream._next_pool.sources))
    assert ahead[:4] == [10, 20, 30, 40], "as evenly as batches are taken"


@pytest.mark.parametrize("weights", [(1, 1), (3, 1), (0.2, 5), (1, 1.5)])
def test_corpora_are_mixed_by_weight_and_not_by_size(weights, folder, vocabularies):
    small, large = (
        {**TEXT, "path": path, "weight": float(weight)}
        for path, weight in zip(("text-1.{language}", "text-2.{language}"), weights)
    )
    stream = batches(
        streamed(folder, small, large, vocabularies=vocabularies), buffer=33, size=10_000
    )
    counts = Counter()
    for _ in range(20):
        counts.update(stream.take()[:, 0].tolist())
    assert counts[0] == pytest.approx(660 * weights[0] / sum(weights), abs=1)
    assert counts.total() == pytest.approx(660, abs=1)


def test_a_new_weight_or_corpus_keeps_the_positions_of_the_other_corpora(folder, vocabularies):
    other = {**TEXT, "path": "zipped-0.{language}.gz"}
    stream = batches(streamed(folder, TEXT, vocabularies=vocabularies))
    first = sentences_of(stream, 16)  # two pools of 64
    again = batches(streamed(folder, other, {**TEXT, "weight": 3.0}, vocabularies=vocabularies))
    again.seek(stream.position)
    rows = [row for _ in range(32) for row in again.take().tolist() if row[0] == 1]
    [key] = stream._text_readers
    left = stream._text_readers[key].position
    assert len(first) == 128 and len(rows) == 192
    numbers = [[0, 120, 130][shard] + row for _, shard, row, _ in rows]
    assert len(set(numbers[: LINES - 128]) & set(first)) <= 64, (
        "the pool that was begun comes again, nothing else"
    )
    assert left["epoch"] == 0


@pytest.mark.parametrize(
    "now",
    [
        {"buffer": 30},
        {"size": 5},
        {"filters": FilterConfig(max_length=39)},
        {"weight": 0.5},
        {"seed": 2},
        {"more": "zipped-1.{language}.gz"},
    ],
    ids=lambda now: next(iter(now)),
)
def test_a_pool_with_other_settings_is_used_again_from_its_start(now, folder, vocabularies):
    """Of every text that was read then: a place in another pool would leave out what is before it
    and had not been taken.
    """

    def stream(filters=FILTERS, weight=2.0, more="text-1.{language}", **given):
        texts = ({**TEXT, "path": f"text-{part}.{{language}}"} for part in (0, 2))
        other = {"name": "text", "path": more, "streaming": True, "weight": weight}
        return batches(
            streamed(folder, *texts, other, vocabularies=vocabularies, filters=filters), **given
        )

    straight = stream()
    before = sentences_of(straight, 8)
    in_memory = sentences_of(straight, 5)
    position = json.loads(json.dumps(straight.position))
    assert not stream().seek(position)
    other = stream(**now)
    assert other.seek(position)
    rest = sentences_of(other, 40)
    assert set(in_memory) <= set(rest) and not set(before) & set(in_memory) - set(range(120, 130))
    for one in position.values():
        del one["made_of"]
    assert not stream(**now).seek(position), "an older checkpoint does not say"


def test_a_pool_without_kept_pairs_is_skipped(folder, vocabularies, caplog):
    caplog.set_level("INFO")
    filters = FilterConfig(
        min_length=1, max_length=6
    )  # a word of four letters and a space are five
    stream = batches(
        streamed(folder, TEXT, vocabularies=vocabularies, filters=filters), buffer=2, size=4
    )
    kept = Counter(
        number for number in range(LINES) if len(line("de", number).replace(" ", "")) < 6
    )
    seen = sentences_of(stream, 60)
    assert set(seen) <= set(kept) and seen
    assert re.search(
        r"epoch 2 of .* begins; 30[0-2] sentence pairs read so far, left out: [0-9]+ too long",
        caplog.text,
    )


def test_filters_that_drop_all_pairs_are_an_error(folder, vocabularies):
    dataset = streamed(folder, TEXT, vocabularies=vocabularies, filters=FilterConfig(max_length=1))
    with pytest.raises(
        DataError,
        match=(
            r"de-en \(.*text-\*\.\{language\}\): "
            r"the filters leave none of [0-9]+ sentence pairs: [0-9]+ too long"
        ),
    ):
        dataset.sample
    with pytest.raises(DataError, match="the filters leave none of 64 sentence pairs: 64 too long"):
        batches(dataset).take()


def test_parallel_files_of_different_lengths_are_an_error(folder, vocabularies):
    with (folder / "text-2.en").open("a") as file:
        file.write("one\nmore\n")
    stream = batches(streamed(folder, TEXT, vocabularies=vocabularies))
    with pytest.raises(DataError) as error:
        sentences_of(stream, 60)
    assert str(error.value) == (
        f"{folder}/text-2.de ends after line 170, but {folder}/text-2.en has 172 lines; "
        f"line n of both must be one sentence pair"
    )


def test_invalid_text_in_a_stream_is_reported_with_its_line(folder, vocabularies):
    content = (folder / "text-2.en").read_bytes().split(b"\n")
    (folder / "text-2.en").write_bytes(b"\n".join([*content[:90], b"gr\xfcn", *content[91:]]))
    [text] = corpora(folder, TEXT).streamed(LanguagePair("de", "en"))
    for start in (0, 60, 90):
        with pytest.raises(
            DataError, match=r"text-2\.en, line 91: not UTF-8 \(.* 0xfc\); write the file in UTF-8$"
        ):
            list(text.shards[2].rows(start))
    (folder / "1.jsonl").write_text("{}\n" * 3)
    [text] = corpora(folder, FORMS["jsonl"]).streamed(LanguagePair("de", "en"))
    with pytest.raises(
        DataError, match=r"1\.jsonl: no column translation.de, translation.en; it has $"
    ):
        list(text.shards[1].rows(0))


def test_text_that_cannot_be_streamed_is_an_error(folder):
    with pytest.raises(ValidationError, match="streaming"):
        CORPORA.configure("phrasebook", streaming=True)
    for name, more in (
        ("text", {"path": "text-*.{language}"}),
        ("tsv", {"path": "*.tsv", "columns": {"de": 1}}),
    ):
        with pytest.raises(
            ValidationError,
            match=(
                "names several files, which are streamed; write streaming: true, or name each file"
            ),
        ):
            CORPORA.configure(name, **more)
    assert (
        corpora(folder, {**TEXT, "path": "none-*.{language}"})
        .check()[0]
        .endswith(f"nothing for any of de, en; looked in {folder}")
    )
    assert corpora(folder, {**FORMS["tsv"], "path": "none-*.tsv"}).check() == [
        f"{folder}/none-*.tsv: no such file"
    ]
    pairs = {**FORMS["pairs"], "pairs": {"de-en": ["text-*.de", "none-*.en"]}}
    assert f"{folder}/none-*.en: no such file" in corpora(folder, pairs).check()
    (folder / "text-2.en").unlink()
    alone = (
        f"{folder}/text-2.de: no file on the other side of the pair has the same text in the "
        f"place of *"
    )
    assert corpora(folder, TEXT).check() == corpora(folder, FORMS["pairs"]).check() == [alone]
