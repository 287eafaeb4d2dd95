"""Get what is needed, and see what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from polyglot.cli import completion
from polyglot.cli.app import app, logger, screen
from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from polyglot.config.schema import Config


@app.command(epilog="polyglot fetch multi30k data/multi30k")
def fetch(
    name: Annotated[str, typer.Argument(help="The data set: multi30k.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where its files go.")],
    mirror: Annotated[
        Optional[str], typer.Option(help="Address of a folder with the same files.")
    ] = None,
) -> None:
    """Download a public data set, checksums verified; called again, it continues where it stopped."""
    from polyglot.data.download import data_set
    from polyglot.data.download import fetch as fetch_files

    wanted = data_set(name)
    stderr_console.print(
        f"{wanted.title}\nlicence: {wanted.licence}\ncite: {wanted.citation}",
        highlight=False,
        markup=False,
    )
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=stderr_console, transient=True) as bar:
        rows = {file.name: bar.add_task(file.name, total=file.size) for file in wanted.files}
        advance = lambda file, here, total: bar.update(rows[file], completed=here, total=total)  # noqa: E731
        paths = fetch_files(name, folder, progress=advance, base_url=mirror)
    logger.info(f"{len(paths)} files in {folder}, checksums verified")


@app.command(
    epilog="polyglot show · polyglot show multi30k/paper · polyglot show schedules/with_copies · polyglot show runs/phrasebook"
)
def show(
    name: Annotated[
        Optional[str],
        typer.Argument(
            help="A run directory, a configuration, or what is shipped, such as with_copies.",
            autocompletion=completion.shown,
        ),
    ] = None,
) -> None:
    """List what is shipped, or show some of it: a configuration with every default filled in, anything else as it is written."""
    from polyglot.core import presets

    if name is None:
        for room, kind in presets.CATEGORIES.items():
            screen.print(
                f"[bold]{kind}s[/] ({room}/): {', '.join(presets.names(room))}",
                highlight=False,
                soft_wrap=True,
            )
        return
    rooms = presets.categories_of(name)
    if not rooms and not Path(name).exists():
        known = {one for room in presets.CATEGORIES for one in presets.names(room)}
        what = unknown_name("configuration, schedule, protocol or experiment", name, known)
        raise ConfigError(f"{name}: neither a file, nor a run, nor shipped with Polyglot: {what}")
    if rooms and rooms[0] != "configs":
        print(
            presets.find(rooms[0], name.removeprefix(f"{rooms[0]}/")).read_text(encoding="utf-8"),
            end="",
        )
    else:
        print(_configuration(name).to_yaml(), end="")
    for room in rooms[1:]:
        logger.info(
            f"{name} is the name of a shipped {presets.CATEGORIES[room]}, too: polyglot show {room}/{name}"
        )


def _configuration(name: str) -> Config:
    """Of a run directory, a file, or by its shipped name."""
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run

    return (
        Run.open(name).config
        if Path(name).is_dir()
        else load_config(name if Path(name).exists() else name.removeprefix("configs/"))
    )
