"""Commands that derive runs: `add-language`, `average`, `export`, `match` and `convert`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger
from polyglot.cli.parameters import Checkpoint, DryRun, Overrides, RunPath
from polyglot.cli.training import show_plan, train_run
from polyglot.core.errors import ConfigError
from polyglot.core.hub_address import is_run_location

if TYPE_CHECKING:
    from polyglot.config.schema import Config
    from polyglot.runs.run import Run

VOCABULARY_SECTIONS = ("languages", "data", "text", "vocabulary", "sharing")
"""Sections of a configuration that the sizes of the vocabularies depend on."""


NewLanguage = Annotated[
    str,
    typer.Argument(metavar="LANGUAGE", help="The new language, such as fi."),
]
DataFile = Annotated[
    Optional[Path],
    typer.Option(
        "--data",
        metavar="FILE",
        help="A YAML file with the text of the new language: train, monolingual, valid, test. "
        "The corpora of the run are then not needed. Default: the corpora of the run.",
    ),
]
Partners = Annotated[
    Optional[list[str]],
    typer.Option(
        "--with",
        metavar="LANGUAGE",
        help="Train pairs with this language, in both directions. Can be repeated. "
        "Default: all languages of the run, or those that the file of --data has text with.",
        autocompletion=completion.languages,
    ),
]
FreeComponents = Annotated[
    Optional[list[str]],
    typer.Option(
        metavar="COMPONENT",
        help='A component of the run to train as well, such as bridge or "encoder.*". '
        "Can be repeated. Default: none.",
    ),
]


@command(
    "polyglot add-language runs/phrasebook cs training.steps=1000",
    "polyglot add-language runs/west fi --with en --free bridge",
    "polyglot add-language runs/west fi --data finnish.yaml",
    name="add-language",
)
def add_language(
    run: RunPath,
    language: NewLanguage,
    overrides: Overrides = None,
    data: DataFile = None,
    partners: Partners = None,
    free: FreeComponents = None,
    checkpoint: Checkpoint = "best",
    dry_run: DryRun = False,
) -> None:
    """Add a language to a run, as a new run.

    The components of the run stay frozen, so its translations do not change.
    """
    from polyglot.runs.add_language import check_text, config_with_language
    from polyglot.runs.run import Run

    config = config_with_language(
        Run.open(run),
        language,
        overrides or (),
        partners=partners or (),
        free=free or (),
        checkpoint=checkpoint,
        data_file=data,
    )
    new_run = Run.for_config(config)
    if not dry_run:
        new_run.check_new()
    check_text(config, language)
    tasks = ", ".join(task.name for task in config.tasks)
    logger.info(f"training {tasks}; {len(config.freeze)} components of {run} stay as they are")
    if dry_run:
        show_plan(new_run)
        return
    train_run(Run.create(config))


@command("polyglot average runs/phrasebook --last 3")
def average(
    run: RunPath,
    last: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of checkpoints, the newest ones.")
    ] = 5,
    to: Annotated[
        Optional[Path],
        typer.Option(metavar="DIR", help="The new run directory. Default: RUN-average."),
    ] = None,
) -> None:
    """Average the parameters of the newest checkpoints, as a new run."""
    from polyglot.runs.export import export as export_run
    from polyglot.runs.run import Run

    opened = Run.open(run)
    target = to or opened.derived_path("average")
    new_run, _ = export_run(opened, target, checkpoint=f"average:{last}")
    training_state = new_run.choose_checkpoints("last")[0].training_state()
    steps = ", ".join(map(str, training_state["taken_from"]["steps"]))
    logger.info(f"written to {new_run.path}: the mean of steps {steps}")


@command(
    "polyglot export runs/phrasebook --component encoder.de",
    'polyglot export runs/phrasebook --component "*.de" --component bridge',
    "polyglot export runs/bilingual --ctranslate2 de-en --to de-en.ct2",
)
def export(
    run: RunPath,
    components: Annotated[
        Optional[list[str]],
        typer.Option(
            "--component",
            metavar="COMPONENT",
            help='A component to copy, such as encoder.de or "*.de". Can be repeated.',
        ),
    ] = None,
    ctranslate2: Annotated[
        Optional[str],
        typer.Option(
            "--ctranslate2",
            metavar="SOURCE-TARGET",
            help="Write the model of a direction, such as de-en, for the program CTranslate2.",
        ),
    ] = None,
    to: Annotated[
        Optional[Path],
        typer.Option(
            metavar="DIR",
            help="The new folder. Default: RUN-export, or RUN-SOURCE-TARGET for CTranslate2.",
        ),
    ] = None,
    checkpoint: Checkpoint = "best",
) -> None:
    """Copy components and their vocabularies out of a run, or a direction for CTranslate2.

    Another run can start from the components with `initialize`.
    """
    from polyglot.runs.export import export as export_run
    from polyglot.runs.run import Run

    if bool(components) == bool(ctranslate2):
        raise ConfigError(
            "export needs either --component, such as --component encoder.de, "
            "or --ctranslate2, such as --ctranslate2 de-en"
        )
    opened = Run.open(run)
    if ctranslate2:
        _export_ctranslate2(opened, ctranslate2, to, checkpoint)
        return
    target = to or opened.derived_path("export")
    new_run, names = export_run(opened, target, checkpoint=checkpoint, components=components)
    logger.info(f"written to {new_run.path}: {', '.join(names)}")


def _export_ctranslate2(run: Run, direction: str, to: Path | None, checkpoint: str) -> None:
    from polyglot.interop.ctranslate2 import export_ctranslate2
    from polyglot.tasks.pairs import LanguagePair

    pair = LanguagePair.parse(direction)
    folder = to or run.derived_path(str(pair))
    export_ctranslate2(run, pair, folder, checkpoint=checkpoint)
    logger.info(f"written to {folder}; README.md there shows how to translate with it")


@command(
    "polyglot match phrasebook --parameters 12M",
    "polyglot match phrasebook model.encoder.layers=2 --parameters 5_000_000",
    "polyglot match shared.yaml --parameters-of runs/phrasebook",
)
def match(
    name: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|RUN",
            help="The model whose widths are changed.",
            autocompletion=completion.configurations,
        ),
    ],
    overrides: Overrides = None,
    parameters: Annotated[
        Optional[str],
        typer.Option(
            "--parameters",
            metavar="NUMBER",
            help="The number of parameters to match, such as 12M, 800k, 1.5B or 5_000_000.",
        ),
    ] = None,
    reference: Annotated[
        Optional[str],
        typer.Option(
            "--parameters-of",
            metavar="CONFIG|RUN",
            help="The model whose number of parameters to match.",
            autocompletion=completion.configurations,
        ),
    ] = None,
) -> None:
    """Find widths that give a model a number of parameters, within one percent.

    The widths are printed as overrides for `train`, after those of this command.
    """
    from polyglot.training.parameter_matching import match_parameters

    target = _target_parameters(parameters, reference)
    config, sizes = _load_with_vocabulary_sizes(name, overrides or ())
    result = match_parameters(config, sizes, target)
    difference = result.parameters / target - 1
    logger.info(f"{result.parameters:,} parameters for {target:,}: {difference:+.2%}")

    printed_overrides = list(map(shlex.quote, overrides or ()))
    for key, value in result.settings.items():
        printed_overrides.append(f"{key}={value}")
    print(*printed_overrides)


def _target_parameters(parameters: str | None, reference: str | None) -> int:
    """Return the number of parameters to match.

    parameters: a number. reference: a configuration or a run. Raises ConfigError unless exactly one
    of them is given.
    """
    from polyglot.training.parameter_matching import count_model_parameters, parse_parameter_count

    if (parameters is None) == (reference is None):
        raise ConfigError(
            "match needs either --parameters, such as --parameters 12M, or --parameters-of CONFIG"
        )
    if parameters is not None:
        return parse_parameter_count(parameters)
    if reference.replace("_", "").isdigit():  # the older form of --parameters
        return parse_parameter_count(reference)
    config, sizes = _load_with_vocabulary_sizes(reference, ())
    return count_model_parameters(config, config.model, sizes)


def _load_with_vocabulary_sizes(
    name: str,
    overrides: Sequence[str],
) -> tuple[Config, dict[str, int]]:
    """Load a configuration with the sizes of its vocabularies.

    The sizes are those of the run, or those that the training text would give.
    """
    from polyglot.config.loading import load_config
    from polyglot.config.overrides import override_key
    from polyglot.runs.run import Run
    from polyglot.training.dry_run import plan_training

    if not is_run_location(name):
        plan = plan_training(load_config(name, overrides))
        return plan.config, plan.vocabulary_sizes

    run = Run.open(name)
    config = run.config
    if overrides:
        config = load_config(run.config_file, overrides)
    changed_sections = set()
    for override in overrides:
        section, _, _ = override_key(override).partition(".")
        changed_sections.add(section)
    if run.vocabularies and changed_sections.isdisjoint(VOCABULARY_SECTIONS):
        sizes = {language: len(words) for language, words in run.vocabularies.items()}
        return config, sizes
    plan = plan_training(config)
    return plan.config, plan.vocabulary_sizes


@command("polyglot convert model_step_100000.pt runs/converted --from en --to de")
def convert(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A checkpoint of OpenNMT-py 3: a Transformer or a recurrent model."
        ),
    ],
    to: Annotated[Path, typer.Argument(metavar="DIR", help="The new run directory.")],
    source: Annotated[
        str, typer.Option("--from", metavar="LANGUAGE", help="Source language of the model.")
    ] = ...,
    target: Annotated[
        str, typer.Option("--to", metavar="LANGUAGE", help="Target language of the model.")
    ] = ...,
) -> None:
    """Convert a model of OpenNMT-py to a run that gives the same translations.

    Input and output are pieces separated by spaces, as for `onmt_translate`.
    """
    from polyglot.interop.opennmt import convert as convert_model

    run = convert_model(model, to, source=source, target=target)
    logger.info(
        f"written to {run.path}; "
        f"next: polyglot translate {run.path} --from {source} --to {target} FILE"
    )
