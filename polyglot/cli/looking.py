"""Get what is needed, and see what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from polyglot.cli.program import app, logger, screen
from polyglot.console import aside


@app.command(epilog="polyglot fetch multi30k data/multi30k")
def fetch(
    name: Annotated[str, typer.Argument(help="The data set: multi30k.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where its files go.")],
    mirror: Annotated[Optional[str], typer.Option(help="Address of a folder with the same files.")] = None,
) -> None:
    """Download a public data set, checksums verified; called again, it continues where it stopped."""
    from polyglot.data.fetch import data_set
    from polyglot.data.fetch import fetch as fetch_files

    wanted = data_set(name)
    aside.print(f"{wanted.title}\nlicence: {wanted.licence}\ncite: {wanted.citation}", highlight=False, markup=False)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=aside, transient=True) as bar:
        rows = {file.name: bar.add_task(file.name, total=file.size) for file in wanted.files}
        advance = lambda file, here, total: bar.update(rows[file], completed=here, total=total)  # noqa: E731
        paths = fetch_files(name, folder, progress=advance, base_url=mirror)
    logger.info(f"{len(paths)} files in {folder}, checksums verified")


@app.command(epilog="polyglot show · polyglot show multi30k/paper · polyglot show runs/phrasebook")
def show(
    name: Annotated[Optional[str], typer.Argument(help="A configuration or a run directory; by default, what is shipped.")] = None,
) -> None:
    """List what is shipped, or show a configuration with every default filled in."""
    from polyglot import shipped

    if name is None:
        for room in shipped.ROOMS:
            screen.print(f"[bold]{room}[/]: {', '.join(shipped.names(room))}", highlight=False)
        return
    from polyglot.config import load_config
    from polyglot.run import Run

    config = Run.open(name).config if Path(name).is_dir() else load_config(name)
    print(config.to_yaml(), end="")
