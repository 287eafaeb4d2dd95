"""Speed of a Transformer, compared with OpenNMT-py and with CTranslate2 with the same parameters.

    python evaluation/benchmarks/transformer.py DATA WORK --peer BIN

DATA holds Multi30k, as `polyglot fetch multi30k DATA` writes it; BIN is the `bin` folder of a
virtual environment with torch, OpenNMT-py 3.0.4 and CTranslate2. The model has 3 + 3 layers, size
256, feed-forward 512, 4 heads, 8k pieces per side; batches have 4 096 tokens. OpenNMT-py trains
the model that translates; `polyglot convert` and CTranslate2's converter import it. Results are
written to WORK/transformer.md and WORK/transformer.json: medians of repetitions, in turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import subprocess
import sys
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

from measuring import (
    NEVER,
    environment,
    matrix_product_limit,
    operations_per_target_token,
    run_benchmark,
    run_quietly,
    timed,
    train_peer,
    train_polyglot,
    training_windows,
)

from polyglot.core.environment import keep_freed_memory, limit_shape_caches

LAYERS = (
    "{type: transformer, size: 256, layers: 3, heads: 4, feed_forward: 512, dropout: 0.1, "
    "activation_dropout: 0.1}"
)
SETTINGS = [
    "languages=[en,de]",
    "schedule={pairs: [en-de]}",
    "text.steps=[]",
    "vocabulary={type: bpe, size: 8000}",
    "model={embedding: {size: 256, dropout: 0.1}, bridge: none, "
    f"encoder: {LAYERS}, decoder: {LAYERS}}}",
    "losses={translation: {label_smoothing: 0.1}}",
    "batching={by: tokens, size: 4096}",
    "optimizer={type: adam, learning_rate: 0.001}",
    "learning_rate_schedule={type: constant}",
    "data.filter={max_length: 200, max_ratio: null}",
    "validation={every: 1000000}",
    "data.valid=[]",
]
PEER_CONFIG = """
save_data: onmt/run
src_vocab: onmt/vocab.src
tgt_vocab: onmt/vocab.tgt
overwrite: true
data:
  corpus_1: {path_src: train.en, path_tgt: train.de}
save_model: onmt/transformer
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
CTRANSLATE2 = """
import sys, time, ctranslate2
folder, path, precision, beam = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    lines = [line.split() for line in file.read().splitlines()]
translator = ctranslate2.Translator(
    folder, device="cpu", compute_type=precision, inter_threads=2, intra_threads=1
)
options = {"beam_size": int(beam), "max_batch_size": 32}
translator.translate_batch(lines[:64], **options)
start = time.perf_counter()
translator.translate_batch(lines, **options)
print(len(lines) / (time.perf_counter() - start))
"""
BEAMS = (5, 1)


# Training


def training(arguments: argparse.Namespace) -> dict[str, float]:
    """Return target tokens per second without and with the attention bridge, and of OpenNMT-py."""
    rates: dict[str, list[float]] = {"none": [], "attention": []}
    peer_rates = []
    shares = []
    for _ in range(arguments.repetitions):
        limit = matrix_product_limit()
        for bridge, values in rates.items():
            run = train_polyglot(
                arguments,
                f"transformer-{bridge}",
                steps=arguments.steps,
                settings=[*SETTINGS, f"model.bridge={bridge}"],
            )
            run_rates = [line["tokens_per_second"] for line in training_windows(run)]
            values += run_rates
            if bridge == "none":
                operations = operations_per_target_token(run)
                shares += [rate * operations / limit for rate in run_rates]
        peer_rates += train_peer(arguments, "transformer")

    without_bridge = statistics.median(rates["none"])
    peer_rate = statistics.median(peer_rates)
    return {
        "polyglot_tokens_per_second_without_bridge": without_bridge,
        "polyglot_tokens_per_second_with_attention_bridge": statistics.median(rates["attention"]),
        "opennmt_py_tokens_per_second": peer_rate,
        "share_of_matrix_product_limit": statistics.median(shares),
        "ratio": without_bridge / peer_rate,
    }


# Translation


def translation(arguments: argparse.Namespace) -> dict[str, float]:
    """Translate the thousand sentences of flickr 2016 with the same model in whole processes.

    The results contain the number of equal translations.
    """
    checkpoint, run = models(arguments)
    text = arguments.work / "peer" / "test.en"
    sentence_count = len(text.read_text().splitlines())
    results: dict[str, float] = {}
    for beam in BEAMS:
        output = arguments.work / f"polyglot.{beam}"
        peer_output = arguments.work / f"peer.{beam}"
        command = [sys.executable, "-m", "polyglot", "translate", run, text]
        command += ["--from", "en", "--to", "de", "--beam", beam]
        peer_command = [arguments.peer / "onmt_translate", "-model", checkpoint, "-src", text]
        peer_command += ["-output", peer_output, "-beam_size", beam]

        seconds = []
        peer_seconds = []
        for _ in range(arguments.repetitions):
            seconds.append(timed(command, output=output))
            fastest = min(timed([*peer_command, "-batch_size", size]) for size in (32, 64))
            peer_seconds.append(fastest)
        median = statistics.median(seconds)
        peer_median = statistics.median(peer_seconds)
        results[f"beam_{beam}_polyglot_sentences_per_second"] = sentence_count / median
        results[f"beam_{beam}_opennmt_py_sentences_per_second"] = sentence_count / peer_median
        results[f"beam_{beam}_ratio"] = peer_median / median
        results[f"beam_{beam}_equal_translations"] = equal_lines(output, peer_output)
    return results


def equal_lines(path: Path, other_path: Path) -> int:
    """Return the number of lines that are equal in both files."""
    lines = path.read_text().splitlines()
    other_lines = other_path.read_text().splitlines()
    return sum(line == other_line for line, other_line in zip(lines, other_lines))


def loaded(arguments: argparse.Namespace) -> dict[str, float]:
    """Translate the same sentences with loaded models, in two workers of one thread each.

    Measured are Polyglot with the search of OpenNMT-py and with its own search, and CTranslate2 in
    two precisions.
    """
    checkpoint, run = models(arguments)
    text = arguments.work / "peer" / "test.en"
    folder = arguments.work / "ctranslate2"
    if not folder.is_dir():
        command = [arguments.peer / "ct2-opennmt-py-converter"]
        command += ["--model_path", checkpoint, "--output_dir", folder]
        run_quietly(command, arguments.work)

    results: dict[str, float] = {}
    for beam in BEAMS:
        rates: dict[str, list[float]] = {
            "polyglot": [],
            "polyglot_own_search": [],
            "ctranslate2_float32": [],
            "ctranslate2_int8": [],
        }
        for _ in range(arguments.repetitions):
            rates["polyglot"].append(two_workers(run, text, beam=beam, like="opennmt"))
            rates["polyglot_own_search"].append(two_workers(run, text, beam=beam, like=None))
            for precision in ("float32", "int8"):
                rate = ctranslate2_rate(arguments, folder, text, precision, beam=beam)
                rates[f"ctranslate2_{precision}"].append(rate)
        medians = {name: statistics.median(values) for name, values in rates.items()}
        for name, rate in medians.items():
            results[f"beam_{beam}_{name}_sentences_per_second"] = rate
        share = medians["polyglot"] / medians["ctranslate2_float32"]
        results[f"beam_{beam}_share_of_ctranslate2_float32"] = share
    return results


def ctranslate2_rate(
    arguments: argparse.Namespace, folder: Path, text: Path, precision: str, *, beam: int
) -> float:
    """Return the sentences per second of CTranslate2."""
    command = [arguments.peer / "python", "-c", CTRANSLATE2, folder, text, precision, beam]
    done = subprocess.run(
        list(map(str, command)),
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    return float(done.stdout)


def profile(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the ten operations that need most time, as shares of the time of a search.

    The whole table is written to WORK/transformer-profile.txt.
    """
    import torch
    from torch.profiler import profile as record

    import polyglot

    torch.set_num_threads(1)
    _, run = models(arguments)
    model = polyglot.load(run)
    text = arguments.work / "peer" / "test.en"
    sentences = text.read_text().splitlines()[:300]
    model.translate(sentences, source="en", target="de", beam=5)  # warm-up
    with record() as recorded:
        model.translate(sentences, source="en", target="de", beam=5)

    operations = recorded.key_averages()
    page = operations.table(sort_by="self_cpu_time_total", row_limit=40)
    (arguments.work / "transformer-profile.txt").write_text(page)
    seconds = {operation.key: operation.self_cpu_time_total for operation in operations}
    total = sum(seconds.values())
    slowest = sorted(seconds, key=seconds.__getitem__, reverse=True)[:10]
    return {name: seconds[name] / total for name in slowest}


# Models


def models(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """Return OpenNMT-py's checkpoint, which is trained once, and Polyglot's run with its model."""
    steps = arguments.translation_steps
    folder = arguments.work / "peer"
    checkpoint = folder / "onmt" / f"taken_step_{steps}.pt"
    if not checkpoint.exists():
        command = [arguments.peer / "onmt_train", "-config", "transformer.yaml"]
        command += ["-train_steps", steps, "-save_checkpoint_steps", steps]
        command += ["-report_every", 50, "-valid_steps", NEVER, "-save_model", "onmt/taken"]
        run_quietly(command, folder)

    run = arguments.work / "runs" / f"taken-over-{steps}"
    if not run.is_dir():
        command = [sys.executable, "-m", "polyglot", "convert", checkpoint, run]
        command += ["--from", "en", "--to", "de"]
        run_quietly(command, arguments.work)
    return checkpoint, run


# Two workers


def two_workers(run: Path, text: Path, *, beam: int, like: str | None) -> float:
    """Return the sentences per second of two processes with one thread each.

    Each process translates every second sentence. The time starts when both have loaded the model.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    finished = context.Queue()
    workers = []
    for number in range(2):
        arguments = (run, text, number, beam, like, barrier, finished)
        workers.append(context.Process(target=translate_half, args=arguments))
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    for _ in workers:
        finished.get()
    seconds = time.perf_counter() - start
    for worker in workers:
        worker.join()
    return len(text.read_text().splitlines()) / seconds


def translate_half(
    run: Path,
    text: Path,
    number: int,
    beam: int,
    like: str | None,
    barrier: Barrier,
    finished: multiprocessing.Queue,
) -> None:
    """Load the model, wait for the other worker, and translate every second sentence."""
    keep_freed_memory()
    limit_shape_caches()
    import torch

    import polyglot

    torch.set_num_threads(1)
    model = polyglot.load(run)
    sentences = text.read_text().splitlines()[number::2]
    settings = {"source": "en", "target": "de", "beam": beam, "like": like}
    model.translate(sentences[:64], **settings)  # warm-up
    barrier.wait()
    model.translate(sentences, **settings)
    finished.put(number)


if __name__ == "__main__":
    parts = {"training": training, "translation": translation, "loaded": loaded, "profile": profile}
    run_benchmark(
        "transformer", parts, description=__doc__, peer_config=PEER_CONFIG, needs_peer=True
    )
