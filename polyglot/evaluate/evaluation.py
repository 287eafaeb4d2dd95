"""From a run to its matrix: every direction is translated and scored, with one load of the model."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path

import sacrebleu
import torch

from polyglot.errors import ConfigError
from polyglot.evaluate.heldout import HeldOut
from polyglot.evaluate.matrix import Cell, Matrix, by_pair, make_folder, save_hypotheses
from polyglot.evaluate.protocol import Protocol, Reference
from polyglot.evaluate.scores import Scorer
from polyglot.inference import Translator
from polyglot.registry import ComponentConfig
from polyglot.run import Run
from polyglot.task import LanguagePair, kind_of
from polyglot.version import VERSION

Progress = Callable[[Cell, int, int], None]
"""Told of each cell when it is ready, the number of cells ready so far, and of all."""


def evaluate(
    run: Run,
    translator: Translator,
    protocol: Protocol,
    *,
    folder: Path | None = None,
    progress: Progress = lambda cell, done, of: None,
) -> Matrix:
    """Translate and score what the protocol asks for; a direction without test text becomes an empty cell with the reason.

    folder: where the hypotheses of each direction are written as soon as they are ready, in the place of an earlier matrix.
    Every text and tokenizer is looked at before the first sentence is translated. Raises ConfigError, DataError and
    CheckpointError as sentences.
    """
    pairs = protocol.pairs_of(translator, run.config.languages)
    corpora = protocol.test or run.config.data.test
    if not corpora:
        raise ConfigError(f"{run.path}: data.test names no corpus; name one there, or `test` in the protocol")
    text = HeldOut(run, corpora, sentences=protocol.sentences)
    text.check(pairs)
    for pair in pairs:
        if text.missing(pair) is None:
            text.parallel(pair)
    given = {"lowercase": protocol.lowercase, "tokenizer": protocol.tokenizer}
    scorers = {
        target: {metric: Scorer(metric, target=target, **given) for metric in protocol.metrics}
        for target in dict.fromkeys(pair.target for pair in pairs)
    }
    reference = Reference.load(protocol.reference) if protocol.reference else None
    if folder:
        make_folder(folder)
    search, trained = protocol.search_of(translator.search_config).model_dump(), run.config.pairs
    cells: list[Cell] = []
    hypotheses: dict[LanguagePair, list[str]] = {}
    for pair in pairs:
        kind, reason = kind_of(pair, trained), text.missing(pair)
        if reason is not None:
            cell = Cell(pair, kind, reason=reason)
        else:
            sources, references = text.lines(pair)
            started = time.perf_counter()
            hypotheses[pair] = translator.translate(sources, source=pair.source, target=pair.target, **search)
            seconds = time.perf_counter() - started
            if folder:
                save_hypotheses(folder, pair, hypotheses[pair])
            scores = {metric: scorer.score(hypotheses[pair], references) for metric, scorer in scorers[pair.target].items()}
            cell = Cell(pair, kind, scores, sentences=len(sources), seconds=round(seconds, 3))
        cells.append(cell)
        progress(cell, len(cells), len(pairs))
    used = {language for pair in pairs for language in (pair.source, pair.target)}
    return Matrix(
        languages=[language for language in run.config.languages if language in used],
        cells=by_pair(cells),
        trained=trained,
        checkpoint=dict(translator.description),
        search=search,
        protocol=protocol,
        test=[in_words(corpus) for corpus in corpora],
        versions={"polyglot": VERSION, "torch": torch.__version__, "sacrebleu": sacrebleu.__version__, "python": platform.python_version()},
        machine=machine(translator.device),
        reference=reference,
        hypotheses=hypotheses,
    )


def in_words(corpus: ComponentConfig) -> str:
    """A corpus by its kind and what was set of it: `text test_2016_flickr.{language}.gz`; of an absolute path only its end."""
    settings = map(str, corpus.model_dump(exclude_defaults=True, exclude={"type", "weight"}).values())
    return " ".join([corpus.type, *(Path(one).name if Path(one).is_absolute() else one for one in settings)])


def machine(device: torch.device) -> str:
    """What translated, in words: processors, threads, accelerator."""
    about = Path("/proc/cpuinfo")  # Linux; elsewhere the architecture has to do
    named = re.search(r"model name\s*: (.+)", about.read_text(encoding="utf-8", errors="replace")) if about.is_file() else None
    words = [platform.system(), f"{os.cpu_count()} cores {named[1] if named else platform.machine()}", f"{torch.get_num_threads()} threads"]
    if device.type == "cuda":
        words.append(torch.cuda.get_device_name(device))
    elif device.type != "cpu":
        words.append(device.type)
    return ", ".join(words)
