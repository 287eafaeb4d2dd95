"""Memory and speed of streamed text, compared with cached text; memory over the number of shapes.

    python evaluation/benchmarks/streaming.py WORK [--only memory] [--only shapes] [--only speed]

The text is generated: sentence pairs of 5 to 25 words, of 800 different words, in files of 100,000
pairs. Results are written to WORK/streaming.json and WORK/streaming.md:

- memory: peak memory of a process that reads a text, for texts of several sizes
- shapes: peak memory of a process that multiplies matrices of ever more rows, as batches of
  different sizes do; with the cache sizes of PyTorch, and with those of Polyglot
- speed: target tokens per second of training, as medians over the windows of the log; streamed and
  cached text take turns
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
from machine import machine_now
from measuring import THREADS
from scaling import LARGE, peak_memory_of, training_lines

from polyglot.core.environment import SHAPE_CACHES, SHAPES
from polyglot.core.markdown import table

FILE_SIZE = 100_000
BATCH_SIZE = 1024
SHAPES_OF_PYTORCH = 1024
LANGUAGES = ("a", "b")
CONFIG = """
languages: [a, b]
data: {{folder: {folder}, train: []}}
vocabulary: {{type: word, size: 1000, sentences: 50000}}
schedule: {{pairs: [a-b]}}
training: {{steps: 1, checkpoint: {{keep: 1}}}}
"""


def main() -> None:
    arguments = parse_arguments()
    arguments.work = arguments.work.resolve()
    if arguments.reader:
        print(json.dumps(read(arguments, arguments.reader)))
        return
    if arguments.multiplier:
        print(json.dumps(multiply(arguments.shapes)))
        return

    arguments.work.mkdir(parents=True, exist_ok=True)
    for number in range(file_count(max(arguments.lines))):
        write_file(arguments.work / "text", number)
    config = CONFIG.format(folder=arguments.work)
    (arguments.work / "streaming.yaml").write_text(config)

    file = arguments.work / "streaming.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    results["machine"] = machine_now(THREADS)
    results["read"] = arguments.read
    for name in arguments.only or PARTS:
        results[name] = PARTS[name](arguments)
        print(json.dumps({name: results[name]}, indent=1), flush=True)
        file.write_text(json.dumps(results, indent=1))
    page = markdown(results)
    (arguments.work / "streaming.md").write_text(page)
    print(page)


def parse_arguments() -> argparse.Namespace:
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
        help="sentence pairs to read of each text; a smaller text is repeated",
    )
    parser.add_argument(
        "--shapes",
        type=int,
        nargs="+",
        default=[1, 512, 1024, 2048, 4096],
        help="numbers of shapes after which memory is measured",
    )
    parser.add_argument(
        "--timed-steps",
        type=int,
        default=160,
        help="training steps of each repetition; the first half is a warm-up",
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=["memory", "shapes", "speed"], action="append")
    # Options of the child processes.
    parser.add_argument("--reader", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--multiplier", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_child(arguments: argparse.Namespace, *options: object) -> dict[str, float]:
    """Return the result of a new process of this program."""
    command = [sys.executable, __file__, arguments.work, *options]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


# Memory of reading


def memory(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the result of `read` for each number of sentence pairs."""
    results = {}
    for lines in arguments.lines:
        results[str(lines)] = run_child(arguments, "--reader", lines, "--read", arguments.read)
    return results


def read(arguments: argparse.Namespace, lines: int) -> dict[str, float]:
    """Read batches without training.

    Returns MiB before the first batch and at the peak, and sentence pairs per second.
    """
    from polyglot.data.batching import BatchingConfig
    from polyglot.data.streaming import StreamedBatches

    dataset = streamed_dataset(arguments, lines)
    batches = StreamedBatches(dataset, BatchingConfig(size=BATCH_SIZE), seed=1)
    memory_before = peak_memory()
    start = time.perf_counter()
    for _ in range(arguments.read // BATCH_SIZE):
        batches.batch(batches.take())
    seconds = time.perf_counter() - start
    return {
        "before_mib": memory_before,
        "peak_mib": peak_memory(),
        "pairs_per_second": arguments.read / seconds,
    }


def streamed_dataset(arguments: argparse.Namespace, lines: int):
    from polyglot.data.corpora import CORPORA, Corpora
    from polyglot.data.filters import FilterConfig
    from polyglot.data.streaming import StreamedDataset
    from polyglot.tasks.pairs import LanguagePair, Task
    from polyglot.text.preprocessing import Normaliser
    from polyglot.text.vocabulary import Vocabulary, VocabularyConfig

    path = f"{linked_text(arguments, lines)}/*.{{language}}"
    corpus = CORPORA.configure("text", path=path, streaming=True)
    corpora = Corpora([corpus], folder=arguments.work, languages=list(LANGUAGES))
    settings = VocabularyConfig(type="word", size=1000)
    vocabularies = {}
    normalisers = {}
    for language in LANGUAGES:
        sentences = islice(corpora.sentences(language), 20_000)
        vocabularies[language] = Vocabulary.train(sentences, settings, language=language, seed=1)
        normalisers[language] = Normaliser([], language)
    task = Task(LanguagePair(*LANGUAGES))
    return StreamedDataset(task, corpora, vocabularies, normalisers, filters=FilterConfig())


def peak_memory() -> float:
    """Return the peak memory of this process in MiB.

    The value of `getrusage` includes the size of the parent process at the start.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            kibibytes, _ = value.split()
            return int(kibibytes) / 1024
    raise RuntimeError("/proc/self/status has no line VmHWM")


# Memory of cached shapes


def shapes(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the result of `multiply` for each cache size."""
    results = {}
    for cache_size in (SHAPES_OF_PYTORCH, SHAPES):
        for variable in SHAPE_CACHES:
            os.environ[variable] = str(cache_size)
        results[str(cache_size)] = run_child(
            arguments, "--multiplier", "--shapes", *arguments.shapes
        )
    return results


def multiply(counts: list[int]) -> dict[str, float]:
    """Run the first layer of a tiny model, forward and backward, with ever more rows.

    Returns the peak memory in MiB after each of the counts.
    """
    import torch

    from polyglot.layers.linear import Linear

    torch.set_num_threads(1)
    layer = Linear(16, 32)
    results = {}
    for rows in range(1, max(counts) + 1):
        inputs = torch.ones(rows, 16, requires_grad=True)
        layer(inputs).sum().backward()
        if rows in counts:
            results[str(rows)] = peak_memory()
    return results


# Speed of training


def speed(arguments: argparse.Namespace) -> dict[str, float]:
    """Return target tokens per second for the smallest text, streamed and cached."""
    rates: dict[str, list[float]] = {"cached": [], "streamed": []}
    for _ in range(arguments.repetitions):
        for name, values in rates.items():
            run = train(arguments, name)
            for line in training_lines(run, after=arguments.timed_steps / 2):
                values.append(line["tokens_per_second"])
    cached = statistics.median(rates["cached"])
    streamed = statistics.median(rates["streamed"])
    return {
        "cached_tokens_per_second": cached,
        "streamed_tokens_per_second": streamed,
        "ratio": streamed / cached,
    }


def train(arguments: argparse.Namespace, name: str) -> Path:
    """Train a new run on `cached` or `streamed` text; return its directory."""
    lines = min(arguments.lines)
    steps = arguments.timed_steps
    if name == "streamed":
        path = f"{linked_text(arguments, lines)}/*.{{language}}"
        corpora = [f"{{type: text, path: '{path}', streaming: true}}"]
    else:
        corpora = []
        for number in range(file_count(lines)):
            corpora.append(f"{{type: text, path: 'text/{number}.{{language}}'}}")
    run = arguments.work / "runs" / name
    shutil.rmtree(run, ignore_errors=True)
    settings = [
        f"run={run}",
        f"data.train=[{', '.join(corpora)}]",
        f"training.steps={steps}",
        LARGE,
        "batching.size=64",
        f"training.log_every={max(1, steps // 8)}",
    ]
    peak_memory_of(["-q", "train", arguments.work / "streaming.yaml", *settings])
    return run


# Text


def file_count(lines: int) -> int:
    """Return the number of files that hold this many lines."""
    return -(-lines // FILE_SIZE)


def linked_text(arguments: argparse.Namespace, lines: int) -> str:
    """Return the name of a folder with links to the files of a text of this size."""
    folder = arguments.work / f"text-{lines}"
    folder.mkdir(exist_ok=True)
    for number in range(file_count(lines)):
        for language in LANGUAGES:
            name = f"{number}.{language}"
            link = folder / name
            link.unlink(missing_ok=True)
            link.symlink_to(arguments.work / "text" / name)
    return folder.name


def write_file(folder: Path, number: int) -> None:
    """Write one file of each language; line n of both is the same sentence, word for word."""
    folder.mkdir(exist_ok=True)
    if (folder / f"{number}.{LANGUAGES[-1]}").exists():
        return
    generator = numpy.random.default_rng(number)
    lengths = generator.integers(5, 26, FILE_SIZE)
    words = numpy.minimum(generator.zipf(1.3, lengths.sum()), 800)
    ends = numpy.cumsum(lengths)[:-1]
    for language in LANGUAGES:
        vocabulary = numpy.array([f"{language}{word}" for word in range(801)], dtype=object)
        lines = [" ".join(line) + "\n" for line in numpy.split(vocabulary[words], ends)]
        temporary = folder / f"{number}.{language}.writing"
        temporary.write_text("".join(lines))
        temporary.rename(folder / f"{number}.{language}")


# Page


def markdown(results: dict) -> str:
    lines = ["# Streamed text", "", f"- machine: {results['machine']}", ""]
    if "memory" in results:
        lines.append(
            f"{results['read']:,} sentence pairs of each text, read in batches of {BATCH_SIZE:,} "
            "from pools of 32,768, without training."
        )
        lines += ["", memory_table(results["memory"]), ""]
    if "shapes" in results:
        lines += [shapes_table(results["shapes"]), ""]
    if "speed" in results:
        values = results["speed"]
        lines.append(
            f"Streamed {values['streamed_tokens_per_second']:,.0f} target tokens/s, "
            f"cached {values['cached_tokens_per_second']:,.0f}: ratio {values['ratio']:.2f}."
        )
        lines.append("")
    return "\n".join(lines)


def memory_table(results: dict[str, dict[str, float]]) -> str:
    rows = []
    for count, values in results.items():
        before = f"{values['before_mib']:,.0f}"
        peak = f"{values['peak_mib']:,.0f}"
        rows.append([f"{int(count):,}", before, peak])
    return table(["sentence pairs of the text", "before the first batch, MiB", "peak, MiB"], rows)


def shapes_table(results: dict[str, dict[str, float]]) -> str:
    head = ["shapes so far"]
    for cache_size in results:
        head.append(f"cache of {cache_size} shapes, MiB")
    first_column = next(iter(results.values()))
    rows = []
    for count in first_column:
        memory_values = [f"{values[count]:,.0f}" for values in results.values()]
        rows.append([f"{int(count):,}", *memory_values])
    return table(head, rows)


PARTS = {"memory": memory, "shapes": shapes, "speed": speed}


if __name__ == "__main__":
    main()
