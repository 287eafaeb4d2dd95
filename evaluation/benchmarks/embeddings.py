"""Speed of sentence embeddings, compared with the encoder's forward pass and with MiniLM.

    python evaluation/benchmarks/embeddings.py RUN FILE WORK --language de [--minilm NAME]

FILE has one sentence per line, plain or gzipped; its first --sentences are used. NAME is a
sentence-transformers model such as all-MiniLM-L6-v2: a folder, or a name that can be downloaded.
Without it, if sentence-transformers is installed, a network of MiniLM's shape with random
parameters is used: its speed is the same, its vectors have no meaning. Results are written to
WORK/embeddings.md and WORK/embeddings.json: medians of repetitions. The measurements take turns,
so that a machine that becomes slower slows all of them.

The forward pass is measured in two ways: one batch after the other with all threads, as PyTorch
does it by default; and batches in parallel with one thread each, as Polyglot computes embeddings.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from machine import machine_now
from measuring import THREADS, environment, seconds_of

from polyglot.core.environment import (
    keep_freed_memory,
    limit_shape_caches,
    shorten_switch_interval,
)
from polyglot.core.markdown import table

MINILM = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
"""Sizes of all-MiniLM-L6-v2."""

ENCODER = "encoder, forward pass, one batch after the other"
BRIDGE = "encoder, bridge and pooling, forward pass, one batch after the other"
ENCODER_PARALLEL = "encoder, forward pass, batches in parallel"
BRIDGE_PARALLEL = "encoder, bridge and pooling, forward pass, batches in parallel"
ENCODE = "encode(): strings to array"
EMBED = "embed: text file to .npy file, model already loaded"

Work = Callable[[], object]


def main() -> None:
    arguments = parse_arguments()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = measure(arguments)
    page = markdown(results)
    (arguments.work / "embeddings.json").write_text(json.dumps(results, indent=1))
    (arguments.work / "embeddings.md").write_text(page)
    print(page)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--language", required=True)
    parser.add_argument("--pooling", default="flat")
    parser.add_argument("--sentences", type=int, default=20000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--minilm", help="name or folder of a trained MiniLM")
    return parser.parse_args()


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """Measure all ways to embed the sentences."""
    keep_freed_memory()  # the same settings as the command
    limit_shape_caches()
    shorten_switch_interval()
    import torch

    import polyglot

    torch.set_num_threads(THREADS)
    lines = read_sentences(arguments.file, arguments.sentences)
    text = arguments.work / "sentences.txt"
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    model = polyglot.load(arguments.run, device="cpu")
    works = build_works(model, lines, text, arguments)

    seconds = median_times(works, arguments.repetitions)
    rates = {name: len(lines) / value for name, value in seconds.items()}
    process_seconds = [seconds_of(partial(run_command, text, arguments)) for _ in range(3)]
    rates["polyglot embed: the whole process"] = len(lines) / statistics.median(process_seconds)
    pieces = model.encode_text(lines, arguments.language)
    return {
        "machine": machine_now(THREADS),
        "threads": THREADS,
        "repetitions": arguments.repetitions,
        "run": arguments.run.name,
        "language": arguments.language,
        "pooling": arguments.pooling,
        "sentences": len(lines),
        "mean_pieces": round(sum(map(len, pieces)) / len(lines), 2),
        "sentences_per_second": rates,
        "share_of_the_forward_pass": shares(rates),
    }


def read_sentences(file: Path, count: int) -> list[str]:
    """Return the first sentences of a file that are not blank."""
    from polyglot.data.text_files import line_blocks

    sentences = []
    for block in line_blocks(file):
        sentences += [line for line in block if line.strip()]
        if len(sentences) >= count:
            break
    return sentences[:count]


def median_times(works: dict[str, Work], repetitions: int) -> dict[str, float]:
    """Return the median seconds of each work, after one call of each as a warm-up."""
    for work in works.values():
        work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repetitions):
        for name, work in works.items():
            seconds[name].append(seconds_of(work))
    return {name: statistics.median(values) for name, values in seconds.items()}


def shares(rates: dict[str, float]) -> dict[str, float]:
    """Return the rates of `encode()` and `embed`, divided by those of the forward passes."""
    measured = {"encode()": ENCODE, "embed": EMBED}
    results = {}
    for forward_pass in (ENCODER, ENCODER_PARALLEL, BRIDGE, BRIDGE_PARALLEL):
        for name, key in measured.items():
            results[f"{name} / {forward_pass}"] = rates[key] / rates[forward_pass]
    return results


# Ways to embed


def build_works(
    model, lines: list[str], text: Path, arguments: argparse.Namespace
) -> dict[str, Work]:
    """Return functions that embed all sentences, by their names in the table."""
    forward = partial(forward_pass, model, lines, arguments)
    works: dict[str, Work] = {
        ENCODER: forward(layer="states"),
        BRIDGE: forward(layer="bridge"),
        ENCODER_PARALLEL: forward(layer="states", is_parallel=True),
        BRIDGE_PARALLEL: forward(layer="bridge", is_parallel=True),
        ENCODE: partial(
            model.encode, lines, language=arguments.language, pooling=arguments.pooling
        ),
        EMBED: partial(embed_file, model, text, arguments),
    }
    minilm, name = load_minilm(lines, arguments)
    if minilm is not None:
        works[name] = partial(minilm.encode, lines, batch_size=128, show_progress_bar=False)
    return works


def forward_pass(
    model,
    lines: list[str],
    arguments: argparse.Namespace,
    *,
    layer: str,
    is_parallel: bool = False,
) -> Work:
    """Return a function that computes batches which are already tokenised and padded."""
    import torch

    from polyglot.inference.embeddings.encoder import BATCH_SIZE, BATCH_SIZE_ON_CPU
    from polyglot.inference.embeddings.pooling import layer_rows, pool
    from polyglot.inference.parallel import parallel_map

    size = BATCH_SIZE_ON_CPU if is_parallel else BATCH_SIZE
    batches = padded_batches(model, lines, arguments.language, size=size)

    def compute(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        with torch.inference_mode():
            if layer == "states":
                model.model.encoders[arguments.language](*batch)
            else:
                rows = layer_rows(model.model, arguments.language, *batch, layer=layer)
                pool(rows, arguments.pooling)

    def compute_all() -> None:
        if is_parallel:
            list(parallel_map(compute, batches, torch.device("cpu")))
        else:
            for batch in batches:
                compute(batch)

    return compute_all


def padded_batches(model, lines: list[str], language: str, *, size: int) -> list[tuple]:
    """Return token ids and masks of the batches that Polyglot forms."""
    from polyglot.inference.embeddings.encoder import CHUNK_SIZE, embedding_batches
    from polyglot.tasks.batch import pad

    batches = []
    for start in range(0, len(lines), CHUNK_SIZE):
        pieces = model.encode_text(lines[start : start + CHUNK_SIZE], language)
        lengths = [len(sentence) for sentence in pieces]
        for rows in embedding_batches(lengths, size=size):
            batches.append(pad([pieces[row] for row in rows]))
    return batches


def embed_file(model, text: Path, arguments: argparse.Namespace) -> None:
    """Do the work of `polyglot embed` after the model is loaded."""
    from polyglot.data.text_files import line_blocks
    from polyglot.inference.embeddings.prefetch import async_writer
    from polyglot.inference.embeddings.tagged_lines import chunks_in_language
    from polyglot.inference.embeddings.vector_files import open_vector_file

    size = model.vector_size(pooling=arguments.pooling)
    path = arguments.work / "vectors.npy"
    with (
        open_vector_file(path, size=size, precision="float32") as file,
        async_writer(file.write) as write,
    ):
        chunks = chunks_in_language(line_blocks(text), arguments.language)
        for chunk, vectors in model.encode_chunks(chunks, pooling=arguments.pooling):
            write(vectors.numpy(), sentences=chunk.sentences, languages=chunk.languages)


def run_command(text: Path, arguments: argparse.Namespace) -> None:
    """Run `polyglot embed`, which also loads the model."""
    command = [sys.executable, "-m", "polyglot", "-q", "embed", arguments.run, text]
    command += ["--language", arguments.language, "--pooling", arguments.pooling]
    command += ["--output", arguments.work / "vectors.npy"]
    subprocess.run(list(map(str, command)), check=True, env=environment())


def load_minilm(lines: list[str], arguments: argparse.Namespace):
    """Return MiniLM and its name; None and no name without sentence-transformers."""
    try:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    except ImportError:
        return None, ""
    if arguments.minilm:
        model = SentenceTransformer(arguments.minilm, device="cpu")
        return model, f"sentence-transformers, {Path(arguments.minilm).name}"

    folder = arguments.work / "minilm-shape"
    if not (folder / "config.json").exists():
        save_random_minilm(folder, lines)
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformer = Transformer(str(folder), max_seq_length=256)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    model = SentenceTransformer(modules=[transformer, pooling], device="cpu")
    return model, "sentence-transformers, MiniLM's shape with random parameters"


def save_random_minilm(folder: Path, lines: list[str]) -> None:
    """Save a network of MiniLM's shape, with a tokenizer that is trained on the sentences."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(lines, vocab_size=MINILM["vocab_size"], show_progress=False)
    folder.mkdir(exist_ok=True)
    tokenizer.save_model(str(folder))
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    BertModel(BertConfig(**MINILM)).save_pretrained(folder)


# Page


def markdown(results: dict) -> str:
    lines = ["# Speed of embedding", ""]
    for name, value in results.items():
        if not isinstance(value, dict):
            lines.append(f"- {name.replace('_', ' ')}: {value}")
    rates = [[name, f"{rate:,.0f}"] for name, rate in results["sentences_per_second"].items()]
    percentages = []
    for name, share in results["share_of_the_forward_pass"].items():
        percentages.append([name, f"{share:.0%}"])
    lines += ["", table(["method", "sentences per second"], rates)]
    lines += ["", table(["ratio", "share of the forward pass"], percentages), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
