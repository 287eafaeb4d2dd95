"""Share of the machine limit that training reaches: its operations, without padding, per second.

    python evaluation/benchmarks/limit_shares.py [DATA] WORK [--threads 2] [--repetitions 3]

The limit is the best float32 product just before the training (machine.py).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import speed
import transformer
from programs import Reading
from suite import Bench, Systems, main, row
from torch import Tensor

SHARE = "share of the limit"


@row("lstm_share", unit=SHARE, only_by_name=True)
def lstm_share(bench: Bench) -> Systems:
    """LSTM training in float32, without input feeding"""
    settings = speed.recurrent_settings(bench, input_feeding=False)
    return training_share(bench, settings, updates=speed.UPDATES)


@row("lstm_input_feeding_share", unit=SHARE, only_by_name=True)
def lstm_input_feeding_share(bench: Bench) -> Systems:
    """LSTM training in float32, with input feeding"""
    settings = speed.recurrent_settings(bench, input_feeding=True)
    return training_share(bench, settings, updates=speed.UPDATES)


@row("transformer_share", unit=SHARE, only_by_name=True)
def transformer_share(bench: Bench) -> Systems:
    """Transformer 3+3 training in float32"""
    settings = transformer.transformer_settings(bench)
    return training_share(bench, settings, updates=transformer.UPDATES)


def training_share(bench: Bench, settings: Sequence[str], *, updates: int) -> Systems:
    """Measure this version only: operations are counted with its own classes."""

    def measure() -> Reading:
        limit = bench.limits()["float32"] * 1e9
        rate = bench.current.training_rate(
            "share", "multi30k/small", settings, updates=bench.updates(updates)
        )
        operations = operations_per_target_token(bench.current.folder / "share")
        return Reading(rate.value * operations / limit, rate.quality)

    return {bench.current.name: measure}


def operations_per_target_token(run: Path) -> float:
    """Return the floating-point operations of training for one real target token.

    Padding counts as no work. A weight matrix is used three times per position (forward, and twice
    backward), with two operations per parameter; embeddings are only looked up.
    """
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run
    from polyglot.training.build import build_datasets, build_model
    from polyglot.training.preflight import load_training_corpora

    opened = Run.open(run)
    config = load_config(run / "config.yaml")
    corpora = load_training_corpora(config)
    datasets = build_datasets(
        config, corpora, opened.vocabularies, opened.normalisers, config.tasks
    )
    dataset = datasets["en-de"]
    source_tokens = dataset.source_lengths.sum()
    target_tokens = (dataset.target_lengths + 1).sum()

    model = build_model(config, opened.vocabularies, seed=None)
    weights = {}
    for name, parameters in model.component_parameters().items():
        weights[name] = weight_count(parameters)
    encoder = weights["encoder.en"] + weights.get("bridge", 0)

    # Some weights of the decoder work on the rows of the memory instead of target positions: keys
    # and values in each layer of a Transformer; in a recurrent decoder, the matrix of `general`
    # attention and half of the matrix that combines context and state.
    decoder = config.model.decoder
    bridge = config.model.bridge
    layers = decoder.layers if decoder.type == "transformer" else 1
    memory_weights = 2 * decoder.size * config.model.memory_size * layers
    if bridge.type == "none":
        memory_rows = source_tokens
    else:
        memory_rows = bridge.heads * len(dataset.target_lengths)

    encoder_work = encoder * source_tokens / target_tokens
    memory_work = memory_weights * memory_rows / target_tokens
    decoder_work = weights["decoder.de"] - memory_weights
    return 6 * (encoder_work + memory_work + decoder_work)


def weight_count(parameters: Mapping[str, Tensor]) -> int:
    """Return the number of weights in matrices, without embeddings."""
    count = 0
    for name, parameter in parameters.items():
        if parameter.dim() == 2 and "embedding" not in name:
            count += parameter.numel()
    return count


if __name__ == "__main__":
    sys.exit(main(["lstm_share", "lstm_input_feeding_share", "transformer_share"]))
