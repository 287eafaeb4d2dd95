"""Descriptions of test corpora and machines, stored with every score."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import torch

from polyglot.core.errors import pluralize
from polyglot.core.registry import ComponentConfig
from polyglot.evaluation.results_cache import PROVENANCE_KEYS


def describe_corpus(corpus: ComponentConfig) -> str:
    """Type and settings of a corpus: `text test_2016_flickr.{language}.gz`.

    Of an absolute path only the file name is shown.
    """
    settings = corpus.model_dump(exclude_defaults=True, exclude={"type", "weight", "licence"})
    words = [corpus.type]
    for name, value in settings.items():
        if not isinstance(value, str):
            words.append(f"{name} {value}")
        elif Path(value).is_absolute():
            words.append(Path(value).name)
        else:
            words.append(value)
    return " ".join(words)


def describe_machine(device: torch.device) -> str:
    """Processor, number of threads and accelerator of this machine."""
    cores = pluralize(os.cpu_count() or 1, "core")
    threads = pluralize(torch.get_num_threads(), "thread")
    words = [platform.system(), f"{cores} {_processor()}", threads]
    if device.type == "cuda":
        words.append(torch.cuda.get_device_name(device))
    elif device.type != "cpu":
        words.append(device.type)
    return ", ".join(words)


def _processor() -> str:
    """Model name of the processor on Linux, the architecture elsewhere."""
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.is_file():
        text = cpu_info.read_text(encoding="utf-8", errors="replace")
        model_name = re.search(r"model name\s*: (.+)", text)
        if model_name:
            return model_name[1]
    return platform.machine()


def current_provenance(device: torch.device) -> dict[str, str]:
    """Machine and versions of this process, by PROVENANCE_KEYS."""
    values = (describe_machine(device), torch.__version__, platform.python_version())
    return dict(zip(PROVENANCE_KEYS, values, strict=True))
