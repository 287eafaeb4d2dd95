"""Record results of `polyglot experiment`, and write the page of all results, README.md.

    python evaluation/results/record.py                         # only the page
    python evaluation/results/record.py experiments/NAME/SIZE   # record results first

A result becomes NAME.SIZE.json and NAME.SIZE.md in this folder, and a figure in docs/pictures.
Text that was added to its page above the line "<!-- generated below -->" stays when the result is
recorded again.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

from polyglot.core.errors import DataError
from polyglot.core.markdown import table
from polyglot.core.score_tables import KINDS, NO_VALUE
from polyglot.core.yaml import read_yaml
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.references import Reference
from polyglot.evaluation.significance import SIGNIFICANCE_LEVEL
from polyglot.experiments import Experiment
from polyglot.experiments.system_result import Spread
from polyglot.experiments.systems import EXISTING_RUN
from polyglot.tasks.pairs import LanguagePair

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
PICTURES = HERE.parents[1] / "docs" / "pictures"
MARKER = "<!-- generated below -->"
NOT_YET = "not run yet"
RESULT_FILES = ("result.json", "result.md", "result.png")

EXISTING_RUNS = (EXISTING_RUN, "taken as it is: ")
"""Beginnings of the commands of existing runs in result files; older files have the second one."""

HEAD = """\
# Tables of the papers, compared with our results

`python evaluation/results/record.py` writes this page from the tables of the papers, the
experiments and the results in this folder. The output of analyses and ensembles, and the sizes of
the texts, are copied from the page named below each table. All other results of ours come from the
result files.

- "not run yet": the command in the row runs the experiment.
  [docs/research/experiments.md](../../docs/research/experiments.md) gives the time: hours of a CPU
  at `cpu`, one GPU at `full`. A GPU was available for a quarter of an hour ([gpu.md](gpu.md)), so
  no experiment of size `full` has been run.
- Diagrams of models are omitted. Metric signatures are below the commands.
- † zero-shot, never trained. Several seeds: mean ± standard deviation.
- \\* differs from the system it is compared with, p < 0.05 (sacreBLEU's paired bootstrap).
  For a clear difference this test counts one tail: 0.025 corresponds to about 0.05 of a two-sided
  test."""

VERDICTS = ("reproduced", "partly", "not", "not run")
CLAIMS = """\
## What is reproduced

A claim is *reproduced* only by a model and a text like the paper's. The same effect with another
model or another text is *partly* reproduced. Differences are in BLEU."""


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
        """Name of its files without the suffix."""
        return f"{self.name}.{self.size}" if self.size else self.name

    @property
    def command(self) -> str:
        command = f"polyglot experiment {self.name}"
        return f"{command} --size {self.size}" if self.size else command

    @cached_property
    def values(self) -> dict[str, Any] | None:
        """Content of result.json; None if the experiment was not run."""
        path = HERE / f"{self.stem}.json"
        if not path.is_file():
            return None
        return json.loads(path.read_text(encoding="utf-8"))

    @property
    def row(self) -> list[str]:
        """Command, page, last day of the training, and machine."""
        if self.values is None:
            return [f"`{self.command}`", NOT_YET, "", ""]
        last_day = ""
        machines: dict[str, None] = {}
        has_existing_runs = False
        for system in self.values["systems"].values():
            machines[system["machine"]] = None
            for day in system.get("days", ()):
                last_day = max(last_day, day or "")
            for command in system["commands"]:
                if command.startswith(EXISTING_RUNS):
                    has_existing_runs = True

        page = f"[{self.stem}.md]({self.stem}.md)"
        if has_existing_runs:
            page += ", from existing runs"
        return [f"`{self.command}`", page, last_day or "not recorded", "; ".join(machines)]

    @property
    def main_metric(self) -> str:
        return self.values["measure"]

    @property
    def signatures(self) -> str:
        """Main metric with all its signatures."""
        signatures: dict[str, None] = {}
        for system in self.values["systems"].values():
            signatures.update(dict.fromkeys(system["signatures"][self.main_metric]))
        title = Measure.parse(self.main_metric).title
        code_spans = [f"`{signature}`" for signature in signatures]
        return f"{title}: {', '.join(code_spans)}"

    @property
    def mark_note(self) -> str:
        """Note that `*` is a test of the first seeds, in older results with several seeds."""
        has_several_seeds = False
        for system in self.values["systems"].values():
            for means in system["kinds"].values():
                for spread in means.values():
                    if spread["count"] > 1:
                        has_several_seeds = True

        test = self.values["test"] or ""
        if not has_several_seeds or not test or "means over the seeds" in test:
            return ""
        return " (\\* first seed of each system)"

    def score(self, system: str, direction: str) -> str:
        """Score of one direction; – without one. A size may leave systems out."""
        directions = self.values["systems"].get(system, {}).get("directions", {})
        if direction not in directions:
            return NO_VALUE
        cell = directions[direction]
        return format_score(cell["scores"][self.main_metric], cell["kind"])

    def spread_mean(self, system: str, direction: str) -> float | None:
        """Mean score of one direction over the seeds; None without one."""
        directions = self.values["systems"].get(system, {}).get("directions", {})
        if direction not in directions:
            return None
        return directions[direction]["scores"][self.main_metric]["mean"]

    def mean_of(self, system: str, kind: str) -> str:
        """Mean score of one kind of directions; – without one."""
        means = self.values["systems"][system]["kinds"][self.main_metric]
        return format_score(means[kind], kind) if kind in means else NO_VALUE

    def directions(self, system: str, kind: str) -> set[str]:
        """Directions of one kind, over which the mean is taken."""
        directions = set()
        for name, cell in self.values["systems"][system]["directions"].items():
            if cell["kind"] == kind:
                directions.add(name)
        return directions


def format_score(spread: Mapping[str, Any], kind: str) -> str:
    """Mean ± standard deviation, with † for zero-shot directions."""
    mark = "†" if kind == "zero-shot" else ""
    return f"{Spread(**spread).format()}{mark}"


def format_paper_score(score: float, kind: str) -> str:
    mark = "†" if kind == "zero-shot" else ""
    return f"{score:.2f}{mark}"


def results_of(name: str, systems: Collection[str] = ()) -> list[Result]:
    """Return an experiment at each size; with `systems`, at each size with one of them."""
    experiment = Experiment.load(name)
    results = []
    for size in experiment.sizes or [""]:
        names = experiment.at_size(size or None).systems
        if not systems or not names.keys().isdisjoint(systems):
            results.append(Result(name, size))
    return results


def page(contents: Mapping[str, Any]) -> str:
    """Return the page of all results. contents: of tables.yaml"""
    blocks = [HEAD, CLAIMS]
    for paper in contents["papers"]:
        blocks.append(f"**{paper['title']}**")
        blocks.append(_claims_table(paper["claims"]))
    for paper in contents["papers"]:
        blocks.append(f"## {paper['title']}")
        blocks.append(f"{paper['source']}. {paper['text']}")
        for entry in paper["tables"]:
            blocks.append(f"### {entry['table']}: {entry['about']}")
            blocks += _entry_blocks(entry)
    files = []
    for file, about in contents["others"].items():
        files.append(f"- [{file}]({file}): {about}")
    blocks.append("## Other measurements")
    blocks.append("\n".join(files))
    return "\n\n".join(blocks) + "\n"


def _claims_table(claims: Sequence[Mapping[str, str]]) -> str:
    """What a paper concludes, the verdict, the numbers of both, and the page with the command."""
    rows = []
    for claim in claims:
        assert claim["verdict"] in VERDICTS, claim
        page = f"[{claim['page']}]({claim['page']})" if "page" in claim else NO_VALUE
        rows.append(
            [claim["claim"], f"**{claim['verdict']}**", claim["paper"], claim["ours"], page]
        )
    head = ["claim", "verdict", "the paper", "ours", "numbers and command"]
    return table(head, rows, words=head)


def _entry_blocks(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables, commands and notes of one table of a paper."""
    systems = _systems_of_entry(entry)
    results = []
    for name, names in systems.items():
        results += results_of(name, names)
    available = [result for result in results if result.values]

    if "reference" in entry:
        yield _reference_table(Reference.load(entry["reference"]), systems, available)
    elif "experiment" in entry:
        yield from _experiment_tables(Experiment.load(entry["experiment"]), available)
    if results:
        rows = [result.row for result in results]
        yield table(["command", "result", "trained until", "evaluated on"], rows)
    if available:
        signatures = dict.fromkeys(result.signatures for result in available)
        yield f"{'; '.join(signatures)}."
    if "numbers" in entry:
        yield table(entry["numbers"]["head"], entry["numbers"]["rows"])
    if "commands" in entry:
        commands = "\n".join(entry["commands"])
        yield f"```\n{commands}\n```"
        if "ours" in entry:
            yield f"Our results: [{entry['ours']}]({entry['ours']})."
        else:
            yield f"{NOT_YET.capitalize()}."
    if "not_here" in entry:
        yield f"**Missing.** {entry['not_here']}"


def _systems_of_entry(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """Systems by experiment; an empty list for all systems."""
    if "experiment" not in entry:
        return entry.get("systems", {})
    systems = {entry["experiment"]: [entry["system"]] if "system" in entry else []}
    for name in entry.get("also", ()):
        systems[name] = []
    return systems


def _experiment_tables(experiment: Experiment, results: Sequence[Result]) -> Iterator[str]:
    if any(system.paper for system in experiment.systems.values()):
        yield _differences_table(experiment, results)
        return
    for result in results:
        if result.values.get("left_out"):
            yield _left_out_table(result)
        else:
            yield _means_table(result)


def _reference_table(
    reference: Reference, systems: Mapping[str, Sequence[str]], results: Sequence[Result]
) -> str:
    """Means and directions of a paper's table, compared with each system of each result."""
    columns = []
    heads = []
    for result in results:
        for system in systems[result.name]:
            if system in result.values["systems"]:
                columns.append((result, system))
                has_several = len(systems[result.name]) > 1
                heads.append(f"{result.title}: {system}" if has_several else result.title)

    rows = []
    kinds = {}
    for pair in reference.scores:
        kinds[pair] = reference.kind_of(LanguagePair.parse(pair))
    for kind in ("supervised", "zero-shot"):
        pairs = {pair for pair in reference.scores if kinds[pair] == kind}
        if not pairs:
            continue
        paper_mean = mean(reference.scores[pair] for pair in pairs)
        row = [f"**mean, {kind}**", format_paper_score(paper_mean, kind)]
        for result, system in columns:
            is_comparable = result.directions(system, kind) == pairs
            row.append(result.mean_of(system, kind) if is_comparable else NO_VALUE)
        rows.append(row)
    for pair, score in reference.scores.items():
        ours = [result.score(system, pair) for result, system in columns]
        rows.append([pair, format_paper_score(score, kinds[pair]), *ours])
    return table(["", "the paper", *heads], rows)


def _differences_table(experiment: Experiment, results: Sequence[Result]) -> str:
    """Scores of a paper on its own text and of our results, with differences from the baseline."""
    directions: dict[str, None] = {}
    for system in experiment.systems.values():
        directions.update(dict.fromkeys(system.paper))

    rows = []
    for name in experiment.systems:
        for direction in directions:
            scores = [_paper_score(experiment, name, direction)]
            for result in results:
                baseline = experiment.baseline_of(name)
                difference = _our_difference(result, name, direction, baseline)
                scores.append(f"{result.score(name, direction)}{difference}")
            if any(score != NO_VALUE for score in scores):
                rows.append([name, direction, experiment.baseline_of(name) or "", *scores])
    columns = [f"{result.title}{result.mark_note}" for result in results]
    head = ["system", "direction", "compared with", "the paper (its own text)", *columns]
    return table(head, rows)


def _paper_score(
    experiment: Experiment,
    system: str,
    direction: str,
) -> str:
    """Score of the paper, with the difference from the baseline; – without one."""
    scores = experiment.systems[system].paper
    if direction not in scores:
        return NO_VALUE
    score = f"{scores[direction]:.2f}"
    differences = experiment.paper_differences(system)
    if direction not in differences:
        return score
    difference, baseline = differences[direction]
    if baseline == experiment.baseline_of(system):
        return f"{score} ({difference:+.2f})"
    return f"{score} ({difference:+.2f} from {baseline})"


def _our_difference(
    result: Result,
    system: str,
    direction: str,
    baseline: str | None,
) -> str:
    """Our difference from the baseline, with its significance; empty without one.

    An older result may have been compared with another system. Then the difference is that of the
    means, without a test.
    """
    for claim in result.values["claims"]:
        is_same = claim["system"] == system and claim["direction"] == direction
        if is_same and claim.get("beside", baseline) == baseline:
            is_significant = claim["p"] is not None and claim["p"] < SIGNIFICANCE_LEVEL
            mark = "\\*" if is_significant else ""
            return f" ({claim['ours']:+.2f}{mark})"

    ours = result.spread_mean(system, direction)
    other = result.spread_mean(baseline, direction) if baseline else None
    if ours is None or other is None:
        return ""
    return f" ({ours - other:+.2f}, not tested)"


def _means_table(result: Result) -> str:
    """Mean score of each kind of directions, and parameters, of each system."""
    systems = result.values["systems"]
    kinds = []
    for kind in KINDS:
        if any(result.mean_of(system, kind) != NO_VALUE for system in systems):
            kinds.append(kind)
    rows = []
    for name, system in systems.items():
        parameters = f"{system['parameters']:,}" if "parameters" in system else NO_VALUE
        means = [result.mean_of(name, kind) for kind in kinds]
        rows.append([name, parameters, *means])
    return table([result.title, "parameters", *kinds], rows)


def _left_out_table(result: Result) -> str:
    """Scores of directions that some models were trained without, and some with; their means."""
    rows = []
    zero_shot_scores = []
    trained_scores = []
    for direction, scores in result.values["left_out"].items():
        if scores["supervised"]:
            zero_shot = scores["zero-shot"]
            trained = Spread(**scores["supervised"])
            zero_shot_scores.append(zero_shot)
            trained_scores.append(trained.mean)
            rows.append(_left_out_row(direction, zero_shot, trained.mean, trained.format()))

    zero_shot = mean(zero_shot_scores)
    trained = mean(trained_scores)
    rows.append(_left_out_row(f"**mean of {len(rows)}**", zero_shot, trained, f"{trained:.2f}"))
    head = [result.title, "trained without this direction", "trained with it", "difference"]
    return table(head, rows)


def _left_out_row(
    name: str,
    zero_shot: float,
    trained: float,
    shown_trained: str,
) -> list[str]:
    return [name, f"{zero_shot:.2f}†", shown_trained, f"{zero_shot - trained:+.2f}"]


def result_of(folder: Path) -> Result:
    """Return the result in a folder written by `polyglot experiment`.

    Raise DataError if it is not a result of one of our experiments, or if its page has no marker,
    so that text added to the page would be lost.
    """
    missing = [name for name in RESULT_FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder}: no {', '.join(missing)}; name a folder written by `polyglot experiment`, "
            "such as experiments/phrasebook"
        )
    file = folder / "result.json"
    try:
        size = json.loads(file.read_text(encoding="utf-8"))["size"]
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{file}: has no size; run `polyglot experiment` again") from None

    name = (folder.parent if size else folder).resolve().name
    experiment_file = HERE.parent / "experiments" / f"{name}.yaml"
    if not experiment_file.is_file():
        raise DataError(
            f"{folder}: {name!r} is not an experiment of evaluation/experiments; "
            "name a folder such as experiments/phrasebook"
        )
    sizes = Experiment.load(str(experiment_file)).sizes or [""]
    if size not in sizes:
        names = ", ".join(sizes) or "none"
        raise DataError(f"{folder}: found the size {size!r}; sizes of {name}: {names}")

    result = Result(name, size)
    page = HERE / f"{result.stem}.md"
    if page.is_file() and MARKER not in page.read_text(encoding="utf-8"):
        raise DataError(
            f"{page}: no line {MARKER!r}; "
            "add it between the text that should stay and the old result"
        )
    return result


def record_result(folder: Path) -> Path:
    """Copy a result of `polyglot experiment` into this folder; return its page.

    Raise the errors of `result_of` before anything is written.
    """
    result = result_of(folder)
    content = (folder / "result.md").read_text(encoding="utf-8")
    picture = f"../../docs/pictures/{result.stem}.png"
    content = content.replace("](result.png)", f"]({picture})")
    heading, _, generated = content.partition("\n\n")

    page = HERE / f"{result.stem}.md"
    written_text = f"{heading}\n\n"
    if page.is_file():
        written_text = page.read_text(encoding="utf-8").partition(MARKER)[0]
    shutil.copyfile(folder / "result.json", HERE / f"{result.stem}.json")
    shutil.copyfile(folder / "result.png", PICTURES / f"{result.stem}.png")
    page.write_text(f"{written_text}{MARKER}\n\n{generated}", encoding="utf-8")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="FOLDER",
        help="folder written by `polyglot experiment`",
    )
    folders = parser.parse_args().folders
    try:
        for folder in folders:  # check all of them before anything is written
            result_of(folder)
        for folder in folders:
            print(record_result(folder))
    except DataError as error:
        parser.exit(2, f"error: {error}\n")
    PAGE.write_text(page(read_yaml(HERE / "tables.yaml")), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
