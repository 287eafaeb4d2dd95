"""Commands `fetch` and `show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.text import Text

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, pluralize, unknown_name
from polyglot.core.hub_address import is_hub_address, is_run_location

if TYPE_CHECKING:
    from polyglot.config.schema import Config


@command("polyglot fetch multi30k data/multi30k")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The data set, such as multi30k.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for its files.")],
    mirror: Annotated[
        Optional[str],
        typer.Option(metavar="URL", help="Address of another folder with the same files."),
    ] = None,
) -> None:
    """Download a public data set and verify its checksums.

    The same command continues an interrupted download.
    """
    from polyglot.data.download import data_set
    from polyglot.data.download import fetch as fetch_files

    description = data_set(name)
    stderr_console.print(
        f"{description.title}\nlicence: {description.licence}\ncite: {description.citation}",
        highlight=False,
        markup=False,
    )
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=stderr_console, transient=True) as progress:
        rows = {}
        for file in description.files:
            rows[file.name] = progress.add_task(file.name, total=file.size)

        def advance(file_name: str, done: int, total: int) -> None:
            progress.update(rows[file_name], completed=done, total=total)

        paths = fetch_files(name, folder, progress=advance, base_url=mirror)
    logger.info(f"{pluralize(len(paths), 'file')} in {folder}, checksums verified")


@command(
    "polyglot show",
    "polyglot show multi30k/paper",
    "polyglot show schedules/with_copies",
    "polyglot show runs/phrasebook",
)
def show(
    name: Annotated[
        Optional[str],
        typer.Argument(
            metavar="NAME",
            help="A run directory, a YAML file, or a preset such as with_copies. "
            "Default: list the presets.",
            autocompletion=completion.showable,
        ),
    ] = None,
) -> None:
    """List the presets, or print one of them.

    A configuration is printed with every default filled in, other presets as in their file.
    """
    from polyglot.core import presets

    if name is None:
        _list_presets()
        return
    categories = presets.categories_of(name)
    if not categories and not is_hub_address(name) and not Path(name).exists():
        raise ConfigError(_unknown_preset(name))

    if categories and categories[0] != "configs":
        file_name = name.removeprefix(f"{categories[0]}/")
        text = presets.find(categories[0], file_name).read_text(encoding="utf-8")
    else:
        text = _load_configuration(name).to_yaml()
    print(text, end="")
    for category in categories[1:]:
        logger.info(
            f"{name} is also the name of a preset {presets.CATEGORIES[category]}: "
            f"polyglot show {category}/{name}"
        )


def _list_presets() -> None:
    from polyglot.core import presets

    for category, kind in presets.CATEGORIES.items():
        names = ", ".join(presets.names(category))
        line = Text.assemble((f"{kind}s", "bold"), f" ({category}/): {names}")
        screen.print(line, highlight=False, soft_wrap=True)


def _unknown_preset(name: str) -> str:
    from polyglot.core import presets

    known = set()
    for category in presets.CATEGORIES:
        known.update(presets.names(category))
    hint = unknown_name("configuration, schedule, protocol or experiment", name, known)
    return f"{name}: neither a file, nor a run, nor shipped with Polyglot: {hint}"


def _load_configuration(name: str) -> Config:
    """Load the configuration of a run directory, of a file, or of a preset."""
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run

    if is_run_location(name):
        return Run.open(name).config
    if Path(name).exists():
        return load_config(name)
    return load_config(name.removeprefix("configs/"))
