"""Word prediction: its losses are the papers' sums, on decoders of every kind, and translations know nothing of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from polyglot.core.errors import ConfigError
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.inference.translator import Translator
from polyglot.model.decoders import DECODERS
from polyglot.model.losses import Criterion, InitialWordsLoss, LossesConfig, RemainingWordsLoss
from polyglot.model.options import WordPrediction
from polyglot.tasks.batch import EOS
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
KINDS = [if_available(name) for name in DECODERS.names()]
TERMS = {
    "initial": {"initial_words"},
    "states": {"remaining_words"},
    "both": {"initial_words", "remaining_words"},
}


def model_with(decoder="gru", predict="both", **settings):
    return tiny_model(
        tiny_config(
            decoder=decoder,
            options={"decoder": [{"type": "word_prediction", "predict": predict, **settings}]},
        )
    ).eval()


def of(model):
    return model.decoders["en"].options["word_prediction"]


def initial_loss(model, batch):
    return InitialWordsLoss(InitialWordsLoss.Config())(model(batch), batch) * batch.target_tokens


def remaining_loss(model, batch):
    return (
        RemainingWordsLoss(RemainingWordsLoss.Config())(model(batch), batch) * batch.target_tokens
    )


def words_of(batch):
    return [[word for word in row.tolist() if word not in (0, EOS)] for row in batch.target_out]


@pytest.mark.parametrize("decoder", KINDS)
def test_the_loss_of_the_initial_state_is_the_sum_over_all_words(decoder):
    model, batch = model_with(decoder), random_batch(lengths=LENGTHS)
    output = model(batch)
    hidden, _ = of(model).initial(output.decoder.body.initial_state(output.memory), output.memory)
    logs = of(model).initial.output(hidden).log_softmax(-1)
    expected = -sum(logs[row, word] for row, words in enumerate(words_of(batch)) for word in words)
    torch.testing.assert_close(initial_loss(model, batch), expected)


@pytest.mark.parametrize("decoder", KINDS)
def test_the_loss_of_the_states_is_the_double_sum(decoder):
    """−Σ_j 1/(T−j+1) Σ_{k≥j} log p_j(y_k), word by word; one of the sentences has a single word."""
    model, batch = model_with(decoder), random_batch(lengths=LENGTHS)
    output = model(batch)
    logs = of(model).states.output(of(model).states(output.states, output.memory)).log_softmax(-1)
    expected = torch.zeros(())
    for row, words in enumerate(words_of(batch)):
        for j in range(len(words)):
            expected = expected - sum(logs[row, j, words[k]] for k in range(j, len(words))) / (
                len(words) - j
            )
    torch.testing.assert_close(remaining_loss(model, batch), expected)


@pytest.mark.parametrize("decoder", KINDS)
def test_padding_and_neighbours_never_count(decoder):
    model, batch = model_with(decoder), random_batch(lengths=LENGTHS)
    together = initial_loss(model, batch), remaining_loss(model, batch)
    apart = [torch.zeros(()), torch.zeros(())]
    sources = [row[mask].tolist() for row, mask in zip(batch.source, batch.source_mask)]
    for source, words in zip(sources, words_of(batch)):
        alone = type(batch).from_sentences(batch.task, [source], [words])
        apart = [apart[0] + initial_loss(model, alone), apart[1] + remaining_loss(model, alone)]
    assert allclose(together[0], apart[0], 1e-4) and allclose(together[1], apart[1], 1e-4)


def test_a_target_without_words_costs_nothing():
    model, batch = model_with(), random_batch(lengths=((3, 0), (2, 0)))
    for loss in (initial_loss, remaining_loss):
        value = loss(model, batch)
        value.backward()
        assert value.item() == 0
    assert all(one.grad is None or one.grad.isfinite().all() for one in model.parameters())


@pytest.mark.parametrize("predict", TERMS)
@pytest.mark.parametrize("decoder", KINDS)
def test_it_learns_in_place_of_nothing_else(decoder, predict):
    """Its terms are logged by name and weighted; gradients reach its own parameters, the encoder and, of states, the body."""
    model, batch = model_with(decoder, predict), random_batch(lengths=LENGTHS)
    plain = tiny_model(tiny_config(decoder=decoder)).eval()
    with_heads, without = (
        Criterion(LossesConfig())(model(batch), batch),
        Criterion(LossesConfig())(plain(batch), batch),
    )
    assert with_heads.terms.keys() - without.terms.keys() == TERMS[predict]
    torch.testing.assert_close(with_heads.terms["translation"], without.terms["translation"])
    torch.testing.assert_close(
        with_heads.total, without.total + sum(with_heads.terms[name] for name in TERMS[predict])
    )
    weights = {name: {"weight": 0.0} for name in TERMS[predict]}
    assert (
        Criterion(LossesConfig.model_validate(weights))(model(batch), batch).terms.keys()
        == without.terms.keys()
    )
    sum(with_heads.terms[name] for name in TERMS[predict]).backward()
    assert all(
        one.grad is not None and one.grad.abs().sum() > 0
        for name, one in of(model).named_parameters()
        if "bias" not in name
    )
    assert any(
        one.grad is not None and one.grad.abs().sum() > 0
        for one in model.encoders["de"].parameters()
    )
    body = [
        one.grad
        for name, one in model.decoders["en"].body.named_parameters()
        if "initial" not in name
    ]
    assert (
        any(grad is not None and grad.abs().sum() > 0 for grad in body) == (predict != "initial")
        or decoder == "onmt_rnn"
    )


@pytest.mark.parametrize("decoder", KINDS)
def test_translating_costs_nothing_and_changes_nothing(decoder, monkeypatch):
    model, plain = model_with(decoder), tiny_model(tiny_config(decoder=decoder)).eval()
    monkeypatch.setattr(of(model).initial, "forward", None)
    monkeypatch.setattr(of(model).states, "forward", None)
    batch = random_batch(lengths=LENGTHS)
    found = []
    for one in (model, plain):
        with torch.inference_mode():
            memory = one.encode("de", batch.source, batch.source_mask)
            found.append(
                search(
                    one.decoders["en"], memory, batch.source_mask.sum(dim=1), SearchConfig(beam=3)
                )
            )
    assert found[0] == found[1]


def test_it_is_computed_in_mixed_precision():
    model, batch = model_with(), random_batch(lengths=LENGTHS)
    exact = Criterion(LossesConfig())(model(batch), batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = Criterion(LossesConfig())(model(batch), batch)
    rounded.total.backward()
    for name in TERMS["both"]:
        assert rounded.terms[name].dtype == torch.float32 and rounded.terms[
            name
        ].item() == pytest.approx(exact.terms[name].item(), rel=0.02)
    assert all(one.grad.isfinite().all() for one in of(model).parameters())


def test_memory_does_not_grow_with_the_square_of_the_length(monkeypatch):
    """No tensor of the loss has T²·V numbers: the largest is a sentence's T² words still to come."""
    from polyglot.layers import cross_entropy

    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", 4 * VOCABULARY * 8)
    model, batch = model_with(hidden_size=4), random_batch(lengths=((3, 60), (2, 60), (4, 60)))
    largest = [0]

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            largest[0] = max(
                largest[0],
                *(one.numel() for one in tree_leaves(made) if isinstance(one, torch.Tensor)),
                0,
            )
            return made

    output = model(batch)
    with Sizes():
        loss = RemainingWordsLoss(RemainingWordsLoss.Config())(
            replace(output, states=output.states.detach()), batch
        )
        loss.backward()
    assert largest[0] <= 3 * 61 * 61


def test_a_run_starts_from_a_baseline_and_its_translations_need_no_heads(tmp_path):
    training = {"steps": 20, "log_every": 5, "checkpoint": {"every": 20}}
    baseline = tiny_run(tmp_path, "baseline", training=training)
    train(baseline)
    options = {"options": {"decoder": ["word_prediction"]}}
    start = {"initialize": {"*": str(baseline.path)}, "model": options, "training": training}
    run = tiny_run(tmp_path, "words", **start)
    trainer = train(run)
    text = sample_sentences("de", seed=5, lines=8)
    log = run.log.read_text(encoding="utf-8")
    assert '"initial_words"' in log and '"remaining_words"' in log
    assert trainer.model.decoders["en"].options["word_prediction"] is not None

    first = tiny_run(
        tmp_path,
        "untrained",
        **{
            **start,
            "training": {"steps": 1, "checkpoint": {"every": 1}},
            "optimizer": {"learning_rate": 1e-12},
        },
    )
    train(first)
    given = {"source": "de", "target": "en"}
    assert Translator.load(first).translate(text, **given) == Translator.load(baseline).translate(
        text, **given
    ), "it starts as the baseline"

    bare = tiny_run(
        tmp_path,
        "bare",
        initialize={"*": str(run.path)},
        training={"steps": 1, "checkpoint": {"every": 1}},
        optimizer={"learning_rate": 1e-12},
    )
    train(bare)
    with_heads, without = Translator.load(run), Translator.load(bare)
    assert without.model.decoders["en"].word_predictor("initial_words") is None
    assert without.translate(text, **given) == with_heads.translate(text, **given)


def test_what_cannot_be_meant_is_said(tmp_path):
    from polyglot.config.loading import check_config

    shared = tiny_settings(
        tmp_path,
        sharing={"decoder": {"all": ["en", "de", "fr"]}},
        model={"options": {"decoder": ["word_prediction"]}},
    )
    with pytest.raises(
        ConfigError,
        match="word_prediction predicts words, so en and de and fr cannot share a decoder",
    ):
        check_config(shared, where="shared")
    encoder = tiny_settings(tmp_path, model={"options": {"encoder": ["word_prediction"]}})
    with pytest.raises(ConfigError, match="word_prediction cannot be added to an encoder"):
        check_config(encoder, where="encoder")
    assert WordPrediction.place == "decoder"
