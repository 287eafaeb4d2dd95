"""Translating and scoring: in every direction there are components for, one sentence never disturbing another."""

from __future__ import annotations

import re
import shutil

import numpy
import pytest
import torch

import polyglot
from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.decoding.base import SearchConfig
from polyglot.inference import generation
from polyglot.inference import translator as translator_module
from polyglot.inference.devices import select_device
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.tasks.batch import EOS, Batch
from polyglot.tasks.pairs import LanguagePair, Task
from tests.builders.runs import WORDS, sample_sentences, tiny_run, train

TRAINED = ["de-en", "en-de", "en-fr", "fr-fr"]
EVERY = [f"{source}-{target}" for source in ("de", "en", "fr") for target in ("en", "de", "fr")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Trained for a moment: far from translating, but sure enough of its words to end its sentences."""
    run = tiny_run(
        tmp_path_factory.mktemp("inference"),
        schedule={"pairs": TRAINED, "tasks_per_update": 4, "type": "round_robin"},
        training={"steps": 60, "log_every": 30, "checkpoint": {"every": 20, "keep": 9}},
        optimizer={"learning_rate": 0.02},
        model={"embedding": {"dropout": 0.1}},
    )
    train(run)
    return run


@pytest.fixture(scope="module")
def translator(run):
    return Translator.load(run)


def text(pair, count=12):
    return sample_sentences(pair.split("-")[0], seed=7, lines=count)


def of(pair):
    source, target = pair.split("-")
    return {"source": source, "target": target}


# Every direction ---------------------------------------------------------------------------------------------------------


def test_any_encoder_goes_with_any_decoder(translator):
    """Trained together, never trained together, or a copy that was never trained: the code is the same."""
    assert translator.sources == ["de", "en", "fr"] and translator.targets == ["en", "de", "fr"]
    for pair in EVERY:
        translations = translator.translate(text(pair), **of(pair))
        assert len(translations) == 12 and any(translations)
        assert all(
            word in [*WORDS[pair.split("-")[1]], "<unk>"]
            for line in translations
            for word in line.split()
        )


def test_a_language_without_an_encoder_or_decoder_is_a_sentence(tmp_path):
    run = tiny_run(tmp_path, schedule={"pairs": ["de-en", "fr-en"]})
    train(run)
    translator = Translator.load(run)
    assert translator.translate(["ein Hund"], source="de", target="en")
    for source, target, sentence in (
        ("en", "en", "source language: no encoder named 'en'. Known: de, fr"),
        ("de", "fr", "target language: no decoder named 'fr'. Known: en"),
        ("fr_CA", "en", "source language: no encoder named 'fr_CA'. Known: de, fr"),
        ("de", "xx", "target language: no decoder named 'xx'"),
    ):
        for act in (
            lambda: translator.translate(["x"], source=source, target=target),
            lambda: translator.score(["x"], ["y"], source=source, target=target),
            lambda: Translator.load(run, pairs=[LanguagePair(source, target)]),
        ):
            with pytest.raises(ConfigError) as error:
                act()
            assert str(error.value).startswith(sentence)


def test_only_the_files_of_a_direction_are_read(run, tmp_path):
    """What the other directions need may be gone or damaged."""
    shutil.copytree(run.path, tmp_path / "run")
    expected = Translator.load(run).translate(text("de-fr"), **of("de-fr"))
    (folder,) = (
        checkpoint.path
        for checkpoint in checkpoints.choose(tmp_path / "run" / "checkpoints", "last")
    )
    for file in folder.iterdir():
        if file.name in ("encoder.en.safetensors", "training.safetensors", "training.json"):
            file.unlink()
        elif file.name not in (
            "encoder.de.safetensors",
            "bridge.safetensors",
            "decoder.fr.safetensors",
            "manifest.json",
        ):
            file.write_bytes(b"damaged")
    translator = Translator.load(tmp_path / "run", pairs=[LanguagePair("de", "fr")])
    assert translator.translate(text("de-fr"), **of("de-fr")) == expected
    assert (translator.sources, translator.targets) == (["de"], ["fr"])
    with pytest.raises(ConfigError, match="no encoder named 'en'"):
        translator.translate(["a"], source="en", target="fr")
    for pair in ("en-fr", "de-en"):
        with pytest.raises(CheckpointError, match="encoder.en|decoder.en"):
            Translator.load(tmp_path / "run", pairs=[LanguagePair.parse(pair)])


def test_the_front_door(run):
    translator = polyglot.load(run.path)
    assert translator.translate(text("de-en"), **of("de-en")) == Translator.load(run).translate(
        text("de-en"), **of("de-en")
    )
    said = polyglot.load(str(run.path), checkpoint="20").description
    assert said.pop("sha256") == Translator.load(run, checkpoint="20").description["sha256"]
    assert said == {"run": "run", "checkpoint": "20", "steps": [20]}


# Scores ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"beam": 1},
        {"beam": 4, "n_best": 4},
        {"beam": 3, "length_penalty": 0.0},
        {"beam": 1, "max_length_ratio": 0.0, "max_length_extra": 2},
    ],
)
@pytest.mark.parametrize("pair", ["de-en", "de-fr", "en-de"])
def test_a_translation_has_the_probability_that_score_gives_it(pair, settings, translator):
    """Also one that had to end because it had reached its length."""
    lines = text(pair)
    found = [
        (line, each)
        for line, own in zip(lines, translator.hypotheses(lines, **of(pair), **settings))
        for each in own
    ]
    known = [(line, each) for line, each in found if "<unk>" not in each.text.split()]
    assert len(known) >= 10
    scores = translator.score(
        [line for line, _ in known], [each.text for _, each in known], **of(pair)
    )
    assert scores == pytest.approx([each.log_probability for _, each in known], abs=1e-3)


def test_a_score_is_the_sum_over_the_pieces_and_the_end(translator):
    sources, targets = text("de-fr"), [*sample_sentences("fr", seed=7, lines=10), "chien", ""]
    for source, target, score in zip(
        sources, targets, translator.score(sources, targets, **of("de-fr"))
    ):
        pieces = [translator.encode_text([source], "de"), translator.encode_text([target], "fr")]
        batch = Batch.from_sentences(Task(LanguagePair("de", "fr")), *pieces)
        with torch.no_grad():
            output = translator.model(batch)
            log_probabilities = torch.log_softmax(output.projection(output.states[0]), dim=1)
        expected = sum(
            row[piece].item()
            for row, piece in zip(log_probabilities, [*pieces[1][0], EOS], strict=True)
        )
        assert score == pytest.approx(expected, abs=1e-4)


def test_hypotheses_come_best_first_and_differ(translator):
    for own in translator.hypotheses(text("de-en"), **of("de-en"), beam=5, n_best=5):
        assert [each.score for each in own] == sorted((each.score for each in own), reverse=True)
        assert 1 <= len({each.text for each in own}) <= 5
        assert all(each.log_probability < 0 for each in own)


def test_a_wider_beam_finds_nothing_less_likely(translator):
    """Without a length penalty, on the whole: the sum over sentences."""
    totals = [
        sum(
            own[0].log_probability
            for own in translator.hypotheses(
                text("de-en", 30), **of("de-en"), beam=beam, length_penalty=0.0
            )
        )
        for beam in (1, 8)
    ]
    assert totals[1] >= totals[0]


# Sentences do not disturb each other -------------------------------------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_is_translated_as_if_it_were_alone(beam, translator):
    lines = ["", *text("de-fr"), "Hund", "Hund " * 30, "  "]
    together = translator.hypotheses(lines, **of("de-fr"), beam=beam)
    for line, own in zip(lines, together):
        (alone,) = translator.hypotheses([line], **of("de-fr"), beam=beam)
        assert [each.text for each in alone] == [each.text for each in own]
        assert [each.log_probability for each in alone] == pytest.approx(
            [each.log_probability for each in own], abs=1e-4
        )


@pytest.mark.parametrize("rows", [1, 4, 7])
def test_the_size_of_the_batches_changes_nothing(rows, translator, monkeypatch):
    lines, pair = [*text("en-de", 20), ""], of("en-de")
    targets = translator.translate(lines, **pair)
    scores = translator.score(lines, targets, **pair)
    for module in (translator_module, generation):
        monkeypatch.setattr(module, "MAX_HYPOTHESES", 16 * rows)
    assert translator.translate(lines, **pair) == targets
    assert translator.score(lines, targets, **pair) == pytest.approx(scores, abs=1e-4)


def test_the_number_of_threads_changes_nothing(translator, monkeypatch):
    lines, pair = text("en-de", 20), of("en-de")
    monkeypatch.setattr(generation, "MAX_HYPOTHESES", 16)
    found, cores = {}, torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found[threads] = translator.translate(lines, **pair)
    torch.set_num_threads(cores)
    assert found[1] == found[3]


def test_long_sentences_have_little_company():
    """Of every batch sentences times longest is bounded, so that one line does not take the memory of hundreds like it."""
    lengths = [30_000, 300, *[20] * 20]
    found = list(generation.search_batches([[5] * length for length in lengths], size=10))
    assert found[:2] == [[0], [1, 2, 3, 4]] and all(len(rows) <= 10 for rows in found)
    assert sorted(row for rows in found for row in rows) == list(range(len(lengths)))


def test_the_order_of_the_sentences_is_kept(translator):
    lines = text("de-en", 20)
    forwards, backwards = (
        translator.translate(order, **of("de-en")) for order in (lines, lines[::-1])
    )
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("blank", ["", " ", "\t", "   "])
def test_an_empty_line_stays_an_empty_line(blank, translator):
    assert translator.translate([blank], **of("de-en")) == [""]
    first, *rest = translator.translate(["ein Hund", blank, "ein Hund"], **of("de-en"))
    assert rest == ["", first]
    assert (
        translator.translate([], **of("de-en")) == []
        and translator.score([], [], **of("de-en")) == []
    )


def test_a_translation_is_one_line(translator, monkeypatch):
    monkeypatch.setattr(
        translator.vocabularies["en"].__class__,
        "decode",
        lambda self, sentences: ["one\ntwo\r\nthree\n"] * len(sentences),
    )
    assert translator.translate(["ein Hund"], **of("de-en")) == ["one two three"]


def test_what_comes_back_has_no_gradient_and_no_randomness(run):
    translator = Translator.load(run)
    assert not translator.model.training
    state = torch.random.get_rng_state()
    again = [translator.translate(text("de-en"), **of("de-en")) for _ in range(2)]
    assert again[0] == again[1] and torch.equal(torch.random.get_rng_state(), state)


# Which checkpoint --------------------------------------------------------------------------------------------------------


def test_which_checkpoint(run, tmp_path):
    def parameters(checkpoint):
        return {
            name: parameter.detach().clone()
            for name, parameter in Translator.load(
                run, checkpoint=checkpoint
            ).model.named_parameters()
        }

    steps = {step: parameters(str(step)) for step in (20, 40, 60)}
    mean, last = parameters("average:3"), parameters("last")
    for name in last:
        assert torch.equal(last[name], steps[60][name])
        assert torch.equal(
            mean[name],
            torch.stack([steps[step][name].double() for step in steps]).mean(dim=0).float(),
        )
    assert Translator.load(run, checkpoint="average:2").description["steps"] == [40, 60]
    assert Translator.load(run, checkpoint="average:2").translate(text("de-en"), **of("de-en"))
    with pytest.raises(CheckpointError, match="no checkpoint of step 7; there are 20, 40, 60"):
        Translator.load(run, checkpoint="7")


def spoil(translator, component):
    """Parameters of one component that are no numbers."""
    with torch.no_grad():
        for parameter in translator.model.component_parameters()[component].values():
            parameter.fill_(torch.nan)


@pytest.mark.parametrize("like", [None, "opennmt"])
@pytest.mark.parametrize("component", ["encoder.de", "bridge", "decoder.en"])
def test_scores_that_are_no_numbers_are_a_sentence(component, like, run):
    """In a checkpoint that something else wrote, say; ours hold only numbers."""
    translator = Translator.load(run, checkpoint="40")
    spoil(translator, component)
    sentence = f"{run.path.name}, checkpoint 40 (step 40): scores of de-en are NaN or infinite; choose another"
    for beam in (1, 3):
        with pytest.raises(CheckpointError, match=re.escape(sentence)):
            translator.translate(["ein Hund", "", "zwei"], **of("de-en"), beam=beam, like=like)


@pytest.mark.parametrize("component", ["encoder.de", "bridge", "decoder.en"])
def test_a_score_that_is_no_number_is_a_sentence(component, run):
    translator = Translator.load(run, checkpoint="40")
    spoil(translator, component)
    with pytest.raises(
        CheckpointError,
        match=r"checkpoint 40 \(step 40\): scores of de-en are NaN or infinite; choose",
    ):
        translator.score(["ein Hund", "zwei"], ["one dog", "two"], **of("de-en"))


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("component", "layer", "pooling"),
    [("encoder.de", "states", "mean"), ("bridge", "bridge", "flat")],
)
def test_an_embedding_that_is_no_number_is_a_sentence(component, layer, pooling, precision, run):
    translator = Translator.load(run, checkpoint="40")
    settings = {"language": "de", "layer": layer, "pooling": pooling, "precision": precision}
    before = translator.encode(["ein Hund", ""], **settings)
    assert before.dtype == precision and numpy.isfinite(before).all()
    spoil(translator, component)
    with pytest.raises(
        CheckpointError,
        match=r"checkpoint 40 \(step 40\): sentence embeddings are NaN or infinite",
    ):
        translator.encode(["ein Hund", ""], **settings)


# What cannot be meant ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beam": 0}, "beam: found 0; expected at least 1"),
        ({"bem": 3}, "bem: no key named 'bem'. Did you mean 'beam'?"),
        ({"beam": "5"}, "beam: found '5'; expected a whole number"),
        ({"length_penalty": -1.0}, "length_penalty: found -1.0"),
        ({"length_penalty": 1e308}, "length_penalty: found 1.0e+308; expected at most 10"),
        ({"beam": 2, "n_best": 3}, "n_best: 3 hypotheses cannot come from a beam of 2"),
    ],
)
def test_search_settings_that_cannot_be_meant(settings, sentence, translator):
    with pytest.raises(ConfigError) as error:
        translator.translate(["ein Hund"], **of("de-en"), **settings)
    assert str(error.value.problems[0]).startswith(sentence)


def test_a_narrower_beam_than_the_runs_gives_fewer_hypotheses(run, translator):
    given = {"vocabularies": run.vocabularies, "normalisers": run.normalisers}
    of_the_run = Translator(translator.model, search_config=SearchConfig(beam=3, n_best=3), **given)
    assert {len(own) for own in of_the_run.hypotheses(text("de-en"), **of("de-en"))} == {3}
    assert {len(own) for own in of_the_run.hypotheses(text("de-en"), **of("de-en"), beam=2)} == {2}
    assert of_the_run.translate(text("de-en"), **of("de-en"), beam=1) == translator.translate(
        text("de-en"), **of("de-en"), beam=1
    )


def test_one_string_is_no_list(translator):
    for call in (
        lambda: translator.translate("ein Hund", **of("de-en")),
        lambda: translator.hypotheses("ein Hund", **of("de-en")),
        lambda: translator.score("ein Hund", ["a dog"], **of("de-en")),
        lambda: translator.score("ein Hund", "one dogs", **of("de-en")),
        lambda: translator.score(["ein Hund"], "a", **of("de-en")),
    ):
        with pytest.raises(
            DataError,
            match="(de|en): a list of sentences is expected, found the single string '.*'; put it in a list",
        ):
            call()


def test_sentences_may_come_one_after_the_other(translator):
    sample_sentences, targets = [*text("de-en"), ""], [*text("en-de"), "a"]
    for kind in (
        iter,
        tuple,
        lambda own: (one for one in own),
        lambda own: dict.fromkeys(own).keys(),
    ):
        whole = list(kind(sample_sentences))
        assert translator.translate(kind(sample_sentences), **of("de-en")) == translator.translate(
            whole, **of("de-en")
        )
    assert len(translator.hypotheses(iter(sample_sentences), **of("de-en"))) == len(sample_sentences)
    assert translator.score(iter(sample_sentences), iter(targets), **of("de-en")) == translator.score(
        sample_sentences, targets, **of("de-en")
    )
    assert translator.translate(iter([]), **of("de-en")) == []


@pytest.mark.parametrize("found", [None, 3, len])
def test_what_is_no_list_is_a_sentence(found, translator):
    message = re.escape(f"de: a list of sentences is expected, found {found!r}")
    with pytest.raises(DataError, match=message):
        translator.translate(found, **of("de-en"))
    with pytest.raises(DataError, match=message):
        translator.score(found, ["a"], **of("de-en"))


def test_what_is_no_text_is_named(translator):
    with pytest.raises(DataError, match="de: sentence 2 contains half a character"):
        translator.translate(["ein Hund", "ein \ud800"], **of("de-en"))
    with pytest.raises(DataError, match="de: sentence 2 should be a string, found None"):
        translator.translate(["ein Hund", None], **of("de-en"))


def test_a_step_may_be_a_number(run):
    step = Translator.load(run, checkpoint="last").description["steps"][0]
    assert Translator.load(run, checkpoint=step).description["steps"] == [step]


def test_as_many_sources_as_targets(translator):
    with pytest.raises(
        DataError, match="score: 2 sources and 1 targets; the numbers must be equal"
    ):
        translator.score(["a", "b"], ["c"], **of("de-en"))


@pytest.mark.parametrize("device", ["gpu", "cuda:99", 3.5, "", "meta"])
def test_a_device_that_is_not_there_is_a_sentence(device, run):
    with pytest.raises(
        ConfigError, match=f"device: {device!r} is not available on this machine; available: 'cpu'"
    ):
        Translator.load(run, device=device)


def test_the_number_of_a_gpu_is_a_device(run, monkeypatch):
    """0 is the first one, and not as if nothing had been said."""
    asked = []
    monkeypatch.setattr(torch, "device", lambda wanted: asked.append(wanted) or "cpu")
    select_device(0)
    assert asked == [0]
