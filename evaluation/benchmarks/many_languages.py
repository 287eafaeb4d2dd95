"""Cost of the report and of the dry run with many languages: seconds, and megabytes of the page.

    python evaluation/benchmarks/many_languages.py WORK [--languages 100] [--table FILE]
        [--schedule english_centric] [--schedule many_to_many] [--only report] [--only dry-run]

A run is trained for one update with each schedule. Its score matrix and its log are then made up:
every direction has two scores, output errors and translations. Without `--table`, the text is
generated too; with it, the text is a TSV table whose first line names the languages.
Results are printed and written to WORK/many_languages.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy
import yaml
from machine import find_processor

SCHEDULES = ("english_centric", "many_to_many")
PARTS = ("report", "dry-run")
LINES = 50
"""Sentences of the generated text."""
TEST_LINES = 20
"""Sentences of the made-up evaluation."""
RECORDS = 40
"""Lines of the made-up log about training."""
VALIDATIONS = 10


def main() -> None:
    arguments = parse_arguments()
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    table = arguments.table or generate_table(work / "text.tsv.gz", arguments.languages)
    table = table.resolve()
    languages = read_languages(table)[: arguments.languages]

    results = []
    for schedule in arguments.schedule or SCHEDULES:
        config = work / f"{schedule}.yaml"
        write_config(config, table, languages, schedule=schedule)
        for part in arguments.only or PARTS:
            measure = measure_report if part == "report" else measure_dry_run
            result = {"schedule": schedule, "languages": len(languages), **measure(config)}
            result["processor"] = str(find_processor())
            results.append(result)
            print(json.dumps(result), flush=True)
    (work / "many_languages.json").write_text(json.dumps(results, indent=1))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--languages", type=int, default=100, help="number of languages")
    parser.add_argument("--table", type=Path, help="TSV table with a header; plain or gzip")
    parser.add_argument("--schedule", choices=SCHEDULES, action="append")
    parser.add_argument("--only", choices=PARTS, action="append")
    return parser.parse_args()


# Measurements


def measure_report(config: Path) -> dict[str, float | str]:
    """Seconds of `polyglot report`, and megabytes of the page."""
    run = config.with_suffix("")
    if not run.exists():
        polyglot("-q", "train", config)
        make_up_evaluation(run)
        make_up_log(run)
    seconds = polyglot("-q", "report", run)
    size = (run / "report.html").stat().st_size
    return {"command": "report", **seconds, "megabytes": round(size / 1e6, 2)}


def measure_dry_run(config: Path) -> dict[str, float | str]:
    """Seconds of `polyglot train --dry-run`: the first with an empty cache of the text."""
    cache = config.with_suffix(".cache")
    shutil.rmtree(cache, ignore_errors=True)
    settings = ["-q", "train", config, "--dry-run", f"run={config.with_suffix('.never')}"]
    first = polyglot(*settings, cache=cache)
    second = polyglot(*settings, cache=cache)
    result: dict[str, float | str] = {"command": "train --dry-run", **first}
    for name, value in second.items():
        result[f"again_{name}"] = value
    return result


def polyglot(*arguments: object, cache: Path | None = None) -> dict[str, float]:
    """Run a command; return its seconds by the clock and of the processor (user and system)."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if cache:
        environment["HF_DATASETS_CACHE"] = str(cache)
    command = [sys.executable, "-m", "polyglot", *map(str, arguments)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": round(seconds, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
    }


# Text and configuration


def generate_table(path: Path, count: int) -> Path:
    """Write a table in which every language has its own words, from 5 to 25 in a sentence."""
    generator = numpy.random.default_rng(1)
    rows = ["\t".join(f"l{number}" for number in range(count))]
    for _ in range(LINES):
        words = generator.zipf(1.3, generator.integers(5, 26)) % 200
        cells = []
        for number in range(count):
            cells.append(" ".join(f"w{number}x{word}" for word in words))
        rows.append("\t".join(cells))
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")
    return path


def read_languages(table: Path) -> list[str]:
    """Languages of a table: English or the first language, then all others."""
    open_table = gzip.open if table.suffix == ".gz" else open
    with open_table(table, "rt", encoding="utf-8") as file:
        languages = file.readline().rstrip("\n").split("\t")
    if "eng" in languages:
        languages.remove("eng")
        languages.insert(0, "eng")
    return languages


def write_config(path: Path, table: Path, languages: Sequence[str], *, schedule: str) -> None:
    """Write the configuration of a small model."""
    corpus = {"type": "tsv", "path": str(table), "header": True, "columns": "{language}"}
    pairs = ["*-*"]
    if schedule == "english_centric":
        pairs = [f"{languages[0]}-*", f"*-{languages[0]}"]
    values = {
        "languages": list(languages),
        "run": str(path.with_suffix("")),
        "data": {
            "train": [corpus],
            "valid": [corpus],
            "test": [corpus],
            "filter": {"max_ratio": None},
        },
        "vocabulary": {"type": "word", "size": 100},
        "schedule": {"pairs": pairs},
        "model": {
            "embedding": {"size": 16},
            "encoder": {"type": "lstm", "size": 16, "layers": 1},
            "bridge": {"type": "attention", "heads": 3, "hidden_size": 16},
            "decoder": {"type": "lstm", "size": 16, "layers": 1},
        },
        "training": {"steps": 1},
    }
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


# Made-up results


def make_up_evaluation(run_path: Path) -> None:
    """Write a score matrix of all directions, with the translations of another sentence."""
    from polyglot.data.corpora import Corpora
    from polyglot.evaluation.metrics import Score
    from polyglot.evaluation.output_errors import OutputErrors
    from polyglot.evaluation.protocol import Protocol
    from polyglot.evaluation.results_cache import text_name
    from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
    from polyglot.runs.run import Run
    from polyglot.tasks.pairs import LanguagePair

    run = Run.open(run_path)
    languages = run.config.languages
    corpora = Corpora(run.config.data.test, folder=Path(), languages=languages)
    texts = {}
    names = {}
    for language in languages:
        lines = list(corpora.sentences(language))[:TEST_LINES]
        names[language] = text_name(language, lines)
        texts[names[language]] = lines

    generator = numpy.random.default_rng(2)
    trained = set(run.config.pairs)
    cells = {}
    hypotheses = {}
    for source in languages:
        for target in languages:
            pair = LanguagePair(source, target)
            if pair.is_copy:
                continue
            kind = "supervised" if pair in trained else "zero-shot"
            bleu = float(generator.gamma(4, 6 if pair in trained else 3))
            wrong = float(generator.beta(1, 30))
            cell = Cell(
                pair,
                kind,
                scores={
                    "bleu": Score(bleu, "nrefs:1|case:mixed", bleu, 1.5),
                    "chrf": Score(bleu + 12, "nrefs:1|case:mixed", bleu + 12, 1.2),
                },
                sentences=TEST_LINES,
                seconds=0.1,
                outputs=OutputErrors(wrong, 0.01, 0.002, 0.0, 0.0, 0.01, 0.0, 0.98, {}),
                source_text=names[source],
                reference_text=names[target],
            )
            cells[pair] = cell
            lines = texts[names[target]]
            hypotheses[str(pair)] = [*lines[1:], lines[0]]

    protocol = Protocol.model_validate({"metrics": ["bleu", "chrf"]})
    matrix = ScoreMatrix(
        languages=languages,
        cells=cells,
        trained=list(trained),
        checkpoint={"run": str(run_path), "checkpoint": "best", "steps": [1]},
        search={"beam": 1},
        protocol=protocol,
        test=["made up"],
        versions={},
        machine="made up",
        hypotheses=hypotheses,
        texts=texts,
    )
    matrix.save(run.evaluation / "default")


def make_up_log(run_path: Path) -> None:
    """Write a log with the losses of every task."""
    from polyglot.runs.run import Run

    run = Run.open(run_path)
    names = [task.name for task in run.config.tasks]
    generator = numpy.random.default_rng(3)
    records = []
    for number in range(1, RECORDS + 1):
        step = 50 * number
        drawn = names
        if len(names) > 50:
            drawn = [names[index] for index in generator.integers(0, len(names), 50)]
        records.append(training_record(step, drawn, generator))
        if number % (RECORDS // VALIDATIONS) == 0:
            losses = {name: loss(step, generator) for name in names}
            record = {"kind": "validation", "step": step, "losses": losses, "bleu": {}}
            records.append({**record, "value": 1.0, "by": "loss", "best": True})
    lines = [json.dumps(record) for record in records]
    run.log.write_text("\n".join(lines) + "\n", encoding="utf-8")


def training_record(step: int, names: Sequence[str], generator: numpy.random.Generator) -> dict:
    tasks = {}
    for name in names:
        translation = loss(step, generator)
        tasks[name] = {"tokens": 900, "translation": translation, "bridge": translation / 4}
    return {
        "kind": "training",
        "step": step,
        "loss": 3.0,
        "tokens_per_second": 900.0,
        "steps_per_second": 9.0,
        "learning_rate": 0.001,
        "gradient_norm": 1.0,
        "seconds": 0.5 * step,
        "tasks": tasks,
    }


def loss(step: int, generator: numpy.random.Generator) -> float:
    return round(1 + 200 / (step + 40) + float(generator.normal(0, 0.05)), 4)


if __name__ == "__main__":
    main()
