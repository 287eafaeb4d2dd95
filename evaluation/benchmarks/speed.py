"""Speed of training and translation, compared with OpenNMT-py on the same machine.

    python evaluation/benchmarks/speed.py DATA WORK [--peer BIN]

DATA holds Multi30k (train.en.gz, …), as `polyglot fetch multi30k DATA` writes it. BIN is the `bin`
folder of a virtual environment with torch and OpenNMT-py 3.0.4; without it, only Polyglot is
measured. Both programs have the same text and the same model size. Results are written to
WORK/speed.md and WORK/speed.json: medians of several repetitions. The measurements take turns, so
that a machine that becomes slower slows both programs.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import (
    NEVER,
    THREADS,
    log,
    matrix_product_limit,
    median_seconds,
    operations_per_target_token,
    run_benchmark,
    run_quietly,
    timed,
    train_peer,
    train_polyglot,
    training_windows,
)

# 8k pieces per side, encoder 2 × 256 (bidirectional), decoder 2 × 512, embeddings 512, batches of
# 64 sentences, Adam with learning rate 0.001, dropout 0.3.
SETTINGS = [
    "languages=[en,de]",
    "schedule={pairs: [en-de]}",
    "text.steps=[]",
    "vocabulary={type: bpe, size: 8000}",
    "model={encoder: {type: lstm, size: 512, layers: 2}, "
    "bridge: {type: attention, heads: 10, hidden_size: 1024}, "
    "decoder: {type: lstm, size: 512, layers: 2}, embedding: {size: 512}}",
    "optimizer={type: adam, learning_rate: 0.001}",
    "learning_rate_schedule={type: constant}",
    "data.filter={max_length: 200, max_ratio: null}",
    "validation={every: 1000000}",
    "data.valid=[]",
    "data.test=[]",
]
PEER_CONFIG = """
save_data: onmt/run
src_vocab: onmt/vocab.src
tgt_vocab: onmt/vocab.tgt
overwrite: true
data:
  corpus_1: {path_src: train.en, path_tgt: train.de}
save_model: onmt/model
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


# Start


def start(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the seconds of `polyglot --help`, and of a second start until its first step."""
    help_seconds = [timed([sys.executable, "-m", "polyglot", "--help"]) for _ in range(5)]
    train(arguments, "start", steps=1)
    start_time = time.time()
    run = train(arguments, "start", steps=1)
    first_line, *_ = log(run)
    return {
        "help_seconds": statistics.median(help_seconds),
        "second_start_to_first_step_seconds": first_line["time"] - start_time,
    }


# Matrix products


def products(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the GFLOP/s of the matrix products of one step, for few rows and for many.

    Measured are PyTorch, Polyglot's product, and Polyglot's product with a packed matrix.
    """
    import torch

    torch.set_num_threads(THREADS)
    results = {}
    with torch.inference_mode():
        for width, height in ((1024, 2048), (512, 8000)):
            weight = torch.randn(height, width)
            bias = torch.randn(height)
            for rows in (5, 64, 1024):
                inputs = torch.randn(rows, width)
                name = f"{rows} rows by {height} x {width}"
                results[name] = product_speeds(inputs, weight, bias)
    return results


def product_speeds(inputs, weight, bias) -> dict[str, float]:
    """Return the GFLOP/s of one product, by method."""
    from torch.nn import functional

    from polyglot.layers.linear import PackedLinear, product

    packed = PackedLinear(weight, bias)
    methods = {
        "PyTorch": lambda: functional.linear(inputs, weight, bias),
        "Polyglot": lambda: product(inputs, weight, bias),
        "Polyglot, packed": lambda: packed(inputs),
    }
    operations = 2 * len(inputs) * weight.numel()
    speeds = {}
    for name, method in methods.items():
        speeds[name] = operations / median_seconds(method) / 1e9
    return speeds


# Training


def training(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return target tokens per second and the share of the matrix-product limit.

    With and without input feeding.
    """
    return {
        "no input feeding": training_speed(arguments, input_feeding=False),
        "input feeding": training_speed(arguments, input_feeding=True),
    }


def training_speed(arguments: argparse.Namespace, *, input_feeding: bool) -> dict[str, float]:
    rates = []
    shares = []
    peer_rates = []
    setting = f"model.decoder.input_feeding={str(input_feeding).lower()}"
    for _ in range(arguments.repetitions):
        limit = matrix_product_limit()
        run = train(arguments, "training", steps=arguments.steps, settings=[setting])
        operations = operations_per_target_token(run)
        for line in training_windows(run):
            rates.append(line["tokens_per_second"])
            shares.append(line["tokens_per_second"] * operations / limit)
        if arguments.peer:
            peer_rates += train_peer(arguments, "speed", "-input_feed", int(input_feeding))

    results = {
        "polyglot_tokens_per_second": statistics.median(rates),
        "share_of_matrix_product_limit": statistics.median(shares),
    }
    if peer_rates:
        peer_rate = statistics.median(peer_rates)
        results["opennmt_py_tokens_per_second"] = peer_rate
        results["ratio"] = results["polyglot_tokens_per_second"] / peer_rate
    return results


def languages(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the seconds of a step of one task, in a model of 4 languages and of 40.

    All languages have the same text, under different names.
    """
    folder = arguments.work / "languages"
    link_languages(arguments.data, folder, 40)
    seconds: dict[int, list[float]] = {4: [], 40: []}
    for _ in range(arguments.repetitions):
        for count, values in seconds.items():
            names = ", ".join(f"l{number}" for number in range(count))
            settings = [
                f"languages=[{names}]",
                f"data.folder={folder}",
                "schedule={pairs: ['*-l0'], phases: [{pairs: [l1-l0]}]}",
                "vocabulary={type: bpe, size: 2000}",
                "model={encoder: {type: lstm, size: 256, layers: 1}, "
                "decoder: {type: lstm, size: 256, layers: 1}, embedding: {size: 256}}",
            ]
            name = f"languages-{count}"
            run = train(arguments, name, steps=arguments.steps, settings=settings)
            values += [1 / line["steps_per_second"] for line in training_windows(run)]
    few = statistics.median(seconds[4])
    many = statistics.median(seconds[40])
    return {
        "seconds_per_step_with_4_languages": few,
        "seconds_per_step_with_40_languages": many,
        "ratio": many / few,
    }


def link_languages(data: Path, folder: Path, count: int) -> None:
    """Link English and German in turn as text of the languages l0, l1, …."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        language = "de" if number % 2 else "en"
        link = folder / f"train.l{number}.gz"
        if not link.exists():
            link.symlink_to(data / f"train.{language}.gz")


def train(
    arguments: argparse.Namespace, name: str, *, steps: int, settings: Sequence[str] = ()
) -> Path:
    """Train a new run; return its directory."""
    return train_polyglot(arguments, name, steps=steps, settings=[*SETTINGS, *settings])


# Translation


def translation(arguments: argparse.Namespace) -> dict[str, float]:
    """Measure the translation of 1 000 sentences with beam 5.

    The whole process is compared with OpenNMT-py, and the decoding loop with the matrix-product
    limit. Both programs search without length normalization (the default of OpenNMT-py). Both
    models have seen the same text equally often, so that their translations have similar lengths;
    the results contain the mean lengths. The models are trained once and kept in WORK.
    """
    run = arguments.work / "runs" / f"translation-{arguments.translation_steps}"
    if not (run / "checkpoints").is_dir():
        train(arguments, run.name, steps=arguments.translation_steps)
    text = arguments.work / "test.en.txt"
    with gzip.open(arguments.data / "test_2016_flickr.en.gz") as file:
        text.write_bytes(file.read())
    output = arguments.work / "polyglot.de"
    command = [sys.executable, "-m", "polyglot", "translate", run, text]
    command += ["--from", "en", "--to", "de", "--beam", "5", "--length-penalty", "0"]

    seconds = []
    peer_seconds: dict[int, list[float]] = {32: [], 64: []}  # by batch size
    peer_model = train_peer_model(arguments) if arguments.peer else None
    for _ in range(arguments.repetitions):
        seconds.append(timed(command, output=output))
        if peer_model:
            for batch_size, values in peer_seconds.items():
                values.append(translate_with_peer(arguments, peer_model, batch_size))

    results = {
        "polyglot_sentences_per_second": 1000 / statistics.median(seconds),
        **decoding_loop(run, text),
        "polyglot_mean_words": mean_words(output),
    }
    if peer_model:
        fastest = min(statistics.median(values) for values in peer_seconds.values())
        results["opennmt_py_sentences_per_second"] = 1000 / fastest
        results["opennmt_py_mean_words"] = mean_words(arguments.work / "peer" / "peer.de")
        results["ratio"] = (
            results["polyglot_sentences_per_second"] / results["opennmt_py_sentences_per_second"]
        )
    return results


def train_peer_model(arguments: argparse.Namespace) -> Path:
    """Return OpenNMT-py's model, which is trained once."""
    folder = arguments.work / "peer"
    steps = arguments.translation_steps
    path = folder / "onmt" / f"translate_step_{steps}.pt"
    if not path.exists():
        command = [arguments.peer / "onmt_train", "-config", "speed.yaml", "-input_feed", 0]
        command += ["-train_steps", steps, "-save_checkpoint_steps", steps]
        command += ["-report_every", 50, "-valid_steps", NEVER, "-save_model", "onmt/translate"]
        run_quietly(command, folder)
    return path


def translate_with_peer(arguments: argparse.Namespace, model: Path, batch_size: int) -> float:
    """Translate with OpenNMT-py; return the seconds of the whole process."""
    command = [arguments.peer / "onmt_translate", "-model", model]
    command += ["-src", "test.en", "-output", "peer.de"]
    command += ["-beam_size", 5, "-batch_size", batch_size]
    return timed(command, folder=arguments.work / "peer")


class CountingDecoder:
    """Counts the floating-point operations of a decoder, by wrapping its `start` and `step`."""

    def __init__(self, decoder) -> None:
        self.operations = 0
        self._start = decoder.start
        self._step = decoder.step
        matrices = 0
        for name, parameter in decoder.named_parameters():
            if parameter.dim() == 2 and "embedding" not in name:
                matrices += parameter.numel()
        body = decoder.body
        # These weights are used once for each different word of a step.
        self._word_weights = body.recurrence.weight_ih_l0.numel()
        # These weights are used once for each row of the bridge.
        self._memory_weights = body.attention.query.weight.numel()
        self._memory_weights += body.combine.weight.numel() // 2
        self._state_weights = matrices - self._word_weights - self._memory_weights
        decoder.start = self.start
        decoder.step = self.step

    def start(self, memory):
        rows = memory.states.shape[0] * memory.states.shape[1]
        self.operations += 2 * rows * self._memory_weights
        return self._start(memory)

    def step(self, tokens, state, memory):
        self.operations += 2 * len(tokens) * self._state_weights
        self.operations += 2 * len(tokens.unique()) * self._word_weights
        return self._step(tokens, state, memory)


def decoding_loop(run: Path, text: Path) -> dict[str, float]:
    """Return the speed of a loaded model, and its share of the matrix-product limit."""
    import torch

    import polyglot

    torch.set_num_threads(THREADS)
    model = polyglot.load(run)
    sentences = text.read_text().splitlines()
    counter = CountingDecoder(model.model.decoders["de"])
    shares = []
    seconds = []
    for _ in range(3):
        limit = matrix_product_limit()
        counter.operations = 0
        start_time = time.perf_counter()
        model.translate(sentences, source="en", target="de", beam=5, length_penalty=0.0)
        seconds.append(time.perf_counter() - start_time)
        shares.append(counter.operations / seconds[-1] / limit)
    return {
        "share_of_matrix_product_limit": statistics.median(shares),
        "sentences_per_second_loaded": len(sentences) / statistics.median(seconds),
    }


def mean_words(path: Path) -> float:
    """Return the mean number of words of a line; lines of OpenNMT-py are pieces."""
    counts = []
    for line in path.read_text().splitlines():
        if "▁" in line:
            line = line.replace(" ", "").replace("▁", " ")
        counts.append(len(line.split()))
    return statistics.mean(counts)


if __name__ == "__main__":
    parts = {
        "start": start,
        "products": products,
        "training": training,
        "languages": languages,
        "translation": translation,
    }
    run_benchmark("speed", parts, description=__doc__, peer_config=PEER_CONFIG)
