"""How fast sentences become vectors, beside the encoder's forward pass alone and beside MiniLM, in one run.

    python evaluation/benchmarks/embeddings.py RUN FILE WORK --language de [--minilm NAME]

FILE has one sentence a line, plain or gzipped; its first --sentences are taken. NAME is a sentence-transformers model such as
all-MiniLM-L6-v2, a folder or a name that can be downloaded; without it, where sentence-transformers is installed, a network of
MiniLM's shape with random parameters takes its place: its speed is the same, its vectors mean nothing. Figures go to
WORK/embeddings.md and WORK/embeddings.json: medians of repetitions taken in turns, so that a machine that slows down slows
all sides.

"Alone" is the forward pass as PyTorch does it, one batch after the other with all threads on each. Embedding computes batches side by
side, a thread each, so what that alone gains stands beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measuring import THREADS, environment, machine  # beside this file

MINILM = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
"""all-MiniLM-L6-v2's."""


def main() -> None:
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
    parser.add_argument("--minilm", help="name or folder of the real one")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    figures = measured(options)
    (options.work / "embeddings.json").write_text(json.dumps(figures, indent=1))
    page = markdown(figures)
    (options.work / "embeddings.md").write_text(page)
    print(page)


def measured(options: argparse.Namespace) -> dict[str, object]:
    import torch

    import polyglot
    from polyglot.core.environment import shorten_switch_interval, keep_freed_memory, limit_shape_caches
    from polyglot.data.text_files import line_blocks

    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command does
    limit_shape_caches()
    shorten_switch_interval()
    lines = [line for block in line_blocks(options.file) for line in block if line.strip()][
        : options.sentences
    ]
    text = options.work / "sentences.txt"
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    model = polyglot.load(options.run, device="cpu")
    sides: dict[str, Callable[[], float]] = {
        "encoder, forward pass alone": forward_alone(model, lines, options, layer="states"),
        "encoder, bridge and pooling, forward pass alone": forward_alone(
            model, lines, options, layer="bridge"
        ),
        "encoder, batches side by side": forward_alone(
            model, lines, options, layer="states", aside=True
        ),
        "encoder, bridge and pooling, batches side by side": forward_alone(
            model, lines, options, layer="bridge", aside=True
        ),
        "encode(): strings to array": lambda: seconds(
            lambda: model.encode(lines, language=options.language, pooling=options.pooling)
        ),
        "embed: a file to an .npy file, model loaded": to_file(model, text, options),
    }
    theirs, name = minilm(lines, options)
    if theirs is not None:
        sides[name] = lambda: seconds(
            lambda: theirs.encode(lines, batch_size=128, show_progress_bar=False)
        )
    for side in sides.values():
        side()
    taken = {name: [] for name in sides}
    for _ in range(options.repetitions):
        for name, side in sides.items():
            taken[name].append(side())
    rates = {name: len(lines) / statistics.median(own) for name, own in taken.items()}
    process = statistics.median(whole_process(text, options) for _ in range(3))
    encoder, forward, encoder_aside, forward_aside, encoded, written, *_ = rates.values()
    return {
        "machine": machine(),
        "threads": THREADS,
        "repetitions": options.repetitions,
        "run": options.run.name,
        "language": options.language,
        "pooling": options.pooling,
        "sentences": len(lines),
        "mean_pieces": round(sum(map(len, model.encode_text(lines, options.language))) / len(lines), 2),
        "sentences_per_second": rates | {"polyglot embed: the whole process": len(lines) / process},
        "share_of_the_forward_pass": {
            f"{name} of {what}": rate / whole
            for what, whole in (("the encoder", encoder), ("the encoder, side by side", encoder_aside),
                                ("encoder and bridge", forward), ("encoder and bridge, side by side", forward_aside))
            for name, rate in (("encode()", encoded), ("embed", written))
        },
    }  # fmt: skip


def forward_alone(
    model, lines: list[str], options: argparse.Namespace, *, layer: str, aside: bool = False
) -> Callable[[], float]:
    """Batches tokenised and padded before, one after the other or side by side; what comes out is thrown away."""
    import torch

    from polyglot.inference.embeddings.encoder import (
        BATCH_SIZE,
        BATCH_SIZE_ON_CPU,
        CHUNK_SIZE,
        embedding_batches,
    )
    from polyglot.inference.embeddings.pooling import pool, layer_rows
    from polyglot.inference.parallel import parallel_map
    from polyglot.tasks.batch import pad

    padded = []
    for start in range(0, len(lines), CHUNK_SIZE):
        pieces = model.encode_text(lines[start : start + CHUNK_SIZE], options.language)
        rows_of_batches = embedding_batches(
            [len(one) for one in pieces], size=BATCH_SIZE_ON_CPU if aside else BATCH_SIZE
        )
        padded += [pad([pieces[row] for row in rows]) for rows in rows_of_batches]

    def work(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        with torch.inference_mode():
            if layer == "states":
                model.model.encoders[options.language](*batch)
            else:
                pool(layer_rows(model.model, options.language, *batch, layer=layer), options.pooling)

    return lambda: seconds(
        lambda: list(
            parallel_map(work, padded, torch.device("cpu")) if aside else map(work, padded)
        )
    )


def to_file(model, text: Path, options: argparse.Namespace) -> Callable[[], float]:
    """What `polyglot embed` does once the model is there."""
    from polyglot.data.text_files import line_blocks
    from polyglot.inference.embeddings.prefetch import async_writer
    from polyglot.inference.embeddings.tagged_lines import chunks_in_language
    from polyglot.inference.embeddings.vector_files import open_vector_file

    def work() -> None:
        size = model.vector_size(pooling=options.pooling)
        with (
            open_vector_file(options.work / "vectors.npy", size=size, precision="float32") as file,
            async_writer(file.write) as write,
        ):
            portions = chunks_in_language(line_blocks(text), options.language)
            for (sentences, languages), vectors in model.encode_chunks(
                portions, pooling=options.pooling
            ):
                write(vectors.numpy(), sentences=sentences, languages=languages)

    return lambda: seconds(work)


def whole_process(text: Path, options: argparse.Namespace) -> float:
    """Seconds of the command, loading included."""
    command = [sys.executable, "-m", "polyglot", "-q", "embed", options.run, text]
    command += [
        "--language",
        options.language,
        "--pooling",
        options.pooling,
        "--output",
        options.work / "vectors.npy",
    ]
    return seconds(lambda: subprocess.run(list(map(str, command)), check=True, env=environment()))


def minilm(lines: list[str], options: argparse.Namespace):
    """MiniLM inside sentence-transformers, and what it is; nothing where that is not installed."""
    try:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    except ImportError:
        return None, ""
    if options.minilm:
        return SentenceTransformer(
            options.minilm, device="cpu"
        ), f"sentence-transformers, {Path(options.minilm).name}"
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = options.work / "minilm-shape"
    if not (folder / "config.json").exists():
        tokenizer = BertWordPieceTokenizer()
        tokenizer.train_from_iterator(lines, vocab_size=MINILM["vocab_size"], show_progress=False)
        folder.mkdir(exist_ok=True)
        tokenizer.save_model(str(folder))
        BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
        BertModel(BertConfig(**MINILM)).save_pretrained(folder)
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformer = Transformer(str(folder), max_seq_length=256)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(
        modules=[transformer, pooling], device="cpu"
    ), "sentence-transformers, MiniLM's shape with random parameters"


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def markdown(figures: dict) -> str:
    about = [
        f"- {name.replace('_', ' ')}: {value}"
        for name, value in figures.items()
        if not isinstance(value, dict)
    ]
    rates = [
        f"| {name} | {value:,.0f} |" for name, value in figures["sentences_per_second"].items()
    ]
    shares = [
        f"| {name} | {value:.0%} |" for name, value in figures["share_of_the_forward_pass"].items()
    ]
    return "\n".join(["# Speed of embedding", "", *about, "", "| | sentences per second |", "|---|---:|", *rates, "",
                      "| | share of the forward pass |", "|---|---:|", *shares, ""])  # fmt: skip


if __name__ == "__main__":
    main()
