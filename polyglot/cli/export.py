"""Make runs of runs: another language, means, parts, the same size, another program's models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli.app import Checkpoint, Overrides, RunPath, app, logger
from polyglot.cli.completion import configurations, languages
from polyglot.cli.training import show_plan, train_run

if TYPE_CHECKING:
    from polyglot.config.schema import Config


@app.command(
    "add-language",
    epilog="polyglot add-language runs/phrasebook cs training.steps=1000 · polyglot add-language runs/west fi --with en --free bridge",
)
def add_language(
    run: RunPath,
    language: Annotated[
        str,
        typer.Argument(
            help="The new language, such as fi; the run's corpora have it, or data.train=… names others."
        ),
    ],
    overrides: Overrides = None,
    partners: Annotated[
        Optional[list[str]],
        typer.Option(
            "--with",
            help="A language to train it with, both ways; by default all.",
            autocompletion=languages,
        ),
    ] = None,
    free: Annotated[
        Optional[list[str]],
        typer.Option(
            help='A component that may change, such as bridge or "encoder.*"; by default none.'
        ),
    ] = None,
    checkpoint: Checkpoint = "best",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check everything, count parameters and memory, and stop."),
    ] = False,
) -> None:
    """Train one language more into a new run; what the run has stays as it is, and so do its translations."""
    from polyglot.runs.add_language import config_with_language
    from polyglot.runs.run import Run

    config = config_with_language(
        Run.open(run),
        language,
        overrides or (),
        partners=partners or (),
        free=free or (),
        checkpoint=checkpoint,
    )
    if dry_run:
        show_plan(Run.for_config(config))
        return
    train_run(Run.create(config))


@app.command(epilog="polyglot average runs/phrasebook --last 3")
def average(
    run: RunPath,
    last: Annotated[int, typer.Option(min=1, help="How many of the newest checkpoints.")] = 5,
    to: Annotated[
        Optional[Path],
        typer.Option(metavar="DIR", help="The new run directory. Default: RUN-average."),
    ] = None,
) -> None:
    """Write the mean of the newest checkpoints as a run directory of its own."""
    from polyglot.runs.export import export as take
    from polyglot.runs.run import Run

    opened = Run.open(run)
    new, _ = take(opened, to or Path(f"{opened.path}-average"), checkpoint=f"average:{last}")
    steps = new.choose_checkpoints("last")[0].training_state()["taken_from"]["steps"]
    logger.info(f"written to {new.path}: the mean of steps {', '.join(map(str, steps))}")


@app.command(
    epilog='polyglot export runs/phrasebook --component encoder.de · polyglot export runs/phrasebook --component "*.de" --component bridge'
)
def export(
    run: RunPath,
    component: Annotated[
        list[str],
        typer.Option(help='What to take out, such as encoder.de or "*.de"; can be given again.'),
    ],
    to: Annotated[
        Optional[Path], typer.Option(metavar="DIR", help="The new directory. Default: RUN-export.")
    ] = None,
    checkpoint: Checkpoint = "best",
) -> None:
    """Take components out of a run, with their vocabularies: `initialize` of another run can start from them."""
    from polyglot.runs.export import export as take
    from polyglot.runs.run import Run

    opened = Run.open(run)
    new, taken = take(
        opened, to or Path(f"{opened.path}-export"), checkpoint=checkpoint, components=component
    )
    logger.info(f"written to {new.path}: {', '.join(taken)}")


@app.command(
    epilog="polyglot match phrasebook --parameters-of 5_000_000 · polyglot match shared.yaml --parameters-of runs/phrasebook"
)
def match(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|RUN",
            help="What shall be made wider or narrower.",
            autocompletion=configurations,
        ),
    ],
    other: Annotated[
        str,
        typer.Option(
            "--parameters-of",
            metavar="CONFIG|RUN|NUMBER",
            help="What it shall be as large as.",
            autocompletion=configurations,
        ),
    ],
) -> None:
    """Find the widths at which a model has as many parameters as another, within one percent; printed as overrides for `train`."""
    from polyglot.training.parameter_matching import match_parameters as match_width
    from polyglot.training.parameter_matching import count_model_parameters

    settings, sizes = _with_vocabulary_sizes(config)
    if other.replace("_", "").isdigit():
        wanted = int(other)
    else:
        their_settings, their_sizes = _with_vocabulary_sizes(other)
        wanted = count_model_parameters(their_settings, their_settings.model, their_sizes)
    found = match_width(settings, sizes, wanted)
    logger.info(
        f"{found.parameters:,} parameters for {wanted:,}: {found.parameters / wanted - 1:+.2%}"
    )
    print(*(f"{key}={value}" for key, value in found.settings.items()))


def _with_vocabulary_sizes(name: str) -> tuple[Config, dict[str, int]]:
    """A configuration, and the sizes of its vocabularies: those of a run, or those that its text would give."""
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run
    from polyglot.training.dry_run import plan_training

    if Path(name).is_dir():
        run = Run.open(name)
        if run.vocabularies:
            return run.config, {
                language: len(vocabulary) for language, vocabulary in run.vocabularies.items()
            }
    planned = plan_training(Run.open(name).config if Path(name).is_dir() else load_config(name))
    return planned.config, planned.vocabulary_sizes


@app.command(epilog="polyglot convert model_step_100000.pt runs/taken-over --from en --to de")
def convert(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A checkpoint of OpenNMT-py 3: a Transformer or a recurrent model."
        ),
    ],
    to: Annotated[Path, typer.Argument(metavar="DIR", help="The new run directory.")],
    source: Annotated[str, typer.Option("--from", help="Language that it reads.")] = ...,
    target: Annotated[str, typer.Option("--to", help="Language that it writes.")] = ...,
) -> None:
    """Take a model over from OpenNMT-py: a run that translates to the letter as `onmt_translate` does, pieces between spaces."""
    from polyglot.interop.opennmt import convert as take_over

    run = take_over(model, to, source=source, target=target)
    logger.info(
        f"written to {run.path}; next: polyglot translate {run.path} --from {source} --to {target} FILE"
    )
