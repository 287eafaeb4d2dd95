"""Page and plot of the scaling benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scaling_estimate import estimate_page

from polyglot.core.markdown import table
from polyglot.core.score_tables import format_percent

TIMED_PARTS = ("languages", "processes")


def markdown(results: dict) -> str:
    """Return the page. `conditions` holds machine, repetitions and steps of each part."""
    lines = ["# Many languages, several processes"]
    for name, page in PAGES.items():
        if name not in results["conditions"]:
            continue
        conditions = results["conditions"][name]
        method = "counted, not timed"
        if name in TIMED_PARTS:
            method = f"--repetitions {conditions['repetitions']} --steps {conditions['steps']}"
        lines += ["", f"`--only {name}`, {method}; {conditions['machine']}", ""]
        lines += page(results[name])
    return "\n".join(lines)


def languages_page(results: dict[str, dict[str, float]]) -> Iterator[str]:
    head = [
        "languages",
        "step, s",
        "second start, s",
        "training, MiB",
        "translation of one direction, MiB",
        "translation of one direction, s",
    ]
    rows = []
    for count, values in results.items():
        rows.append(
            [
                count,
                f"{values['step_seconds']:.4f}",
                f"{values['start_seconds']:.1f}",
                f"{values['training_mib']:,.0f}",
                f"{values['translation_mib']:,.0f}",
                f"{values['translation_seconds']:.1f}",
            ]
        )
    yield table(head, rows)
    steps = [values["step_seconds"] for values in results.values()]
    yield f"\nThe slowest step takes {max(steps) / min(steps):.2f} times the fastest.\n"


def placement_page(results: dict[str, float]) -> Iterator[str]:
    yield (
        f"64 languages on 4 processes: the largest process has "
        f"{results['partitioned_parameters']:,} of {results['replicated_parameters']:,} parameters "
        f"({format_percent(results['share'])}), and the same share of Adam's state.\n"
    )


def processes_page(results: dict[str, dict[str, float]]) -> Iterator[str]:
    head = [
        "batch of a task",
        "one process with two threads, target tokens/s",
        "two processes with one thread each, target tokens/s",
        "ratio",
    ]
    rows = []
    for name, values in results.items():
        one_process = f"{values['one_process']:,.0f}"
        two_processes = f"{values['two_processes']:,.0f}"
        rows.append([name, one_process, two_processes, f"{values['ratio']:.2f}"])
    yield table(head, rows)
    yield ""


PAGES = {
    "languages": languages_page,
    "placement": placement_page,
    "processes": processes_page,
    "estimate": estimate_page,
}


def draw(results: dict[str, dict[str, float]], path: Path) -> None:
    """Plot step time and memory over the number of languages."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts = list(map(int, results))
    axis_settings = {
        "xlabel": "languages",
        "ylim": (0, None),
        "xscale": "log",
        "xticks": counts,
        "xticklabels": counts,
    }
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5))
    milliseconds = [values["step_seconds"] * 1000 for values in results.values()]
    left.plot(counts, milliseconds, marker="o")
    left.set(ylabel="milliseconds per step", **axis_settings)

    curves = {"training_mib": "training", "translation_mib": "translation of one direction"}
    for key, label in curves.items():
        memory = [values[key] for values in results.values()]
        right.plot(counts, memory, marker="o", label=label)
    right.set(ylabel="MiB", **axis_settings)
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
