"""Word prediction: its losses equal the sums of the paper, and translation does not change."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import yaml
from pydantic import ValidationError

from polyglot.config.loading import check_config, load_config
from polyglot.core.errors import ConfigError
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.inference.translator import Translator
from polyglot.layers import cross_entropy
from polyglot.model.decoders import DECODERS
from polyglot.model.inner_states import InnerStates
from polyglot.model.losses import Criterion, InitialWordsLoss, LossesConfig, RemainingWordsLoss
from polyglot.model.options import OPTIONS
from polyglot.runs.compatibility import different_settings
from polyglot.runs.run import Run
from polyglot.tasks.batch import EOS, PAD, Batch
from tests.builders.models import (
    VOCABULARY,
    allclose,
    if_available,
    random_batch,
    tiny_config,
    tiny_model,
)
from tests.builders.runs import sample_sentences, tiny_run, tiny_settings, train
from tests.builders.tensors import LargestTensor

LENGTHS = ((5, 4), (1, 1), (9, 7))
DECODER_NAMES = [if_available(name) for name in DECODERS.names()]
TERMS = {
    "initial": {"initial_words"},
    "states": {"remaining_words"},
    "both": {"initial_words", "remaining_words"},
}


def model_with(decoder="gru", predict="both", **settings):
    option = {"type": "word_prediction", "predict": predict, **settings}
    return tiny_model(tiny_config(decoder=decoder, options={"decoder": [option]})).eval()


def option_of(model):
    return model.decoders["en"].options["word_prediction"]


def initial_loss(model, batch):
    """Loss of the initial state, summed over the batch."""
    loss = InitialWordsLoss(InitialWordsLoss.Config())
    return loss(model(batch), batch) * batch.target_tokens


def remaining_loss(model, batch):
    """Loss of the states, summed over the batch."""
    loss = RemainingWordsLoss(RemainingWordsLoss.Config())
    return loss(model(batch), batch) * batch.target_tokens


def target_words(batch):
    sentences = []
    for row in batch.target_out.tolist():
        sentences.append([word for word in row if word not in (PAD, EOS)])
    return sentences


def has_gradient(parameter):
    return parameter.grad is not None and parameter.grad.abs().sum() > 0


@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_loss_of_the_initial_state_is_the_sum_over_all_words(decoder):
    model = model_with(decoder)
    batch = random_batch(lengths=LENGTHS)
    memory = model(batch).memory
    predictor = option_of(model).initial
    hidden, _ = predictor(model.decoders["en"].body.initial_state(memory), memory)
    log_probabilities = predictor.output(hidden).log_softmax(-1)

    expected = torch.zeros(())
    for row, words in enumerate(target_words(batch)):
        for word in words:
            expected = expected - log_probabilities[row, word]
    torch.testing.assert_close(initial_loss(model, batch), expected)


@pytest.mark.parametrize("layers", ["decoder", "own"])
@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_loss_of_the_states_is_the_double_sum(decoder, layers):
    """−Σ_j 1/(T−j+1) Σ_{k≥j} log p_j(y_k), also for a sentence of one word."""
    model = model_with(decoder, layers=layers)
    batch = random_batch(lengths=LENGTHS)
    output = model(batch)
    predictor = option_of(model).states
    hidden = predictor(output)
    log_probabilities = predictor.output_layer(output)(hidden).log_softmax(-1)

    expected = torch.zeros(())
    for row, words in enumerate(target_words(batch)):
        for j in range(len(words)):
            remaining = words[j:]
            total = sum(log_probabilities[row, j, word] for word in remaining)
            expected = expected - total / len(remaining)
    torch.testing.assert_close(remaining_loss(model, batch), expected)


@torch.no_grad()
def test_predictors_equal_their_formulas():
    """c = Σ α_i h_i with the attention of s₀, and of every state."""
    model = model_with("gru", hidden_size=6, layers="own")
    batch = random_batch(lengths=LENGTHS)
    output = model(batch)
    rows = output.memory.states
    initial_state = model.decoders["en"].body.initial_state(output.memory)

    predictor = option_of(model).initial
    attention = predictor.attention
    queries = attention.query(initial_state).unsqueeze(1)
    energies = attention.energy(torch.tanh(queries + attention.key(rows))).squeeze(2)
    weights = energies.softmax(dim=1)
    context = (weights.unsqueeze(2) * rows).sum(dim=1)
    expected = predictor.combine(torch.cat([initial_state, context], dim=1)).tanh()
    hidden, found_weights = predictor(initial_state, output.memory)
    torch.testing.assert_close(hidden, expected)
    torch.testing.assert_close(found_weights, weights)
    assert hidden.shape == (3, 6)

    predictor = option_of(model).states
    scores = predictor.attention.query(output.states) @ rows.mT
    contexts = scores.softmax(dim=2) @ rows
    states = predictor.state(output.states).tanh()
    expected = predictor.combine(torch.cat([states, contexts], dim=2)).tanh()
    torch.testing.assert_close(predictor(output), expected)


@torch.no_grad()
@pytest.mark.parametrize("input_feeding", [False, True])
def test_prediction_from_the_states_uses_the_layers_of_the_decoder(input_feeding):
    """W · tanh(W_c c_j + W_s tanh(P s_j + b)), with the recurrent state s_j and its context."""
    settings = {"type": "gru", "size": 16, "layers": 1, "input_feeding": input_feeding}
    model = model_with(settings).double()
    batch = random_batch(lengths=LENGTHS)
    output = model(batch)
    decoder = model.decoders["en"]
    predictor = option_of(model).states
    assert [name for name, _ in predictor.named_parameters()] == ["state.weight", "state.bias"]
    assert predictor.output_layer(output) is decoder.output

    scores = decoder.body.attention.query(output.inner.states) @ output.memory.states.mT
    contexts = scores.softmax(dim=2) @ output.memory.states
    combine = decoder.body.combine
    states = combine(torch.cat([contexts, output.inner.states], dim=2)).tanh()
    torch.testing.assert_close(output.states, states)

    prepared = torch.tanh(output.inner.states @ predictor.state.weight.T + predictor.state.bias)
    expected = combine(torch.cat([contexts, prepared], dim=2)).tanh()
    torch.testing.assert_close(predictor(output), expected)


@pytest.mark.parametrize("layers", ["decoder", "own"])
def test_loss_of_the_states_trains_the_layers_of_the_decoder(layers):
    model = model_with("gru", "states", layers=layers)
    batch = random_batch(lengths=LENGTHS)
    remaining_loss(model, batch).backward()
    output = model.decoders["en"].output
    assert has_gradient(output.weight) == (layers == "decoder")


@pytest.mark.parametrize("setting", [{"hidden_size": 4}, {"dropout": 0.1}])
def test_settings_of_own_layers_need_own_layers(setting):
    OPTIONS.configure("word_prediction", predict="states", layers="own", **setting)
    OPTIONS.configure("word_prediction", predict="both", **setting)
    with pytest.raises(ValidationError, match="use layers: own"):
        OPTIONS.configure("word_prediction", predict="states", **setting)


@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_losses_of_a_batch_are_the_sums_of_its_sentences(decoder):
    model = model_with(decoder)
    batch = random_batch(lengths=LENGTHS)
    initial_sum = torch.zeros(())
    remaining_sum = torch.zeros(())
    for row, words in enumerate(target_words(batch)):
        source = batch.source[row][batch.source_mask[row]].tolist()
        sentence = Batch.from_sentences(batch.task, [source], [words])
        initial_sum = initial_sum + initial_loss(model, sentence)
        remaining_sum = remaining_sum + remaining_loss(model, sentence)
    assert allclose(initial_loss(model, batch), initial_sum, 1e-4)
    assert allclose(remaining_loss(model, batch), remaining_sum, 1e-4)


@pytest.mark.parametrize("loss", [initial_loss, remaining_loss])
def test_empty_targets_have_the_loss_0(loss):
    model = model_with()
    value = loss(model, random_batch(lengths=((3, 0), (2, 0))))
    value.backward()
    assert value.item() == 0
    for parameter in model.parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all()


@pytest.mark.parametrize("predict", TERMS)
@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_losses_are_added_to_those_of_the_model_without_the_option(decoder, predict):
    model = model_with(decoder, predict)
    plain_model = tiny_model(tiny_config(decoder=decoder)).eval()
    batch = random_batch(lengths=LENGTHS)
    losses = Criterion(LossesConfig())(model(batch), batch)
    plain_losses = Criterion(LossesConfig())(plain_model(batch), batch)

    assert losses.terms.keys() - plain_losses.terms.keys() == TERMS[predict]
    torch.testing.assert_close(losses.terms["translation"], plain_losses.terms["translation"])
    added = sum(losses.terms[name] for name in TERMS[predict])
    torch.testing.assert_close(losses.total, plain_losses.total + added)

    no_weights = LossesConfig.model_validate({name: {"weight": 0.0} for name in TERMS[predict]})
    assert Criterion(no_weights)(model(batch), batch).terms.keys() == plain_losses.terms.keys()


@pytest.mark.parametrize("predict", TERMS)
@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_gradients_reach_predictors_encoder_and_body(decoder, predict):
    """The initial state depends only on the part of the body named `initial` (not in onmt_rnn)."""
    model = model_with(decoder, predict)
    batch = random_batch(lengths=LENGTHS)
    losses = Criterion(LossesConfig())(model(batch), batch)
    sum(losses.terms[name] for name in TERMS[predict]).backward()

    for name, parameter in option_of(model).named_parameters():
        assert has_gradient(parameter) or "bias" in name, name
    assert any(map(has_gradient, model.encoders["de"].parameters()))

    if decoder != "onmt_rnn":
        body = model.decoders["en"].body.named_parameters()
        reached = [name for name, parameter in body if has_gradient(parameter)]
        after_initial_state = [name for name in reached if not name.startswith("initial")]
        assert bool(after_initial_state) == (predict != "initial")


@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_search_does_not_call_the_predictors(decoder, monkeypatch):
    model = model_with(decoder)
    plain_model = tiny_model(tiny_config(decoder=decoder)).eval()
    monkeypatch.setattr(option_of(model).initial, "forward", None)
    monkeypatch.setattr(option_of(model).states, "forward", None)

    def translate(model):
        batch = random_batch(lengths=LENGTHS)
        lengths = batch.source_mask.sum(dim=1)
        with torch.inference_mode():
            memory = model.encode("de", batch.source, batch.source_mask)
            return search(model.decoders["en"], memory, lengths, SearchConfig(beam=3))

    assert translate(model) == translate(plain_model)


def test_losses_in_mixed_precision_are_close_to_those_in_float32():
    model = model_with()
    batch = random_batch(lengths=LENGTHS)
    exact = Criterion(LossesConfig())(model(batch), batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = Criterion(LossesConfig())(model(batch), batch)
    rounded.total.backward()

    for name in TERMS["both"]:
        term = rounded.terms[name]
        assert term.dtype == torch.float32
        assert term.item() == pytest.approx(exact.terms[name].item(), rel=0.02)
    for parameter in option_of(model).parameters():
        assert parameter.grad.isfinite().all()


@pytest.mark.parametrize("layers", ["decoder", "own"])
def test_no_tensor_of_the_loss_grows_with_the_squared_length_times_the_vocabulary(
    layers, monkeypatch
):
    """The largest tensor is the mask of the words still to come, T² for each sentence."""
    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", 4 * VOCABULARY * 8)
    model = model_with(hidden_size=4, layers=layers)
    batch = random_batch(lengths=((3, 60), (2, 60), (4, 60)))
    output = model(batch)
    inner = InnerStates(*[part if part is None else part.detach() for part in output.inner])
    output = replace(output, states=output.states.detach(), inner=inner)
    with LargestTensor() as largest:
        RemainingWordsLoss(RemainingWordsLoss.Config())(output, batch).backward()
    assert largest.elements <= 3 * 61 * 61


# Runs

UNCHANGED = {
    "training": {"steps": 1, "checkpoint": {"every": 1}},
    "optimizer": {"learning_rate": 1e-12},
}
"""Settings of a run that keeps the parameters it starts from."""


def translations(run):
    lines = sample_sentences("de", seed=5, lines=8)
    return Translator.load(run).translate(lines, source="de", target="en")


def test_run_starts_from_a_baseline_and_can_drop_the_predictors(tmp_path):
    training = {"steps": 20, "log_every": 5, "checkpoint": {"every": 20}}
    baseline = tiny_run(tmp_path, "baseline", training=training)
    train(baseline)

    from_baseline = {
        "initialize": {"*": str(baseline.path)},
        "model": {"options": {"decoder": ["word_prediction"]}},
    }
    run = tiny_run(tmp_path, "words", **from_baseline, training=training)
    trainer = train(run)
    assert set(trainer.model.decoders["en"].options) == {"word_prediction"}
    log = run.log.read_text(encoding="utf-8")
    assert '"initial_words"' in log
    assert '"remaining_words"' in log

    untrained = tiny_run(tmp_path, "untrained", **from_baseline, **UNCHANGED)
    train(untrained)
    assert translations(untrained) == translations(baseline)

    without_predictors = tiny_run(tmp_path, "bare", initialize={"*": str(run.path)}, **UNCHANGED)
    train(without_predictors)
    decoder = Translator.load(without_predictors).model.decoders["en"]
    assert decoder.word_predictor("initial_words") is None
    assert translations(without_predictors) == translations(run)


def remove_layers(model):
    """Remove the key `layers` from the stored settings of a model."""
    for section in (model, model["languages"]["de"]):
        (option,) = section["options"]["decoder"]
        assert option.pop("layers") == "own"


def test_run_written_without_the_key_has_own_layers(tmp_path):
    """Its configuration, its checkpoints, and a run that starts from its configuration."""
    own = {"options": {"decoder": [{"type": "word_prediction", "layers": "own"}]}}
    languages = {"de": {"options": {"decoder": [{"type": "word_prediction", "predict": "states"}]}}}
    languages["de"]["options"]["decoder"][0]["layers"] = "own"
    run = tiny_run(tmp_path, "old", model={**own, "languages": languages}, **UNCHANGED)
    train(run)
    before = translations(run)
    values = yaml.safe_load(run.config_file.read_text())
    remove_layers(values["model"])
    run.config_file.write_text(yaml.safe_dump(values))

    opened = Run.open(run.path)
    assert opened.config.model == run.config.model
    assert translations(opened) == before
    stored = copy.deepcopy(opened.built_from)
    remove_layers(stored["model"])
    assert different_settings(stored, opened.built_from) == []
    assert load_config(run.config_file).model == run.config.model
    assert Run.open_with_overrides(run.path, ["training.steps=2"]).config.model == run.config.model


def test_new_configuration_without_the_key_has_the_layers_of_the_decoder(tmp_path):
    values = tiny_settings(tmp_path, model={"options": {"decoder": ["word_prediction"]}})
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(values))
    assert load_config(file).model.options.decoder[0].layers == "decoder"


def test_decoder_with_word_prediction_cannot_be_shared(tmp_path):
    settings = tiny_settings(
        tmp_path,
        sharing={"decoder": {"all": ["en", "de", "fr"]}},
        model={"options": {"decoder": ["word_prediction"]}},
    )
    message = "word_prediction predicts words, so en and de and fr cannot share a decoder"
    with pytest.raises(ConfigError, match=message):
        check_config(settings, where="shared")
