"""Cost of many languages and several processes: step time, start time, memory, throughput.

    python evaluation/benchmarks/scaling.py WORK [--only languages] [--only placement]
        [--only processes] [--only estimate]

The text is generated; each language has its own words. Every language is trained with the first
one, in both directions. Results are written to WORK/scaling.json, WORK/scaling.md and
WORK/scaling.png: medians over windows of the log and over repetitions. The runs take turns.

- languages: a step, a second start, and peak memory, for several numbers of languages
- placement: parameters of the largest of four processes, counted
- processes: target tokens per second of one process with two threads, and of two processes
- estimate: 200 languages on 64 GPUs, counted and calculated
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
from collections.abc import Sequence
from pathlib import Path

import numpy
from machine import machine_now
from measuring import THREADS
from scaling_estimate import estimate
from scaling_page import draw, markdown

COUNTS = [4, 16, 64, 128]
SHORT_TEXT = 400
"""Sentences of each language that are enough for similar step times."""
LONG_TEXT = 8000
"""Sentences of each language that are enough for similar batches of 4 096 tokens."""
MODEL = (
    "model={embedding: {size: 128}, encoder: {type: lstm, size: 256, layers: 1}, "
    "bridge: {type: attention, heads: 10, hidden_size: 256}, "
    "decoder: {type: lstm, size: 256, layers: 1}}"
)
LARGE = (
    "model={embedding: {size: 512}, encoder: {type: lstm, size: 512, layers: 2}, "
    "bridge: {type: attention, heads: 10, hidden_size: 1024}, "
    "decoder: {type: lstm, size: 512, layers: 2}}"
)
BATCHES = {"64 sentences": "batching.size=64", "4,096 tokens": "batching={by: tokens, size: 4096}"}
"""Batch sizes: the default, and the usual size for Transformers."""
CONFIG = """
languages: [l0, l1]
data: {{folder: {folder}, train: [{{type: text, path: 'train.{{language}}'}}]}}
vocabulary: {{type: word, size: 1000}}
schedule: {{pairs: ['l0-*', '*-l0']}}
batching: {{size: 64}}
training: {{steps: 1}}
"""


def main() -> None:
    arguments = parse_arguments()
    arguments.work = arguments.work.resolve()
    write_text(arguments.work / "text", max(64, *arguments.counts), lines=SHORT_TEXT)
    config = CONFIG.format(folder=arguments.work / "text")
    config_path(arguments).write_text(config)

    file = arguments.work / "scaling.json"
    results = {"conditions": {}}
    if file.exists():
        results = json.loads(file.read_text())
    for name in arguments.only or PARTS:
        results["conditions"][name] = {
            "machine": machine_now(THREADS),
            "repetitions": arguments.repetitions,
            "steps": arguments.steps,
        }
        results[name] = PARTS[name](arguments)
        print(json.dumps({name: results[name]}, indent=1), flush=True)
        file.write_text(json.dumps(results, indent=1))

    page = markdown(results)
    (arguments.work / "scaling.md").write_text(page)
    if "languages" in results:
        draw(results["languages"], arguments.work / "scaling.png")
    print(page)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument(
        "--steps",
        type=int,
        default=800,
        help="steps of a repetition; the first half is a warm-up that trains every language",
    )
    parser.add_argument(
        "--counts", type=int, nargs="+", default=COUNTS, help="numbers of languages"
    )
    parser.add_argument(
        "--only", choices=["languages", "placement", "processes", "estimate"], action="append"
    )
    return parser.parse_args()


# Measurements


def languages(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return times and memory for each number of languages.

    Seconds of a step and of a second start; peak memory of training and of translation.
    """
    step_seconds: dict[int, list[float]] = {count: [] for count in arguments.counts}
    results: dict[int, dict[str, float]] = {count: {} for count in arguments.counts}
    for _ in range(arguments.repetitions):
        for count in arguments.counts:
            run = run_path(arguments, count)
            memory = train(arguments, run, count, [MODEL], steps=arguments.steps)
            results[count]["training_mib"] = memory
            for line in training_lines(run, after=arguments.steps / 2):
                step_seconds[count].append(1 / line["steps_per_second"])

    for count, values in results.items():
        values["step_seconds"] = statistics.median(step_seconds[count])
        values["start_seconds"] = min(seconds_to_first_step(arguments, count) for _ in range(2))
        values.update(translation_cost(arguments, count))
    return {str(count): values for count, values in results.items()}


def translation_cost(arguments: argparse.Namespace, count: int) -> dict[str, float]:
    """Return seconds and peak memory of translating one direction, the smaller of two calls."""
    text = arguments.work / "text" / "test.l1"
    command = ["translate", run_path(arguments, count), text]
    command += ["--from", "l1", "--to", "l0", "--beam", "1"]
    seconds = []
    memory = []
    for _ in range(2):
        start = time.perf_counter()
        memory.append(peak_memory_of(command))
        seconds.append(time.perf_counter() - start)
    return {"translation_mib": min(memory), "translation_seconds": min(seconds)}


def placement(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the parameters of 64 languages, and those of the largest of four processes."""
    from polyglot.config.loading import load_config
    from polyglot.training.dry_run import plan_training

    settings = [*language_settings(64, 1), MODEL, f"run={arguments.work / 'never'}"]
    plan = plan_training(load_config(config_path(arguments), settings))
    total = sum(plan.parameters_of(0).values())

    settings.append("parallel.placement=partitioned")
    partitioned_plan = plan_training(load_config(config_path(arguments), settings), 4)
    largest = 0
    for rank in range(4):
        parameters = partitioned_plan.parameters_of(rank)
        largest = max(largest, sum(parameters.values()))
    return {
        "replicated_parameters": total,
        "partitioned_parameters": largest,
        "share": largest / total,
    }


def processes(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return target tokens per second of one and of two processes, for each batch size.

    One process has two threads and two tasks per update; two processes have one thread and one
    task per update each. Steps are long, so an eighth of the number of steps is trained.
    """
    steps = max(16, arguments.steps // 8)
    text = arguments.work / "longer"
    write_text(text, 4, lines=LONG_TEXT)
    rates = {}
    for name in BATCHES:
        rates[name] = {1: [], 2: []}
    for _ in range(arguments.repetitions):
        for name, batch_size in BATCHES.items():
            for world_size, values in rates[name].items():
                run = arguments.work / "runs" / f"{world_size}-processes"
                tasks_per_update = 2 // world_size
                settings = [
                    LARGE,
                    f"schedule.tasks_per_update={tasks_per_update}",
                    batch_size,
                    f"data.folder={text}",
                ]
                train(arguments, run, 4, settings, steps=steps, world_size=world_size)
                for line in training_lines(run, after=steps / 2):
                    values.append(line["tokens_per_second"])

    results = {}
    for name, values in rates.items():
        one_process = statistics.median(values[1])
        two_processes = statistics.median(values[2])
        results[name] = {
            "one_process": one_process,
            "two_processes": two_processes,
            "ratio": two_processes / one_process,
        }
    return results


PARTS = {
    "languages": languages,
    "placement": placement,
    "processes": processes,
    "estimate": lambda arguments: estimate(),
}


# Runs


def config_path(arguments: argparse.Namespace) -> Path:
    """Return the path of the configuration that all runs share."""
    return arguments.work / "scaling.yaml"


def run_path(arguments: argparse.Namespace, count: int) -> Path:
    """Return the directory of the run with this number of languages."""
    return arguments.work / "runs" / f"{count}-languages"


def language_settings(count: int, steps: int) -> list[str]:
    names = ", ".join(f"l{number}" for number in range(count))
    return [
        f"languages=[{names}]",
        f"training.steps={steps}",
        f"training.log_every={max(1, steps // 8)}",
    ]


def train(
    arguments: argparse.Namespace,
    run: Path,
    count: int,
    settings: Sequence[str],
    *,
    steps: int,
    world_size: int = 1,
) -> float:
    """Train a new run; return the peak memory of its largest process, in MiB."""
    shutil.rmtree(run, ignore_errors=True)
    command = ["-q", "train", config_path(arguments), f"run={run}"]
    command += [*language_settings(count, steps), *settings]
    if world_size > 1:
        command += ["--processes", world_size]
    return peak_memory_of(command)


def seconds_to_first_step(arguments: argparse.Namespace, count: int) -> float:
    """Return the seconds from the command to the first step, if the text is in the cache."""
    run = arguments.work / "runs" / "start"
    start = time.time()
    train(arguments, run, count, [MODEL], steps=1)
    first_line, *_ = (run / "log.jsonl").read_text().splitlines()
    return json.loads(first_line)["time"] - start


def peak_memory_of(arguments: Sequence[object]) -> float:
    """Run the program; return its peak memory in MiB, or that of its largest child process."""
    threads = "1" if "--processes" in arguments else "2"
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-m", "polyglot", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1024


def training_lines(run: Path, *, after: float) -> list[dict]:
    """Return the lines of the log about training after a step."""
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [line for line in lines if line["kind"] == "training" and line["step"] > after]


def write_text(folder: Path, count: int, *, lines: int) -> None:
    """Write the text of each language: 5 to 25 of 800 words per sentence.

    Line n of every language is the same sentence, word for word.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for part, length in (("train", lines), ("test", 50)):
        generator = numpy.random.default_rng(length)
        sentences = []
        for _ in range(length):
            sentences.append(generator.zipf(1.3, generator.integers(5, 26)) % 800)
        for number in range(count):
            file = folder / f"{part}.l{number}"
            if file.exists():
                continue
            with file.open("w") as output:
                for sentence in sentences:
                    words = [f"w{number}x{word}" for word in sentence]
                    print(*words, file=output)


if __name__ == "__main__":
    main()
