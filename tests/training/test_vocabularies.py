"""Vocabularies of a run: impossible sizes are reported together, a soft limit accepts them."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from polyglot.config.loading import check_config
from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.data.corpora import Corpora
from polyglot.runs.run import Run
from polyglot.runs.vocabulary_files import read_checksums, write_checksums
from polyglot.training import vocabularies
from polyglot.training.vocabularies import build_vocabularies, save_vocabularies
from tests.builders.runs import tiny_settings, write_corpus


@pytest.fixture
def build(tmp_path):
    """Function that builds the vocabularies of the tiny corpus with some settings."""
    write_corpus(tmp_path)

    def build_with(settings, **sections):
        values = tiny_settings(tmp_path, vocabulary=settings, **sections)
        config = check_config(values, where="tiny")
        corpora = Corpora(
            config.data.train, folder=Path(config.data.folder), languages=config.languages
        )
        normalisers = Run.for_config(config).normalisers
        return build_vocabularies(config, corpora, normalisers, languages=config.languages)

    return build_with


def problems(error):
    return [problem.message for problem in error.value.problems]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("short_text", [vocabularies.SHORT_TEXT, 5])
def test_all_impossible_sizes_are_reported_together(kind, short_text, build, monkeypatch):
    monkeypatch.setattr(vocabularies, "SHORT_TEXT", short_text)
    settings = {"type": kind, "size": 8000, "languages": {"fr": {"size": 10}}}
    with pytest.raises(ConfigError) as error:
        build(settings)
    english, german, french = problems(error)
    assert english.startswith("vocabulary.size: 8000 pieces for en are too many for this text")
    assert german.startswith("vocabulary.size: 8000 pieces for de are too many for this text")
    assert french.startswith("vocabulary.size: 10 pieces for fr are too few for the characters")


def test_the_reported_size_is_possible(build):
    with pytest.raises(ConfigError) as error:
        build({"type": "unigram", "size": 8000, "languages": {"de": {"type": "bpe"}}})
    largest = []
    for message in problems(error):
        largest.append(int(message.partition("at most ")[2].partition(",")[0]))
    english, german, french = largest
    sizes = {"en": {"size": english}, "de": {"type": "bpe", "size": german}, "fr": {"size": french}}
    built = build({"type": "unigram", "languages": sizes})
    assert [len(vocabulary) for vocabulary in built.values()] == largest


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_impossible_sizes_are_reported_before_a_vocabulary_is_learnt(kind, build, caplog):
    """English has a possible size and comes first; no vocabulary is learnt from its text."""
    caplog.set_level(logging.INFO)
    settings = {"type": kind, "size": 8000, "languages": {"en": {"type": "word", "size": 100}}}
    with pytest.raises(ConfigError) as error:
        build(settings)
    assert len(problems(error)) == 2
    assert "vocabulary of" not in caplog.text


@pytest.mark.parametrize("kept", [0, 60, 500_000])
def test_texts_that_are_read_again_give_the_same_vocabularies(kept, build, monkeypatch):
    settings = {"type": "word", "size": 100}
    expected = build(settings)
    monkeypatch.setattr(vocabularies, "KEPT_SENTENCES", kept)
    built = build(settings)
    assert list(built) == list(expected)
    for language, vocabulary in built.items():
        assert vocabulary.sha256 == expected[language].sha256


def test_long_texts_are_not_learnt_from_if_a_size_of_a_short_one_is_impossible(
    build, monkeypatch, tmp_path
):
    monkeypatch.setattr(vocabularies, "SHORT_TEXT", 100)
    english = tmp_path / "train.en"
    english.write_text(english.read_text() * 4)
    learnt = []
    train = vocabularies.Vocabulary.train

    def recording_train(text, settings, *, language, **arguments):
        learnt.append(language)
        return train(text, settings, language=language, **arguments)

    monkeypatch.setattr(vocabularies.Vocabulary, "train", recording_train)
    text = [{"type": "text", "path": str(tmp_path / "train.{language}"), "languages": ["de", "fr"]}]
    mono = [{"type": "text", "path": str(english), "languages": ["en"]}]
    with pytest.raises((ConfigError, DataError)):
        build({"type": "unigram", "size": 8000}, data={"train": text + mono})
    assert "en" not in learnt


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_soft_limit_gives_a_smaller_vocabulary_and_says_so(kind, build, caplog):
    caplog.set_level(logging.INFO, logger="polyglot")
    built = build({"type": kind, "size": 8000, "limit": "soft"})
    for language, vocabulary in built.items():
        assert 256 < len(vocabulary) < 8000
        message = (
            f"vocabulary of {language}: {len(vocabulary)} pieces, "
            "fewer than vocabulary.size 8000: the text has no more"
        )
        assert message in caplog.messages


def test_a_soft_limit_changes_nothing_that_a_hard_one_accepts(build, caplog):
    caplog.set_level(logging.INFO, logger="polyglot")
    hard = build({"type": "bpe", "size": 300})
    soft = build({"type": "bpe", "size": 300, "limit": "soft"})
    for language, vocabulary in hard.items():
        assert len(soft[language]) == 300
        lines = ["one two red big dog", "ein zwei rot groß Hund"]
        assert soft[language].encode(lines) == vocabulary.encode(lines)
    assert "fewer" not in caplog.text


def test_too_few_pieces_are_an_error_with_a_soft_limit_too(build):
    with pytest.raises(ConfigError, match="10 pieces for en are too few"):
        build({"type": "unigram", "size": 10, "limit": "soft"})


# Files


class FakeVocabulary:
    """Vocabulary that only writes its file."""

    def __init__(self, content: str) -> None:
        self.content = content

    def save(self, path: Path) -> None:
        path.write_text(self.content)


class UnwritableVocabulary(FakeVocabulary):
    def save(self, path: Path) -> None:
        raise CheckpointError(f"{path}: no space")


def vocabulary_run(folder: Path) -> SimpleNamespace:
    """Run with symbols and one older vocabulary, without checksums."""
    (folder / "vocabulary").mkdir()
    (folder / "vocabulary" / "en.model").write_text("older")
    dictionary = SimpleNamespace(to_json=lambda: "symbols")
    return SimpleNamespace(
        vocabulary_folder=folder / "vocabulary",
        vocabulary_file=lambda language: folder / "vocabulary" / f"{language}.model",
        symbols=SimpleNamespace(dictionary=dictionary),
        symbols_file=folder / "symbols.json",
    )


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("new", [(), ("de", "fr")], ids=["none", "two"])
@pytest.mark.parametrize("has_checksums", [False, True])
def test_the_first_process_lists_new_vocabularies(rank, new, has_checksums, tmp_path):
    """The list is also written if only the list is missing, and never by another process."""
    run = vocabulary_run(tmp_path)
    if has_checksums:
        write_checksums(run.vocabulary_folder)
    before = read_checksums(run.vocabulary_folder)
    vocabularies = {language: FakeVocabulary(language) for language in new}
    save_vocabularies(run, vocabularies, SimpleNamespace(is_main=rank == 0))

    for language in new:
        assert run.vocabulary_file(language).read_text() == language
    is_listed = rank == 0 and (bool(new) or not has_checksums)
    assert run.symbols_file.exists() == is_listed
    listed = read_checksums(run.vocabulary_folder)
    if is_listed:
        assert listed.keys() == {"en.model", *(f"{language}.model" for language in new)}
    else:
        assert listed == before


def test_an_interrupted_write_leaves_no_wrong_checksums(tmp_path):
    run = vocabulary_run(tmp_path)
    write_checksums(run.vocabulary_folder)
    vocabularies = {"en": FakeVocabulary("newer"), "fr": UnwritableVocabulary("")}
    with pytest.raises(CheckpointError, match="no space"):
        save_vocabularies(run, vocabularies, SimpleNamespace(is_main=True))
    assert run.vocabulary_file("en").read_text() == "newer"
    assert read_checksums(run.vocabulary_folder) == {}


def test_a_run_without_symbols_gets_no_file_of_symbols(tmp_path):
    run = vocabulary_run(tmp_path)
    run.symbols = None
    save_vocabularies(run, {"de": FakeVocabulary("de")}, SimpleNamespace(is_main=True))
    assert not run.symbols_file.exists()
    assert read_checksums(run.vocabulary_folder).keys() == {"de.model", "en.model"}
