"""Tools of the benchmarks: command line, training of both programs, timing, and pages."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from polyglot.core.environment import (
    keep_freed_memory,
    limit_shape_caches,
    reduce_garbage_collection,
)
from polyglot.core.markdown import table

THREADS = 2
WARMUP_WINDOWS = 2
"""Windows of the training log that are not counted."""
NEVER = 1_000_000
"""Number of steps that no training reaches."""

Part = Callable[[argparse.Namespace], dict]


def run_benchmark(
    name: str,
    parts: Mapping[str, Part],
    *,
    description: str,
    peer_config: str,
    needs_peer: bool = False,
) -> None:
    """Run the parts of a benchmark, or those that `--only` names; write and print the results.

    peer_config: configuration of OpenNMT-py.
    """
    arguments = parse_arguments(description, list(parts), needs_peer=needs_peer)
    arguments.data = arguments.data.resolve()
    arguments.work = arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if arguments.peer:
        arguments.peer = arguments.peer.resolve()
        prepare_peer(arguments, name, peer_config)

    # Measurements in this process have the same settings as the commands.
    limit_shape_caches()
    keep_freed_memory()
    reduce_garbage_collection()
    results = {
        "machine": machine(),
        "threads": THREADS,
        "repetitions": arguments.repetitions,
    }
    for part in arguments.only or parts:
        results[part] = parts[part](arguments)
        print(json.dumps({part: results[part]}, indent=1), flush=True)
    page = markdown(results)
    (arguments.work / f"{name}.json").write_text(json.dumps(results, indent=1))
    (arguments.work / f"{name}.md").write_text(page)
    print(page)


def parse_arguments(
    description: str, parts: Sequence[str], *, needs_peer: bool
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument(
        "--peer",
        type=Path,
        required=needs_peer,
        help="bin folder of an environment with OpenNMT-py 3.0.4",
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--steps",
        type=int,
        default=80,
        help="training steps of each repetition; the first windows are a warm-up",
    )
    parser.add_argument(
        "--translation-steps",
        type=int,
        default=1000,
        help="training steps of the models that translate",
    )
    parser.add_argument("--only", choices=parts, action="append")
    return parser.parse_args()


# Polyglot


def train_polyglot(
    arguments: argparse.Namespace, name: str, *, steps: int, settings: Sequence[str]
) -> Path:
    """Train a new run; return its directory."""
    run = arguments.work / "runs" / name
    shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable, "-m", "polyglot", "-q", "train", "multi30k/small"]
    command += [
        f"run={run}",
        f"data.folder={arguments.data}",
        f"training.steps={steps}",
        f"training.log_every={max(1, steps // 8)}",
        *settings,
    ]
    subprocess.run(command, check=True, env=environment())
    return run


def log(run: Path) -> list[dict]:
    lines = (run / "log.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def training_windows(run: Path) -> list[dict]:
    """Return the lines of the log about training, without the warm-up."""
    lines = [line for line in log(run) if line["kind"] == "training"]
    return lines[WARMUP_WINDOWS:]


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


def weight_count(parameters: Mapping[str, object]) -> int:
    """Return the number of weights in matrices, without embeddings."""
    count = 0
    for name, parameter in parameters.items():
        if parameter.dim() == 2 and "embedding" not in name:
            count += parameter.numel()
    return count


# OpenNMT-py


def prepare_peer(arguments: argparse.Namespace, name: str, peer_config: str) -> None:
    """Write configuration and text of OpenNMT-py: the same text in 8k pieces per side."""
    folder = arguments.work / "peer"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(peer_config)
    if (folder / "onmt" / "vocab.tgt").exists():
        return
    (folder / "onmt").mkdir(parents=True, exist_ok=True)
    for language in ("en", "de"):
        write_pieces(arguments.data, folder, language)
    command = [arguments.peer / "onmt_build_vocab", "-config", f"{name}.yaml", "-n_sample", "-1"]
    run_quietly(command, folder)


def write_pieces(data: Path, folder: Path, language: str) -> None:
    """Train a vocabulary, and write training and test text as pieces."""
    import sentencepiece

    model_file = folder / f"{language}.model"
    with model_file.open("wb") as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(read_gzip(data / f"train.{language}.gz")),
            model_writer=model,
            vocab_size=8000,
            model_type="bpe",
            character_coverage=1.0,
            minloglevel=2,
        )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
    for part, name in (("train", "train"), ("test_2016_flickr", "test")):
        lines = read_gzip(data / f"{part}.{language}.gz")
        with (folder / f"{name}.{language}").open("w") as output:
            for pieces in processor.encode(lines, out_type=str):
                print(*pieces, file=output)


def read_gzip(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def train_peer(arguments: argparse.Namespace, name: str, *settings: object) -> list[float]:
    """Train OpenNMT-py; return the target tokens per second of its log, without the warm-up."""
    steps = arguments.steps
    command = [arguments.peer / "onmt_train", "-config", f"{name}.yaml", *settings]
    command += ["-train_steps", steps, "-save_checkpoint_steps", steps]
    command += ["-report_every", max(1, steps // 8)]
    command += ["-valid_steps", NEVER, "-bucket_size", 32768]
    output = run_quietly(command, arguments.work / "peer")
    rates = re.findall(r"/\s*(\d+) tok/s", output)
    return [float(rate) for rate in rates[WARMUP_WINDOWS:]]


# Processes and timing


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(THREADS),
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    }


def run_quietly(command: Sequence[object], folder: Path) -> str:
    """Run a command in a folder and return its output; end with the output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def timed(
    command: Sequence[object], *, output: Path | None = None, folder: Path | None = None
) -> float:
    """Run a command; return the seconds of the whole process."""
    start = time.perf_counter()
    with open(output or os.devnull, "w") as file:
        subprocess.run(
            list(map(str, command)),
            check=True,
            stdout=file,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd=folder,
        )
    return time.perf_counter() - start


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(work: Callable[[], object]) -> float:
    """Return the median time of ten calls, after two calls as a warm-up."""
    seconds = [seconds_of(work) for _ in range(12)]
    return statistics.median(seconds[2:])


def matrix_product_limit() -> float:
    """Return the floating-point operations per second of a 2048³ float32 matrix product."""
    import torch

    torch.set_num_threads(THREADS)
    left = torch.randn(2048, 2048)
    right = torch.randn(2048, 2048)
    return 2 * 2048**3 / median_seconds(lambda: left @ right)


# Page


def machine() -> str:
    """Return processor, number of cores, version of PyTorch, and speed of a matrix product."""
    import torch

    processor = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = re.search(r"model name\s*: (.*)", cpuinfo.read_text())
        if model:
            processor = model[1]
    limit = matrix_product_limit() / 1e9
    return f"{processor}, {os.cpu_count()} cores, torch {torch.__version__}, {limit:.0f} GFLOP/s"


def markdown(results: Mapping[str, object]) -> str:
    """Return the page: one table per part."""
    lines = [
        "# Speed",
        "",
        f"- machine: {results['machine']}",
        f"- threads: {results['threads']}; repetitions: {results['repetitions']}",
        "",
    ]
    for name, values in results.items():
        if isinstance(values, dict):
            rows = [[key, f"{value:,.3f}"] for key, value in flatten(values)]
            lines += [f"## {name}", "", table(["measure", "value"], rows), ""]
    return "\n".join(lines)


def flatten(values: Mapping[str, object]) -> list[tuple[str, float]]:
    """Return names and values; a nested name becomes `outer: inner`."""
    pairs = []
    for key, value in values.items():
        if isinstance(value, dict):
            for inner_key, inner_value in value.items():
                pairs.append((f"{key}: {inner_key.replace('_', ' ')}", inner_value))
        else:
            pairs.append((key.replace("_", " "), value))
    return pairs
