"""What many languages and several processes cost: steps, starts, memory, and the throughput of two processes beside one.

    python evaluation/benchmarks/scaling.py WORK

The text is made up, each language with words of its own. Every language is trained with the first one, both ways. Figures go to
WORK/scaling.json, WORK/scaling.md and WORK/scaling.png: medians of windows and of repetitions, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
from measuring import machine

COUNTS = [4, 16, 64, 128]
LINES, MANY = 400, 8000
"""Of the text of each language: enough for steps to be alike, and enough for batches of 4 096 tokens to be."""
MODEL = (
    "model={embedding: {size: 128}, encoder: {type: lstm, size: 256, layers: 1}, bridge: {type: attention, heads: 10, hidden_size: 256}, "
    "decoder: {type: lstm, size: 256, layers: 1}}"
)
LARGE = (
    "model={embedding: {size: 512}, encoder: {type: lstm, size: 512, layers: 2}, bridge: {type: attention, heads: 10, hidden_size: 1024}, "
    "decoder: {type: lstm, size: 512, layers: 2}}"
)

BATCHES = {"64 sentences": "batching.size=64", "4,096 tokens": "batching={by: tokens, size: 4096}"}
"""Of one task: the default, and what Transformers are usually trained with."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument(
        "--steps",
        type=int,
        default=800,
        help="of a repetition; in the half that is left out every language has its turn",
    )
    parser.add_argument(
        "--counts", type=int, nargs="+", default=COUNTS, help="numbers of languages"
    )
    parser.add_argument(
        "--only", choices=["languages", "placement", "processes", "estimate"], action="append"
    )
    options = parser.parse_args()
    options.work = options.work.resolve()
    write_text(options.work / "text", max(64, *options.counts))
    parts = {
        "languages": languages,
        "placement": placement,
        "processes": processes,
        "estimate": estimate,
    }
    file = options.work / "scaling.json"
    figures = json.loads(file.read_text()) if file.exists() else {"conditions": {}}
    for name in options.only or parts:
        conditions = {
            "machine": machine(),
            "repetitions": options.repetitions,
            "steps": options.steps,
        }
        figures[name] = parts[name](options)
        figures["conditions"][name] = conditions
        print(json.dumps({name: figures[name]}, indent=1), flush=True)
        file.write_text(json.dumps(figures, indent=1))
    (options.work / "scaling.md").write_text(markdown(figures))
    if "languages" in figures:
        draw(figures["languages"], options.work / "scaling.png")
    print(markdown(figures))


# What is measured -------------------------------------------------------------------------------------------------------------


def languages(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """By the number of languages: seconds of a step, of a second start, and memory of training and of translating one direction."""
    seconds: dict[int, list[float]] = {count: [] for count in options.counts}
    result = {}
    for _ in range(options.repetitions):
        for count in options.counts:
            run = options.work / "runs" / f"{count}-languages"
            memory = train(options, run, count, [MODEL], steps=options.steps)
            seconds[count] += [1 / line["steps_per_second"] for line in windows(run, options.steps)]
            result.setdefault(count, {})["training_mib"] = memory
    for count in options.counts:
        run = options.work / "runs" / f"{count}-languages"
        translating = [
            measured(
                [
                    "translate",
                    run,
                    options.work / "text" / "test.l1",
                    "--from",
                    "l1",
                    "--to",
                    "l0",
                    "--beam",
                    "1",
                ]
            )
            for _ in range(2)
        ]
        start = [first_step(options, count) for _ in range(2)]
        result[count] |= {
            "step_seconds": statistics.median(seconds[count]),
            "start_seconds": min(start),
            "translating_mib": min(mib for _, mib in translating),
            "translating_seconds": min(spent for spent, _ in translating),
        }
    return {str(count): figures for count, figures in result.items()}


def placement(options: argparse.Namespace) -> dict[str, float]:
    """64 languages over four processes: parameters of the largest process, counted from what each builds."""
    from polyglot.config.loading import load_config
    from polyglot.training.dry_run import plan_training

    config = load_config(
        configuration(options), [*settings(64, 1), MODEL, f"run={options.work / 'never'}"]
    )
    everything = sum(plan_training(config).parameters_of(0).values())
    divided = plan_training(
        load_config(
            configuration(options), [*settings(64, 1), MODEL, "parallel.placement=partitioned"]
        ),
        4,
    )
    largest = max(sum(divided.parameters_of(process).values()) for process in range(4))
    return {
        "replicated_parameters": everything,
        "partitioned_parameters": largest,
        "share": largest / everything,
    }


def processes(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """By batches, target tokens a second: one process of two threads with two tasks an update, and two processes of one thread with one.

    An eighth of the steps: these are long ones.
    """
    steps, text = max(16, options.steps // 8), options.work / "longer"
    write_text(text, 4, lines=MANY)
    result: dict[str, dict[str, list[float]]] = {name: {"one": [], "two": []} for name in BATCHES}
    for _ in range(options.repetitions):
        for batches, setting in BATCHES.items():
            for name, several, own in (
                ("one", 1, "schedule.tasks_per_update=2"),
                ("two", 2, "schedule.tasks_per_update=1"),
            ):
                run = options.work / "runs" / f"{name}-processes"
                train(
                    options,
                    run,
                    4,
                    [LARGE, own, setting, f"data.folder={text}"],
                    steps=steps,
                    processes=several,
                )
                result[batches][name] += [line["tokens_per_second"] for line in windows(run, steps)]
    medians = {
        batches: {name: statistics.median(rates) for name, rates in own.items()}
        for batches, own in result.items()
    }
    return {batches: {**own, "ratio": own["two"] / own["one"]} for batches, own in medians.items()}


def estimate(options: argparse.Namespace) -> dict[str, float]:
    """200 languages with English, both ways, on 8 machines of 8 GPUs: what each process has and sends, counted by the program's own
    placement."""
    import torch

    from polyglot.config.loading import check_config
    from polyglot.model.translation_model import TranslationModel
    from polyglot.tasks.schedule import SCHEDULES
    from polyglot.tasks.sharing import component_names
    from polyglot.training.placement import build_placement

    layers = {"type": "transformer", "size": 512, "layers": 6, "heads": 8, "feed_forward": 2048}
    names = ["en", *(f"l{number}" for number in range(199))]
    values = {
        "languages": names,
        "data": {"train": [{"type": "phrasebook"}]},
        "training": {"steps": 1},
        "schedule": {"pairs": ["en-*", "*-en"]},
        "model": {
            "embedding": {"size": 512, "tie_output": True},
            "encoder": layers,
            "decoder": layers,
            "bridge": {"type": "attention", "heads": 10},
        },
        "parallel": {"placement": "partitioned"},
    }
    config = check_config(values, where="200 languages")
    sizes = dict.fromkeys((task.pair for task in config.tasks), 1)
    schedule = SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=names, sizes=sizes, seed=1
    )
    placed = build_placement(schedule, config, 64)
    with torch.device("meta"):
        model = TranslationModel(
            config.model, vocabulary_sizes=dict.fromkeys(names, 8000), pairs=config.pairs, seed=None
        )
    counts = {
        name: sum(one.numel() for one in own.values())
        for name, own in model.component_parameters().items()
    }
    of_each = [
        sum(count for name, count in counts.items() if process in placed.ranks_of(name))
        for process in range(64)
    ]
    task = config.tasks[0].pair
    trained = sum(counts.get(name, 0) for name in component_names(task))
    exchanged = {
        name
        for _, task in placed.batches_at(0)
        for name in component_names(task.pair)
        if len(placed.ranks_of(name)) > 1
    }
    return {
        "parameters_of_all": sum(counts.values()),
        "parameters_of_the_largest_process": max(of_each),
        "parameters_of_a_task": trained,
        "parameters_exchanged": sum(counts.get(name, 0) for name in exchanged),
        "states_of_a_position": 2 * layers["layers"] * layers["size"] + config.model.embedding.size,
        "scores_of_a_position": 8000,
        "assumed_tokens_of_a_batch": 8192,
        "assumed_flops_of_a_device": 4e14 * 0.3,
        "assumed_bytes_per_second_of_a_machine": 25e9,
    }


# Runs -------------------------------------------------------------------------------------------------------------------------


def configuration(options: argparse.Namespace) -> Path:
    """What all runs have in common."""
    file = options.work / "scaling.yaml"
    file.write_text(
        "languages: [l0, l1]\n"
        f"data: {{folder: {options.work / 'text'}, train: [{{type: text, path: 'train.{{language}}'}}]}}\n"
        "vocabulary: {type: word, size: 1000}\n"
        "schedule: {pairs: ['l0-*', '*-l0']}\n"
        "batching: {size: 64}\n"
        "training: {steps: 1}\n"
    )
    return file


def settings(count: int, steps: int) -> list[str]:
    names = ", ".join(f"l{number}" for number in range(count))
    return [
        f"languages=[{names}]",
        f"training.steps={steps}",
        f"training.log_every={max(1, steps // 8)}",
    ]


def train(
    options: argparse.Namespace,
    run: Path,
    count: int,
    own: list[str],
    *,
    steps: int,
    processes: int = 1,
) -> float:
    """Train a run afresh; returns the largest resident size of one process, in MiB."""
    subprocess.run(["rm", "-rf", run], check=True)
    more = ["--processes", processes] if processes > 1 else []
    _, memory = measured(
        ["-q", "train", configuration(options), f"run={run}", *settings(count, steps), *own, *more]
    )
    return memory


def first_step(options: argparse.Namespace, count: int) -> float:
    """Seconds from the command to the first step, with the text in the cache."""
    run = options.work / "runs" / "start"
    subprocess.run(["rm", "-rf", run], check=True)
    began = time.time()
    measured(["-q", "train", configuration(options), f"run={run}", *settings(count, 1), MODEL])
    return json.loads((run / "log.jsonl").read_text().splitlines()[0])["time"] - began


def measured(arguments: list) -> tuple[float, float]:
    """Seconds and the largest resident size in MiB of a call of the program, or of the largest process that it starts."""
    threads = "1" if "--processes" in arguments else "2"
    with open(os.devnull, "w") as nowhere:
        began = time.perf_counter()
        command = [sys.executable, "-m", "polyglot", *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=nowhere, env={**os.environ, "OMP_NUM_THREADS": threads}
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, arguments))}: status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def windows(run: Path, steps: int) -> list[dict]:
    """Lines of the log about the second half of the steps."""
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "training" and line["step"] > steps / 2]


def write_text(folder: Path, count: int, *, lines: int = LINES) -> None:
    """Line n of every language is the same sentence, word for word: 5 to 25 of 800 words."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, length in (("train", lines), ("test", 50)):
        random = numpy.random.default_rng(length)
        sentences = [random.zipf(1.3, random.integers(5, 26)) % 800 for _ in range(length)]
        for number in range(count):
            file = folder / f"{part}.l{number}"
            if not file.exists():
                file.write_text(
                    "".join(
                        " ".join(f"w{number}x{word}" for word in sentence) + "\n"
                        for sentence in sentences
                    )
                )


# The page ---------------------------------------------------------------------------------------------------------------------


def markdown(figures: dict) -> str:
    lines = ["# Many languages, several processes"]
    for name in (name for name in PARTS if name in figures["conditions"]):
        of = figures["conditions"][name]
        how = (
            f"--repetitions {of['repetitions']} --steps {of['steps']}"
            if name in ("languages", "processes")
            else "counted, not timed"
        )
        lines += ["", f"`--only {name}`, {how}; {of['machine']}", "", *PARTS[name](figures[name])]
    return "\n".join(lines)


def of_languages(figures: dict) -> Iterator[str]:
    yield "| languages | step, s | second start, s | training, MiB | translating one direction, MiB | the same, s |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for count, own in figures.items():
        yield (
            f"| {count} | {own['step_seconds']:.4f} | {own['start_seconds']:.1f} | {own['training_mib']:,.0f} "
            f"| {own['translating_mib']:,.0f} | {own['translating_seconds']:.1f} |"
        )
    steps = [own["step_seconds"] for own in figures.values()]
    yield f"\nThe slowest step takes {max(steps) / min(steps):.2f} times the fastest.\n"


def of_placement(figures: dict) -> Iterator[str]:
    whole, part = figures["replicated_parameters"], figures["partitioned_parameters"]
    yield (
        f"64 languages over 4 processes: {part:,} of {whole:,} parameters on the largest ({figures['share']:.1%}), and the same share of "
        "the two numbers that Adam keeps of each.\n"
    )


def of_processes(figures: dict) -> Iterator[str]:
    yield "| batches of a task | one process of two threads, target tokens/s | two processes of one thread | ratio |\n|---|---:|---:|---:|"
    for batches, own in figures.items():
        yield f"| {batches} | {own['one']:,.0f} | {own['two']:,.0f} | {own['ratio']:.2f} |"
    yield ""


def of_estimate(figures: dict) -> Iterator[str]:
    """Time and memory of an update, from what is counted and what is assumed of the machines."""
    whole, largest, trained, sent = (
        figures[f"parameters_{key}"]
        for key in ("of_all", "of_the_largest_process", "of_a_task", "exchanged")
    )
    tokens, speed, line = (
        figures[f"assumed_{key}"]
        for key in ("tokens_of_a_batch", "flops_of_a_device", "bytes_per_second_of_a_machine")
    )
    computing, sending = 6 * trained * tokens / speed, 2 * 4 * sent / line
    yield "## 200 languages on 8 × 8 GPUs, on paper\n"
    yield (
        "English with 199 languages, both ways; Transformers of 6 + 6 layers, 512 wide, feed-forward 2 048, 8 000 pieces a language; "
        f"`placement: partitioned`. Counted: {whole / 1e9:.1f} billion parameters in all, {largest / 1e6:,.0f} million (P) on "
        "the largest process, "
        f"{trained / 1e6:,.0f} million (A) in a task, {sent / 1e6:,.0f} million (X) that are exchanged in an update. Assumed, "
        "not measured: "
        f"{tokens:,} target tokens in a batch (n), {speed / 1e12:.0f} TFLOP/s of a device (F), {line / 1e9:.0f} GB/s between "
        "machines (B).\n"
    )
    yield "| of an update, on a process | formula | value |\n|---|---|---:|"
    yield f"| parameters and Adam's numbers | 12 P | {12 * largest / 2**30:.1f} GiB (replicated: {12 * whole / 2**30:.0f} GiB) |"
    yield (
        "| gradients of its language and of what is exchanged, and their copies on the way | 8 (A / 2 + X) | "
        f"{8 * (trained / 2 + sent) / 2**30:.2f} GiB |"
    )
    kept, scores = (
        64 * figures["states_of_a_position"] * tokens,
        8 * figures["scores_of_a_position"] * tokens,
    )
    yield f"| what is kept for the way back, as `--dry-run` estimates it | 4 · 16 n (layers · width + width) | {kept / 2**30:.1f} GiB |"
    yield f"| scores of the words, and their gradient | 8 n V | {scores / 2**30:.1f} GiB |"
    yield f"| computing | 6 A n / F | {computing * 1000:.0f} ms |"
    yield f"| sending, of which two thirds of the computing can hide | 2 · 4 X / B | {sending * 1000:.0f} ms |"
    yield f"| the two together | max(6 A n / F, 2 A n / F + 8 X / B) | {1000 * max(computing, computing / 3 + sending):.0f} ms |\n"
    limit = computing / 3 + sending
    bound = (
        f"Then computing takes {computing * 1000:.0f} of {limit * 1000:.0f} ms, and {(limit - computing) * 1000:.0f} ms of sending stay in "
        "sight"
        if limit > computing
        else f"Then computing, {computing * 1000:.0f} ms, hides the sending"
    )
    yield (
        f"{bound}: the two are about equal, and on faster devices or slower lines the exchange is the limit. What is exchanged is "
        "English's "
        "encoder and decoder and the bridge, however many languages there are: with more languages only P grows, by the languages of a "
        "process. Larger batches (or `tasks_per_update`) divide the share of the exchange.\n"
    )


PARTS = {
    "languages": of_languages,
    "placement": of_placement,
    "processes": of_processes,
    "estimate": of_estimate,
}


def draw(figures: dict, path: Path) -> None:
    """Step time and memory over the number of languages."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts = list(map(int, figures))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5))
    left.plot(counts, [own["step_seconds"] * 1000 for own in figures.values()], marker="o")
    left.set(
        xlabel="languages",
        ylabel="milliseconds of a step",
        ylim=(0, None),
        xscale="log",
        xticks=counts,
        xticklabels=counts,
    )
    for key, label in (
        ("training_mib", "training"),
        ("translating_mib", "translating one direction"),
    ):
        right.plot(counts, [own[key] for own in figures.values()], marker="o", label=label)
    right.set(
        xlabel="languages",
        ylabel="MiB",
        ylim=(0, None),
        xscale="log",
        xticks=counts,
        xticklabels=counts,
    )
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
