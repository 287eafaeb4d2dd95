"""Take over what `polyglot experiment` wrote, and put every table of the papers beside ours into evaluation/results/README.md.

    python evaluation/results/record.py                                         # the page again
    python evaluation/results/record.py experiments/multi30k_many_to_many/cpu   # a result first, or several

A result becomes NAME.SIZE.json and .md here, and a picture of docs/pictures. What somebody wrote into such a page above the line
"<!-- generated below -->" stays there when it is recorded again.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

from polyglot.core.errors import DataError
from polyglot.core.markdown import table
from polyglot.core.yaml import read_yaml
from polyglot.evaluation.grid import KIND_MARKS
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.references import Reference
from polyglot.evaluation.significance import SIGNIFICANCE_LEVEL
from polyglot.experiments import Experiment
from polyglot.experiments.results import Spread
from polyglot.tasks.pairs import LanguagePair

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
PICTURES = HERE.parents[1] / "docs" / "pictures"
MARKER = "<!-- generated below -->"
NOT_YET = "not run yet"

HEAD = """\
# Every table of the papers, and ours

`python evaluation/results/record.py` writes this page, from the tables of the papers, the experiments and the results in this folder. What an analysis
printed, or several models wrote together, is copied from the page that is named below it, and so is how much text there is; no other number of ours is. What is not run yet has a command
that runs it, and [docs/research/experiments.md](../../docs/research/experiments.md) says how long that takes: hours of a CPU at `cpu`, one GPU at `full`, which
was never at hand, so that nothing of that size has been run. Diagrams of models are left out. Signatures of experiments stand below their commands; † zero-shot, never
trained; over several seeds mean ± standard deviation; \\* differs from the system it stands beside with p < 0.05 by sacreBLEU's paired bootstrap, which is lenient: of a
clear difference it counts one tail, so that 0.025 is some 0.05 of a two-sided test."""


@dataclass(frozen=True)
class Result:
    """One experiment at one size, run or not."""

    name: str
    size: str

    @property
    def title(self) -> str:
        return f"{self.name}, {self.size}" if self.size else self.name

    @property
    def stem(self) -> str:
        return f"{self.name}.{self.size}" if self.size else self.name

    @property
    def command(self) -> str:
        return f"polyglot experiment {self.name}" + (f" --size {self.size}" if self.size else "")

    @cached_property
    def values(self) -> dict[str, Any] | None:
        """What result.json says; None when it was not run."""
        path = HERE / f"{self.stem}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    @property
    def row(self) -> list[str]:
        """Command, page, day and machine."""
        if self.values is None:
            return [f"`{self.command}`", NOT_YET, "", ""]
        systems = self.values["systems"].values()
        days = sorted(day for system in systems for day in system.get("days", ()) if day)
        machines = dict.fromkeys(system["machine"] for system in systems)
        taken = any(
            command.startswith("taken as it is")
            for system in systems
            for command in system["commands"]
        )
        page = f"[{self.stem}.md]({self.stem}.md)" + (
            ", of runs that had been trained before" if taken else ""
        )
        return [
            f"`{self.command}`",
            page,
            days[-1] if days else "not recorded",
            "; ".join(machines),
        ]

    @property
    def scored(self) -> str:
        """What its numbers are, with every signature of them."""
        signatures = dict.fromkeys(
            one
            for system in self.values["systems"].values()
            for one in system["signatures"][self.values["measure"]]
        )
        return f"{Measure.parse(self.values['measure']).title}: {', '.join(f'`{signature}`' for signature in signatures)}"

    @property
    def mark(self) -> str:
        """What the mark of a difference is of, where it is not of the means that it stands at."""
        spreads = (
            kinds.values()
            for system in self.values["systems"].values()
            for kinds in system["kinds"].values()
        )
        several = any(spread["count"] > 1 for kinds in spreads for spread in kinds)
        of_means = "means over the seeds" in (test := self.values["test"] or "")
        return " (\\* of the first seed of each)" if several and test and not of_means else ""

    def score(self, system: str, direction: str) -> str:
        of_system = self.values["systems"].get(system)  # a size may leave systems out
        cell = of_system and of_system["directions"].get(direction)
        return (
            shown(cell["scores"][self.values["measure"]], zero_shot=cell["kind"] == "zero-shot")
            if cell
            else "–"
        )

    def mean_of(self, system: str, kind: str) -> str:
        found = self.values["systems"][system]["kinds"][self.values["measure"]].get(kind)
        return shown(found, zero_shot=kind == "zero-shot") if found else "–"

    def directions(self, system: str, kind: str) -> set[str]:
        """Those that a mean is of."""
        return {
            direction
            for direction, cell in self.values["systems"][system]["directions"].items()
            if cell["kind"] == kind
        }


def shown(spread: Mapping[str, Any], *, zero_shot: bool = False) -> str:
    return f"{Spread(**spread).shown()}{'†' if zero_shot else ''}"


def results_of(name: str, systems: Collection[str] = ()) -> list[Result]:
    """An experiment at each of its sizes, or at those that have any of the systems."""
    experiment = Experiment.load(name)
    return [
        Result(name, size)
        for size in experiment.sizes or [""]
        if not systems or {*systems} & {*experiment.at(size or None).systems}
    ]


def page(tables: Mapping[str, Any]) -> str:
    """The whole page."""
    blocks = [HEAD]
    for paper in tables["papers"]:
        blocks += [f"## {paper['title']}", f"{paper['source']}. {paper['text']}"]
        for each in paper["tables"]:
            blocks += [f"### {each['table']}: {each['about']}", *_table(each)]
    rows = (f"- [{file}]({file}): {about}" for file, about in tables["others"].items())
    return "\n\n".join([*blocks, "## What else was measured", "\n".join(rows)]) + "\n"


def _table(given: Mapping[str, Any]) -> Iterator[str]:
    systems = given.get("systems", {})
    if "experiment" in given:
        systems = {
            given["experiment"]: [given["system"]] if "system" in given else [],
            **dict.fromkeys(given.get("also", ()), []),
        }
    results = [result for name, those in systems.items() for result in results_of(name, those)]
    if "reference" in given:
        yield _beside_the_reference(
            Reference.load(given["reference"]),
            systems,
            run=[each for each in results if each.values],
        )
    elif "experiment" in given:
        experiment, run = (
            Experiment.load(given["experiment"]),
            [each for each in results if each.values],
        )
        if any(system.paper for system in experiment.systems.values()):
            yield _beside_the_differences(experiment, run)
        else:
            yield from (
                _left_out(each) if each.values.get("left_out") else _means(each) for each in run
            )
    if results:
        yield table(
            ["command", "result", "trained until", "evaluated on"], (each.row for each in results)
        )
        if scored := dict.fromkeys(each.scored for each in results if each.values):
            yield f"{'; '.join(scored)}."
    if "numbers" in given:
        yield table(given["numbers"]["head"], given["numbers"]["rows"])
    if "commands" in given:
        yield "```\n" + "\n".join(given["commands"]) + "\n```"
        yield (
            f"Ours: [{given['ours']}]({given['ours']})."
            if "ours" in given
            else f"{NOT_YET.capitalize()}."
        )
    if "not_here" in given:
        yield f"**Not here.** {given['not_here']}"


def _beside_the_reference(
    reference: Reference, systems: Mapping[str, Sequence[str]], *, run: Sequence[Result]
) -> str:
    """Each direction of a paper's table, and the means, beside each system of each result."""
    columns = [
        (each, system)
        for each in run
        for system in systems[each.name]
        if system in each.values["systems"]
    ]
    heads = (
        f"{each.title}: {system}" if len(systems[each.name]) > 1 else each.title
        for each, system in columns
    )
    rows = []
    for kind in ("supervised", "zero-shot"):
        theirs = {
            pair: score
            for pair, score in reference.scores.items()
            if reference.kind_of(LanguagePair.parse(pair)) == kind
        }
        if theirs:
            ours = (
                each.mean_of(system, kind) if each.directions(system, kind) == {*theirs} else "–"
                for each, system in columns
            )
            rows.append(
                [
                    f"**mean, {kind}**",
                    shown(
                        asdict(Spread.of([mean(theirs.values())])), zero_shot=kind == "zero-shot"
                    ),
                    *ours,
                ]
            )
    for pair, score in reference.scores.items():
        unseen = reference.kind_of(LanguagePair.parse(pair)) == "zero-shot"
        ours = (each.score(system, pair) for each, system in columns)
        rows.append([pair, shown(asdict(Spread.of([score])), zero_shot=unseen), *ours])
    return table(["", "the paper", *heads], rows)


def _beside_the_differences(experiment: Experiment, run: Sequence[Result]) -> str:
    """What a paper found on other text: its scores, and its differences beside ours; and systems of ours that it has not."""
    directions = dict.fromkeys(
        direction for system in experiment.systems.values() for direction in system.paper
    )
    rows = []
    for name, system in experiment.systems.items():
        differences = experiment.papers_differences(name)
        for direction in directions:
            scores = [
                f"{each.score(name, direction)}{_gain(each, name, direction=direction)}"
                for each in run
            ]
            theirs = f"{system.paper[direction]:.2f}" if direction in system.paper else "–"
            beside = experiment.base_of(name) or ""
            if direction in differences:
                difference, base = differences[direction]
                theirs += (
                    f" ({difference:+.2f})"
                    if base == beside
                    else f" ({difference:+.2f} from {base})"
                )
            if any(score != "–" for score in (theirs, *scores)):
                rows.append([name, direction, beside, theirs, *scores])
    head = [
        "system",
        "direction",
        "beside",
        "the paper, on its own text",
        *(f"{each.title}{each.mark}" for each in run),
    ]
    return table(head, rows)


def _gain(result: Result, system: str, *, direction: str) -> str:
    """Ours, and whether it is significant."""
    for claim in result.values["claims"]:
        if (claim["system"], claim["direction"]) == (system, direction):
            mark = "\\*" if claim["p"] is not None and claim["p"] < SIGNIFICANCE_LEVEL else ""
            return f" ({claim['ours']:+.2f}{mark})"
    return ""


def _means(result: Result) -> str:
    """Of each system and each kind of direction, and how large the system is."""
    kinds = [
        kind
        for kind in KIND_MARKS
        if any(result.mean_of(system, kind) != "–" for system in result.values["systems"])
    ]
    rows = (
        [
            name,
            f"{system['parameters']:,}" if "parameters" in system else "–",
            *(result.mean_of(name, kind) for kind in kinds),
        ]
        for name, system in result.values["systems"].items()
    )
    return table([result.title, "parameters", *kinds], rows)


def _left_out(result: Result) -> str:
    """Each direction where a system was trained without it, beside those that were trained on it, if any were; below it the means."""
    both = {
        direction: each
        for direction, each in result.values["left_out"].items()
        if each["supervised"]
    }
    left_out = {
        direction: (each["zero-shot"], Spread(**each["supervised"]))
        for direction, each in both.items()
    }
    rows = [
        [direction, f"{unseen:.2f}†", seen.shown(), f"{unseen - seen.mean:+.2f}"]
        for direction, (unseen, seen) in left_out.items()
    ]
    unseen, seen = (
        mean(values) for values in zip(*((one, other.mean) for one, other in left_out.values()))
    )
    rows.append(
        [f"**mean of {len(rows)}**", f"{unseen:.2f}†", f"{seen:.2f}", f"{unseen - seen:+.2f}"]
    )
    return table(
        [
            result.title,
            "the model that was trained without it",
            "the models that were trained on it",
            "difference",
        ],
        rows,
    )


def result_of(folder: Path) -> Result:
    """What a folder that `polyglot experiment` wrote is the result of.

    Raises `DataError` where the folder is none of an experiment's, or what was written by hand into its page would be lost.
    """
    if missing := [
        name for name in ("result.json", "result.md", "result.png") if not (folder / name).is_file()
    ]:
        such = (
            "name a folder that `polyglot experiment` has written, such as experiments/phrasebook"
        )
        raise DataError(f"{folder}: no {', '.join(missing)}; {such}")
    try:
        size = json.loads((folder / "result.json").read_text(encoding="utf-8"))["size"]
    except (ValueError, KeyError, TypeError):
        raise DataError(
            f"{folder / 'result.json'}: does not say which size it is of; call `polyglot experiment` again"
        ) from None
    result = Result((folder.parent if size else folder).resolve().name, size)
    if result.name not in {path.stem for path in (HERE.parent / "experiments").glob("*.yaml")}:
        raise DataError(
            f"{folder}: {result.name!r} is none of evaluation/experiments; name a folder such as experiments/phrasebook"
        )
    if size not in (
        sizes := Experiment.load(str(HERE.parent / "experiments" / f"{result.name}.yaml")).sizes
        or [""]
    ):
        raise DataError(
            f"{folder}: found the size {size!r}; {result.name} has {', '.join(sizes) or 'none'}"
        )
    target = HERE / f"{result.stem}.md"
    if target.is_file() and MARKER not in target.read_text(encoding="utf-8"):
        raise DataError(
            f"{target}: no line {MARKER!r}, above which stands what is to stay; write it where the old result begins"
        )
    return result


def take_over(folder: Path) -> Path:
    """A result of `polyglot experiment` into this folder; its page here. Raises what `result_of` does, before anything is written."""
    result = result_of(folder)
    came_out = (
        (folder / "result.md")
        .read_text(encoding="utf-8")
        .replace("](result.png)", f"](../../docs/pictures/{result.stem}.png)")
    )
    heading, _, rest = came_out.partition("\n\n")
    target, by_hand = HERE / f"{result.stem}.md", f"{heading}\n\n"
    if target.is_file():
        by_hand = target.read_text(encoding="utf-8").partition(MARKER)[0]
    shutil.copyfile(folder / "result.json", HERE / f"{result.stem}.json")
    shutil.copyfile(folder / "result.png", PICTURES / f"{result.stem}.png")
    target.write_text(f"{by_hand}{MARKER}\n\n{rest}", encoding="utf-8")
    return target


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="where `polyglot experiment` wrote"
    )
    try:
        folders = parser.parse_args().folders
        for folder in folders:  # all of them, before anything is written
            result_of(folder)
        for folder in folders:
            print(take_over(folder))
    except DataError as error:
        parser.exit(2, f"error: {error}\n")
    PAGE.write_text(page(read_yaml(HERE / "tables.yaml")), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
