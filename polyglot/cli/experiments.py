"""Carry out experiments: several runs, trained in processes of their own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from polyglot.cli import completion
from polyglot.cli.program import app, logger, screen
from polyglot.core.console import aside
from polyglot.core.errors import TrainingError
from polyglot.core.signals import ENDS, handled, heard

if TYPE_CHECKING:
    from polyglot.evaluate.experiments import Experiment
    from polyglot.evaluate.experiments.members import Member

LOOK = 1.0
"""Seconds between looks at the logs of runs that train beside each other."""
HEARD = 10.0
"""Seconds that a run which Ctrl-C came to has for what it puts away, before it hears of a polite end as well."""


@app.command(
    epilog="polyglot experiment phrasebook · polyglot experiment multi30k_bilingual --size full --parallel 8 · "
    "polyglot experiment mine.yaml --folder experiments/second --dry-run"
)
def experiment(
    file: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="A YAML file or the name of a shipped experiment.",
            autocompletion=completion.shipped_in("evaluation/experiments"),
        ),
    ],
    size: Annotated[
        Optional[str],
        typer.Option(metavar="NAME", help="One of the sizes that its file names, such as cpu or full. Default: the first."),
    ] = None,
    folder: Annotated[
        Optional[Path], typer.Option(metavar="DIR", help="Where runs and results go. Default: experiments/NAME, or below it the size.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, metavar="N", help="Train so many runs at once, each in a process of its own.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it all, show what would be trained, and stop.")] = False,
) -> None:
    """Train what is missing of several runs, evaluate them alike, and write one result page; called again, it continues."""
    from polyglot.evaluate.experiments import Experiment, carry_out
    from polyglot.evaluate.experiments.page import save

    settings = Experiment.load(file)
    size = settings.size_named(size) or None
    folder = folder or Path("experiments", Path(file).stem, size or "")
    if dry_run:
        _show_plan(settings.at(size), folder)
        return
    name, state = TextColumn("{task.description}"), TextColumn("{task.fields[state]}")
    columns = name, BarColumn(), MofNCompleteColumn(), state, TimeRemainingColumn()
    try:
        with Progress(*columns, console=aside, transient=True) as bar, Trainings(folder, parallel, bar).interruptible() as trainings:
            row = bar.add_task("sentences", visible=False, state="")
            results = carry_out(
                settings,
                folder,
                size=size,
                train=trainings.train,
                parallel=parallel,
                tell=lambda sentence: logger.info(sentence),
                progress=lambda what, done, of: bar.update(row, completed=done, total=of, description=what, visible=done < of),
            )
    except KeyboardInterrupt:
        logger.info(f"{folder}: the same command continues")
        raise
    save(results, folder)
    for comparison in results.comparisons:
        screen.print(comparison.table())
    logger.info(f"written to {folder}: result.md, result.json, result.png")


def _show_plan(experiment: Experiment, folder: Path) -> None:
    """What would be trained, run by run and in sum; parameters as with vocabularies that become as large as they may."""
    from polyglot.evaluate.experiments.experiment import checked
    from polyglot.evaluate.experiments.writers import writers_of
    from polyglot.training.parameter_matching import parameters

    members = checked(experiment, folder)
    for member in members:
        state = "complete" if member.is_complete else shlex.join(["polyglot", "train", *member.arguments])
        screen.print(f"{member.name}: {state if member.config else 'as it is'}", highlight=False, markup=False, soft_wrap=True)
    table = Table("system", "runs", "complete", "updates, at most", "parameters of one, at most", title=experiment.title)
    together = {each.system: len(each.members) for each in writers_of(experiment, members) if each.together}
    for system in experiment.systems:
        if system in together:
            table.add_row(system, f"{together[system]:,} together", "–", "0", "–")
            continue
        own = [member for member in members if member.system == system]
        configs = [member.config for member in own if member.config]
        sizes = {language: config.vocabulary.of(language).size for config in configs[:1] for language in config.languages}
        count = f"{parameters(configs[0], configs[0].model, sizes):,}" if configs else "–"
        done = sum(member.is_complete for member in own)
        table.add_row(system, f"{len(own):,}", f"{done:,}", f"{sum(config.training.steps for config in configs):,}", count)
    steps = sum(member.config.training.steps for member in members if member.config)
    table.add_section()
    table.add_row("all", f"{len(members):,}", f"{sum(member.is_complete for member in members):,}", f"{steps:,}", "")
    screen.print(table)


class Trainings:
    """`polyglot train` as a program of its own for each run, so that no run is touched by another.

    A single one speaks here. Several at once speak into `logs/` of the experiment, and here each has a line of progress;
    each has its share of the cores, unless `OMP_NUM_THREADS` says otherwise, and they take turns at the GPUs.
    """

    def __init__(self, folder: Path, parallel: int, bar: Progress) -> None:
        """bar: gets a line for each run that trains beside others."""
        self.folder, self.parallel, self.bar = folder, parallel, bar
        self.places: SimpleQueue[int] = SimpleQueue()
        for place in range(parallel):
            self.places.put(place)
        self.processes: set[subprocess.Popen] = set()

    @contextmanager
    def interruptible(self) -> Iterator[Trainings]:
        """An end that somebody else sends comes to every run that trains; Ctrl-C in a terminal does so by itself.

        What sounds like Ctrl-C may have been sent to this process alone: a run that goes on in spite of it hears of it as a polite end,
        as a second Ctrl-C would not let it finish its step.
        """

        polite = [number for number in heard() if number != signal.SIGINT]
        interrupt, hurried = signal.getsignal(signal.SIGINT), False

        def send(number: int) -> None:
            for process in list(self.processes):
                process.send_signal(number)

        def pass_on(sent: int, frame: object) -> None:
            for number in polite:  # a terminal that is closed says so twice
                signal.signal(number, signal.SIG_IGN)
            send(sent)
            raise KeyboardInterrupt(sent)

        def wait_and_pass_on(sent: int, frame: object) -> None:
            nonlocal hurried
            later = threading.Timer(0 if hurried else HEARD, send, (signal.SIGTERM,))
            later.daemon = not hurried  # nobody waits for a first one, but a second Ctrl-C may end this process before it is sent
            hurried = True
            later.start()
            interrupt(sent, frame)

        with handled(polite, pass_on), handled(heard([signal.SIGINT]), wait_and_pass_on):
            yield self

    def train(self, member: Member, arguments: Sequence[str]) -> None:
        """Raises TrainingError when a run was not completed, and KeyboardInterrupt when it was interrupted."""
        command = [sys.executable, "-m", "polyglot", "train", *arguments]
        if self.parallel == 1:
            self._wait(subprocess.Popen(command), arguments, where="above")
            return
        log, place = self.folder / "logs" / f"{member.name}.log", self.places.get()
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("a", encoding="utf-8") as file:
                process = subprocess.Popen(
                    command, env=self._environment(place), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
                )
                with self._shown(member):
                    self._wait(process, arguments, where=f"in {log}")
        finally:
            self.places.put(place)

    def _wait(self, process: subprocess.Popen, arguments: Sequence[str], *, where: str) -> None:
        self.processes.add(process)
        with process:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # which the training has heard, too: it finishes its step and leaves a checkpoint
                process.wait()
                raise
            finally:
                self.processes.discard(process)
        for number in ENDS:
            if status in (128 + number, -number):  # it was stopped, and has said so
                raise KeyboardInterrupt(number)
        if status != 0:
            raise TrainingError(f"polyglot train {shlex.join(arguments)}: ended with status {status}; what was wrong is said {where}")

    def _environment(self, place: int) -> dict[str, str]:
        import torch

        threads, devices = max(1, len(os.sched_getaffinity(0)) // self.parallel), torch.cuda.device_count()
        given = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(devices)))).split(",")
        device = {"CUDA_VISIBLE_DEVICES": given[place % len(given)]} if devices > 1 else {}
        return {"OMP_NUM_THREADS": str(threads), **os.environ, **device}

    @contextmanager
    def _shown(self, member: Member) -> Iterator[None]:
        """A line of progress as long as it trains, read from its log."""
        from polyglot.evaluate.experiments.members import last_line

        row = self.bar.add_task(member.name, total=member.config.training.steps, state="starts")
        over = threading.Event()

        def look() -> None:
            while not over.wait(LOOK):
                if said := last_line(member.path):
                    state = f"loss {said['loss']:.3f} · {said['tokens_per_second']:,.0f} tokens/s"
                    self.bar.update(row, completed=said["step"], state=state)

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            self.bar.remove_task(row)
