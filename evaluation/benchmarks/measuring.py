"""What the benchmarks share: how they are called, how both sides train, how time is taken, and how figures are written."""

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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

THREADS = 2


def measure(
    name: str,
    parts: Mapping[str, Callable[[argparse.Namespace], dict]],
    *,
    description: str,
    peer: str,
    needs_peer: bool = False,
) -> None:
    """The program of a benchmark: measures its parts, or those that are asked for; writes and prints what was found.

    peer: OpenNMT-py's configuration.
    """
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
        help="training steps of each repetition; the first windows are left out",
    )
    parser.add_argument(
        "--translation-steps",
        type=int,
        default=1000,
        help="training steps of the models that translate",
    )
    parser.add_argument("--only", choices=list(parts), action="append")
    options = parser.parse_args()
    options.data, options.work = options.data.resolve(), options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.peer:
        options.peer = options.peer.resolve()
        prepare_peer(options, name, peer)
    from polyglot.core.environment import reduce_garbage_collection, keep_freed_memory, limit_shape_caches

    limit_shape_caches()
    keep_freed_memory()  # what is measured in this process has what the command has: the loop of decoding, and the limit
    reduce_garbage_collection()
    figures = {"machine": machine(), "threads": THREADS, "repetitions": options.repetitions}
    for part in options.only or parts:
        figures[part] = parts[part](options)
        print(json.dumps({part: figures[part]}, indent=1), flush=True)
    (options.work / f"{name}.json").write_text(json.dumps(figures, indent=1))
    (options.work / f"{name}.md").write_text(markdown(figures))
    print(markdown(figures))


# The two sides ----------------------------------------------------------------------------------------------------------------


def train_ours(
    options: argparse.Namespace, name: str, *, steps: int, settings: Sequence[str]
) -> Path:
    """Train a run afresh and return its folder."""
    run = options.work / "runs" / name
    subprocess.run(["rm", "-rf", run], check=True)
    own = [
        f"run={run}",
        f"data.folder={options.data}",
        f"training.steps={steps}",
        f"training.log_every={max(1, steps // 8)}",
    ]
    command = [sys.executable, "-m", "polyglot", "-q", "train", "multi30k/small", *own, *settings]
    subprocess.run(command, check=True, env=environment())
    return run


def log(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def work_of_a_target_token(run: Path) -> float:
    """Floating-point operations of training for one real target token; padding counts as no work.

    A matrix is used once a position, forwards and twice backwards, two operations a parameter; embeddings are looked up.
    """
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run
    from polyglot.tasks.batch import Batch  # noqa: F401  the package is imported only where it is measured from inside
    from polyglot.training.build import build_datasets, build_model
    from polyglot.training.preflight import load_training_corpora

    opened = Run.open(run)
    config = load_config(run / "config.yaml")
    dataset = build_datasets(
        config, load_training_corpora(config), opened.vocabularies, opened.normalisers, config.tasks
    )["en-de"]
    matrices = {
        name: sum(
            one.numel() for key, one in own.items() if one.dim() == 2 and "embedding" not in key
        )
        for name, own in build_model(config, opened.vocabularies, seed=None)
        .component_parameters()
        .items()
    }
    sources, targets = dataset.source_lengths.sum(), (dataset.target_lengths + 1).sum()
    # On the memory's rows instead of the target's positions: the keys and values of each layer of a Transformer, or in a recurrent
    # decoder the matrix of `general` attention and half of the combining one.
    decoder, bridge = config.model.decoder, config.model.bridge
    on_rows = (
        2
        * decoder.size
        * config.model.memory_size
        * (decoder.layers if decoder.type == "transformer" else 1)
    )
    rows = (
        sources if bridge.type == "none" else bridge.heads * len(dataset.target_lengths)
    ) / targets
    return 6 * (
        (matrices["encoder.en"] + matrices.get("bridge", 0)) * sources / targets
        + matrices["decoder.de"]
        - on_rows * (1 - rows)
    )


def prepare_peer(options: argparse.Namespace, name: str, peer: str) -> None:
    """The peer's configuration, the same text in 8k pieces a side, and the peer's vocabularies."""
    import sentencepiece

    folder = options.work / "peer"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(peer)
    if (folder / "onmt" / "vocab.tgt").exists():
        return
    (folder / "onmt").mkdir(parents=True, exist_ok=True)
    for language in ("en", "de"):
        lines = (
            gzip.open(options.data / f"train.{language}.gz", "rt", encoding="utf-8")
            .read()
            .splitlines()
        )
        with (folder / f"{language}.model").open("wb") as model:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                vocab_size=8000,
                model_type="bpe",
                character_coverage=1.0,
                minloglevel=2,
            )
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{language}.model"))
        for part, name in (("train", "train"), ("test_2016_flickr", "test")):
            text = (
                gzip.open(options.data / f"{part}.{language}.gz", "rt", encoding="utf-8")
                .read()
                .splitlines()
            )
            (folder / f"{name}.{language}").write_text(
                "".join(" ".join(line) + "\n" for line in pieces.encode(text, out_type=str))
            )
    run_quietly(
        [options.peer / "onmt_build_vocab", "-config", f"{name}.yaml", "-n_sample", "-1"], folder
    )


def train_theirs(options: argparse.Namespace, name: str, *settings: object) -> list[float]:
    """Target tokens a second of each window but the first two, as the peer says them."""
    steps = [
        "-train_steps",
        options.steps,
        "-save_checkpoint_steps",
        options.steps,
        "-report_every",
        max(1, options.steps // 8),
    ]
    command = [
        options.peer / "onmt_train",
        "-config",
        f"{name}.yaml",
        *settings,
        *steps,
        "-valid_steps",
        1000000,
        "-bucket_size",
        32768,
    ]
    output = run_quietly(command, options.work / "peer")
    return [float(rate) for rate in re.findall(r"/\s*(\d+) tok/s", output)][2:]


# The machine ------------------------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": str(THREADS), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}


def run_quietly(command: list, folder: Path) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def timed(command: list, *, output: Path | None = None, folder: Path | None = None) -> float:
    """Seconds of a whole process."""
    began = time.perf_counter()
    with open(output or os.devnull, "w") as file:
        subprocess.run(
            list(map(str, command)),
            check=True,
            stdout=file,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd=folder,
        )
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


def machine() -> str:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    import torch

    name, limit = model[1] if model else platform.processor(), matrix_product_limit() / 1e9
    return f"{name}, {os.cpu_count()} cores, torch {torch.__version__}, {limit:.0f} GFLOP/s"


def markdown(figures: dict) -> str:
    lines = [
        "# Speed",
        "",
        f"- machine: {figures['machine']}",
        f"- threads: {figures['threads']}; repetitions: {figures['repetitions']}",
        "",
    ]
    for name, values in figures.items():
        if isinstance(values, dict):
            lines += [f"## {name}", "", "| figure | value |", "|---|---:|"]
            flat = (
                values.items()
                if not any(isinstance(one, dict) for one in values.values())
                else [
                    (f"{part}: {key}", value)
                    for part, own in values.items()
                    for key, value in own.items()
                ]
            )
            lines += [f"| {key.replace('_', ' ')} | {value:,.3f} |" for key, value in flat] + [""]
    return "\n".join(lines)
