"""Training speed of recurrent models, compared with OpenNMT-py on the same machine.

    python evaluation/benchmarks/speed.py [DATA] WORK [--peer BIN] [--previous REV] [--only ROW]

BIN is the `bin` folder of a virtual environment with torch and OpenNMT-py 3.0.4. Both programs have
the same text and the same model size; ours has the attention bridge as well. The rows are part of
`make benchmarks`, whose page explains the options: docs/develop/benchmarks.md.
"""

from __future__ import annotations

import sys

from suite import TOKENS, Bench, Systems, main, row

UPDATES = 56
# 8k pieces per side, encoder 2 × 256 (bidirectional), decoder 2 × 512, embeddings 512, batches of
# 64 sentences, Adam with learning rate 0.001, dropout 0.3.
SETTINGS = [
    "languages=[en,de]",
    "schedule={pairs: [en-de]}",
    "text.steps=[]",
    "model={encoder: {type: lstm, size: 512, layers: 2}, "
    "bridge: {type: attention, heads: 10, hidden_size: 1024}, "
    "decoder: {type: lstm, size: 512, layers: 2}, embedding: {size: 512}}",
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
encoder_type: brnn
decoder_type: rnn
enc_layers: 2
dec_layers: 2
hidden_size: 512
word_vec_size: 512
batch_size: 64
batch_type: sents
optim: adam
learning_rate: 0.001
num_workers: 0
dropout: [0.3]
seed: 1
"""


@row("lstm", unit=TOKENS)
def lstm(bench: Bench) -> Systems:
    """LSTM training in float32, without input feeding"""
    return recurrent_training(bench, input_feeding=False)


@row("lstm_input_feeding", unit=TOKENS)
def lstm_input_feeding(bench: Bench) -> Systems:
    """LSTM training in float32, with input feeding"""
    return recurrent_training(bench, input_feeding=True)


def recurrent_training(bench: Bench, *, input_feeding: bool) -> Systems:
    updates = bench.updates(UPDATES)
    settings = recurrent_settings(bench, input_feeding=input_feeding)
    systems = bench.each_version(
        lambda version: version.training_rate("lstm", "multi30k/small", settings, updates=updates)
    )
    if bench.opennmt:
        options = ("-input_feed", int(input_feeding))
        systems["OpenNMT-py"] = lambda: bench.opennmt.training_rate(
            "lstm", PEER_CONFIG, *options, updates=updates
        )
    return systems


def recurrent_settings(bench: Bench, *, input_feeding: bool) -> list[str]:
    return [
        *SETTINGS,
        f"vocabulary={{type: bpe, size: {bench.text.vocabulary_size}}}",
        f"model.decoder.input_feeding={str(input_feeding).lower()}",
        "batching.size=64",
    ]


if __name__ == "__main__":
    sys.exit(main(["lstm", "lstm_input_feeding"]))
