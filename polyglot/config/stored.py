"""Stored configurations of older versions, completed with the values of keys that are newer.

A stored configuration contains every key that existed when it was written. A newer key usually has
the default that leaves a model as it was. Where it has not, this module adds the old value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def is_stored_config(path: Path) -> bool:
    """True if the file is the configuration of a run directory."""
    return path.name == "config.yaml" and (path.parent / "vocabulary").is_dir()


def complete_stored_config(values: dict[str, Any]) -> dict[str, Any]:
    """Complete the settings of a run, which are changed in place and returned."""
    complete_stored_model(values.get("model"))
    schedule = values.get("schedule")
    if isinstance(schedule, dict) and "center" not in schedule:
        _rename_tokenize(values.get("text"))
    return values


def _rename_tokenize(text: Any) -> None:
    """Rename a text step in place: before schedules had a center, `tokenize` was `moses`."""
    if not isinstance(text, dict):
        return
    languages = text.get("languages")
    step_lists = [text.get("steps")]
    if isinstance(languages, dict):
        step_lists += languages.values()

    for steps in step_lists:
        if not isinstance(steps, list):
            continue
        for number, step in enumerate(steps):
            if step == "tokenize":
                steps[number] = "moses"
            elif isinstance(step, dict) and step.get("type") == "tokenize":
                step["type"] = "moses"


def complete_stored_model(model: Any) -> None:
    """Complete the section `model` in place.

    Before `word_prediction` had the key `layers`, its prediction from the states had own layers.
    """
    for option in _decoder_options(model):
        if isinstance(option, dict) and option.get("type") == "word_prediction":
            option.setdefault("layers", "own")


def _decoder_options(model: Any) -> Iterator[Any]:
    """Yield the options of all decoders; the values of a file may have any form."""
    if not isinstance(model, dict):
        return
    sections = [model]
    languages = model.get("languages")
    if isinstance(languages, dict):
        sections += languages.values()
    for section in sections:
        if not isinstance(section, dict):
            continue
        options = section.get("options")
        if not isinstance(options, dict):
            continue
        decoder_options = options.get("decoder")
        if isinstance(decoder_options, list):
            yield from decoder_options
