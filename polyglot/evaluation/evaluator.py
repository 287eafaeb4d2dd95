"""From a run to its matrix: every direction is translated and scored, with one load of the model."""

from __future__ import annotations

import logging
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
import torch

from polyglot.core.errors import ConfigError, abbreviate, pluralize
from polyglot.core.registry import ComponentConfig
from polyglot.core.version import VERSION
from polyglot.evaluation.batched_translation import Direction, SourceText, translate_directions
from polyglot.evaluation.comet import Comet
from polyglot.evaluation.held_out import HeldOut
from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.metrics import Score, Scorer
from polyglot.evaluation.output_errors import measure_output_errors
from polyglot.evaluation.protocol import Protocol, Reference
from polyglot.evaluation.results_cache import PROVENANCE_KEYS, CachedResult, ResultsCache, digest, text_name
from polyglot.evaluation.score_matrix import (
    Cell,
    ScoreMatrix,
    merge_provenance,
    cells_by_pair,
    cell_from_dict,
    cell_name,
    cell_to_dict,
)
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, pair_kind

logger = logging.getLogger("polyglot")

Progress = Callable[[str, int, int], None]
"""Told what is worked at, such as `into fr`, and how many sentences are translated, of how many."""

Route = tuple[LanguagePair, str | None]
"""A direction and the language between, for one in two hops."""


def evaluate(
    run: Run,
    translator: Translator | EnsembleTranslator,
    protocol: Protocol,
    *,
    test_set: str | None = None,
    folder: Path | None = None,
    progress: Progress = lambda what, done, of: None,
) -> ScoreMatrix:
    """Translate and score what the protocol asks for; a direction without test text becomes an empty cell with the reason.

    test_set: which one of a protocol that has several; by default the first.
    folder: where the matrix is to be saved. Each direction is written below it as soon as it is ready, all into one language together,
    and is used again if it was made from the same parameters, text and settings; an earlier matrix stays until this one is saved.
    Every text and tokenizer is looked at before the first sentence is translated. Raises ConfigError, DataError and
    CheckpointError as sentences.
    """
    pairs = protocol.select_pairs(translator, run.config.languages, run.config.pairs)
    protocol.check_pivot(translator)
    test_set = next(iter(protocol.corpora)) if test_set is None else test_set
    corpora = protocol.corpora[test_set] or run.config.data.test
    if not corpora:
        raise ConfigError(
            f"{run.path}: data.test names no corpus; name one there, or `test` in the protocol"
        )
    text = HeldOut(run, corpora, sentences=protocol.sentences)
    text.check(pairs)
    for pair in pairs:
        if text.missing(pair) is None:
            text.parallel(pair)
    reference = Reference.load(protocol.reference) if protocol.reference else None
    targets = list(dict.fromkeys(pair.target for pair in pairs))
    if (small := _small(run, targets)) and not any(
        CONDITIONS[name].lowercase for name in protocol.conditions
    ):
        logger.warning(
            f"the run writes {abbreviate(small)} without capitals, and every score counts them; "
            "a protocol with `conditions: [lowercased]` says what its translations are worth"
        )
    work = _Work(
        run,
        translator,
        protocol,
        text=text,
        store=ResultsCache(folder),
        targets=targets,
        progress=progress,
    )
    wanted: list[Route] = [(pair, None) for pair in pairs]
    if protocol.pivot:
        wanted += [
            (pair, protocol.pivot)
            for pair in pairs
            if not pair.is_copy and protocol.pivot not in (pair.source, pair.target)
        ]
    before = translator.symbols_without_rule
    cells = work.cells(wanted)
    if lost := translator.symbols_without_rule - before:
        logger.info(
            f"{pluralize(lost, 'symbol')} had no rule in the source; another of its type that was left stands there, or nothing"
        )
    used = {language for pair in pairs for language in (pair.source, pair.target)}
    made_with = work.made_with(wanted)
    return ScoreMatrix(
        languages=[language for language in run.config.languages if language in used],
        cells=cells_by_pair(cell for cell in cells if cell.via is None),
        pivots=cells_by_pair(cell for cell in cells if cell.via is not None),
        trained=run.config.pairs,
        checkpoint=dict(translator.description),
        search=work.search.active_settings(),
        protocol=protocol,
        test=[describe_corpus(corpus) for corpus in corpora],
        test_set=test_set,
        versions={
            "polyglot": VERSION,
            "torch": made_with["torch"],
            "sacrebleu": sacrebleu.__version__,
            "python": made_with["python"],
        },
        machine=made_with["machine"],
        reference=reference,
        hypotheses=work.hypotheses,
        texts=work.texts,
    )


def _small(run: Run, targets: Sequence[str]) -> list[str]:
    """The languages that the run has learnt to write without capitals."""
    return [
        target
        for target in targets
        if any(step.type == "lowercase" for step in run.config.text.for_language(target))
    ]


class _Work:
    """What has been made so far, so that nothing is made twice."""

    def __init__(
        self,
        run: Run,
        translator: Translator | EnsembleTranslator,
        protocol: Protocol,
        *,
        text: HeldOut,
        store: ResultsCache,
        targets: Sequence[str],
        progress: Progress,
    ) -> None:
        self.run, self.translator, self.protocol, self.text, self.store, self.progress = (
            run,
            translator,
            protocol,
            text,
            store,
            progress,
        )
        self.search = protocol.effective_search(translator.search_config)
        self.scorers = {
            target: {
                str(each): self._scorer(each, target)
                for each in protocol.measures
                if each.metric != "comet"
            }
            for target in targets
        }
        self.comet = Comet(protocol.comet) if Measure("comet") in protocol.measures else None
        self.hypotheses: dict[str, list[str]] = {}
        self.texts: dict[str, list[str]] = {}
        self._held_out: dict[LanguagePair, tuple[list[str], list[str]]] = {}
        here = describe_machine(translator.device), torch.__version__, platform.python_version()
        self._here = dict(zip(PROVENANCE_KEYS, here, strict=True))
        self._made_with: dict[Route, Mapping[str, str]] = {}
        self._cells: dict[Route, Cell] = {}
        self._sources: dict[str, SourceText] = {}
        self._translated: dict[Direction, tuple[list[str], float, Mapping[str, str]]] = {}
        self._done = self._all = 0

    def _scorer(self, measure: Measure, target: str) -> Scorer:
        return Scorer(measure, target=target, tokenizer=self.protocol.tokenizer)

    def cells(self, wanted: Sequence[Route]) -> list[Cell]:
        """Each direction from the folder or anew, and then written there: the first hops of all, then the second ones."""
        missing = self._begin(wanted)
        first = {
            route: self._hop(route[0].source, self._lines(route[0])[0], route[1] or route[0].target)
            for route in missing
        }
        self._all += sum(
            len(self._sources[text].lines)
            for text, _ in set(first.values()) - set(self._translated)
        )
        self._all += sum(len(self._lines(pair)[0]) for pair, via in missing if via)
        for ready in self._together(first.values()):
            for route in (
                route for route, hop in first.items() if hop == ready and route[1] is None
            ):
                self._finish(route, *self._translated[ready])
        second = {
            (pair, via): self._hop(via, self._translated[first[pair, via]][0], pair.target)
            for pair, via in missing
            if via
        }
        for ready in self._together(second.values()):
            for route in (route for route, hop in second.items() if hop == ready):
                (_, before, first_with), (lines, seconds, made_with) = (
                    self._translated[first[route]],
                    self._translated[ready],
                )
                self._finish(route, lines, before + seconds, merge_provenance([first_with, made_with]))
        return [self._cells[route] for route in wanted]

    def made_with(self, routes: Sequence[Route]) -> dict[str, str]:
        """Machine and versions that translated these, which need not be those of here: each that differs."""
        return merge_provenance(
            [self._made_with[route] for route in routes if self._cells[route].scores]
            or [self._here]
        )

    def _begin(self, wanted: Sequence[Route]) -> list[Route]:
        """Take what the folder has of the same, remove the rest of an interrupted evaluation, and write the texts; what is missing."""
        kept: dict[Route, CachedResult | None] = {}
        for pair, via in wanted:
            if reason := self.text.missing(pair):
                self._cells[pair, via] = Cell(pair, self._kind(pair, via), reason=reason, via=via)
            else:
                kept[pair, via] = self.store.recall(cell_name(pair, via), self._keys(pair, via))
        self.store.begin(
            keep=[
                cell_name(*route) for route, found in kept.items() if found and not found.finished
            ]
        )
        for name, lines in self.texts.items():
            self.store.put_text(name, lines)
        for (pair, via), found in kept.items():
            if found:
                self._done, self._all = self._done + len(found.lines), self._all + len(found.lines)
                made = found.lines, found.seconds, found.made_with
                self._finish((pair, via), *made, known=found.cell)
                if via is None:
                    self._translated[self._hop(pair.source, self._lines(pair)[0], pair.target)] = (
                        made
                    )
        return [route for route, found in kept.items() if not found]

    def _lines(self, pair: LanguagePair) -> tuple[list[str], list[str]]:
        """Sources and references; a text that several directions share is held once."""
        if pair not in self._held_out:
            sources, references = self.text.lines(pair)
            self._held_out[pair] = (
                self.texts.setdefault(text_name(pair.source, sources), sources),
                self.texts.setdefault(text_name(pair.target, references), references),
            )
        return self._held_out[pair]

    def _hop(self, source: str, lines: list[str], target: str) -> Direction:
        name = text_name(source, lines)
        self._sources[name] = SourceText(source, lines)
        return name, target

    def _together(self, hops: Iterable[Direction]) -> Iterator[Direction]:
        """Each hop when it has been translated; at once where it has been already, as the first of a pivot may have."""
        hops = list(dict.fromkeys(hops))
        yield from [hop for hop in hops if hop in self._translated]
        missing = [hop for hop in hops if hop not in self._translated]
        for hop, lines, seconds in translate_directions(
            self.translator, self._sources, missing, config=self.search, advance=self._advance
        ):
            self._translated[hop] = lines, seconds, self._here
            yield hop

    def _advance(self, target: str, sentences: int) -> None:
        self._done += sentences
        self.progress(f"into {target}", self._done, self._all)

    def _kind(self, pair: LanguagePair, via: str | None) -> str:
        return "pivot" if via else pair_kind(pair, self.run.config.pairs)

    def _finish(
        self,
        route: Route,
        lines: list[str],
        seconds: float,
        made_with: Mapping[str, str],
        *,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        """Score a direction, unless its scores are known, and write it to the folder."""
        (pair, via), (sources, references) = route, self._lines(route[0])
        name = cell_name(pair, via)
        self.hypotheses[name], self._made_with[route] = lines, made_with
        if known:
            self._cells[route] = cell_from_dict(known)
            return
        self.store.put_hypotheses(name, lines)
        cell = self._cells[route] = Cell(
            pair,
            self._kind(pair, via),
            self._scores(pair, lines, sources, references),
            sentences=len(sources),
            seconds=round(seconds, 3),
            via=via,
            outputs=measure_output_errors(
                lines,
                sources=sources,
                references=references,
                source=pair.source,
                target=pair.target,
                languages=self.run.config.languages,
            ),
            source_text=text_name(pair.source, sources),
            reference_text=text_name(pair.target, references),
        )
        self.store.put_cell(
            name,
            keys=self._keys(pair, via),
            made_with=made_with,
            lines=lines,
            cell=cell_to_dict(cell),
        )

    def _scores(
        self, pair: LanguagePair, lines: list[str], sources: list[str], references: list[str]
    ) -> dict[str, Score]:
        scores = {
            measure: scorer.score(lines, references, resamples=self.protocol.resamples)
            for measure, scorer in self.scorers[pair.target].items()
        }
        return scores | (
            {"comet": self.comet.score(lines, references, sources)} if self.comet else {}
        )

    def _keys(self, pair: LanguagePair, via: str | None) -> Mapping[str, str]:
        """Hashes of all that the hypotheses of a direction depend on, and its scores; empty where the parameters have none."""
        sources, references = self._lines(pair)
        parameters = self.translator.description.get("sha256")
        if parameters is None:
            return {"translated": "", "scored": ""}
        made_of: list[Any] = [
            VERSION,
            self.run.built_from,
            parameters,
            self.search.model_dump(),
            str(pair),
            via,
            sources,
        ]
        if self.search.select and self.search.select_by == "shortlist":
            hops = (
                [LanguagePair(pair.source, via), LanguagePair(via, pair.target)] if via else [pair]
            )
            made_of += [self.run.shortlist_digest(hop) for hop in hops]
        translated, protocol = digest(made_of), self.protocol
        how: list[Any] = [
            sacrebleu.__version__,
            list(map(str, protocol.measures)),
            protocol.tokenizer,
            protocol.comet,
            protocol.resamples,
        ]
        return {
            "translated": translated,
            "scored": digest([translated, how, references, self.run.config.languages]),
        }


def describe_corpus(corpus: ComponentConfig) -> str:
    """A corpus by its kind and what was set of it: `text test_2016_flickr.{language}.gz`; of an absolute path only its end."""
    settings = corpus.model_dump(exclude_defaults=True, exclude={"type", "weight"})
    words = [
        (Path(one).name if Path(one).is_absolute() else one)
        if isinstance(one, str)
        else f"{name} {one}"
        for name, one in settings.items()
    ]
    return " ".join([corpus.type, *words])


def describe_machine(device: torch.device) -> str:
    """What translated, in words: processors, threads, accelerator."""
    about = Path("/proc/cpuinfo")  # Linux; elsewhere the architecture has to do
    named = (
        re.search(r"model name\s*: (.+)", about.read_text(encoding="utf-8", errors="replace"))
        if about.is_file()
        else None
    )
    cores, threads = (
        pluralize(os.cpu_count() or 1, "core"),
        pluralize(torch.get_num_threads(), "thread"),
    )
    words = [platform.system(), f"{cores} {named[1] if named else platform.machine()}", threads]
    if device.type == "cuda":
        words.append(torch.cuda.get_device_name(device))
    elif device.type != "cpu":
        words.append(device.type)
    return ", ".join(words)
