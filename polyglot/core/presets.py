"""Presets: the configurations, schedules, protocols and experiments that come with the program.

A clone has them at its top level, an installed wheel inside the package.
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
"""Folder of each category, and the word for one of its files."""


def folder(category: str) -> Path:
    """Return the folder with the presets of a category, such as `configs`."""
    assert category in CATEGORIES, category
    package = Path(__file__).parents[1]
    installed = package / "shipped" / category
    if installed.is_dir():
        return installed
    return package.parent / category


def names(category: str) -> list[str]:
    """Return the names of all presets of a category, such as `multi30k/paper`."""
    pattern = "**/*.yaml" if category == "configs" else "*.yaml"
    root = folder(category)
    preset_names = []
    for path in root.glob(pattern):
        relative = path.relative_to(root)
        preset_names.append(relative.with_suffix("").as_posix())
    return sorted(preset_names)


def categories_of(name: str) -> list[str]:
    """Return the categories that have a preset of this name; none for a file or folder of the user.

    A name with its category, `schedules/with_copies`, has one; without it, it may have several.
    """
    if Path(name).exists():
        return []
    qualified = [category for category in CATEGORIES if _is_qualified(name, category)]
    return qualified or [category for category in CATEGORIES if name in names(category)]


def _is_qualified(name: str, category: str) -> bool:
    prefix = f"{category}/"
    return name.startswith(prefix) and name.removeprefix(prefix) in names(category)


def find(category: str, name: str) -> Path:
    """Return the user's file of this name, or else the preset.

    Raises ConfigError with similar and known names if there is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{name}: a pipe or a device; a YAML file is expected here")
    if (path / "config.yaml").is_file():
        raise ConfigError(
            f"{name}: a run directory; continue it with --resume, "
            "or name its config.yaml to start another run like it"
        )
    preset = folder(category) / f"{name}.yaml"
    if preset.is_file():
        return preset

    preset_names = names(category)
    if path.is_dir():
        listing = ", ".join(preset_names)
        raise ConfigError(
            f"{name}: a folder; a YAML file is expected here, "
            f"or the name of a shipped one: {listing}"
        )
    hint = unknown_name(CATEGORIES[category], name, preset_names)
    raise ConfigError(f"{name}: neither a file nor shipped with Polyglot: {hint}")
