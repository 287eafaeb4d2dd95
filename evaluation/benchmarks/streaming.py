"""What streamed text costs beside cached text: memory as the text grows, and speed; and the memory that any training comes to.

    python evaluation/benchmarks/streaming.py WORK

The text is made up: sentence pairs of 5 to 25 of 800 words, in files of 100,000. Figures go to WORK/streaming.json and WORK/streaming.md:
the largest resident size of processes that read, and of one that multiplies matrices of one number of rows more each time, as batches
have that are never alike, where it remembers as many shapes as PyTorch would and as few as the program lets it; medians of target tokens
a second over the windows of repetitions, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import numpy
from measuring import machine
from scaling import LARGE, measured

from polyglot.core.environment import SHAPE_CACHES, SHAPES

PART = 100_000
BATCH = 1024
SHAPES_OF_PYTORCH = 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument(
        "--lines",
        type=int,
        nargs="+",
        default=[100_000, 5_000_000],
        help="sentence pairs of each text",
    )
    parser.add_argument(
        "--read",
        type=int,
        default=5_000_000,
        help="sentence pairs that are read of each text, a small one again and again",
    )
    parser.add_argument(
        "--reader",
        type=int,
        help="read the text of so many sentence pairs, and print the memory; what `memory` calls",
    )
    parser.add_argument(
        "--shapes",
        type=int,
        nargs="+",
        default=[1, 512, 1024, 2048, 4096],
        help="numbers of rows that are multiplied",
    )
    parser.add_argument(
        "--multiplier",
        action="store_true",
        help="multiply, and print the memory; what `shapes` calls",
    )
    parser.add_argument(
        "--timed-steps",
        type=int,
        default=160,
        help="training steps of each repetition; the first half is left out",
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=["memory", "shapes", "speed"], action="append")
    options = parser.parse_args()
    options.work = options.work.resolve()
    if options.reader:
        print(json.dumps(read(options, options.reader)))
        return
    if options.multiplier:
        print(json.dumps(multiply(options)))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    for number in range(-(-max(options.lines) // PART)):
        write_part(options.work / "text", number)
    (options.work / "streaming.yaml").write_text(
        f"languages: [a, b]\ndata: {{folder: {options.work}, train: []}}\nvocabulary: {{type: word, size: 1000, sentences: 50000}}\n"
        "schedule: {pairs: [a-b]}\ntraining: {steps: 1, checkpoint: {keep: 1}}\n"
    )
    file = options.work / "streaming.json"
    figures = json.loads(file.read_text()) if file.exists() else {}
    figures |= {"machine": machine(), "read": options.read}
    for name in options.only or PARTS:
        figures[name] = PARTS[name](options)
        print(json.dumps({name: figures[name]}, indent=1), flush=True)
        file.write_text(json.dumps(figures, indent=1))
    (options.work / "streaming.md").write_text(markdown(figures))
    print(markdown(figures))


def memory(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """By the number of sentence pairs, what a process of its own says that reads them."""
    return {
        str(lines): said(options, "--reader", lines, "--read", options.read)
        for lines in options.lines
    }


def said(options: argparse.Namespace, *arguments: object) -> dict[str, float]:
    """By a process of its own."""
    command = [sys.executable, __file__, options.work, *arguments]
    return json.loads(
        subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    )


def read(options: argparse.Namespace, lines: int) -> dict[str, float]:
    """MiB before the first batch and at most, and sentence pairs a second, of a process that makes batches and trains nothing."""
    from polyglot.data.batching import BatchingConfig
    from polyglot.data.corpora import CORPORA, Corpora
    from polyglot.data.filters import FilterConfig
    from polyglot.data.streaming import StreamedBatches, StreamedDataset
    from polyglot.tasks.pairs import LanguagePair, Task
    from polyglot.text.preprocessing import Normaliser
    from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

    corpus = CORPORA.configure(
        "text", path=f"{streamed(options, lines)}/*.{{language}}", streaming=True
    )
    corpora = Corpora([corpus], folder=options.work, languages=["a", "b"])
    settings = VocabularyConfig(type="word", size=1000)
    vocabularies = {
        one: Vocabulary.train(
            islice(corpora.sentences(one), 20_000), settings, language=one, seed=1
        )
        for one in "ab"
    }
    normalisers = {one: Normaliser([], one) for one in "ab"}
    dataset = StreamedDataset(
        Task(LanguagePair("a", "b")), corpora, vocabularies, normalisers, filters=FilterConfig()
    )
    batches = StreamedBatches(dataset, BatchingConfig(size=BATCH), seed=1)
    before, began = largest_mib(), time.perf_counter()
    for _ in range(options.read // BATCH):
        batches.batch(batches.take())
    seconds = time.perf_counter() - began
    return {
        "before_mib": before,
        "largest_mib": largest_mib(),
        "pairs_per_second": options.read / seconds,
    }


def largest_mib() -> float:
    """This process so far. (What `getrusage` says begins with the size of the process that started this one.)"""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def shapes(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """By how many shapes are remembered, MiB at most by how many numbers of rows have met a matrix."""
    found = {}
    for remembered in (SHAPES_OF_PYTORCH, SHAPES):
        os.environ |= dict.fromkeys(SHAPE_CACHES, str(remembered))
        found[str(remembered)] = said(options, "--multiplier", "--shapes", *options.shapes)
    return found


def multiply(options: argparse.Namespace) -> dict[str, float]:
    """The same, in the process that multiplies: the first layer of a tiny model, forwards and backwards."""
    import torch

    from polyglot.layers.linear import Linear

    torch.set_num_threads(1)
    layer, figures = Linear(16, 32), {}
    for rows in range(1, max(options.shapes) + 1):
        layer(torch.ones(rows, 16, requires_grad=True)).sum().backward()
        if rows in options.shapes:
            figures[str(rows)] = largest_mib()
    return figures


def speed(options: argparse.Namespace) -> dict[str, float]:
    """Target tokens a second of the smallest text, streamed and cached."""
    rates: dict[str, list[float]] = {"cached": [], "streamed": []}
    for _ in range(options.repetitions):
        for name in rates:
            steps = options.timed_steps
            log = train(
                options,
                name,
                min(options.lines),
                steps,
                [LARGE, "batching.size=64", f"training.log_every={max(1, steps // 8)}"],
            )
            lines = [
                line
                for line in map(json.loads, log.read_text().splitlines())
                if line["kind"] == "training"
            ]
            rates[name] += [line["tokens_per_second"] for line in lines if line["step"] > steps / 2]
    medians = {
        f"{name}_tokens_per_second": statistics.median(values) for name, values in rates.items()
    }
    return medians | {
        "ratio": medians["streamed_tokens_per_second"] / medians["cached_tokens_per_second"]
    }


PARTS = {"memory": memory, "shapes": shapes, "speed": speed}


def train(
    options: argparse.Namespace, name: str, lines: int, steps: int, settings: list[str]
) -> Path:
    """The log of a training."""
    files = [
        f"{{type: text, path: 'text/{number}.{{language}}'}}" for number in range(-(-lines // PART))
    ]
    corpora = (
        [f"{{type: text, path: '{streamed(options, lines)}/*.{{language}}', streaming: true}}"]
        if name == "streamed"
        else files
    )
    run = options.work / "runs" / name
    shutil.rmtree(run, ignore_errors=True)
    own = [f"run={run}", f"data.train=[{', '.join(corpora)}]", f"training.steps={steps}"]
    measured(["-q", "train", options.work / "streaming.yaml", *own, *settings])
    return run / "log.jsonl"


def streamed(options: argparse.Namespace, lines: int) -> str:
    """The name of a folder with links to the files of a text of that size."""
    folder = options.work / f"text-{lines}"
    for number in range(-(-lines // PART)):
        for language in "ab":
            folder.mkdir(exist_ok=True)
            (folder / f"{number}.{language}").unlink(missing_ok=True)
            (folder / f"{number}.{language}").symlink_to(
                options.work / "text" / f"{number}.{language}"
            )
    return folder.name


def write_part(folder: Path, number: int) -> None:
    """Line n of both languages is the same sentence, word for word."""
    folder.mkdir(exist_ok=True)
    random = numpy.random.default_rng(number)
    if (folder / f"{number}.b").exists():
        return
    lengths = random.integers(5, 26, PART)
    words = numpy.minimum(random.zipf(1.3, lengths.sum()), 800)
    for language in "ab":
        known = numpy.array([f"{language}{word}" for word in range(801)], dtype=object)
        text = numpy.split(known[words], numpy.cumsum(lengths)[:-1])
        temporary = folder / f"{number}.{language}.writing"
        temporary.write_text("".join(" ".join(line) + "\n" for line in text))
        temporary.rename(folder / f"{number}.{language}")


def markdown(figures: dict) -> str:
    lines = ["# Streamed text", "", f"- machine: {figures['machine']}", ""]
    if "memory" in figures:
        lines += [
            f"{figures['read']:,} sentence pairs of each text were read in batches of {BATCH:,}, with pools of 32,768; nothing trained.",
            "",
        ]
        lines += [
            "| sentence pairs of the text | before the first batch, MiB | at most, MiB |",
            "|---:|---:|---:|",
        ]
        lines += [
            f"| {int(count):,} | {own['before_mib']:,.0f} | {own['largest_mib']:,.0f} |"
            for count, own in figures["memory"].items()
        ]
        lines += [""]
    if "shapes" in figures:
        every = figures["shapes"]
        lines += [
            f"| numbers of rows that met a matrix | {' | '.join(f'remembering {one}, MiB' for one in every)} |",
            "|---:|" + "---:|" * len(every),
        ]
        counts = next(iter(every.values()))
        lines += [
            f"| {int(count):,} | {' | '.join(f'{own[count]:,.0f}' for own in every.values())} |"
            for count in counts
        ] + [""]
    if "speed" in figures:
        cached, streamed = (
            figures["speed"][f"{name}_tokens_per_second"] for name in ("cached", "streamed")
        )
        lines += [
            f"Streamed {streamed:,.0f} target tokens/s, cached {cached:,.0f}: {figures['speed']['ratio']:.2f}.",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
