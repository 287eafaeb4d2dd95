"""Translation and scores in every direction that has components."""

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
from polyglot.inference.translator import Translator
from polyglot.layers import selected_rows
from polyglot.layers.low_precision import available_precisions
from polyglot.runs import checkpoint as checkpoints
from polyglot.tasks.batch import EOS, Batch
from polyglot.tasks.pairs import LanguagePair, Task
from tests.builders.runs import WORDS, sample_sentences, tiny_run, train

LOW_PRECISIONS = available_precisions(torch.device("cpu"))[1:]
"""Empty on a processor without fast products of a low precision."""
TRAINED_PAIRS = ["de-en", "en-de", "en-fr", "fr-fr"]
ALL_PAIRS = [f"{source}-{target}" for source in ("de", "en", "fr") for target in ("en", "de", "fr")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run after 60 updates: its translations are wrong, but they end."""
    run = tiny_run(
        tmp_path_factory.mktemp("inference"),
        schedule={"pairs": TRAINED_PAIRS, "tasks_per_update": 4, "type": "round_robin"},
        training={"steps": 60, "log_every": 30, "checkpoint": {"every": 20, "keep": 9}},
        optimizer={"learning_rate": 0.02},
        model={"embedding": {"dropout": 0.1}},
    )
    train(run)
    return run


@pytest.fixture(scope="module")
def translator(run):
    return Translator.load(run)


def source_text(pair, count=12):
    source, _ = pair.split("-")
    return sample_sentences(source, seed=7, lines=count)


def direction(pair):
    source, target = pair.split("-")
    return {"source": source, "target": target}


# Directions


def test_other_spellings_of_the_languages_give_the_same_results(run, translator):
    sources = source_text("de-en", count=3)
    targets = source_text("en-de", count=3)
    names = {"source": "de", "target": "en"}
    spellings = {"source": "deu_Latn", "target": "ENG"}

    expected = translator.translate(sources, **names)
    assert translator.translate(sources, **spellings) == expected
    assert translator.translate(sources[0], **spellings) == expected[0]
    scores = translator.score(sources, targets, **names)
    assert translator.score(sources, targets, **spellings) == scores
    vectors = translator.encode(sources, language="de")
    for language in ("deu", ["ger", "de", "DE"]):
        assert numpy.array_equal(translator.encode(sources, language=language), vectors)
    assert translator.encode([], language="deu").shape == (0, vectors.shape[1])

    loaded = Translator.load(run, pairs=[LanguagePair("deu_Latn", "en_XX")])
    assert (loaded.sources, loaded.targets) == (["de"], ["en"])


@pytest.mark.parametrize("pair", ALL_PAIRS)
def test_every_encoder_works_with_every_decoder(pair, translator):
    """Also in directions and copies that were not trained."""
    translations = translator.translate(source_text(pair), **direction(pair))
    assert len(translations) == 12
    assert any(translations)
    target_words = {*WORDS[direction(pair)["target"]], "<unk>"}
    for translation in translations:
        assert target_words.issuperset(translation.split())


def test_sources_and_targets_are_the_languages_with_an_encoder_or_a_decoder(translator):
    assert translator.sources == ["de", "en", "fr"]
    assert translator.targets == ["en", "de", "fr"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("en", "en", "source language: no encoder named 'en'. Known: de, fr"),
        ("de", "fr", "target language: no decoder named 'fr'. Known: en"),
        ("fr_CA", "en", "source language: no encoder named 'fr_CA'. Known: de, fr"),
        ("de", "xx", "target language: no decoder named 'xx'"),
    ],
)
def test_a_language_without_an_encoder_or_decoder_is_an_error(source, target, message, many_to_one):
    translator = Translator.load(many_to_one)
    calls = [
        lambda: translator.translate(["x"], source=source, target=target),
        lambda: translator.score(["x"], ["y"], source=source, target=target),
        lambda: Translator.load(many_to_one, pairs=[LanguagePair(source, target)]),
    ]
    for call in calls:
        with pytest.raises(ConfigError) as error:
            call()
        assert str(error.value).startswith(message)


@pytest.fixture(scope="module")
def many_to_one(tmp_path_factory):
    run = tiny_run(
        tmp_path_factory.mktemp("many_to_one"),
        schedule={"pairs": ["de-en", "fr-en"]},
        training={"steps": 1},
    )
    train(run)
    return run


def test_load_with_pairs_reads_only_the_files_of_these_directions(run, tmp_path):
    """Other files may be missing or damaged."""
    shutil.copytree(run.path, tmp_path / "run")
    lines = source_text("de-fr")
    expected = Translator.load(run).translate(lines, **direction("de-fr"))
    (checkpoint,) = checkpoints.choose(tmp_path / "run" / "checkpoints", "last")
    needed = ("encoder.de.safetensors", "bridge.safetensors", "decoder.fr.safetensors")
    missing = ("encoder.en.safetensors", "training.safetensors", "training.json")
    for file in checkpoint.path.iterdir():
        if file.name in missing:
            file.unlink()
        elif file.name not in (*needed, "manifest.json"):
            file.write_bytes(b"damaged")

    translator = Translator.load(tmp_path / "run", pairs=[LanguagePair("de", "fr")])
    assert translator.translate(lines, **direction("de-fr")) == expected
    assert translator.sources == ["de"]
    assert translator.targets == ["fr"]
    with pytest.raises(ConfigError, match="no encoder named 'en'"):
        translator.translate(["a"], source="en", target="fr")
    for pair in ("en-fr", "de-en"):
        with pytest.raises(CheckpointError, match="encoder.en|decoder.en"):
            Translator.load(tmp_path / "run", pairs=[LanguagePair.parse(pair)])


def test_polyglot_load_returns_the_same_translator(run):
    lines = source_text("de-en")
    expected = Translator.load(run).translate(lines, **direction("de-en"))
    assert polyglot.load(run.path).translate(lines, **direction("de-en")) == expected


def test_the_description_names_run_checkpoint_steps_and_parameters(run):
    description = polyglot.load(str(run.path), checkpoint="20").description
    assert description == {
        "run": "run",
        "checkpoint": "20",
        "steps": [20],
        "sha256": Translator.load(run, checkpoint="20").description["sha256"],
    }
    hashes = set()
    for checkpoint in ("20", "40", "60", "average:2", "average:3"):
        hashes.add(Translator.load(run, checkpoint=checkpoint).description["sha256"])
    assert len(hashes) == 5


# Scores


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
def test_score_gives_a_translation_the_probability_that_search_found(pair, settings, translator):
    """Also if the translation had to end because of its length."""
    lines = source_text(pair)
    sources = []
    hypotheses = []
    for line, of_line in zip(lines, translator.hypotheses(lines, **direction(pair), **settings)):
        for hypothesis in of_line:
            if "<unk>" not in hypothesis.text.split():
                sources.append(line)
                hypotheses.append(hypothesis)
    assert len(hypotheses) >= 10
    targets = [hypothesis.text for hypothesis in hypotheses]
    scores = translator.score(sources, targets, **direction(pair))
    expected = [hypothesis.log_probability for hypothesis in hypotheses]
    assert scores == pytest.approx(expected, abs=1e-3)


def test_a_score_is_the_sum_over_the_pieces_and_the_end(translator):
    sources = source_text("de-fr")
    targets = [*sample_sentences("fr", seed=7, lines=10), "chien", ""]
    scores = translator.score(sources, targets, **direction("de-fr"))
    for source, target, score in zip(sources, targets, scores, strict=True):
        source_pieces = translator.encode_text([source], "de")
        target_pieces = translator.encode_text([target], "fr")
        batch = Batch.from_sentences(Task(LanguagePair("de", "fr")), source_pieces, target_pieces)
        with torch.no_grad():
            output = translator.model(batch)
            logits = output.projection(output.states[0])
        log_probabilities = torch.log_softmax(logits, dim=1)
        expected = 0.0
        for row, piece in zip(log_probabilities, [*target_pieces[0], EOS], strict=True):
            expected += row[piece].item()
        assert score == pytest.approx(expected, abs=1e-4)


def test_hypotheses_are_sorted_by_score_and_differ(translator):
    search = {"beam": 5, "n_best": 5}
    for hypotheses in translator.hypotheses(source_text("de-en"), **direction("de-en"), **search):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len(hypotheses) == 5
        assert all(hypothesis.log_probability < 0 for hypothesis in hypotheses)
        texts = {hypothesis.text for hypothesis in hypotheses}
        assert len(texts) > 1


def test_the_score_is_the_log_probability_divided_by_the_length_penalty(translator):
    lines = source_text("de-en")
    unnormalised = translator.hypotheses(lines, **direction("de-en"), length_penalty=0.0)
    for hypotheses in unnormalised:
        assert hypotheses[0].score == pytest.approx(hypotheses[0].log_probability)
    # A length penalty of 1 divides by the length of Wu et al. 2016, which is more than 1.
    for hypotheses in translator.hypotheses(lines, **direction("de-en"), length_penalty=1.0):
        assert hypotheses[0].score > hypotheses[0].log_probability


def test_a_wider_beam_finds_more_probable_translations(translator):
    """In the sum over sentences, without a length penalty."""
    totals = {}
    for beam in (1, 8):
        hypotheses = translator.hypotheses(
            source_text("de-en", 30), **direction("de-en"), beam=beam, length_penalty=0.0
        )
        totals[beam] = sum(best.log_probability for best, *_ in hypotheses)
    assert totals[8] >= totals[1]


# Independence of other sentences


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_does_not_depend_on_the_other_sentences(beam, translator):
    lines = ["", *source_text("de-fr"), "Hund", "Hund " * 30, "  "]
    together = translator.hypotheses(lines, **direction("de-fr"), beam=beam)
    for line, hypotheses in zip(lines, together):
        (alone,) = translator.hypotheses([line], **direction("de-fr"), beam=beam)
        assert [best.text for best in alone] == [best.text for best in hypotheses]
        expected = [hypothesis.log_probability for hypothesis in hypotheses]
        assert [best.log_probability for best in alone] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("sentences", [1, 4, 7])
def test_the_batch_size_does_not_change_the_result(sentences, translator, monkeypatch):
    lines = [*source_text("en-de", 20), ""]
    translations = translator.translate(lines, **direction("en-de"))
    scores = translator.score(lines, translations, **direction("en-de"))
    monkeypatch.setattr(generation, "MAX_HYPOTHESES", 16 * sentences)
    assert translator.translate(lines, **direction("en-de")) == translations
    again = translator.score(lines, translations, **direction("en-de"))
    assert again == pytest.approx(scores, abs=1e-4)


def test_the_number_of_threads_does_not_change_the_result(translator, monkeypatch):
    lines = source_text("en-de", 20)
    monkeypatch.setattr(generation, "MAX_HYPOTHESES", 16)
    translations = {}
    cores = torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        translations[threads] = translator.translate(lines, **direction("en-de"))
    torch.set_num_threads(cores)
    assert translations[1] == translations[3]


def test_the_number_of_sentences_per_search_depends_on_beam_and_decoders(translator):
    decoder = translator.model.decoders["en"]
    assert generation.sentences_per_search(SearchConfig(beam=4)) == 160
    assert generation.sentences_per_search(SearchConfig(beam=4), [decoder] * 2) == 80
    assert generation.sentences_per_search(SearchConfig(beam=1000)) == 1
    gpu = torch.device("cuda")
    assert generation.sentences_per_search(SearchConfig(beam=4), device=gpu) == 2048


def test_vocabulary_selection_limits_the_size_of_the_output_layers(translator, monkeypatch):
    """16 numbers per word, 10 words per sentence: 3 sentences in 500 numbers.

    Only rows that are copied for each sentence are limited.
    """
    decoder = translator.model.decoders["en"]
    monkeypatch.setattr(generation, "MAX_SELECTED_WEIGHTS", 500)
    monkeypatch.setattr(selected_rows, "COPIED_ROW_COST", 1)
    by_sentence = SearchConfig(beam=1, select=10, select_for="sentence")
    assert generation.sentences_per_search(by_sentence, [decoder]) == 3
    assert generation.sentences_per_search(by_sentence, [decoder] * 2) == 1
    by_batch = SearchConfig(beam=1, select=10, select_for="batch")
    assert generation.sentences_per_search(by_batch, [decoder]) == 640
    monkeypatch.setattr(selected_rows, "COPIED_ROW_COST", 1000)
    assert generation.sentences_per_search(by_sentence, [decoder]) == 640


def test_translations_are_in_the_order_of_the_sentences(translator):
    lines = source_text("de-en", 20)
    forwards = translator.translate(lines, **direction("de-en"))
    backwards = translator.translate(lines[::-1], **direction("de-en"))
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("blank", ["", " ", "\t", "\u00a0  "])
def test_a_blank_line_stays_empty(blank, translator):
    assert translator.translate([blank], **direction("de-en")) == [""]
    lines = ["ein Hund", blank, "ein Hund"]
    first, middle, last = translator.translate(lines, **direction("de-en"))
    assert first == last
    assert middle == ""


def test_no_sentences_give_no_translations(translator):
    assert translator.translate([], **direction("de-en")) == []
    assert translator.score([], [], **direction("de-en")) == []


def test_a_translation_is_one_line(translator, monkeypatch):
    def decode(vocabulary, sentences):
        return ["one\ntwo\r\nthree\n"] * len(sentences)

    monkeypatch.setattr(type(translator.vocabularies["en"]), "decode", decode)
    assert translator.translate(["ein Hund"], **direction("de-en")) == ["one two three"]


def test_translation_is_deterministic_and_uses_no_random_numbers(run):
    translator = Translator.load(run)
    assert not translator.model.training
    state = torch.random.get_rng_state()
    first = translator.translate(source_text("de-en"), **direction("de-en"))
    second = translator.translate(source_text("de-en"), **direction("de-en"))
    assert first == second
    assert torch.equal(torch.random.get_rng_state(), state)


# Checkpoints


def parameters(run, checkpoint):
    translator = Translator.load(run, checkpoint=checkpoint)
    return {name: value.detach().clone() for name, value in translator.model.named_parameters()}


def test_last_and_average_load_the_right_parameters(run):
    parameters_of_steps = [parameters(run, str(step)) for step in (20, 40, 60)]
    last = parameters(run, "last")
    mean = parameters(run, "average:3")
    for name in last:
        values = [of_step[name] for of_step in parameters_of_steps]
        assert torch.equal(last[name], values[-1])
        expected = torch.stack([value.double() for value in values]).mean(dim=0).float()
        assert torch.equal(mean[name], expected)


def test_an_average_names_its_steps(run):
    assert Translator.load(run, checkpoint="average:2").description["steps"] == [40, 60]


def test_a_step_may_be_a_number(run):
    assert Translator.load(run, checkpoint=40).description["steps"] == [40]


def test_a_missing_step_is_an_error(run):
    with pytest.raises(CheckpointError, match="no checkpoint of step 7; there are 20, 40, 60"):
        Translator.load(run, checkpoint="7")


def set_to_nan(translator, component):
    with torch.no_grad():
        for parameter in translator.model.component_parameters()[component].values():
            parameter.fill_(torch.nan)


@pytest.mark.parametrize("like", [None, "opennmt"])
@pytest.mark.parametrize("component", ["encoder.de", "bridge", "decoder.en"])
def test_search_with_nan_parameters_is_an_error(component, like, run):
    """Another program may have written the checkpoint; ours have only finite numbers."""
    translator = Translator.load(run, checkpoint="40")
    set_to_nan(translator, component)
    message = (
        f"{run.path.name}, checkpoint of step 40: scores of de-en are NaN or infinite; "
        "choose another checkpoint"
    )
    for beam in (1, 3):
        with pytest.raises(CheckpointError) as error:
            translator.translate(
                ["ein Hund", "", "zwei"], **direction("de-en"), beam=beam, like=like
            )
        assert str(error.value) == message


@pytest.mark.parametrize("component", ["encoder.de", "bridge", "decoder.en"])
def test_a_score_with_nan_parameters_is_an_error(component, run):
    translator = Translator.load(run, checkpoint="40")
    set_to_nan(translator, component)
    message = r"checkpoint of step 40: scores of de-en are NaN or infinite; choose another"
    with pytest.raises(CheckpointError, match=message):
        translator.score(["ein Hund", "zwei"], ["one dog", "two"], **direction("de-en"))


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("component", "layer", "pooling"),
    [("encoder.de", "states", "mean"), ("bridge", "bridge", "flat")],
)
def test_an_embedding_with_nan_parameters_is_an_error(component, layer, pooling, precision, run):
    translator = Translator.load(run, checkpoint="40")
    settings = {"language": "de", "layer": layer, "pooling": pooling, "precision": precision}
    before = translator.encode(["ein Hund", ""], **settings)
    assert before.dtype == precision
    assert numpy.isfinite(before).all()
    set_to_nan(translator, component)
    message = r"checkpoint of step 40: sentence embeddings are NaN or infinite; choose another"
    with pytest.raises(CheckpointError, match=message):
        translator.encode(["ein Hund", ""], **settings)


def test_a_message_about_nan_without_a_run_names_the_model(run, translator):
    without_run = Translator(
        translator.model, vocabularies=run.vocabularies, normalisers=run.normalisers
    )
    message = "this model: scores are NaN or infinite; choose another checkpoint"
    assert without_run.not_finite("scores") == message


def test_a_missing_vocabulary_is_an_error(run, tmp_path):
    shutil.copytree(run.path, tmp_path / "run")
    (tmp_path / "run" / "vocabulary" / "fr.model").unlink()
    with pytest.raises(CheckpointError, match="fr.model: no such file, but .* was trained with it"):
        Translator.load(tmp_path / "run")


# Invalid input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam: found 0; expected at least 1"),
        ({"bem": 3}, "bem: no key named 'bem'. Did you mean 'beam'?"),
        ({"beam": "5"}, "beam: found '5'; expected a whole number"),
        ({"length_penalty": -1.0}, "length_penalty: found -1.0"),
        ({"length_penalty": 1e308}, "length_penalty: found 1.0e+308; expected at most 10"),
        ({"beam": 2, "n_best": 3}, "n_best: 3 hypotheses cannot come from a beam of 2"),
        ({"select_by": "shortlist"}, "search.select_by: no effect without vocabulary selection"),
        ({"select_for": "batch"}, "search.select_for: no effect without vocabulary selection"),
    ],
)
def test_invalid_search_settings_are_an_error(settings, message, translator):
    with pytest.raises(ConfigError) as error:
        translator.translate(["ein Hund"], **direction("de-en"), **settings)
    assert str(error.value.problems[0]).startswith(message)


def test_a_narrower_beam_than_the_runs_gives_fewer_hypotheses(run, translator):
    with_beam_3 = Translator(
        translator.model,
        vocabularies=run.vocabularies,
        normalisers=run.normalisers,
        search_config=run.config.search.model_copy(update={"beam": 3, "n_best": 3}),
    )
    lines = source_text("de-en")
    for settings, count in (({}, 3), ({"beam": 2}, 2), ({"beam": 1}, 1)):
        hypotheses = with_beam_3.hypotheses(lines, **direction("de-en"), **settings)
        assert {len(of_sentence) for of_sentence in hypotheses} == {count}
    expected = translator.translate(lines, **direction("de-en"), beam=1)
    assert with_beam_3.translate(lines, **direction("de-en"), beam=1) == expected


def test_a_single_string_is_an_error(translator):
    calls = [
        lambda: translator.hypotheses("ein Hund", **direction("de-en")),
        lambda: translator.score("ein Hund", ["a dog"], **direction("de-en")),
        lambda: translator.score("ein Hund", "one dogs", **direction("de-en")),
        lambda: translator.score(["ein Hund"], "a", **direction("de-en")),
    ]
    message = "(de|en): a list of sentences is expected, found the single string '.*'; put it in"
    for call in calls:
        with pytest.raises(DataError, match=message):
            call()


@pytest.mark.parametrize(
    "convert",
    [
        iter,
        tuple,
        lambda lines: (line for line in lines),
        lambda lines: dict.fromkeys(lines).keys(),
    ],
    ids=["iterator", "tuple", "generator", "keys"],
)
def test_sentences_may_be_any_iterable(convert, translator):
    lines = list(dict.fromkeys([*source_text("de-en"), ""]))
    targets = [f"one {number}" for number in range(len(lines))]
    translations = translator.translate(lines, **direction("de-en"))
    scores = translator.score(lines, targets, **direction("de-en"))
    assert translator.translate(convert(lines), **direction("de-en")) == translations
    assert len(translator.hypotheses(convert(lines), **direction("de-en"))) == len(lines)
    assert translator.score(convert(lines), convert(targets), **direction("de-en")) == scores
    assert translator.translate(convert([]), **direction("de-en")) == []


@pytest.mark.parametrize("sentences", [None, 3, len])
def test_sentences_that_are_not_iterable_are_an_error(sentences, translator):
    message = re.escape(f"de: a list of sentences is expected, found {sentences!r}")
    with pytest.raises(DataError, match=message):
        translator.translate(sentences, **direction("de-en"))
    with pytest.raises(DataError, match=message):
        translator.score(sentences, ["a"], **direction("de-en"))


def test_different_numbers_of_sources_and_targets_are_an_error(translator):
    message = "score: 2 sources and 1 targets; the numbers must be equal"
    with pytest.raises(DataError, match=message):
        translator.score(["a", "b"], ["c"], **direction("de-en"))


# Sentence embeddings


def test_normalised_embeddings_of_a_run_are_normalised_before_the_cast(run):
    """In float16, vectors with numbers above 65504 would become infinite first."""
    translator = Translator.load(run)
    with torch.no_grad():
        translator.model.encoders["de"].embedding.table.weight.mul_(1e6)
    settings = {"language": "de", "layer": "words", "pooling": "mean"}
    vectors = translator.encode(
        source_text("de-en"), **settings, normalize_embeddings=True, precision="float16"
    )
    lengths = numpy.linalg.norm(vectors.astype("float64"), axis=1)
    numpy.testing.assert_allclose(lengths, 1, atol=1e-3)


# Strings, batches, paragraphs, and the interactive use of Python


def test_one_string_has_one_translation(translator):
    [line, *_] = source_text("de-en")
    [expected] = translator.translate([line], **direction("de-en"))
    assert translator.translate(line, **direction("de-en")) == expected
    assert translator.translate("", **direction("de-en")) == ""


@pytest.mark.parametrize("batch_size", [1, 5, 1000])
def test_batch_size_changes_no_translation(batch_size, translator, monkeypatch):
    lines = source_text("de-en")
    expected = translator.translate(lines, **direction("de-en"))
    sizes = []
    search = generation.search_hypotheses

    def recording_search(sources, *arguments, **settings):
        sizes.append(len(sources[0].sentences))
        return search(sources, *arguments, **settings)

    monkeypatch.setattr(generation, "search_hypotheses", recording_search)
    translations = translator.translate(lines, **direction("de-en"), batch_size=batch_size)
    assert translations == expected
    assert max(sizes) == min(batch_size, len(lines))


def test_batch_size_of_nothing_is_an_error(translator):
    with pytest.raises(ConfigError, match="batch_size: found 0; it should be at least 1"):
        translator.translate(["x"], **direction("de-en"), batch_size=0)


def test_paragraphs_are_translated_sentence_by_sentence(translator, caplog):
    first, second, third, *_ = (f"{line.capitalize()}." for line in source_text("de-en"))
    lines = [f"{first} {second}", "", third]
    parts = translator.translate([first, second, third], **direction("de-en"))
    expected = [" ".join(filter(None, parts[:2])), "", parts[2]]
    assert translator.translate(lines, **direction("de-en"), split_sentences=True) == expected
    assert caplog.text == ""

    translator.max_training_length = 3
    try:
        translator.translate(lines, **direction("de-en"), split_sentences=True)
    finally:
        translator.max_training_length = 100
    assert "with more than 3 tokens (data.filter.max_length" in caplog.text


def test_paragraphs_have_no_n_best_lists(translator):
    with pytest.raises(ConfigError, match="n_best: found 2; split sentences have one"):
        translator.hypotheses(["x"], **direction("de-en"), n_best=2, split_sentences=True)


def test_translations_know_their_tokens_and_the_largest_length(translator):
    lines = [source_text("de-en")[0], ""]
    [best, *_], [blank] = translator.hypotheses(lines, **direction("de-en"), max_length=2)
    [pieces, _] = translator.encode_text(lines, "de")
    assert best.source_tokens == len(pieces)
    assert best.target_tokens == 2
    assert best.is_cut
    assert (blank.source_tokens, blank.is_cut) == (0, False)


def test_short_descriptions_of_models_and_runs(run, translator):
    text = repr(translator)
    assert text.splitlines()[0] == "<Translator of run, checkpoint best (step 60)"
    assert "from de, en, fr into en, de, fr" in text
    assert "parameters on cpu>" in text
    assert len(text.splitlines()) == 3
    assert repr(polyglot.ensemble([run, run])).startswith("<EnsembleTranslator of 2 models")
    description = repr(run)
    assert f"<Run {run.path}" in description
    assert "checkpoints of the steps 20, 40, 60>" in description
    assert len(description.splitlines()) == 3


def test_public_names_of_the_package():
    assert dir(polyglot) == sorted(polyglot.__all__)
    for name in polyglot.__all__:
        assert getattr(polyglot, name)
    assert polyglot.Translator is Translator
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(polyglot, "nothing")  # noqa: B009


# Precision of products


TRANSFORMER = {"type": "transformer", "size": 64, "layers": 1, "heads": 2, "feed_forward": 64}
RECURRENT = {"type": "lstm", "size": 64, "layers": 1}


@pytest.fixture(scope="module", params=["transformer", "lstm", "rnnsearch"])
def wide_run(request, tmp_path_factory):
    """Run whose matrices are large enough for products of a low precision."""
    layers = TRANSFORMER if request.param == "transformer" else RECURRENT
    decoder = {**layers, "type": request.param}
    if request.param == "rnnsearch":
        del decoder["layers"]
    run = tiny_run(
        tmp_path_factory.mktemp("precision"),
        schedule={"pairs": ["de-en", "en-de"], "tasks_per_update": 2, "type": "round_robin"},
        training={"steps": 40, "log_every": 20},
        optimizer={"learning_rate": 0.01},
        model={
            "embedding": {"size": 64},
            "encoder": layers,
            "bridge": "none",
            "decoder": decoder,
        },
    )
    train(run)
    return run


@pytest.mark.parametrize("precision", LOW_PRECISIONS)
def test_low_precision_gives_nearly_the_same_scores_and_embeddings(precision, wide_run):
    exact = Translator.load(wide_run)
    rounded = Translator.load(wide_run, precision=precision)
    assert "precision" not in exact.description
    assert rounded.description["precision"] == precision

    sources = source_text("de-en")
    targets = source_text("en-de")
    pair = direction("de-en")
    scores = exact.score(sources, targets, **pair)
    rounded_scores = rounded.score(sources, targets, **pair)
    numpy.testing.assert_allclose(rounded_scores, scores, rtol=0.02, atol=0.02)

    embedding = {"language": "de", "pooling": "mean", "normalize_embeddings": True}
    vectors = exact.encode(sources, **embedding)
    rounded_vectors = rounded.encode(sources, **embedding)
    assert (vectors * rounded_vectors).sum(axis=1).min() > 0.999

    for beam in (1, 3):
        hypotheses = exact.hypotheses(sources, **pair, beam=beam)
        rounded_hypotheses = rounded.hypotheses(sources, **pair, beam=beam)
        assert hypotheses != rounded_hypotheses  # the products are rounded
        equal = 0
        for [hypothesis, *_], [rounded_hypothesis, *_] in zip(hypotheses, rounded_hypotheses):
            equal += hypothesis.text == rounded_hypothesis.text
        assert equal >= 10


@pytest.mark.parametrize("precision", LOW_PRECISIONS)
def test_with_low_precision_a_sentence_does_not_depend_on_its_batch(precision, wide_run):
    translator = Translator.load(wide_run, precision=precision)
    sources = source_text("de-en")
    together = translator.translate(sources, **direction("de-en"), beam=3)
    alone = [translator.translate(source, **direction("de-en"), beam=3) for source in sources]
    assert together == alone
