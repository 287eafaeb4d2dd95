"""How fast a Transformer trains and translates, beside OpenNMT-py and CTranslate2 with the very same model, in one run.

    python evaluation/benchmarks/transformer.py DATA WORK --peer BIN

DATA holds Multi30k, as `polyglot fetch multi30k DATA` leaves it; BIN is the `bin` folder of a virtual environment with torch,
OpenNMT-py 3.0.4 and CTranslate2. 3+3 layers, 256 wide, 512 feed-forward, 4 heads, 8k pieces a side, batches of 4 096 tokens.
OpenNMT-py trains the model that translates; we take it over with `polyglot convert`, and CTranslate2 with its own converter.
Figures go to WORK/transformer.md and WORK/transformer.json: medians of repetitions, taken in turns.
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

from measuring import (  # beside this file
    environment,
    log,
    matrix_product_limit,
    measure,
    run_quietly,
    timed,
    train_ours,
    train_theirs,
    work_of_a_target_token,
)

SETTINGS = [
    "languages=[en,de]",
    "schedule={pairs: [en-de]}",
    "text.steps=[]",
    "vocabulary={type: bpe, size: 8000}",
    "model={embedding: {size: 256, dropout: 0.1}, bridge: none, "
    + ", ".join(
        f"{part}: {{type: transformer, size: 256, layers: 3, heads: 4, feed_forward: 512, dropout: 0.1, activation_dropout: 0.1}}"
        for part in ("encoder", "decoder")
    )
    + "}",
    "losses={translation: {label_smoothing: 0.1}}",
    "batching={by: tokens, size: 4096}",
    "optimizer={type: adam, learning_rate: 0.001}",
    "learning_rate_schedule={type: constant}",
    "data.filter={max_length: 200, max_ratio: null}",
    "validation={every: 1000000}",
    "data.valid=[]",
]
PEER = """
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
folder, text, kind, beam = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
lines = [line.split() for line in open(text, encoding="utf-8").read().splitlines()]
translator = ctranslate2.Translator(folder, device="cpu", compute_type=kind, inter_threads=2, intra_threads=1)
translator.translate_batch(lines[:64], beam_size=beam, max_batch_size=32)
began = time.perf_counter()
found = translator.translate_batch(lines, beam_size=beam, max_batch_size=32)
print(len(lines) / (time.perf_counter() - began), sum(len(one.hypotheses[0]) for one in found) / len(found))
"""


# What is measured -------------------------------------------------------------------------------------------------------------


def training(options: argparse.Namespace) -> dict[str, float]:
    """Target tokens a second, ours without and with the attention bridge, and theirs."""
    ours_rates: dict[str, list[float]] = {"none": [], "attention": []}
    their_rates, shares = [], []
    for _ in range(options.repetitions):
        limit = matrix_product_limit()
        for bridge, rates in ours_rates.items():
            run = ours(
                options,
                f"transformer-{bridge}",
                steps=options.steps,
                settings=[f"model.bridge={bridge}"],
            )
            found = [line["tokens_per_second"] for line in log(run) if line["kind"] == "training"][
                2:
            ]
            rates += found
            if bridge == "none":
                shares += [rate * work_of_a_target_token(run) / limit for rate in found]
        their_rates += train_theirs(options, "transformer")
    figures = {
        f"ours_tokens_per_second_bridge_{bridge}": statistics.median(rates)
        for bridge, rates in ours_rates.items()
    }
    figures |= {
        "theirs_tokens_per_second": statistics.median(their_rates),
        "share_of_matrix_product_limit": statistics.median(shares),
    }
    return figures | {
        "ratio": figures["ours_tokens_per_second_bridge_none"] / figures["theirs_tokens_per_second"]
    }


def translation(options: argparse.Namespace) -> dict[str, float]:
    """The thousand sentences of flickr 2016 with the same model, whole processes; and how many translations are the same."""
    model, run = models(options)
    text = options.work / "peer" / "test.en"
    sentences = len(text.read_text().splitlines())
    figures: dict[str, float] = {}
    for beam in (5, 1):
        seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(options.repetitions):
            command = [
                sys.executable,
                "-m",
                "polyglot",
                "translate",
                run,
                text,
                "--from",
                "en",
                "--to",
                "de",
                "--beam",
                beam,
            ]
            seconds["ours"].append(timed(command, output=options.work / f"ours.{beam}"))
            command = [
                options.peer / "onmt_translate",
                "-model",
                model,
                "-src",
                text,
                "-output",
                options.work / f"theirs.{beam}",
                "-beam_size",
                beam,
            ]
            seconds["theirs"].append(
                min(timed([*command, "-batch_size", size]) for size in (32, 64))
            )
        for side, values in seconds.items():
            figures[f"beam_{beam}_{side}_sentences_per_second"] = sentences / statistics.median(
                values
            )
        figures[f"beam_{beam}_ratio"] = statistics.median(seconds["theirs"]) / statistics.median(
            seconds["ours"]
        )
        one, other = (
            (options.work / f"{side}.{beam}").read_text().splitlines()
            for side in ("ours", "theirs")
        )
        figures[f"beam_{beam}_same_translations"] = sum(map(str.__eq__, one, other))
    return figures


def loaded(options: argparse.Namespace) -> dict[str, float]:
    """The same sentences and model, already loaded, two workers of one thread each: ours, and CTranslate2 in two precisions."""
    model, run = models(options)
    folder, text = options.work / "ctranslate2", options.work / "peer" / "test.en"
    if not folder.is_dir():
        run_quietly(
            [
                options.peer / "ct2-opennmt-py-converter",
                "--model_path",
                model,
                "--output_dir",
                folder,
            ],
            options.work,
        )
    figures: dict[str, float] = {}
    for beam in (5, 1):
        rates: dict[str, list[float]] = {
            "ours": [],
            "ours_own_search": [],
            "ctranslate2_float32": [],
            "ctranslate2_int8": [],
        }
        for _ in range(options.repetitions):
            rates["ours"].append(two_workers(run, text, beam=beam))
            rates["ours_own_search"].append(two_workers(run, text, beam=beam, like=None))
            for kind in ("float32", "int8"):
                command = [options.peer / "python", "-c", CTRANSLATE2, folder, text, kind, beam]
                done = subprocess.run(
                    list(map(str, command)),
                    check=True,
                    text=True,
                    stdout=subprocess.PIPE,
                    env=environment(),
                )
                rates[f"ctranslate2_{kind}"].append(float(done.stdout.split()[0]))
        figures |= {
            f"beam_{beam}_{name}_sentences_per_second": statistics.median(values)
            for name, values in rates.items()
        }
        figures[f"beam_{beam}_share_of_ctranslate2_float32"] = statistics.median(
            rates["ours"]
        ) / statistics.median(rates["ctranslate2_float32"])
    return figures


def profile(options: argparse.Namespace) -> dict[str, float]:
    """Where the time of a search goes, by operation, as shares of it; the whole table in WORK/transformer-profile.txt."""
    import torch
    from torch.profiler import profile as record

    import polyglot

    torch.set_num_threads(1)
    model = polyglot.load(models(options)[1])
    sentences = (options.work / "peer" / "test.en").read_text().splitlines()[:300]
    model.translate(sentences, source="en", target="de", beam=5)
    with record() as found:
        model.translate(sentences, source="en", target="de", beam=5)
    averages = found.key_averages()
    (options.work / "transformer-profile.txt").write_text(
        averages.table(sort_by="self_cpu_time_total", row_limit=40)
    )
    total = sum(one.self_cpu_time_total for one in averages)
    largest = sorted(averages, key=lambda one: one.self_cpu_time_total, reverse=True)[:10]
    return {one.key: one.self_cpu_time_total / total for one in largest}


# The two sides ----------------------------------------------------------------------------------------------------------------


def ours(options: argparse.Namespace, name: str, *, steps: int, settings: list[str]) -> Path:
    """Train a run afresh and return its folder."""
    return train_ours(options, name, steps=steps, settings=[*SETTINGS, *settings])


def models(options: argparse.Namespace) -> tuple[Path, Path]:
    """Their checkpoint, trained once, and our run with the same model."""
    steps, folder = options.translation_steps, options.work / "peer"
    checkpoint, run = (
        folder / "onmt" / f"taken_step_{steps}.pt",
        options.work / "runs" / f"taken-over-{steps}",
    )
    if not checkpoint.exists():
        command = [
            options.peer / "onmt_train",
            "-config",
            "transformer.yaml",
            "-train_steps",
            steps,
            "-save_checkpoint_steps",
            steps,
        ]
        run_quietly(
            [*command, "-report_every", 50, "-valid_steps", 1000000, "-save_model", "onmt/taken"],
            folder,
        )
    if not run.is_dir():
        run_quietly(
            [
                sys.executable,
                "-m",
                "polyglot",
                "convert",
                checkpoint,
                run,
                "--from",
                "en",
                "--to",
                "de",
            ],
            options.work,
        )
    return checkpoint, run


def two_workers(run: Path, text: Path, *, beam: int, like: str | None = "opennmt") -> float:
    """Sentences a second of two processes with one thread each, every other sentence for each, once both have loaded."""
    context = multiprocessing.get_context("spawn")
    barrier, ends = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=work, args=(run, text, number, beam, like, barrier, ends))
        for number in range(2)
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    began = time.perf_counter()
    for worker in workers:
        ends.get()
    seconds = time.perf_counter() - began
    for worker in workers:
        worker.join()
    return len(text.read_text().splitlines()) / seconds


def work(
    run: Path,
    text: Path,
    number: int,
    beam: int,
    like: str | None,
    barrier: Barrier,
    ends: multiprocessing.Queue,
) -> None:
    import torch

    import polyglot
    from polyglot.core.environment import keep_freed_memory, limit_shape_caches

    keep_freed_memory()
    limit_shape_caches()
    torch.set_num_threads(1)
    model, sentences = polyglot.load(run), text.read_text().splitlines()[number::2]
    model.translate(sentences[:64], source="en", target="de", beam=beam, like=like)
    barrier.wait()
    model.translate(sentences, source="en", target="de", beam=beam, like=like)
    ends.put(number)


if __name__ == "__main__":
    parts = {"training": training, "translation": translation, "loaded": loaded, "profile": profile}
    measure("transformer", parts, description=__doc__, peer=PEER, needs_peer=True)
