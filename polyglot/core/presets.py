"""The YAML files that come with the program: configurations, schedules, evaluation protocols and experiments.

In a clone they stand at the top level; in an installed wheel they lie inside the package.
"""

from __future__ import annotations

from pathlib import Path

from polyglot.core.errors import ConfigError, unknown_name

CATEGORIES = {
    "configs": "configuration",
    "schedules": "schedule",
    "evaluation": "evaluation protocol",
    "evaluation/experiments": "experiment",
}
"""Folders, and what a file in each is called."""


def folder(room: str) -> Path:
    """Where the shipped files of a room are: such as `configs`."""
    assert room in CATEGORIES, room
    package = Path(__file__).parents[1]
    inside = package / "shipped" / room
    return inside if inside.is_dir() else package.parent / room


def names(room: str) -> list[str]:
    """What may be asked for by name, such as `multi30k/paper`."""
    found = folder(room).rglob("*.yaml") if room == "configs" else folder(room).glob("*.yaml")
    return sorted(path.relative_to(folder(room)).with_suffix("").as_posix() for path in found)


def categories_of(name: str) -> list[str]:
    """Where a name is shipped: with the room before it, as `schedules/with_copies`, in that one; a name alone perhaps in several.

    Empty for what is a file or a folder of the user's.
    """
    if Path(name).exists():
        return []
    own = [
        room
        for room in CATEGORIES
        if name.startswith(f"{room}/") and name.removeprefix(f"{room}/") in names(room)
    ]
    return own or [room for room in CATEGORIES if name in names(room)]


def find(room: str, name: str) -> Path:
    """A file of the user's, or else the shipped file of that name. Raises ConfigError naming near and known ones."""
    path = Path(name)
    if path.is_file():
        return path
    if (path / "config.yaml").is_file():
        raise ConfigError(
            f"{name}: a run directory; continue it with --resume, or name its config.yaml to start another run like it"
        )
    shipped = folder(room) / f"{name}.yaml"
    if shipped.is_file():
        return shipped
    if path.is_dir():
        raise ConfigError(
            f"{name}: a folder; a YAML file is expected here, or the name of a shipped one: {', '.join(names(room))}"
        )
    raise ConfigError(
        f"{name}: neither a file nor shipped with Polyglot: {unknown_name(CATEGORIES[room], name, names(room))}"
    )
