"""Several models that write each translation together: other encoders, other bridges, other sources, one target vocabulary."""

from __future__ import annotations

import pytest
import torch

import polyglot
from polyglot.core.errors import ConfigError, DataError
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.ensemble_decoder import EnsembleDecoder, EnsembleMemory
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from tests.builders.runs import sample_sentences, tiny_run, train
from tests.decoding.test_beam_search import exhaustive, tables

TRAINING = {"steps": 40, "log_every": 20, "checkpoint": {"every": 20, "keep": 9}}
PAIRS = {"type": "uniform", "pairs": ["de-en", "fr-en", "en-fr"]}
GIVEN = {
    "schedule": PAIRS,
    "training": TRAINING,
    "optimizer": {"type": "adam", "learning_rate": 0.02},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same text, and so the same vocabularies; everything else differs."""
    folder = tmp_path_factory.mktemp("ensemble")
    own = tiny_run(folder, "one", **GIVEN)
    other = tiny_run(
        folder,
        "other",
        **GIVEN,
        seed=2,
        model={
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
        },
    )
    strange = tiny_run(folder, "strange", **GIVEN, vocabulary={"type": "word", "size": 12})
    for run in (own, other, strange):
        train(run)
    return own, other, strange


def text(language, count=10):
    return sample_sentences(language, seed=7, lines=count)


@pytest.mark.parametrize("average", ["log", "linear"])
def test_search_over_an_ensemble_is_search_over_the_mean(average):
    """By exhaustive search over the mean of two tables."""
    (one, memory), (other, _) = tables(2, 1), tables(2, 2)
    tokens = torch.tensor([3, 4])
    scores, _ = EnsembleDecoder([one, other], average=average).step(
        tokens, (torch.arange(2),) * 2, EnsembleMemory((memory, memory))
    )
    both = [table.scores[torch.arange(2), tokens].log_softmax(-1) for table in (one, other)]
    if average == "log":
        torch.testing.assert_close(
            scores.log_softmax(-1), ((both[0] + both[1]) / 2).log_softmax(-1)
        )
    else:
        torch.testing.assert_close(scores.exp(), (both[0].exp() + both[1].exp()) / 2)
    config = SearchConfig(beam=300, n_best=3, max_length_ratio=0, max_length_extra=4)
    found = search(
        EnsembleDecoder([one, other], average=average),
        EnsembleMemory((memory, memory)),
        torch.tensor([4, 4]),
        config,
    )
    logs = one.scores.log_softmax(-1), other.scores.log_softmax(-1)
    mean = (logs[0] + logs[1]) / 2 if average == "log" else torch.logaddexp(*logs)
    for sentence, hypotheses in enumerate(found):
        expected = exhaustive(mean[sentence], config, 5)[:3]
        assert [each.tokens for each in hypotheses] == [tokens for _, _, tokens in expected]
        assert [each.score for each in hypotheses] == pytest.approx(
            [score for score, _, _ in expected], abs=1e-4
        )


@pytest.mark.parametrize("average", ["log", "linear"])
def test_an_ensemble_of_one_model_with_itself_is_the_model(runs, average):
    alone = Translator.load(runs[0])
    twice = polyglot.ensemble([runs[0], runs[0]], average=average)
    for one, other in zip(
        alone.hypotheses(text("de"), source="de", target="en"),
        twice.hypotheses(text("de"), source="de", target="en"),
    ):
        assert one[0].text == other[0].text
        assert one[0].score == pytest.approx(other[0].score, abs=1e-4)


def test_other_encoders_and_bridges_write_together(runs):
    both = EnsembleTranslator.load(runs[:2])
    given = {"source": "de", "target": "en"}
    found = both.hypotheses(text("de"), **given)
    alone = [Translator.load(run) for run in runs[:2]]
    assert any(
        found[row][0].text != one.hypotheses(text("de"), **given)[row][0].text
        for one in alone
        for row in range(10)
    )
    for hypotheses, sentence in zip(found, text("de")):
        if hypotheses[0].text.strip():
            scores = [one.score([sentence], [hypotheses[0].text], **given)[0] for one in alone]
            # Of each step a geometric mean, which is normalised: never less than the mean of what each says alone.
            assert hypotheses[0].log_probability >= sum(scores) / 2 - 1e-3


def test_several_checkpoints_of_one_run_write_together(runs):
    together = polyglot.ensemble([runs[0]], checkpoints=[20, 40])
    assert together.description["steps"] == [20, 40]
    given = {"source": "de", "target": "en"}
    found = together.translate(text("de"), **given)
    assert found != polyglot.load(runs[0], checkpoint=20).translate(text("de"), **given)
    assert together.translate(["", *text("de")], **given) == ["", *found]


def test_one_model_reads_the_same_sentences_in_two_languages(runs):
    one = EnsembleTranslator([Translator.load(runs[0])])
    both = one.hypotheses({"de": text("de"), "fr": text("fr")}, target="en")
    only = one.hypotheses({"de": text("de")}, target="en")
    assert [each[0].text for each in only] == Translator.load(runs[0]).translate(
        text("de"), source="de", target="en"
    )
    assert any(a[0].score != pytest.approx(b[0].score) for a, b in zip(both, only))
    assert one.translate({"fr": text("fr"), "de": text("de")}, target="en") == [
        each[0].text for each in both
    ], "the order makes no difference"


def test_models_that_read_other_pieces_write_together(runs, tmp_path_factory):
    """Vocabularies of the sources may differ; only what is written has to be the same."""
    vocabulary = {"type": "word", "size": 60, "languages": {"de": {"size": 12}}}
    coarse = tiny_run(
        runs[0].path.parent,
        "coarse",
        **GIVEN,
        seed=3,
        vocabulary=runs[0].config.vocabulary.model_dump() | vocabulary,
    )
    train(coarse)
    assert len(coarse.vocabularies["de"]) != len(runs[0].vocabularies["de"])
    both = EnsembleTranslator.load([runs[0], coarse], sources=["de"], target="en")
    found = both.hypotheses(text("de"), source="de", target="en")
    alone = [Translator.load(run) for run in (runs[0], coarse)]
    scores = [
        one.score(text("de"), [each[0].text for each in found], source="de", target="en")
        for one in alone
    ]
    for each, *own in zip(found, *scores):
        assert each[0].log_probability >= sum(own) / 2 - 1e-3


@pytest.mark.parametrize("average", ["log", "linear"])
def test_models_that_read_one_language_each_read_a_sentence_in_both(runs, average):
    parts = []
    for name, pair in (("german", "de-en"), ("french", "fr-en")):
        parts.append(
            tiny_run(
                runs[0].path.parent,
                f"{name}-{average}",
                **GIVEN | {"schedule": {"type": "uniform", "pairs": [pair]}},
            )
        )
        train(parts[-1])
    both = EnsembleTranslator.load(parts, sources=["de", "fr"], target="en", average=average)
    found = both.hypotheses({"de": text("de"), "fr": text("fr")}, target="en")
    alone = [Translator.load(part) for part in parts]
    assert [one.sources for one in alone] == [["de"], ["fr"]]
    texts = [each[0].text for each in found]
    own = [
        one.score(text(language), texts, source=language, target="en")
        for one, language in zip(alone, ("de", "fr"))
    ]
    for each, german, french in zip(found, *own):
        assert each[0].log_probability >= (german + french) / 2 - 1e-3


def test_symbols_follow_one_source(runs):
    """Their numbers are those of its order."""
    folder = runs[0].path.parent
    languages = {"languages": ["de", "en", "fr"], "text": {"symbols": {}}}
    run = tiny_run(folder, "symbols", **GIVEN | {"training": {"steps": 1}}, **languages)
    train(run)
    one = EnsembleTranslator([Translator.load(run)])
    assert len(one.translate({"de": text("de")}, target="en")) == 10
    with pytest.raises(
        ConfigError, match="has text.symbols, which are numbered by one source; name a single --from"
    ):
        one.translate({"de": text("de"), "fr": text("fr")}, target="en")


def test_what_cannot_write_together_is_said(runs):
    with pytest.raises(ConfigError, match="one and strange: have different vocabularies of en"):
        EnsembleTranslator.load([runs[0], runs[2]], sources=["de"], target="en")
    with pytest.raises(ConfigError, match="one and strange: have different vocabularies of en"):
        EnsembleTranslator.load([runs[0], runs[2]])
    both = EnsembleTranslator.load(runs[:2])
    with pytest.raises(ConfigError, match="no decoder named 'de'"):
        both.translate(text("fr"), source="fr", target="de")
    with pytest.raises(ConfigError, match="no encoder named 'cs'"):
        both.translate(text("fr"), source="cs", target="en")
    with pytest.raises(ConfigError, match="source: missing"):
        both.translate(text("fr"), target="en")
    with pytest.raises(ConfigError, match="no average named 'mean'"):
        EnsembleTranslator.load(runs[:2], average="mean")
    with pytest.raises(DataError, match="10 sentences in de and 9 in fr"):
        both.translate({"de": text("de"), "fr": text("fr", 9)}, target="en")
    with pytest.raises(DataError, match="sentence 2: is empty in fr but not in de"):
        both.translate({"de": text("de", 2), "fr": [text("fr")[0], " "]}, target="en")


def test_from_the_command_line(runs, tmp_path, monkeypatch, capsys):
    from tests.builders.command_line import Program

    program = Program(monkeypatch, capsys)
    for language in ("de", "fr"):
        (tmp_path / f"text.{language}").write_text(
            "".join(f"{line}\n" for line in text(language)), encoding="utf-8"
        )
    one, other, strange = (run.path for run in runs)
    both = EnsembleTranslator.load(runs[:2])
    expected = both.translate(text("de"), source="de", target="en")
    german = tmp_path / "text.de"
    for arguments in (["--from", "de", one, other, german], ["--from", f"de={german}", one, other]):
        assert program("translate", *arguments, "--to", "en").output.split("\n")[:-1] == expected
    assert (
        program(
            "translate", one, other, "--from", "de", "--to", "en", stdin=german.read_bytes()
        ).output.split("\n")[:-1]
        == expected
    )
    sources = ["--from", f"de={german}", "--from", f"fr={tmp_path / 'text.fr'}"]
    expected = both.translate({"de": text("de"), "fr": text("fr")}, target="en", beam=3)
    assert (
        program("translate", one, other, *sources, "--to", "en", "--beam", "3").output.split("\n")[
            :-1
        ]
        == expected
    )
    result = program(
        "translate",
        one,
        "--from",
        "de",
        "--to",
        "en",
        german,
        "--checkpoint",
        20,
        "--checkpoint",
        40,
    )
    assert result.output.split("\n")[:-1] == polyglot.ensemble(
        [one], checkpoints=[20, 40]
    ).translate(text("de"), source="de", target="en")
    linear = EnsembleTranslator.load(runs[:2], average="linear").translate(
        text("de"), source="de", target="en"
    )
    assert (
        program(
            "translate", one, other, german, "--from", "de", "--to", "en", "--average", "linear"
        ).output.split("\n")[:-1]
        == linear
    )
    assert "--average: one model writes alone" in program.refuses(
        "translate", one, german, "--from", "de", "--to", "en", "--average", "log"
    )

    assert "different vocabularies of en" in program.refuses(
        "translate", one, strange, german, "--from", "de", "--to", "en"
    )
    assert "need a file each" in program.refuses(
        "translate", one, "--from", "de", "--from", "fr", "--to", "en"
    )
    assert "named twice" in program.refuses(
        "translate", one, "--from", "de", "--from", "de", "--to", "en"
    )
    assert "names a file, too" in program.refuses(
        "translate", one, german, *sources[:2], "--to", "en"
    )
    assert "no run directory" in program.refuses(
        "translate", one, german, other, "--from", "de", "--to", "en"
    )
    (tmp_path / "text.fr").write_text("un\n")
    assert "different numbers of lines" in program.refuses("translate", one, *sources, "--to", "en")


def test_an_ensemble_is_evaluated_beside_its_first_run(runs, tmp_path, monkeypatch, capsys):
    from polyglot.evaluation.score_matrix import ScoreMatrix
    from polyglot.tasks.pairs import LanguagePair
    from tests.builders.command_line import Program

    program = Program(monkeypatch, capsys)
    protocol = tmp_path / "few.yaml"
    path = {"type": "text", "path": "valid.{language}"}
    protocol.write_text(
        f"test: [{path}]\npairs: [de-en]\ncopies: false\nresamples: 0\n", encoding="utf-8"
    )
    one, other, _ = (run.path for run in runs)
    assert program("evaluate", one, other, "--ensemble", "--protocol", protocol).status == 0
    matrix = ScoreMatrix.load(one / "evaluation" / "few+other")
    assert matrix.checkpoint["run"] == "one + other" and matrix.cells.keys() == {
        LanguagePair("de", "en")
    }
    lines = (
        (one / "evaluation" / "few+other" / "hypotheses" / "de-en.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    sources = (one.parent / "valid.de").read_text(encoding="utf-8").splitlines()
    assert lines == EnsembleTranslator.load(runs[:2]).translate(sources, source="de", target="en")
    assert (
        "has no `word_prediction`"
        in program("evaluate", one, "--protocol", protocol, "--select", 3).errors
    )
    program("shortlist", one, "de-en")
    assert (
        program(
            "evaluate", one, "--protocol", protocol, "--select", 3, "--select-by", "shortlist"
        ).status
        == 0
    )
    assert (
        ScoreMatrix.load(one / "evaluation" / "few+select-3+select_by-shortlist").search["select"] == 3
    )
