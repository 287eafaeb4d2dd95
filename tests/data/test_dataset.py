"""Datasets of a task: content, filters, weights and cache."""

from collections import Counter
from string import ascii_letters

import numpy
import pytest

from polyglot.core.errors import DataError
from polyglot.data import cache
from polyglot.data import dataset as dataset_module
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.filters import FilterConfig
from polyglot.tasks.batch import BOS, EOS
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import STEPS, Normaliser
from polyglot.text.symbols import Symbolizer, SymbolsConfig
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

WORDS = {
    "de": "ein Hund Vogel rennt singt im Garten und der Stadt".split(),
    "en": "a dog bird runs sings in the garden town and".split(),
}


def sentence(language, number):
    random = numpy.random.default_rng([number, len(language)])
    return " ".join(random.choice(WORDS[language], size=1 + number % 12)) + f" {number}"


LINES = {language: [sentence(language, number) for number in range(200)] for language in WORDS}


@pytest.fixture
def folder(tmp_path):
    for language, lines in LINES.items():
        (tmp_path / f"a.{language}").write_text("\n".join(lines) + "\n", encoding="utf8")
    (tmp_path / "b.de").write_text("noch eins\n\nund zwei\n", encoding="utf8")
    (tmp_path / "b.en").write_text("one more\nempty\nand two\n", encoding="utf8")
    return tmp_path


@pytest.fixture(scope="module")
def vocabularies():
    config = VocabularyConfig(type="char", size=100)
    return {
        language: Vocabulary.train([*lines, ascii_letters], config, language=language, seed=1)
        for language, lines in LINES.items()
    }


def build(
    folder,
    vocabularies,
    pair="de-en",
    *,
    corpora=({"path": "a.{language}"},),
    steps=(),
    filters=None,
    seed=1,
):
    text = Corpora(
        [CORPORA.configure(**{"name": "text", **config}) for config in corpora],
        folder=folder,
        languages=("de", "en"),
    )
    normalisers = {
        language: Normaliser([STEPS.configure(step) for step in steps], language)
        for language in WORDS
    }
    return TaskDataset(
        Task(LanguagePair.parse(pair)), text, vocabularies, normalisers, filters=filters, seed=seed
    )


@pytest.mark.parametrize("pair", ["de-en", "en-de", "de-de"])
@pytest.mark.parametrize("lines_at_once", [1, 7, 1 << 15])
def test_a_batch_holds_the_pieces_of_its_texts(
    pair, lines_at_once, folder, vocabularies, monkeypatch
):
    monkeypatch.setattr(dataset_module, "LINES", lines_at_once)
    monkeypatch.setattr(
        dataset_module, "VERSION", lines_at_once
    )  # not what another parameter has cached
    dataset = build(folder, vocabularies, pair)
    source, target = pair.split("-")
    indices = numpy.random.default_rng(0).permutation(200)[:64]
    batch, (sources, targets) = dataset.batch(indices), dataset.texts(indices)
    assert sources == [LINES[source][index] for index in indices] and targets == [
        LINES[target][index] for index in indices
    ]
    for row in range(64):
        assert (
            batch.source[row][batch.source_mask[row]].tolist()
            == vocabularies[source].encode([sources[row]])[0]
        )
        pieces = vocabularies[target].encode([targets[row]])[0]
        assert batch.target_in[row][batch.target_mask[row]].tolist() == [BOS, *pieces]
        assert batch.target_out[row][batch.target_mask[row]].tolist() == [*pieces, EOS]
    assert batch.source_mask.sum(1).tolist() == dataset.source_lengths[indices].tolist()
    assert (batch.target_mask.sum(1) - 1).tolist() == dataset.target_lengths[indices].tolist()
    assert dataset.source_lengths.shape == dataset.target_lengths.shape == (len(dataset),) == (200,)


def test_each_side_has_the_pieces_of_its_text_with_symbols(tmp_path):
    """Also if both languages share a vocabulary, so that only the text differs between sides."""
    lines = {
        "de": ["der Hund wiegt 137 Kilo", "1.234,5 Meter", "zwei und 3", "kein Symbol"],
        "en": ["137 kilos is the dog", "it is 1,234.5 metres", "2 and 3", "no symbol"],
    }
    symbolized = {
        "de": ["der Hund wiegt ⟨number1⟩ Kilo", "⟨number1⟩ Meter", "zwei und ⟨number1⟩"],
        "en": ["⟨number1⟩ kilos is the dog", "it is ⟨number1⟩ metres", "2 and ⟨number1⟩"],
    }
    for language, language_lines in lines.items():
        path = tmp_path / f"a.{language}"
        path.write_text("\n".join(language_lines) + "\n", encoding="utf8")
    config = VocabularyConfig(type="char", size=100)
    text = [*lines["de"], *lines["en"], "⟨⟩", ascii_letters]
    vocabulary = Vocabulary.train(text, config, language="de", seed=1)
    corpora = Corpora(
        [CORPORA.configure("text", path="a.{language}")], folder=tmp_path, languages=("de", "en")
    )
    symbolizer = Symbolizer(SymbolsConfig())
    normalisers = {language: Normaliser([], language, symbols=symbolizer) for language in lines}
    dataset = TaskDataset(
        Task(LanguagePair("de", "en")),
        corpora,
        dict.fromkeys(lines, vocabulary),
        normalisers,
        filters=None,
        seed=1,
    )
    sources, targets = dataset.pieces(range(4))
    for pieces, language in ((sources, "de"), (targets, "en")):
        texts = [*symbolized[language], lines[language][3]]
        assert [list(row) for row in pieces] == vocabulary.encode(texts)


def test_several_corpora_stand_one_after_the_other(folder, vocabularies):
    dataset = build(
        folder, vocabularies, corpora=({"path": "a.{language}"}, {"path": "b.{language}"})
    )
    assert len(dataset) == 203
    assert dataset.texts([202, 0, 200]) == (
        ["und zwei", LINES["de"][0], "noch eins"],
        ["and two", LINES["en"][0], "one more"],
    )
    assert (
        dataset.batch([202, 0]).source_mask.sum(1).tolist()
        == dataset.source_lengths[[202, 0]].tolist()
    )
    assert dataset.names([202, 0]) == [
        f"{folder}/b.de + {folder}/b.en, line 3",
        f"{folder}/a.de + {folder}/a.en, line 1",
    ]


def test_dropped_pairs_are_removed_and_counted(folder, vocabularies):
    filters = FilterConfig(max_length=40, max_ratio=None)
    dataset = build(
        folder,
        vocabularies,
        corpora=({"path": "a.{language}"}, {"path": "b.{language}"}),
        filters=filters,
    )
    kept = [
        numbers
        for numbers in zip(
            *(map(len, vocabularies[one].encode(LINES[one])) for one in ("de", "en")), strict=True
        )
        if max(numbers) <= 40
    ]
    assert len(dataset) == len(kept) + 2
    assert dataset.dropped == {
        "empty source": 1,
        "empty target": 0,
        "too short": 0,
        "too long": 200 - len(kept),
        "ratio": 0,
    }
    assert dataset.source_lengths.max() <= 40 and dataset.target_lengths.max() <= 40
    assert "" not in dataset.texts(range(len(dataset)))[0]


def test_only_over_long_sentences(folder, vocabularies):
    with pytest.raises(
        DataError,
        match=(
            r"^de-en \(.*a.de \+ .*a.en\): only over-long sentences: max_length is 1 pieces, "
            r"the shortest of 200"
        ),
    ):
        build(folder, vocabularies, filters=FilterConfig(max_length=1))


@pytest.mark.parametrize("weight", [1.0, 2.0, 0.5, 2.25, 0.3338])  # 0.3338 of 200 is nearly 67
def test_weight_is_the_number_of_repetitions_in_an_epoch(weight, folder, vocabularies):
    corpora = ({"path": "a.{language}", "weight": weight}, {"path": "b.{language}"})
    dataset, again = (build(folder, vocabularies, corpora=corpora) for _ in range(2))
    other = build(folder, vocabularies, corpora=corpora, seed=2)
    assert len(dataset) == round(200 * weight) + 3
    times = Counter(dataset.texts(range(len(dataset)))[1])
    assert {times[line] for line in LINES["en"]} <= {int(weight), -int(-weight // 1)}
    assert times["one more"] == 1
    assert dataset.has_weights == (weight != 1)
    assert ("with the weights" in dataset.summary()) == (weight != 1)
    assert dataset.texts(range(50)) == again.texts(range(50))
    assert weight % 1 == 0 or dataset.texts(range(50)) != other.texts(range(50))


@pytest.mark.parametrize(
    ("weight", "pairs"),
    [
        (0.333, 67),  # 66.6 of the 200 pairs
        (0.334, 67),  # 66.8
        (0.3317, 66),  # 66.34
        (2.333, 467),  # 466.6
    ],
)
def test_fractional_weight_is_rounded_to_the_nearest_number_of_pairs(
    weight, pairs, folder, vocabularies
):
    corpora = ({"path": "a.{language}", "weight": weight},)
    dataset = build(folder, vocabularies, corpora=corpora)
    assert len(dataset) == pairs


@pytest.mark.parametrize("weight", [0.0001, 1e-300])
def test_a_weight_that_leaves_no_sentence_is_refused(weight, folder, vocabularies):
    with pytest.raises(
        DataError,
        match=(
            rf"^weight {weight:g} leaves none of the 200 pairs of de-en; "
            rf"give it a larger weight in data.train$"
        ),
    ):
        build(folder, vocabularies, corpora=({"path": "a.{language}", "weight": weight},))
    small = [{"path": "a.{language}", "weight": weight}, {"path": "b.{language}"}]
    assert len(build(folder, vocabularies, corpora=small)) == 3


def test_preprocessing_is_applied_before_the_vocabulary(folder, vocabularies):
    plain, lowered = build(folder, vocabularies), build(folder, vocabularies, steps=["lowercase"])
    assert vocabularies["de"].decode(plain.batch(range(200)).source.tolist()) == LINES["de"]
    assert (
        vocabularies["de"].decode(lowered.batch(range(200)).source.tolist())
        == [line.lower() for line in LINES["de"]]
        != LINES["de"]
    )
    assert lowered.texts(range(200)) == plain.texts(range(200)) == (LINES["de"], LINES["en"])


def test_a_text_is_tokenised_once_for_all_tasks_and_starts(folder, vocabularies, monkeypatch):
    encoded = []
    encode = Vocabulary.encode
    monkeypatch.setattr(
        Vocabulary, "encode", lambda self, texts: encoded.append(len(texts)) or encode(self, texts)
    )
    for pair in ("de-en", "en-de", "de-de", "en-en"):
        build(folder, vocabularies, pair)
    assert encoded == [200, 200]
    monkeypatch.setattr(cache, "_write", lambda *_: pytest.fail("made again"))
    again = build(folder, vocabularies)
    assert encoded == [200, 200] and len(again.batch([1, 2]).source) == 2


def test_a_copy_of_several_files_is_cached_as_well(folder, vocabularies, monkeypatch):
    corpora = ({"pairs": {"de-en": ["a.de", "a.en"], "en-de": ["b.en", "b.de"]}},)
    assert len(build(folder, vocabularies, "de-de", corpora=corpora)) == 203
    monkeypatch.setattr(cache, "_write", lambda *_: pytest.fail("made again"))
    assert build(folder, vocabularies, "de-de", corpora=corpora).texts([200, 202])[0] == [
        "noch eins",
        "und zwei",
    ]


def test_a_text_is_tokenized_again_for_another_vocabulary(folder, vocabularies):
    build(folder, vocabularies)
    words = {
        one: Vocabulary.train(lines, VocabularyConfig(type="word"), language=one, seed=1)
        for one, lines in LINES.items()
    }
    assert build(folder, words).source_lengths.tolist() == [
        len(line.split()) for line in LINES["de"]
    ]


def test_without_filters_empty_lines_are_kept(folder, vocabularies):
    dataset = build(folder, vocabularies, corpora=({"path": "b.{language}"},))
    assert len(dataset) == 3 and dataset.dropped == {}
    batch = dataset.batch([1])
    assert not batch.source_mask.any() and batch.target_mask.any()


@pytest.mark.parametrize("header", [False, True])
def test_a_sentence_is_named_by_its_line_in_the_file(header, folder, vocabularies):
    """Whatever stands before the first sentence."""
    lines = ["german\tenglish"] * header + [
        f"{de}\t{en}" for de, en in zip(LINES["de"], LINES["en"])
    ]
    (folder / "a.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    columns = {"de": "german", "en": "english"} if header else {"de": 1, "en": 2}
    dataset = build(
        folder,
        vocabularies,
        corpora=({"name": "tsv", "path": "a.tsv", "columns": columns, "header": header},),
    )
    rows = [0, 7, 199]
    for name, source in zip(dataset.names(rows), dataset.texts(rows)[0], strict=True):
        place, number = name.split(", line ")
        assert place == str(folder / "a.tsv") and lines[int(number) - 1].split("\t")[0] == source
