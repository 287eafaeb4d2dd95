"""Ensembles: different encoders, bridges and source languages, the same target vocabulary."""

from __future__ import annotations

import hashlib
import json

import pytest
import torch

import polyglot
from polyglot.core.errors import ConfigError, DataError
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.ensemble_decoder import EnsembleDecoder, EnsembleMemory
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.tasks.pairs import LanguagePair
from tests.builders.command_line import Program
from tests.builders.runs import sample_sentences, tiny_run, train
from tests.decoding.test_beam_search import exhaustive, tables

SETTINGS = {
    "schedule": {"type": "uniform", "pairs": ["de-en", "fr-en", "en-fr"]},
    "training": {"steps": 40, "log_every": 20, "checkpoint": {"every": 20, "keep": 9}},
    "optimizer": {"type": "adam", "learning_rate": 0.02},
}
OTHER_MODEL = {
    "encoder": {
        "type": "transformer",
        "size": 16,
        "layers": 1,
        "heads": 2,
        "feed_forward": 24,
        "dropout": 0.0,
    },
    "bridge": {"type": "none"},
    "decoder": {"type": "gru", "size": 16, "layers": 1, "dropout": 0.0},
}
DE_EN = {"source": "de", "target": "en"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs with the same text; the first two also have the same vocabularies."""
    folder = tmp_path_factory.mktemp("ensemble")
    first = tiny_run(folder, "one", **SETTINGS)
    second = tiny_run(folder, "other", **SETTINGS, seed=2, model=OTHER_MODEL)
    other_vocabulary = {"type": "word", "size": 12}
    third = tiny_run(folder, "strange", **SETTINGS, vocabulary=other_vocabulary)
    for run in (first, second, third):
        train(run)
    return first, second, third


def text(language, count=10):
    return sample_sentences(language, seed=7, lines=count)


def test_other_spellings_of_the_languages_give_the_same_results(runs):
    ensemble = EnsembleTranslator.load(runs[:2])
    sentences = {"de": text("de", 3), "fr": text("fr", 3)}
    expected = ensemble.translate(sentences, target="en")
    spellings = {"deu_Latn": text("de", 3), "fra": text("fr", 3)}
    assert ensemble.translate(spellings, target="eng") == expected
    loaded = EnsembleTranslator.load(runs[:2], sources=["deu", "FR"], target="eng")
    assert loaded.translate(spellings, target="eng") == expected

    with pytest.raises(ConfigError, match="de and deu name a language twice"):
        ensemble.translate({"de": text("de", 3), "deu": text("de", 3)}, target="en")


def texts(hypotheses_of_sentences):
    return [best.text for best, *_ in hypotheses_of_sentences]


def assert_at_least_mean(hypotheses_of_sentences, *scores_of_members):
    """The geometric mean is normalised at each step, so it is not below the mean of the members."""
    for (best, *_), *scores in zip(hypotheses_of_sentences, *scores_of_members, strict=True):
        assert best.log_probability >= sum(scores) / len(scores) - 1e-3


# Search


@pytest.mark.parametrize("average", ["log", "linear"])
def test_a_step_of_the_ensemble_gives_the_mean_probabilities(average):
    first, memory = tables(2, 1)
    second, _ = tables(2, 2)
    tokens = torch.tensor([3, 4])
    ensemble = EnsembleDecoder([first, second], average=average)
    state = (torch.arange(2), torch.arange(2))
    scores, _ = ensemble.step(tokens, state, EnsembleMemory((memory, memory)))
    first_logs = first.scores[torch.arange(2), tokens].log_softmax(-1)
    second_logs = second.scores[torch.arange(2), tokens].log_softmax(-1)
    if average == "log":
        expected = ((first_logs + second_logs) / 2).softmax(-1)
        torch.testing.assert_close(scores.softmax(-1), expected)
    else:
        expected = (first_logs.exp() + second_logs.exp()) / 2
        torch.testing.assert_close(scores.exp(), expected)


@pytest.mark.parametrize("average", ["log", "linear"])
def test_search_with_an_ensemble_finds_the_best_translations_of_the_mean(average):
    """Compared with all sequences, scored with the mean of the two tables."""
    first, memory = tables(2, 1)
    second, _ = tables(2, 2)
    config = SearchConfig(beam=300, n_best=3, max_length_ratio=0, max_length_extra=4)
    ensemble = EnsembleDecoder([first, second], average=average)
    result = search(ensemble, EnsembleMemory((memory, memory)), torch.tensor([4, 4]), config)
    first_logs = first.scores.log_softmax(-1)
    second_logs = second.scores.log_softmax(-1)
    mean = (first_logs + second_logs) / 2
    if average == "linear":
        mean = torch.logaddexp(first_logs, second_logs)
    for sentence, hypotheses in enumerate(result):
        expected = exhaustive(mean[sentence], config, 5)[:3]
        assert [best.tokens for best in hypotheses] == [tokens for _, _, tokens in expected]
        scores = [score for score, _, _ in expected]
        assert [best.score for best in hypotheses] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("average", ["log", "linear"])
def test_an_ensemble_of_a_model_with_itself_is_the_model(runs, average):
    single = Translator.load(runs[0]).hypotheses(text("de"), **DE_EN)
    double = polyglot.ensemble([runs[0], runs[0]], average=average).hypotheses(text("de"), **DE_EN)
    assert texts(double) == texts(single)
    scores = [best.score for best, *_ in single]
    assert [best.score for best, *_ in double] == pytest.approx(scores, abs=1e-4)


def test_models_with_other_encoders_and_bridges_form_an_ensemble(runs):
    members = [Translator.load(run) for run in runs[:2]]
    hypotheses = EnsembleTranslator.load(runs[:2]).hypotheses(text("de"), **DE_EN)
    for member in members:
        assert texts(hypotheses) != member.translate(text("de"), **DE_EN)
    scores = [member.score(text("de"), texts(hypotheses), **DE_EN) for member in members]
    assert_at_least_mean(hypotheses, *scores)


def test_checkpoints_of_one_run_form_an_ensemble(runs):
    ensemble = polyglot.ensemble([runs[0]], checkpoints=[20, 40])
    assert ensemble.description["steps"] == [20, 40]
    translations = ensemble.translate(text("de"), **DE_EN)
    assert translations != polyglot.load(runs[0], checkpoint=20).translate(text("de"), **DE_EN)
    with_blank = ensemble.translate(["", *text("de")], **DE_EN)
    assert with_blank == ["", *translations]


def test_one_model_encodes_the_same_sentences_in_two_languages(runs):
    ensemble = EnsembleTranslator([Translator.load(runs[0])])
    german = ensemble.hypotheses({"de": text("de")}, target="en")
    both = ensemble.hypotheses({"de": text("de"), "fr": text("fr")}, target="en")
    assert texts(german) == Translator.load(runs[0]).translate(text("de"), **DE_EN)
    assert [best.score for best, *_ in both] != [best.score for best, *_ in german]
    other_order = {"fr": text("fr"), "de": text("de")}
    assert ensemble.translate(other_order, target="en") == texts(both)


def test_source_vocabularies_may_differ(runs):
    vocabulary = {"type": "word", "size": 60, "languages": {"de": {"size": 12}}}
    coarse = tiny_run(
        runs[0].path.parent,
        "coarse",
        **SETTINGS,
        seed=3,
        vocabulary=runs[0].config.vocabulary.model_dump() | vocabulary,
    )
    train(coarse)
    assert len(coarse.vocabularies["de"]) != len(runs[0].vocabularies["de"])
    members = [Translator.load(run) for run in (runs[0], coarse)]
    ensemble = EnsembleTranslator.load([runs[0], coarse], sources=["de"], target="en")
    hypotheses = ensemble.hypotheses(text("de"), **DE_EN)
    scores = [member.score(text("de"), texts(hypotheses), **DE_EN) for member in members]
    assert_at_least_mean(hypotheses, *scores)


@pytest.fixture(scope="module")
def single_source_runs(runs):
    """A run that translates from German and a run that translates from French."""
    result = []
    for name, pair in (("german", "de-en"), ("french", "fr-en")):
        schedule = {"type": "uniform", "pairs": [pair]}
        run = tiny_run(runs[0].path.parent, name, **SETTINGS | {"schedule": schedule})
        train(run)
        result.append(run)
    return result


@pytest.mark.parametrize("average", ["log", "linear"])
def test_each_model_encodes_the_language_that_it_knows(single_source_runs, average):
    ensemble = EnsembleTranslator.load(
        single_source_runs, sources=["de", "fr"], target="en", average=average
    )
    german, french = ensemble.members
    assert german.sources == ["de"]
    assert french.sources == ["fr"]
    assert ensemble.sources == []
    assert ensemble.targets == ["en"]
    hypotheses = ensemble.hypotheses({"de": text("de"), "fr": text("fr")}, target="en")
    translations = texts(hypotheses)
    german_scores = german.score(text("de"), translations, source="de", target="en")
    french_scores = french.score(text("fr"), translations, source="fr", target="en")
    assert_at_least_mean(hypotheses, german_scores, french_scores)


# Languages and description


def test_languages_are_those_that_all_members_have(runs):
    ensemble = EnsembleTranslator.load(runs[:2])
    assert ensemble.sources == Translator.load(runs[0]).sources
    assert ensemble.targets == ["en", "fr"]


def test_a_target_with_different_vocabularies_is_left_out(runs):
    members = [Translator.load(run) for run in (runs[0], runs[2])]
    assert EnsembleTranslator(members).targets == []


def test_the_description_names_all_members(runs):
    members = [dict(Translator.load(run).description) for run in runs[:2]]
    content = json.dumps([members, "linear"], sort_keys=True)
    description = EnsembleTranslator.load(runs[:2], average="linear").description
    assert description == {
        "run": "one + other",
        "checkpoint": "ensemble",
        "steps": [40, 40],
        "average": "linear",
        "members": members,
        "sha256": hashlib.sha256(content.encode()).hexdigest(),
    }


# Invalid input


def test_symbols_allow_only_one_source(runs):
    """Symbols are numbered in the order of one source sentence."""
    settings = SETTINGS | {"training": {"steps": 1}}
    run = tiny_run(runs[0].path.parent, "symbols", **settings, text={"symbols": {}})
    train(run)
    ensemble = EnsembleTranslator([Translator.load(run)])
    assert len(ensemble.translate({"de": text("de")}, target="en")) == 10
    message = "has text.symbols, which are numbered by one source; name a single --from"
    with pytest.raises(ConfigError, match=message):
        ensemble.translate({"de": text("de"), "fr": text("fr")}, target="en")


@pytest.mark.parametrize("languages", [{}, {"sources": ["de"], "target": "en"}])
def test_different_target_vocabularies_are_an_error(runs, languages):
    message = "one and strange: have different vocabularies of en, so they cannot form an ensemble"
    with pytest.raises(ConfigError, match=message):
        EnsembleTranslator.load([runs[0], runs[2]], **languages)


def test_an_unknown_average_is_an_error(runs):
    with pytest.raises(ConfigError, match="no average named 'mean'"):
        EnsembleTranslator.load(runs[:2], average="mean")


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ({"source": "fr", "target": "de"}, "no decoder named 'de'"),
        ({"source": "cs", "target": "en"}, "no encoder named 'cs'"),
        ({"target": "en"}, "source: missing"),
    ],
)
def test_an_impossible_direction_is_an_error(runs, languages, message):
    with pytest.raises(ConfigError, match=message):
        EnsembleTranslator.load(runs[:2]).translate(text("fr"), **languages)


def test_a_member_without_any_of_the_sources_is_an_error(single_source_runs):
    ensemble = EnsembleTranslator.load(single_source_runs)
    with pytest.raises(ConfigError, match="french: has encoders of fr, but none of de"):
        ensemble.translate(text("de"), **DE_EN)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (
            {"de": text("de"), "fr": text("fr", 9)},
            "10 sentences in de and 9 in fr; the numbers must be equal",
        ),
        (
            {"de": text("de", 2), "fr": [text("fr")[0], " "]},
            "sentence 2: is empty in fr but not in de",
        ),
        (
            {"de": ["", text("de")[0]], "fr": text("fr", 2)},
            "sentence 1: is empty in de but not in fr",
        ),
    ],
)
def test_different_sentences_in_the_two_languages_are_an_error(runs, sentences, message):
    with pytest.raises(DataError) as error:
        EnsembleTranslator.load(runs[:2]).translate(sentences, target="en")
    assert str(error.value) == message


# Command line


@pytest.fixture
def program(monkeypatch, capsys):
    return Program(monkeypatch, capsys)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for language in ("de", "fr"):
        content = "".join(f"{line}\n" for line in text(language))
        (folder / f"text.{language}").write_text(content, encoding="utf-8")
    return {"de": folder / "text.de", "fr": folder / "text.fr"}


def translate(program, *arguments, **options):
    return program("translate", *arguments, "--to", "en", **options).output.splitlines()


def test_translate_with_several_runs_uses_an_ensemble(runs, files, program):
    first, second, _ = (run.path for run in runs)
    expected = EnsembleTranslator.load(runs[:2]).translate(text("de"), **DE_EN)
    german = files["de"]
    assert translate(program, first, second, german, "--from", "de") == expected
    assert translate(program, first, second, "--from", f"de={german}") == expected
    stdin = german.read_bytes()
    assert translate(program, first, second, "--from", "de", stdin=stdin) == expected


def test_translate_from_two_languages(runs, files, program):
    first, second, _ = (run.path for run in runs)
    sentences = {"de": text("de"), "fr": text("fr")}
    expected = EnsembleTranslator.load(runs[:2]).translate(sentences, target="en", beam=3)
    sources = ["--from", f"de={files['de']}", "--from", f"fr={files['fr']}"]
    assert translate(program, first, second, *sources, "--beam", "3") == expected


def test_translate_with_several_checkpoints(runs, files, program):
    expected = polyglot.ensemble([runs[0]], checkpoints=[20, 40]).translate(text("de"), **DE_EN)
    options = ["--from", "de", "--checkpoint", 20, "--checkpoint", 40]
    assert translate(program, runs[0].path, files["de"], *options) == expected


def test_translate_with_the_arithmetic_mean(runs, files, program):
    first, second, _ = (run.path for run in runs)
    ensemble = EnsembleTranslator.load(runs[:2], average="linear")
    options = ["--from", "de", "--average", "linear"]
    assert translate(program, first, second, files["de"], *options) == ensemble.translate(
        text("de"), **DE_EN
    )


def test_translate_refuses_impossible_ensembles(runs, files, program, tmp_path):
    first, second, third = (run.path for run in runs)
    german = files["de"]
    short = tmp_path / "short.fr"
    short.write_text("un\n")
    cases = [
        ([first, german, "--from", "de", "--average", "log"], "--average: needs an ensemble"),
        ([first, third, german, "--from", "de"], "different vocabularies of en"),
        ([first, "--from", "de", "--from", "fr"], "need a file each"),
        ([first, "--from", "de", "--from", "de"], "named twice"),
        ([first, german, "--from", f"de={german}"], "names a file as well"),
        ([first, german, second, "--from", "de"], "no run directory"),
        ([first, "--from", f"de={german}", "--from", f"fr={short}"], "different numbers of lines"),
    ]
    for arguments, message in cases:
        assert message in program.refuses("translate", *arguments, "--to", "en")


@pytest.fixture(scope="module")
def protocol(tmp_path_factory):
    path = tmp_path_factory.mktemp("protocol") / "few.yaml"
    path.write_text(
        "test: [{type: text, path: 'valid.{language}'}]\n"
        "pairs: [de-en]\ncopies: false\nresamples: 0\n",
        encoding="utf-8",
    )
    return path


def test_evaluate_stores_the_scores_of_an_ensemble_with_its_first_run(runs, protocol, program):
    first, second, _ = (run.path for run in runs)
    result = program("evaluate", first, second, "--ensemble", "--protocol", protocol)
    assert result.status == 0
    folder = first / "evaluation" / "few+other"
    matrix = ScoreMatrix.load(folder)
    assert matrix.checkpoint["run"] == "one + other"
    assert list(matrix.cells) == [LanguagePair("de", "en")]
    hypotheses = (folder / "hypotheses" / "de-en.txt").read_text(encoding="utf-8").splitlines()
    sources = (first.parent / "valid.de").read_text(encoding="utf-8").splitlines()
    expected = EnsembleTranslator.load(runs[:2]).translate(sources, **DE_EN)
    assert hypotheses == expected


def test_evaluate_with_vocabulary_selection(runs, protocol, program):
    first = runs[0].path
    options = ["--protocol", protocol, "--select", 3]
    assert "has no `word_prediction`" in program("evaluate", first, *options).errors
    program("shortlist", first, "de-en")
    result = program("evaluate", first, *options, "--select-by", "shortlist")
    assert result.status == 0
    folder = first / "evaluation" / "few+select-3+select_by-shortlist"
    assert ScoreMatrix.load(folder).search["select"] == 3


# Strings and paragraphs


def test_one_string_and_paragraphs(runs, caplog):
    ensemble = EnsembleTranslator.load(runs[:2])
    first, second, *_ = (f"{line.capitalize()}." for line in text("de"))
    parts = ensemble.translate([first, second], **DE_EN, batch_size=1)
    assert ensemble.translate(first, **DE_EN) == parts[0]
    lines = [f"{first} {second}", ""]
    joined = ensemble.translate(lines, **DE_EN, split_sentences=True)
    assert joined == [" ".join(filter(None, parts)), ""]
    assert caplog.text == ""


def test_paragraphs_in_several_languages_are_refused(runs):
    ensemble = EnsembleTranslator.load(runs[:2])
    sentences = {"de": ["x"], "fr": ["y"]}
    with pytest.raises(ConfigError, match="split sentences: found 2 source languages"):
        ensemble.translate(sentences, target="en", split_sentences=True)
