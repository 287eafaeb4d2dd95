"""Carry out experiments: several runs, trained in processes of their own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from polyglot.cli import completion
from polyglot.cli.app import app, logger, screen
from polyglot.core.console import stderr_console

if TYPE_CHECKING:
    from polyglot.experiments import Experiment


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
        typer.Option(
            metavar="NAME",
            help="One of the sizes that its file names, such as cpu or full. Default: the first.",
        ),
    ] = None,
    folder: Annotated[
        Optional[Path],
        typer.Option(
            metavar="DIR",
            help="Where runs and results go. Default: experiments/NAME, or below it the size.",
        ),
    ] = None,
    parallel: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Train so many runs at once, each in a process of its own."
        ),
    ] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check it all, show what would be trained, and stop.")
    ] = False,
) -> None:
    """Train what is missing of several runs, evaluate them alike, and write one result page; called again, it continues."""
    from polyglot.evaluation.views.terminal import comparison_table
    from polyglot.experiments import Experiment, carry_out
    from polyglot.experiments.launcher import Trainings
    from polyglot.experiments.results_page import save

    settings = Experiment.load(file)
    size = settings.size_named(size) or None
    folder = folder or Path("experiments", Path(file).stem, size or "")
    if dry_run:
        _show_plan(settings.at(size), folder)
        return
    name, state = TextColumn("{task.description}"), TextColumn("{task.fields[state]}")
    columns = name, BarColumn(), MofNCompleteColumn(), state, TimeRemainingColumn()
    try:
        with (
            Progress(*columns, console=stderr_console, transient=True) as bar,
            Trainings(folder, parallel, bar).interruptible() as trainings,
        ):
            row = bar.add_task("sentences", visible=False, state="")
            results = carry_out(
                settings,
                folder,
                size=size,
                train=trainings.train,
                parallel=parallel,
                tell=lambda sentence: logger.info(sentence),
                progress=lambda what, done, of: bar.update(
                    row, completed=done, total=of, description=what, visible=done < of
                ),
            )
    except KeyboardInterrupt:
        logger.info(f"{folder}: the same command continues")
        raise
    save(results, folder)
    for comparison in results.comparisons:
        screen.print(comparison_table(comparison))
    logger.info(f"written to {folder}: result.md, result.json, result.png")


def _show_plan(experiment: Experiment, folder: Path) -> None:
    """What would be trained, run by run and in sum; parameters as with vocabularies that become as large as they may."""
    from polyglot.experiments.runner import checked
    from polyglot.experiments.systems import writers_of
    from polyglot.training.parameter_matching import count_model_parameters

    members = checked(experiment, folder)
    for member in members:
        state = (
            "complete"
            if member.is_complete
            else shlex.join(["polyglot", "train", *member.arguments])
        )
        screen.print(
            f"{member.name}: {state if member.config else 'as it is'}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    table = Table(
        "system",
        "runs",
        "complete",
        "updates, at most",
        "parameters of one, at most",
        title=experiment.title,
    )
    together = {
        each.system: len(each.members) for each in writers_of(experiment, members) if each.together
    }
    for system in experiment.systems:
        if system in together:
            table.add_row(system, f"{together[system]:,} together", "–", "0", "–")
            continue
        own = [member for member in members if member.system == system]
        configs = [member.config for member in own if member.config]
        sizes = {
            language: config.vocabulary.for_language(language).size
            for config in configs[:1]
            for language in config.languages
        }
        count = f"{count_model_parameters(configs[0], configs[0].model, sizes):,}" if configs else "–"
        done = sum(member.is_complete for member in own)
        table.add_row(
            system,
            f"{len(own):,}",
            f"{done:,}",
            f"{sum(config.training.steps for config in configs):,}",
            count,
        )
    steps = sum(member.config.training.steps for member in members if member.config)
    table.add_section()
    table.add_row(
        "all",
        f"{len(members):,}",
        f"{sum(member.is_complete for member in members):,}",
        f"{steps:,}",
        "",
    )
    screen.print(table)
