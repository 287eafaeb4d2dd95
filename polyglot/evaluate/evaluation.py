"""From a run to its matrix: every direction is translated and scored, with one load of the model."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
import torch

from polyglot.errors import ConfigError
from polyglot.evaluate.comet import Comet
from polyglot.evaluate.conditions import Measure
from polyglot.evaluate.heldout import HeldOut
from polyglot.evaluate.matrix import Cell, Matrix, by_pair, cell_from_dict, cell_name, cell_to_dict
from polyglot.evaluate.outputs import look_at
from polyglot.evaluate.protocol import Protocol, Reference
from polyglot.evaluate.scores import Score, Scorer
from polyglot.evaluate.store import Store, digest, text_name
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
    test_set: str | None = None,
    folder: Path | None = None,
    progress: Progress = lambda cell, done, of: None,
) -> Matrix:
    """Translate and score what the protocol asks for; a direction without test text becomes an empty cell with the reason.

    test_set: which one of a protocol that has several; by default the first.
    folder: where each direction is written as soon as it is ready. What is there already is used again if it was made from the same
    parameters, text and settings; the rest of an earlier matrix is removed.
    Every text and tokenizer is looked at before the first sentence is translated. Raises ConfigError, DataError and
    CheckpointError as sentences.
    """
    pairs = protocol.pairs_of(translator, run.config.languages, run.config.pairs)
    protocol.check_pivot(translator)
    test_set = next(iter(protocol.corpora)) if test_set is None else test_set
    corpora = protocol.corpora[test_set] or run.config.data.test
    if not corpora:
        raise ConfigError(f"{run.path}: data.test names no corpus; name one there, or `test` in the protocol")
    text = HeldOut(run, corpora, sentences=protocol.sentences)
    text.check(pairs)
    for pair in pairs:
        if text.missing(pair) is None:
            text.parallel(pair)
    reference = Reference.load(protocol.reference) if protocol.reference else None
    work = _Work(run, translator, protocol, text=text, store=Store(folder), targets=list(dict.fromkeys(pair.target for pair in pairs)))
    wanted = [(pair, None) for pair in pairs]
    if protocol.pivot:
        wanted += [(pair, protocol.pivot) for pair in pairs if not pair.is_copy and protocol.pivot not in (pair.source, pair.target)]
    work.begin(wanted)
    cells: list[Cell] = []
    for pair, via in wanted:
        cells.append(work.cell(pair, via))
        progress(cells[-1], len(cells), len(wanted))
    used = {language for pair in pairs for language in (pair.source, pair.target)}
    return Matrix(
        languages=[language for language in run.config.languages if language in used],
        cells=by_pair(cell for cell in cells if cell.via is None),
        pivots=by_pair(cell for cell in cells if cell.via is not None),
        trained=run.config.pairs,
        checkpoint=dict(translator.description),
        search=work.search,
        protocol=protocol,
        test=[in_words(corpus) for corpus in corpora],
        test_set=test_set,
        versions={"polyglot": VERSION, "torch": torch.__version__, "sacrebleu": sacrebleu.__version__, "python": platform.python_version()},
        machine=machine(translator.device),
        reference=reference,
        hypotheses=work.hypotheses,
        texts=work.texts,
    )


class _Work:
    """What has been made so far, so that nothing is made twice."""

    def __init__(
        self, run: Run, translator: Translator, protocol: Protocol, *, text: HeldOut, store: Store, targets: Sequence[str]
    ) -> None:
        self.run, self.translator, self.protocol, self.text, self.store = run, translator, protocol, text, store
        self.search = protocol.search_of(translator.search_config).model_dump()
        self.scorers = {target: {str(each): self._scorer(each, target) for each in protocol.measures if each.metric != "comet"} for target in targets}
        self.comet = Comet(protocol.comet) if Measure("comet") in protocol.measures else None
        self.hypotheses: dict[str, list[str]] = {}
        self.texts: dict[str, Sequence[str]] = {}
        self._translated: dict[tuple[str, str], tuple[list[str], float]] = {}

    def _scorer(self, measure: Measure, target: str) -> Scorer:
        return Scorer(measure, target=target, tokenizer=self.protocol.tokenizer)

    def begin(self, wanted: Sequence[tuple[LanguagePair, str | None]]) -> None:
        """Keep what the folder has of the same, remove the rest, and write the texts."""
        kept = []
        for pair, via in wanted:
            if self.text.missing(pair) is None:
                name, (sources, references) = cell_name(pair, via), self._lines(pair)
                if self.store.recall(name, self._keys(pair, via, sources, references)):
                    kept.append(name)
        self.store.clear(keep=kept)
        for name, lines in self.texts.items():
            self.store.put_text(name, lines)

    def cell(self, pair: LanguagePair, via: str | None) -> Cell:
        """One direction, from the folder or anew, and then written there."""
        kind = "pivot" if via else kind_of(pair, self.run.config.pairs)
        if reason := self.text.missing(pair):
            return Cell(pair, kind, reason=reason, via=via)
        name, (sources, references) = cell_name(pair, via), self._lines(pair)
        keys = self._keys(pair, via, sources, references)
        kept = self.store.recall(name, keys)
        lines, seconds = (kept.lines, kept.seconds) if kept else self._translate(sources, pair, via)
        if via is None:
            self._translated[text_name(pair.source, sources), pair.target] = lines, seconds
        if kept and kept.cell:
            cell = cell_from_dict(kept.cell)
        else:
            self.store.put_hypotheses(name, lines)
            cell = Cell(
                pair,
                kind,
                self._scores(pair, lines, sources, references),
                sentences=len(sources),
                seconds=round(seconds, 3),
                via=via,
                outputs=look_at(
                    lines, sources=sources, references=references, source=pair.source, target=pair.target, languages=self.run.config.languages
                ),
                source_text=text_name(pair.source, sources),
                reference_text=text_name(pair.target, references),
            )
            self.store.put_cell(name, keys=keys, lines=lines, cell=cell_to_dict(cell))
        self.hypotheses[name] = lines
        return cell

    def _lines(self, pair: LanguagePair) -> tuple[list[str], list[str]]:
        sources, references = self.text.lines(pair)
        self.texts |= {text_name(pair.source, sources): sources, text_name(pair.target, references): references}
        return sources, references

    def _translate(self, sources: list[str], pair: LanguagePair, via: str | None) -> tuple[list[str], float]:
        """In one hop or two, and the seconds of all of them; the first hop of a pivot may be a direction that has been translated."""
        spent = 0.0
        for source, target in ((pair.source, via), (via, pair.target)) if via else ((pair.source, pair.target),):
            done = self._translated.get((text_name(source, sources), target))
            if done is None:
                started = time.perf_counter()
                lines = self.translator.translate(sources, source=source, target=target, **self.search)
                done = lines, time.perf_counter() - started
                self._translated[text_name(source, sources), target] = done
            sources, spent = done[0], spent + done[1]
        return sources, spent

    def _scores(self, pair: LanguagePair, lines: list[str], sources: list[str], references: list[str]) -> dict[str, Score]:
        scores = {
            measure: scorer.score(lines, references, resamples=self.protocol.resamples) for measure, scorer in self.scorers[pair.target].items()
        }
        return scores | ({"comet": self.comet.score(lines, references, sources)} if self.comet else {})

    def _keys(self, pair: LanguagePair, via: str | None, sources: list[str], references: list[str]) -> Mapping[str, str]:
        """Hashes of all that the hypotheses of a direction depend on, and of all that its scores do; empty where the parameters have none."""
        parameters = self.translator.description.get("sha256")
        if parameters is None:
            return {"translated": "", "scored": ""}
        made_of: list[Any] = [VERSION, self.run.built_from, parameters, self.search, str(pair), via, sources]
        translated, protocol = digest(made_of), self.protocol
        how: list[Any] = [sacrebleu.__version__, list(map(str, protocol.measures)), protocol.tokenizer, protocol.comet, protocol.resamples]
        return {"translated": translated, "scored": digest([translated, how, references, self.run.config.languages])}


def in_words(corpus: ComponentConfig) -> str:
    """A corpus by its kind and what was set of it: `text test_2016_flickr.{language}.gz`; of an absolute path only its end."""
    settings = corpus.model_dump(exclude_defaults=True, exclude={"type", "weight"})
    words = [(Path(one).name if Path(one).is_absolute() else one) if isinstance(one, str) else f"{name} {one}" for name, one in settings.items()]
    return " ".join([corpus.type, *words])


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
