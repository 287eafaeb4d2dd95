"""How fast Polyglot trains and translates, beside OpenNMT-py on the same machine, text and model size, in one run.

    python evaluation/benchmarks/speed.py DATA WORK [--peer BIN]

DATA holds Multi30k (train.en.gz, …), as `polyglot fetch multi30k DATA` leaves it. BIN is the `bin` folder of a virtual
environment with torch and OpenNMT-py 3.0.4; without it only our own side is measured. Figures go to WORK/speed.md and
WORK/speed.json: medians of several repetitions, taken in turns so that a machine that slows down slows both sides.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import (  # beside this file
    THREADS,
    log,
    matrix_product_limit,
    measure,
    median_seconds,
    run_quietly,
    timed,
    train_ours,
    train_theirs,
    work_of_a_target_token,
)

SETTINGS = [  # 8k pieces a side, 2x256 BiLSTM, 2x512 LSTM, embeddings 512, batch 64, Adam 0.001, dropout 0.3
    "languages=[en,de]",
    "schedule={pairs: [en-de]}",
    "text.steps=[]",
    "vocabulary={type: bpe, size: 8000}",
    "model={encoder: {type: lstm, size: 512, layers: 2}, bridge: {type: attention, heads: 10, hidden_size: 1024}, "
    "decoder: {type: lstm, size: 512, layers: 2}, embedding: {size: 512}}",
    "optimizer={type: adam, learning_rate: 0.001}",
    "learning_rate_schedule={type: constant}",
    "data.filter={max_length: 200, max_ratio: null}",
    "validation={every: 1000000}",
    "data.valid=[]",
    "data.test=[]",
]
PEER = """
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


# What is measured -------------------------------------------------------------------------------------------------------------


def start(options: argparse.Namespace) -> dict[str, float]:
    """Seconds of `polyglot --help`, and from the second start of a run to its first step."""
    helps = [timed([sys.executable, "-m", "polyglot", "--help"]) for _ in range(5)]
    ours(options, "start", steps=1)
    began = time.time()
    run = ours(options, "start", steps=1)
    first = log(run)[0]["time"]
    return {
        "help_seconds": statistics.median(helps),
        "second_start_to_first_step_seconds": first - began,
    }


def products(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """GFLOP/s of the products of one step, for a few rows and for many: PyTorch's own, ours, and ours with the matrix laid out."""
    import torch
    from torch.nn import functional

    from polyglot.layers.linear import PackedLinear, product

    torch.set_num_threads(THREADS)
    figures = {}
    with torch.inference_mode():
        for width, height in ((1024, 2048), (512, 8000)):
            weight, bias = torch.randn(height, width), torch.randn(height)
            for rows in (5, 64, 1024):
                inputs, laid_out = torch.randn(rows, width), PackedLinear(weight, bias)
                ways = {
                    "PyTorch": lambda: functional.linear(inputs, weight, bias),
                    "ours": lambda: product(inputs, weight, bias),
                    "laid out": lambda: laid_out(inputs),
                }
                work = 2 * rows * width * height
                figures[f"{rows} rows by {height} x {width}"] = {
                    name: work / median_seconds(way) / 1e9 for name, way in ways.items()
                }
    return figures


def training(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Target tokens a second, with input feeding and without; and how near the matrix-product limit."""
    figures = {}
    for feeding in (False, True):
        our_rates, their_rates, shares = [], [], []
        for _ in range(options.repetitions):
            limit = matrix_product_limit()
            run = ours(
                options,
                "training",
                steps=options.steps,
                settings=[f"model.decoder.input_feeding={str(feeding).lower()}"],
            )
            windows = [line for line in log(run) if line["kind"] == "training"][2:]
            our_rates += [line["tokens_per_second"] for line in windows]
            shares += [
                line["tokens_per_second"] * work_of_a_target_token(run) / limit for line in windows
            ]
            if options.peer:
                their_rates += theirs(options, feeding=feeding)
        name = "input feeding" if feeding else "no input feeding"
        figures[name] = {
            "ours_tokens_per_second": statistics.median(our_rates),
            "share_of_matrix_product_limit": statistics.median(shares),
        }
        if their_rates:
            figures[name] |= {"theirs_tokens_per_second": statistics.median(their_rates)}
            figures[name]["ratio"] = (
                figures[name]["ours_tokens_per_second"] / figures[name]["theirs_tokens_per_second"]
            )
    return figures


def languages(options: argparse.Namespace) -> dict[str, float]:
    """Seconds of a step of one task, in a model of 4 languages and of 40 (the same text under 40 names)."""
    seconds: dict[int, list[float]] = {4: [], 40: []}
    for count in (4, 40):
        folder = options.work / "languages"
        folder.mkdir(exist_ok=True)
        for number in range(count):
            link = folder / f"train.l{number}.gz"
            if not link.exists():
                link.symlink_to(options.data / f"train.{'de' if number % 2 else 'en'}.gz")
    names = {count: ", ".join(f"l{number}" for number in range(count)) for count in seconds}
    for _ in range(options.repetitions):
        for count in seconds:
            run = ours(
                options,
                f"languages-{count}",
                steps=options.steps,
                settings=[
                    f"languages=[{names[count]}]",
                    f"data.folder={folder}",
                    "schedule={pairs: ['*-l0'], phases: [{pairs: [l1-l0]}]}",
                    "vocabulary={type: bpe, size: 2000}",
                    "model={encoder: {type: lstm, size: 256, layers: 1}, decoder: {type: lstm, size: 256, layers: 1}, "
                    "embedding: {size: 256}}",
                ],
            )
            seconds[count] += [
                1 / line["steps_per_second"] for line in log(run) if line["kind"] == "training"
            ][2:]
    medians = {
        f"seconds_of_a_step_with_{count}": statistics.median(values)
        for count, values in seconds.items()
    }
    return medians | {
        "ratio": medians["seconds_of_a_step_with_40"] / medians["seconds_of_a_step_with_4"]
    }


def translation(options: argparse.Namespace) -> dict[str, float]:
    """1 000 sentences at beam 5: the whole process beside the peer's, and the decoding loop beside the matrix-product limit.

    Neither side normalises by length (the peer's default), and both models have seen the same text as often, so that their
    translations are about as long; the figures say how long. The models are trained once and kept in WORK.
    """
    run = options.work / "runs" / f"translation-{options.translation_steps}"
    if not (run / "checkpoints").is_dir():
        ours(options, run.name, steps=options.translation_steps)
    text = options.work / "test.en.txt"
    text.write_bytes(gzip.open(options.data / "test_2016_flickr.en.gz").read())
    command = [
        sys.executable,
        "-m",
        "polyglot",
        "translate",
        str(run),
        str(text),
        "--from",
        "en",
        "--to",
        "de",
        "--beam",
        "5",
        "--length-penalty",
        "0",
    ]
    our_seconds, their_seconds = [], []
    if options.peer:
        peer_model = peer_for_translation(options)
    for _ in range(options.repetitions):
        our_seconds.append(timed(command, output=options.work / "ours.de"))
        if options.peer:
            their_seconds += [
                timed(
                    [
                        options.peer / "onmt_translate",
                        "-model",
                        peer_model,
                        "-src",
                        "test.en",
                        "-output",
                        "theirs.de",
                        "-beam_size",
                        "5",
                        "-batch_size",
                        str(size),
                    ],
                    folder=options.work / "peer",
                )
                for size in (32, 64)
            ]
    figures = {
        "ours_sentences_per_second": 1000 / statistics.median(our_seconds),
        **decoding_loop(run, text),
    }
    figures["ours_mean_words"] = mean_words(options.work / "ours.de")
    if their_seconds:
        best = min(statistics.median(their_seconds[0::2]), statistics.median(their_seconds[1::2]))
        figures |= {
            "theirs_sentences_per_second": 1000 / best,
            "theirs_mean_words": mean_words(options.work / "peer" / "theirs.de"),
        }
        figures["ratio"] = (
            figures["ours_sentences_per_second"] / figures["theirs_sentences_per_second"]
        )
    return figures


# Ours -------------------------------------------------------------------------------------------------------------------------


def ours(
    options: argparse.Namespace, name: str, *, steps: int, settings: Sequence[str] = ()
) -> Path:
    """Train a run afresh and return its folder."""
    return train_ours(options, name, steps=steps, settings=[*SETTINGS, *settings])


def decoding_loop(run: Path, text: Path) -> dict[str, float]:
    """Work of the search alone, counted where it happens, beside what a matrix product reaches."""
    import torch

    import polyglot

    torch.set_num_threads(THREADS)
    model = polyglot.load(run)
    sentences = text.read_text().splitlines()
    decoder = model.model.decoders["de"]
    matrices = sum(
        one.numel()
        for key, one in decoder.named_parameters()
        if one.dim() == 2 and "embedding" not in key
    )
    of_words = (
        decoder.body.recurrence.weight_ih_l0.numel()
    )  # meets each different word of a step once
    of_memory = (
        decoder.body.attention.query.weight.numel() + decoder.body.combine.weight.numel() // 2
    )  # each row of the bridge, once
    work, step, start = 0, decoder.step, decoder.start

    def counted(tokens, state, memory):  # noqa: ANN001, ANN202
        nonlocal work
        work += 2 * (
            len(tokens) * (matrices - of_words - of_memory) + len(tokens.unique()) * of_words
        )
        return step(tokens, state, memory)

    def started(memory):  # noqa: ANN001, ANN202
        nonlocal work
        work += 2 * memory.states.shape[0] * memory.states.shape[1] * of_memory
        return start(memory)

    decoder.step, decoder.start = counted, started
    shares, seconds = [], []
    for _ in range(3):
        limit, work = matrix_product_limit(), 0
        began = time.perf_counter()
        model.translate(sentences, source="en", target="de", beam=5, length_penalty=0.0)
        seconds.append(time.perf_counter() - began)
        shares.append(work / seconds[-1] / limit)
    return {
        "share_of_matrix_product_limit": statistics.median(shares),
        "sentences_per_second_loaded": len(sentences) / statistics.median(seconds),
    }


# Theirs -----------------------------------------------------------------------------------------------------------------------


def theirs(options: argparse.Namespace, *, feeding: bool) -> list[float]:
    """Target tokens a second of each window but the first two."""
    return train_theirs(options, "speed", "-input_feed", int(feeding))


def peer_for_translation(options: argparse.Namespace) -> Path:
    """The peer's model, trained once."""
    folder, steps = options.work / "peer", options.translation_steps
    path = folder / "onmt" / f"translate_step_{steps}.pt"
    command = [
        options.peer / "onmt_train",
        "-config",
        "speed.yaml",
        "-input_feed",
        "0",
        "-train_steps",
        str(steps),
        "-save_checkpoint_steps",
        str(steps),
        "-report_every",
        "50",
        "-valid_steps",
        "1000000",
        "-save_model",
        "onmt/translate",
    ]
    if not path.exists():
        run_quietly(command, folder)
    return path


def mean_words(path: Path) -> float:
    """Words of a line; the peer's lines are pieces still."""
    lines = (
        line.replace(" ", "").replace("▁", " ") if "▁" in line else line
        for line in path.read_text().splitlines()
    )
    return statistics.mean(len(line.split()) for line in lines)


if __name__ == "__main__":
    parts = {
        "start": start,
        "products": products,
        "training": training,
        "languages": languages,
        "translation": translation,
    }
    measure("speed", parts, description=__doc__, peer=PEER)
