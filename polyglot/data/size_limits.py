"""Limits of sizes from environment variables."""

from __future__ import annotations

import os

from polyglot.core.errors import DataError

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def size_limit(variable: str, *, default: float, unit: str) -> int:
    """Limit in bytes from an environment variable that holds a number of KiB, MiB or GiB.

    Raises DataError if the value is not a finite number that is at least 0.
    """
    text = os.environ.get(variable, str(default))
    try:
        limit = int(float(text) * UNITS[unit])  # raises for nan and inf
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise DataError(
            f"{variable}: found {text!r}; expected a number of {unit}, such as {default:g}"
        )
    return limit
