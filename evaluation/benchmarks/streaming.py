"""What streamed text costs beside cached text: memory as the text grows, and the speed of training.

    python evaluation/benchmarks/streaming.py WORK

The text is made up: sentence pairs of 5 to 25 of 800 words, in files of 100,000. Figures go to WORK/streaming.json and WORK/streaming.md:
the largest resident size of whole trainings, and medians of target tokens a second over the windows of repetitions, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from pathlib import Path

import numpy
from measuring import machine
from scaling import LARGE, measured

PART = 100_000
TINY = (
    "model={embedding: {size: 8}, encoder: {type: gru, size: 8, layers: 1}, bridge: {type: attention, heads: 2, hidden_size: 8}, "
    "decoder: {type: gru, size: 8, layers: 1}}"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 5_000_000], help="sentence pairs of each text")
    parser.add_argument("--steps", type=int, default=3000, help="training steps of which the memory is taken")
    parser.add_argument("--batch", type=int, default=512, help="sentence pairs of each of them")
    parser.add_argument("--timed-steps", type=int, default=160, help="training steps of each repetition; the first half is left out")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=["memory", "speed"], action="append")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    for number in range(-(-max(options.lines) // PART)):
        write_part(options.work / "text", number)
    (options.work / "streaming.yaml").write_text(
        f"languages: [a, b]\ndata: {{folder: {options.work}, train: []}}\nvocabulary: {{type: word, size: 1000, sentences: 50000}}\n"
        "schedule: {pairs: [a-b]}\ntraining: {steps: 1, checkpoint: {keep: 1}}\n"
    )
    file = options.work / "streaming.json"
    figures = json.loads(file.read_text()) if file.exists() else {}
    figures |= {"machine": machine(), "steps": options.steps, "batch": options.batch}
    for name in options.only or PARTS:
        figures[name] = PARTS[name](options)
        print(json.dumps({name: figures[name]}, indent=1), flush=True)
        file.write_text(json.dumps(figures, indent=1))
    (options.work / "streaming.md").write_text(markdown(figures))
    print(markdown(figures))


def memory(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """By the number of sentence pairs, MiB of a training that streams them."""
    trained = ["batching.size=" + str(options.batch), f"training.log_every={options.steps}", f"training.checkpoint.every={options.steps}"]
    return {
        str(lines): {"streamed_mib": train(options, "streamed", lines, options.steps, [TINY, *trained])[1]} for lines in options.lines
    }


def speed(options: argparse.Namespace) -> dict[str, float]:
    """Target tokens a second of the smallest text, streamed and cached."""
    rates: dict[str, list[float]] = {"cached": [], "streamed": []}
    for _ in range(options.repetitions):
        for name in rates:
            steps = options.timed_steps
            log, _ = train(options, name, min(options.lines), steps, [LARGE, "batching.size=64", f"training.log_every={max(1, steps // 8)}"])
            lines = [line for line in map(json.loads, log.read_text().splitlines()) if line["kind"] == "training"]
            rates[name] += [line["tokens_per_second"] for line in lines if line["step"] > steps / 2]
    medians = {f"{name}_tokens_per_second": statistics.median(values) for name, values in rates.items()}
    return medians | {"ratio": medians["streamed_tokens_per_second"] / medians["cached_tokens_per_second"]}


PARTS = {"memory": memory, "speed": speed}


def train(options: argparse.Namespace, name: str, lines: int, steps: int, settings: list[str]) -> tuple[Path, float]:
    """The log of a training, and its largest resident size in MiB."""
    corpora = [f"{{type: text, path: 'text/{number}.{{language}}'}}" for number in range(-(-lines // PART))]
    if name == "streamed":
        folder = options.work / f"text-{lines}"
        if not folder.exists():
            folder.mkdir()
            for number in range(len(corpora)):
                for language in "ab":
                    (folder / f"{number}.{language}").symlink_to(options.work / "text" / f"{number}.{language}")
        corpora = [f"{{type: text, path: '{folder.name}/*.{{language}}', streaming: true}}"]
    run = options.work / "runs" / f"{name}-{lines}"
    shutil.rmtree(run, ignore_errors=True)
    own = [f"run={run}", f"data.train=[{', '.join(corpora)}]", f"training.steps={steps}"]
    return run / "log.jsonl", measured(["-q", "train", options.work / "streaming.yaml", *own, *settings])[1]


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
        read = figures["steps"] * figures["batch"]
        lines += [f"{read:,} sentence pairs were trained on, {figures['batch']:,} in a batch, 32,768 in a pool.", ""]
        lines += ["| sentence pairs of the text | largest resident size, MiB |", "|---:|---:|"]
        lines += [f"| {int(count):,} | {own['streamed_mib']:,.0f} |" for count, own in figures["memory"].items()] + [""]
    if "speed" in figures:
        cached, streamed = (figures["speed"][f"{name}_tokens_per_second"] for name in ("cached", "streamed"))
        lines += [f"Streamed {streamed:,.0f} target tokens/s, cached {cached:,.0f}: {figures['speed']['ratio']:.2f}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
