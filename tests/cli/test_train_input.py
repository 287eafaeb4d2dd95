"""`polyglot train` with mistakes in the configuration or in the text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.builders.command_line import TEXT, write_text
from tests.cli.small_run import file_hashes

TRAIN = ("train", "mine.yaml", "run=other")

# Configuration ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "messages"),
    [
        (["model.encodr=lstm"], ["model.encodr: no key named 'encodr'. Did you mean 'encoder'?"]),
        (
            ["model.encoder.layers=1000000"],
            ["model.encoder.layers: found 1000000; expected at most 256"],
        ),
        (
            ["model.decoder.size=10000000"],
            ["model.decoder.size: found 10000000; expected at most 65536"],
        ),
        (
            ["vocabulary.size=100000000"],
            ["vocabulary.size: found 100000000; expected at most 1000000"],
        ),
        (
            ["schedule.tasks_per_update=1000000000"],
            ["schedule.tasks_per_update: found 1000000000; expected at most 10000"],
        ),
        (
            ["data.train=[{type: phrasebook, train: 1000000000}]"],
            ["data.train.0.train: found 1000000000; expected at most 100000"],
        ),
        (["training.steps=many"], ["training.steps: found 'many'; expected a whole number"]),
        (
            ["model.encoder=lsmt"],
            ["model.encoder.type: no encoder named 'lsmt'. Did you mean 'lstm'? Known: cnn, "],
        ),
        (
            ["schedule.pairs=[de-xx]"],
            ["schedule.pairs: 'de-xx' matches no pair of the languages en, de, fr"],
        ),
        (["schedule=with_copys"], ["no schedule named 'with_copys'. Did you mean 'with_copies'?"]),
        (
            ["vocabulary={languages: {xx: {size: 9}}}"],
            ["vocabulary.languages.xx: no language named 'xx'"],
        ),
        (
            ["data.train.0.weight=1e300", "search.length_penalty=1000"],
            [
                "data.train.0.weight: found 1.0e+300; expected at most 1000",
                "search.length_penalty: found 1000; expected at most 10",
            ],
        ),
        (
            # The texts of a folder that is none are not missing, too.
            ["data.folder=010", "batching.size=big"],
            ["2 problems", "data.folder: found 10; expected text", "batching.size: found 'big'"],
        ),
        (
            ["model.encoder=lsmt", "training.steps=0", "seeed=3", "batching.size=big"],
            [
                "4 problems",
                "model.encoder.type: no",
                "training.steps: found 0",
                "seeed: no key named 'seeed'",
                "batching.size: found 'big'",
            ],
        ),
    ],
)
def test_mistake_in_the_configuration(overrides, messages, dry_run, folder, polyglot):
    before = file_hashes(folder)
    errors = polyglot.refuses(*TRAIN, *overrides, *dry_run)
    for message in messages:
        assert message in errors
    assert file_hashes(folder) == before
    assert not Path("other").exists()


def test_configuration_that_does_not_exist(folder, polyglot):
    message = polyglot.refuses("train", "phrasebok")
    assert "no configuration named 'phrasebok'. Did you mean 'phrasebook'?" in message


def test_configuration_that_is_not_yaml(folder, polyglot):
    Path("mine.yaml").write_text("languages: [en\ndata: 3\n")
    assert "mine.yaml: line 2: no valid YAML" in polyglot.refuses("train", "mine.yaml")


def test_tracker_that_is_not_installed(folder, polyglot):
    message = polyglot.refuses(*TRAIN, "training.trackers=[aim]")
    assert "training.trackers: aim not installed" in message


@pytest.mark.parametrize(
    "mistakes",
    [["seeed=3", "data.filter.max_lenght=3", "search.beam=0"], []],
    ids=["with mistakes", "without mistakes"],
)
def test_missing_inputs_are_reported_with_mistakes(mistakes, dry_run, folder, polyglot):
    """Missing packages, text and runs are in the same list as mistakes in the configuration."""
    Path("train.fr").unlink()
    before = file_hashes(folder)
    missing = (
        "training.trackers=[aim]",
        "data.valid.0.path=nothing.{language}",
        "initialize={encoder.de: runs/none}",
    )
    errors = polyglot.refuses(*TRAIN, *missing, *mistakes, *dry_run)
    places = [line.split(": ")[0].strip() for line in errors.splitlines()[1:]]
    expected = ["training.trackers", "initialize.encoder.de", "train.fr", "data.valid"]
    if mistakes:
        expected = ["data.filter.max_lenght", "search.beam", "seeed", *expected]
    assert places == expected
    assert file_hashes(folder) == before


# Training text ---------------------------------------------------------------------------------


def remove(path: Path) -> None:
    path.unlink()


def make_empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def remove_last_lines(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))


def append_latin1(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_bytes((text + "élan\n").encode("latin-1"))


def replace_by_cut_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(path.read_bytes() * 50)[:-20])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove, "train.fr: no such file; there are files for en, de"),
        (make_empty, "train.fr: the file is empty"),
        (replace_by_folder, "train.fr: a folder, not a file"),
        (
            remove_last_lines,
            "train.en has 5 lines, but train.fr has 3; line n of both must be one sentence pair",
        ),
        (
            append_latin1,
            "train.fr, line 6: not UTF-8 (invalid continuation byte 0xe9); write the file in UTF-8",
        ),
        (replace_by_cut_gzip, "train.fr: the compressed file is damaged or was cut off"),
    ],
)
def test_text_that_cannot_be_used(spoil, message, folder, polyglot):
    spoil(Path("train.fr"))
    last_line = polyglot.refuses(*TRAIN).splitlines()[-1]
    assert last_line.startswith(f"error: {message}")
    assert not Path("other/checkpoints").exists()


def test_weight_that_leaves_no_sentence_pair(dry_run, folder, polyglot):
    message = polyglot.refuses(*TRAIN, "data.train.0.weight=0.0001", *dry_run)
    assert "error: weight 0.0001 leaves none of the 5 pairs of en-de" in message
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "data.filter.max_length=1",
            "only over-long sentences: max_length is 1 pieces, the shortest of 5 pairs has 2",
        ),
        (
            "vocabulary={type: bpe, size: 8000}",
            "vocabulary.size: 8000 pieces for en are too many for this text; at most ",
        ),
        (
            "vocabulary={type: unigram, size: 200}",
            "vocabulary.size: 200 pieces for en are too few for the characters of this text; "
            "at least ",
        ),
        ("languages=[en, de, fr, xx]", "train.xx: no such file; there are files for en, de, fr"),
        ("data.folder=nowhere", "nowhere/train.{language}: nothing for any of en, de, fr"),
        (
            "data.train=[{type: text, pairs: {eng-deu: [train.en, train.de]}}]",
            "the text files of eng-deu: nothing for any of en, de, fr; eng is en here; write en",
        ),
    ],
)
def test_settings_that_do_not_fit_the_text(override, message, folder, polyglot):
    assert message in polyglot.refuses(*TRAIN, override)


# Test text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (
            "{type: text, path: 'gone.{language}'}",
            "data.test: gone.{language}: nothing for any of en, de, fr; looked in ",
        ),
        ("{type: text, pairs: {de-en: [test.de, gone.en]}}", "data.test: gone.en: no such file"),
        ("{type: text, path: 'test.{language}'}", "data.test: test.fr: the file is empty"),
        (
            "{type: tsv, path: gone.tsv, columns: {de: 1, en: 2}}",
            "data.test: gone.tsv: no such file",
        ),
    ],
)
def test_test_text_is_checked_before_training(corpus, message, dry_run, folder, polyglot):
    write_text(folder, {**TEXT, "fr": []}, part="test")
    errors = polyglot.refuses(*TRAIN, f"data.test=[{corpus}]", *dry_run)
    assert errors.splitlines()[-1].startswith(f"error: {message}")
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"un chien\n", "test.en has 5 lines, but test.fr has 1"),
        (b"\n\n\n\n\xe9\n", "test.fr, line 5: not UTF-8"),
    ],
)
def test_dry_run_reads_the_test_text(content, message, folder, polyglot):
    write_text(folder, part="test")
    Path("test.fr").write_bytes(content)
    override = "data.test.0.path=test.{language}"
    assert message in polyglot.refuses(*TRAIN, override, "--dry-run")


def test_language_without_test_text_is_reported(dry_run, folder, polyglot):
    two_languages = {language: TEXT[language] for language in ("en", "de")}
    write_text(folder, two_languages, part="test")
    override = "data.test.0.path=test.{language}"
    result = polyglot(*TRAIN, "training.steps=1", override, *dry_run)
    assert result.status == 0
    assert (
        "data.test: test.fr: no such file; there are files for en, de; "
        "directions with that language will have no score"
    ) in result.errors
