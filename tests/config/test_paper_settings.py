"""Settings of configurations that claim to be a paper's."""

from __future__ import annotations

import pytest

from polyglot.config.loading import load_config


def test_the_latent_graph_of_bastings_et_al():
    config = load_config("iwslt14/graph")
    assert (config.model.encoder.type, config.model.encoder.form) == ("cnn", "tanh")
    assert (config.model.encoder.layers, config.model.encoder.width) == (1, 5)
    (option,) = config.model.options.encoder
    assert (option.weights, option.edges, option.head_size) == ("shared", "latent", 256)
    assert (config.search.beam, config.search.length_normalisation) == (10, "gnmt")
    assert config.search.penalty(10) == pytest.approx(15 / 6)
    assert config.vocabulary.for_language("de").size == 32010
    assert config.vocabulary.for_language("en").size == 22823


def test_the_context_gate_and_symbols_of_choi_et_al():
    config = load_config("wmt14/context")
    assert config.data.filter.max_unknown == 0.3
    assert config.text.symbols.grouping == "any"
    (gate,) = config.model.options.decoder
    assert gate.context == "source"


@pytest.mark.parametrize(
    ("name", "layers", "heads", "size", "feed_forward", "rate"),
    [
        ("iwslt14/roles", 3, 4, 256, 512, 1e-3),
        ("wmt17/roles", 6, 8, 512, 2048, 5e-4),
        ("wmt14/roles", 6, 16, 1024, 4096, 5e-4),
    ],
)
def test_the_transformers_with_roles(name, layers, heads, size, feed_forward, rate):
    config = load_config(name)
    for body in (config.model.encoder, config.model.decoder):
        assert (body.layers, body.heads, body.size, body.feed_forward) == (
            layers,
            heads,
            size,
            feed_forward,
        )
        assert body.norm == "post"
    assert config.optimizer.learning_rate == rate
    assert config.learning_rate_schedule.warmup == 4000
    for options in (config.model.options.encoder, config.model.options.decoder):
        assert (options[0].roles, options[0].context) == (32, "lstm")
