"""Detection of run directories; works without PyTorch."""

from __future__ import annotations

from pathlib import Path


def is_run(path: Path) -> bool:
    """True for a folder with a configuration, which may be damaged."""
    return (path / "config.yaml").exists()
