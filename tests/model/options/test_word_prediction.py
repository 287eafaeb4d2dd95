"""Word prediction: its losses equal the sums of the paper, and translation does not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.inference.translator import Translator
from polyglot.layers import cross_entropy
from polyglot.model.decoders import DECODERS
from polyglot.model.losses import Criterion, InitialWordsLoss, LossesConfig, RemainingWordsLoss
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


@pytest.mark.parametrize("decoder", DECODER_NAMES)
def test_loss_of_the_states_is_the_double_sum(decoder):
    """−Σ_j 1/(T−j+1) Σ_{k≥j} log p_j(y_k), also for a sentence of one word."""
    model = model_with(decoder)
    batch = random_batch(lengths=LENGTHS)
    output = model(batch)
    predictor = option_of(model).states
    hidden = predictor(output.states, output.memory)
    log_probabilities = predictor.output(hidden).log_softmax(-1)

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
    model = model_with("gru", hidden_size=6)
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
    torch.testing.assert_close(predictor(output.states, output.memory), expected)


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


class LargestTensor(TorchDispatchMode):
    """Context that records the number of elements of the largest tensor an operation returns."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.elements = max(self.elements, leaf.numel())
        return result


def test_no_tensor_of_the_loss_grows_with_the_squared_length_times_the_vocabulary(monkeypatch):
    """The largest tensor is the mask of the words still to come, T² for each sentence."""
    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", 4 * VOCABULARY * 8)
    model = model_with(hidden_size=4)
    batch = random_batch(lengths=((3, 60), (2, 60), (4, 60)))
    output = model(batch)
    output = replace(output, states=output.states.detach())
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


def test_decoder_with_word_prediction_cannot_be_shared(tmp_path):
    settings = tiny_settings(
        tmp_path,
        sharing={"decoder": {"all": ["en", "de", "fr"]}},
        model={"options": {"decoder": ["word_prediction"]}},
    )
    message = "word_prediction predicts words, so en and de and fr cannot share a decoder"
    with pytest.raises(ConfigError, match=message):
        check_config(settings, where="shared")
