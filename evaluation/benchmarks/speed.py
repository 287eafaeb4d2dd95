"""How fast Polyglot trains and translates, beside OpenNMT-py on the same machine, text and model size, in one run.

    python evaluation/benchmarks/speed.py DATA WORK [--peer BIN]

DATA holds Multi30k (train.en.gz, …), as `polyglot fetch multi30k DATA` leaves it. BIN is the `bin` folder of a virtual
environment with torch and OpenNMT-py 3.0.4; without it only our own side is measured. Figures go to WORK/speed.md and
WORK/speed.json: medians of several repetitions, taken in turns so that a machine that slows down slows both sides.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

THREADS = 2
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--peer", type=Path, help="bin folder of an environment with OpenNMT-py 3.0.4")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=80, help="training steps of each repetition; the first windows are left out")
    parser.add_argument("--translation-steps", type=int, default=1000, help="training steps of the models that translate")
    parser.add_argument("--only", choices=["start", "products", "training", "languages", "translation"], action="append")
    options = parser.parse_args()
    options.data, options.work = options.data.resolve(), options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.peer:
        options.peer = options.peer.resolve()
        prepare_peer(options)
    from polyglot.process import collect_rarely, keep_freed_memory

    keep_freed_memory()  # what is measured in this process has what the command has: the loop of decoding, and the limit
    collect_rarely()
    parts = {"start": start, "products": products, "training": training, "languages": languages, "translation": translation}
    figures = {"machine": machine(), "threads": THREADS, "repetitions": options.repetitions}
    for name in options.only or parts:
        figures[name] = parts[name](options)
        print(json.dumps({name: figures[name]}, indent=1), flush=True)
    (options.work / "speed.json").write_text(json.dumps(figures, indent=1))
    (options.work / "speed.md").write_text(markdown(figures))
    print(markdown(figures))


# What is measured -------------------------------------------------------------------------------------------------------------


def start(options: argparse.Namespace) -> dict[str, float]:
    """Seconds of `polyglot --help`, and from the second start of a run to its first step."""
    helps = [timed([sys.executable, "-m", "polyglot", "--help"]) for _ in range(5)]
    ours(options, "start", steps=1)
    began = time.time()
    run = ours(options, "start", steps=1)
    first = log(run)[0]["time"]
    return {"help_seconds": statistics.median(helps), "second_start_to_first_step_seconds": first - began}


def products(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """GFLOP/s of the products of one step, for a few rows and for many: PyTorch's own, ours, and ours with the matrix laid out."""
    import torch
    from torch.nn import functional

    from polyglot.layers.linear import LaidOut, product

    torch.set_num_threads(THREADS)
    figures = {}
    with torch.inference_mode():
        for width, height in ((1024, 2048), (512, 8000)):
            weight, bias = torch.randn(height, width), torch.randn(height)
            for rows in (5, 64, 1024):
                inputs, laid_out = torch.randn(rows, width), LaidOut(weight, bias)
                ways = {
                    "PyTorch": lambda: functional.linear(inputs, weight, bias),
                    "ours": lambda: product(inputs, weight, bias),
                    "laid out": lambda: laid_out(inputs),
                }
                work = 2 * rows * width * height
                figures[f"{rows} rows by {height} x {width}"] = {name: work / median_seconds(way) / 1e9 for name, way in ways.items()}
    return figures


def training(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Target tokens a second, with input feeding and without; and how near the matrix-product limit."""
    figures = {}
    for feeding in (False, True):
        our_rates, their_rates, shares = [], [], []
        for _ in range(options.repetitions):
            limit = matrix_product_limit()
            run = ours(options, "training", steps=options.steps, settings=[f"model.decoder.input_feeding={str(feeding).lower()}"])
            windows = [line for line in log(run) if line["kind"] == "training"][2:]
            our_rates += [line["tokens_per_second"] for line in windows]
            shares += [line["tokens_per_second"] * work_of_a_target_token(run) / limit for line in windows]
            if options.peer:
                their_rates += theirs(options, feeding=feeding)
        name = "input feeding" if feeding else "no input feeding"
        figures[name] = {"ours_tokens_per_second": statistics.median(our_rates), "share_of_matrix_product_limit": statistics.median(shares)}
        if their_rates:
            figures[name] |= {"theirs_tokens_per_second": statistics.median(their_rates)}
            figures[name]["ratio"] = figures[name]["ours_tokens_per_second"] / figures[name]["theirs_tokens_per_second"]
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
                    "model={encoder: {type: lstm, size: 256, layers: 1}, decoder: {type: lstm, size: 256, layers: 1}, embedding: {size: 256}}",
                ],
            )
            seconds[count] += [1 / line["steps_per_second"] for line in log(run) if line["kind"] == "training"][2:]
    medians = {f"seconds_of_a_step_with_{count}": statistics.median(values) for count, values in seconds.items()}
    return medians | {"ratio": medians["seconds_of_a_step_with_40"] / medians["seconds_of_a_step_with_4"]}


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
    command = [sys.executable, "-m", "polyglot", "translate", str(run), str(text), "--from", "en", "--to", "de", "--beam", "5", "--length-penalty", "0"]
    our_seconds, their_seconds = [], []
    if options.peer:
        peer_model = peer_for_translation(options)
    for _ in range(options.repetitions):
        our_seconds.append(timed(command, output=options.work / "ours.de"))
        if options.peer:
            their_seconds += [
                timed(
                    [options.peer / "onmt_translate", "-model", peer_model, "-src", "test.en", "-output", "theirs.de",
                     "-beam_size", "5", "-batch_size", str(size)],
                    folder=options.work / "peer",
                )
                for size in (32, 64)
            ]
    figures = {"ours_sentences_per_second": 1000 / statistics.median(our_seconds), **decoding_loop(run, text)}
    figures["ours_mean_words"] = mean_words(options.work / "ours.de")
    if their_seconds:
        best = min(statistics.median(their_seconds[0::2]), statistics.median(their_seconds[1::2]))
        figures |= {"theirs_sentences_per_second": 1000 / best, "theirs_mean_words": mean_words(options.work / "peer" / "theirs.de")}
        figures["ratio"] = figures["ours_sentences_per_second"] / figures["theirs_sentences_per_second"]
    return figures


# Ours -------------------------------------------------------------------------------------------------------------------------


def ours(options: argparse.Namespace, name: str, *, steps: int, settings: list[str] = []) -> Path:
    """Train a run afresh and return its folder."""
    run = options.work / "runs" / name
    subprocess.run(["rm", "-rf", run], check=True)
    log_every = max(1, steps // 8)
    overrides = [f"run={run}", f"data.folder={options.data}", f"training.steps={steps}", f"training.log_every={log_every}", *SETTINGS, *settings]
    subprocess.run([sys.executable, "-m", "polyglot", "-q", "train", "multi30k/small", *overrides], check=True, env=environment())
    return run


def log(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def work_of_a_target_token(run: Path) -> float:
    """Floating-point operations of training for one real target token; padding counts as no work.

    A matrix is used once a position, forwards and twice backwards, two operations a parameter; embeddings are looked up.
    """
    from polyglot.batch import Batch  # noqa: F401  the package is imported only where it is measured from inside
    from polyglot.config import load_config
    from polyglot.run import Run
    from polyglot.training.start import build_datasets, build_model, corpora_of

    opened = Run.open(run)
    config = load_config(run / "config.yaml")
    dataset = build_datasets(config, corpora_of(config, config.data.train), opened.vocabularies, opened.normalisers)["en-de"]
    matrices = {
        name: sum(one.numel() for key, one in own.items() if one.dim() == 2 and "embedding" not in key)
        for name, own in build_model(config, opened.vocabularies, seed=None).component_parameters().items()
    }
    sources, targets = dataset.source_lengths.sum(), (dataset.target_lengths + 1).sum()
    # Two matrices meet the bridge's rows instead of the target's positions: that of `general` attention and half of the combining one.
    on_rows = 2 * config.model.decoder.size * config.model.memory_size
    rows = config.model.bridge.heads * len(dataset.target_lengths) / targets
    return 6 * ((matrices["encoder.en"] + matrices["bridge"]) * sources / targets + matrices["decoder.de"] - on_rows * (1 - rows))


def decoding_loop(run: Path, text: Path) -> dict[str, float]:
    """Work of the search alone, counted where it happens, beside what a matrix product reaches."""
    import torch

    import polyglot
    torch.set_num_threads(THREADS)
    model = polyglot.load(run)
    sentences = text.read_text().splitlines()
    decoder = model.model.decoders["de"]
    matrices = sum(one.numel() for key, one in decoder.named_parameters() if one.dim() == 2 and "embedding" not in key)
    of_words = decoder.body.recurrence.weight_ih_l0.numel()  # meets each different word of a step once
    of_memory = decoder.body.attention.query.weight.numel() + decoder.body.combine.weight.numel() // 2  # each row of the bridge, once
    work, step, start = 0, decoder.step, decoder.start

    def counted(tokens, state, memory):  # noqa: ANN001, ANN202
        nonlocal work
        work += 2 * (len(tokens) * (matrices - of_words - of_memory) + len(tokens.unique()) * of_words)
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


def prepare_peer(options: argparse.Namespace) -> None:
    """The same text in 8k pieces a side, and the peer's vocabularies."""
    import sentencepiece

    folder = options.work / "peer"
    if (folder / "onmt" / "vocab.tgt").exists():
        return
    (folder / "onmt").mkdir(parents=True, exist_ok=True)
    for language in ("en", "de"):
        lines = gzip.open(options.data / f"train.{language}.gz", "rt", encoding="utf-8").read().splitlines()
        with (folder / f"{language}.model").open("wb") as model:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=model, vocab_size=8000, model_type="bpe", character_coverage=1.0, minloglevel=2
            )
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{language}.model"))
        for part, name in (("train", "train"), ("test_2016_flickr", "test")):
            text = gzip.open(options.data / f"{part}.{language}.gz", "rt", encoding="utf-8").read().splitlines()
            (folder / f"{name}.{language}").write_text("".join(" ".join(line) + "\n" for line in pieces.encode(text, out_type=str)))
    (folder / "config.yaml").write_text(PEER)
    run_quietly([options.peer / "onmt_build_vocab", "-config", "config.yaml", "-n_sample", "-1"], folder)


def theirs(options: argparse.Namespace, *, feeding: bool) -> list[float]:
    """Target tokens a second of each window but the first two."""
    every = max(1, options.steps // 8)
    command = [
        options.peer / "onmt_train", "-config", "config.yaml", "-input_feed", str(int(feeding)), "-train_steps", str(options.steps),
        "-save_checkpoint_steps", str(options.steps), "-report_every", str(every), "-valid_steps", "1000000", "-bucket_size", "32768",
    ]
    output = run_quietly(command, options.work / "peer")
    return [float(rate) for rate in re.findall(r"/\s*(\d+) tok/s", output)][2:]


def peer_for_translation(options: argparse.Namespace) -> Path:
    """The peer's model, trained once."""
    folder, steps = options.work / "peer", options.translation_steps
    path = folder / "onmt" / f"translate_step_{steps}.pt"
    command = [
        options.peer / "onmt_train", "-config", "config.yaml", "-input_feed", "0", "-train_steps", str(steps),
        "-save_checkpoint_steps", str(steps), "-report_every", "50", "-valid_steps", "1000000", "-save_model", "onmt/translate",
    ]
    if not path.exists():
        run_quietly(command, folder)
    return path


# The machine ------------------------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": str(THREADS), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}


def run_quietly(command: list, folder: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def timed(command: list, *, output: Path | None = None, folder: Path | None = None) -> float:
    """Seconds of a whole process."""
    began = time.perf_counter()
    with open(output or os.devnull, "w") as file:
        subprocess.run(list(map(str, command)), check=True, stdout=file, stderr=subprocess.DEVNULL, env=environment(), cwd=folder)
    return time.perf_counter() - began


def matrix_product_limit() -> float:
    """Floating-point operations a second of a 2048³ float32 product, the median of ten."""
    import torch

    torch.set_num_threads(THREADS)
    one, other = torch.randn(2048, 2048), torch.randn(2048, 2048)
    return 2 * 2048**3 / median_seconds(lambda: one @ other)


def median_seconds(work: Callable[[], object]) -> float:
    """Of ten calls, after two to warm up."""
    seconds = []
    for _ in range(12):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[2:])


def mean_words(path: Path) -> float:
    """Words of a line; the peer's lines are pieces still."""
    lines = (line.replace(" ", "").replace("▁", " ") if "▁" in line else line for line in path.read_text().splitlines())
    return statistics.mean(len(line.split()) for line in lines)


def machine() -> str:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    import torch

    return f"{model[1] if model else platform.processor()}, {os.cpu_count()} cores, torch {torch.__version__}, {matrix_product_limit() / 1e9:.0f} GFLOP/s"


def markdown(figures: dict) -> str:
    lines = ["# Speed", "", f"- machine: {figures['machine']}", f"- threads: {figures['threads']}; repetitions: {figures['repetitions']}", ""]
    for name, values in figures.items():
        if isinstance(values, dict):
            lines += [f"## {name}", "", "| figure | value |", "|---|---:|"]
            flat = values.items() if not any(isinstance(one, dict) for one in values.values()) else [
                (f"{part}: {key}", value) for part, own in values.items() for key, value in own.items()
            ]
            lines += [f"| {key.replace('_', ' ')} | {value:,.3f} |" for key, value in flat] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
