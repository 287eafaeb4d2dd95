"""Mutants that change no behaviour, with the reason; each was confirmed by a second reader."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
"""Reason for each key of `Mutant.key`."""
