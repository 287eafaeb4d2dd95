"""Speed of a Transformer, compared with OpenNMT-py and with CTranslate2 with the same parameters.

    python evaluation/benchmarks/transformer.py [DATA] WORK [--peer BIN] [--previous REV]
        [--only ROW]

The model has 3 + 3 layers, size 256, feed-forward 512, 4 heads, 8k pieces per side; batches have
4 096 tokens. OpenNMT-py trains the model that translates, once, and `polyglot convert` imports it;
without --peer, Polyglot trains it. `polyglot export` writes it for CTranslate2, where that is
installed. The rows are part of `make benchmarks`: docs/develop/benchmarks.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from measuring import run_process
from programs import (
    HERE,
    Polyglot,
    Reading,
    bleu,
    export_to_ctranslate2,
    has_ctranslate2,
)
from suite import SECONDS_UNIT, SENTENCES, TOKENS, Bench, Systems, main, row
from suite_text import read_lines, write_lines

UPDATES = 24
MODEL_UPDATES = 400
"""Updates of the model that translates."""
MODEL_BATCH = 1024
"""Tokens of its batches."""
BATCHES = (32, 64)
"""Sentences of OpenNMT-py's batches in search; the faster of both counts."""
LAYERS = (
    "{type: transformer, size: 256, layers: 3, heads: 4, feed_forward: 512, dropout: 0.1, "
    "activation_dropout: 0.1}"
)
SETTINGS = [
    "languages=[en,de]",
    "schedule={pairs: [en-de]}",
    "text.steps=[]",
    "model={embedding: {size: 256, dropout: 0.1}, bridge: none, "
    f"encoder: {LAYERS}, decoder: {LAYERS}}}",
    "losses={translation: {label_smoothing: 0.1}}",
    "optimizer={type: adam, learning_rate: 0.001}",
    "learning_rate_schedule={type: constant}",
    "data.filter={max_length: 200, max_ratio: null}",
]
PEER_CONFIG = """
save_data: onmt/run
src_vocab: onmt/vocab.src
tgt_vocab: onmt/vocab.tgt
overwrite: true
data:
  corpus_1: {{path_src: {pieces}/train.en, path_tgt: {pieces}/train.de}}
encoder_type: transformer
decoder_type: transformer
position_encoding: true
enc_layers: 3
dec_layers: 3
hidden_size: 256
word_vec_size: 256
transformer_ff: 512
heads: 4
batch_size: 4096
batch_type: tokens
normalization: tokens
accum_count: [1]
optim: adam
learning_rate: 0.001
label_smoothing: 0.1
num_workers: 0
dropout: [0.1]
attention_dropout: [0.0]
seed: 1
"""


# Training


@row("transformer", unit=TOKENS)
def transformer(bench: Bench) -> Systems:
    """Transformer 3+3 training in float32"""
    updates = bench.updates(UPDATES)
    settings = transformer_settings(bench)
    systems = bench.each_version(
        lambda version: version.training_rate(
            "transformer", "multi30k/small", settings, updates=updates
        )
    )
    if bench.opennmt:
        systems["OpenNMT-py"] = lambda: bench.opennmt.training_rate(
            "transformer", PEER_CONFIG, updates=updates
        )
    return systems


def transformer_settings(bench: Bench) -> list[str]:
    return [
        *SETTINGS,
        f"vocabulary={{type: bpe, size: {bench.text.vocabulary_size}}}",
        "batching={by: tokens, size: 4096}",
    ]


# Whole process


@row("translate_beam5", unit=SENTENCES)
def translate_beam5(bench: Bench) -> Systems:
    """Translation with beam 5 in float32, whole process"""
    return whole_process(bench, beam=5)


@row("translate_greedy", unit=SENTENCES)
def translate_greedy(bench: Bench) -> Systems:
    """Greedy translation in float32, whole process"""
    return whole_process(bench, beam=1)


def whole_process(bench: Bench, *, beam: int) -> Systems:
    runs = translating_runs(bench)
    systems = bench.each_version(
        lambda version: version.translation_rate(runs[version.name], beam=beam)
    )
    if bench.opennmt:
        checkpoint = opennmt_model(bench)

        def faster_batch() -> Reading:
            readings = []
            for batch in BATCHES:
                readings.append(bench.opennmt.translation_rate(checkpoint, beam=beam, batch=batch))
            return max(readings)

        systems["OpenNMT-py"] = faster_batch
    return systems


@row("start_up", unit=SECONDS_UNIT, lower_is_better=True)
def start_up(bench: Bench) -> Systems:
    """Translation of one line, whole process"""
    runs = translating_runs(bench)
    line = bench.work / "line"
    write_lines(line, read_lines(bench.text.test)[:1])
    return bench.each_version(
        lambda version: version.seconds_to_translate(runs[version.name], line)
    )


# Loaded model


@row("loaded_beam5", unit=SENTENCES)
def loaded_beam5(bench: Bench) -> Systems:
    """Translation with beam 5 in float32, model loaded, two workers"""
    return loaded_model(bench, ["float32"], beam=5)


@row("loaded_beam5_int8", unit=SENTENCES)
def loaded_beam5_int8(bench: Bench) -> Systems:
    """Translation with beam 5 in int8 and bf16, model loaded, two workers"""
    return loaded_model(bench, ["int8", "bf16"], beam=5)


@row("loaded_greedy", unit=SENTENCES)
def loaded_greedy(bench: Bench) -> Systems:
    """Greedy translation in float32, model loaded, two workers"""
    return loaded_model(bench, ["float32"], beam=1)


@row("loaded_greedy_int8", unit=SENTENCES)
def loaded_greedy_int8(bench: Bench) -> Systems:
    """Greedy translation in int8 and bf16, model loaded, two workers"""
    return loaded_model(bench, ["int8", "bf16"], beam=1)


def loaded_model(bench: Bench, precisions: list[str], *, beam: int) -> Systems:
    """Compare versions in each precision, and CTranslate2 in the first one."""
    runs = translating_runs(bench)
    systems: Systems = {}
    for precision in precisions:

        def measure(version: Polyglot, precision: str = precision) -> Reading:
            return two_workers(version, runs[version.name], precision, beam=beam)

        systems |= bench.each_version(measure, precision)
    if has_ctranslate2():
        current = bench.current
        systems[f"{current.name}, {precisions[0]}, engine ctranslate2"] = lambda: two_workers(
            current, runs[current.name], precisions[0], beam=beam, engine="ctranslate2"
        )
        model = export_to_ctranslate2(bench.current, runs[bench.current.name])
        systems[f"CTranslate2, {precisions[0]}"] = lambda: ctranslate2_workers(
            bench, model, precisions[0], beam=beam
        )
    return systems


def two_workers(
    version: Polyglot, run: Path, precision: str, *, beam: int, engine: str = "polyglot"
) -> Reading:
    output = version.folder / f"two_workers.{precision}.{beam}"
    options = ["--beam", beam, "--precision", precision, "--engine", engine]
    printed = version.run(
        HERE / "two_workers.py", run, version.text.test, output, *options, threads=1
    )
    return Reading(last_number(printed), bleu(output, version.text))


def ctranslate2_workers(bench: Bench, model: Path, precision: str, *, beam: int) -> Reading:
    output = bench.work / f"ctranslate2.{precision}.{beam}"
    command = [sys.executable, HERE / "ctranslate2_workers.py", model, bench.text.test, output]
    printed = run_process([*command, "--beam", beam, "--precision", precision])
    return Reading(last_number(printed), bleu(output, bench.text))


def last_number(printed: str) -> float:
    return float(printed.split()[-1])


# Models


def translating_runs(bench: Bench) -> dict[str, Path]:
    """Return a run for each version, by its name: with the same parameters if there is a peer.

    Without it, each version trains its own, because an earlier one may not know all settings that
    the configuration of a run of this version has.
    """
    runs = {}
    if bench.opennmt:
        checkpoint = opennmt_model(bench)
        for version in bench.versions:
            runs[version.name] = version.convert(checkpoint, "translating")
        return runs
    for version in bench.versions:
        run = version.folder / "translating"
        if not (run / "checkpoints").is_dir():
            train_on_pieces(bench, version)
        runs[version.name] = run
    return runs


def opennmt_model(bench: Bench, *options: object) -> Path:
    """Return the checkpoint of OpenNMT-py, which is trained once. options: of `onmt_train`."""
    config = PEER_CONFIG.replace("batch_size: 4096", f"batch_size: {MODEL_BATCH}")
    updates = bench.updates(MODEL_UPDATES)
    return bench.opennmt.checkpoint("translating", config, *options, updates=updates)


def train_on_pieces(bench: Bench, version: Polyglot) -> Path:
    """Train the model that translates with Polyglot; its words are the pieces of the text."""
    path = f"{bench.text.pieces}/train.{{language}}"
    settings = [
        *SETTINGS,
        "vocabulary={type: word, size: 20000}",
        f"data.train=[{{type: text, path: '{path}'}}]",
        f"batching={{by: tokens, size: {MODEL_BATCH}}}",
    ]
    updates = bench.updates(MODEL_UPDATES)
    return version.train("translating", "multi30k/small", settings, updates=updates)


if __name__ == "__main__":
    names = ["transformer", "translate_beam5", "translate_greedy", "start_up", "loaded_beam5"]
    sys.exit(main([*names, "loaded_beam5_int8", "loaded_greedy", "loaded_greedy_int8"]))
