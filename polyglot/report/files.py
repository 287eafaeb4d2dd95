"""Reads the files of a run directory; files of other versions are listed as unreadable."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglot.core.language_codes import normal_form
from polyglot.core.score_tables import direction_name, is_step
from polyglot.core.stored_json import read_json
from polyglot.core.stored_log import read_log_line
from polyglot.core.stored_results import FORMATS, has_present_format, validate_result
from polyglot.runs.run import Run
from polyglot.runs.stored_results import results_roots

logger = logging.getLogger("polyglot")


@dataclass(frozen=True)
class StoredEvaluation:
    """Results of one protocol on one test set."""

    name: str
    """name of the folder below `evaluation/`"""
    folder: Path
    values: Mapping[str, Any]
    """content of matrix.json"""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Direct translations, then pivot translations; also cells without scores."""
        return [*self.values["cells"], *self.values["pivots"]]

    @property
    def measures(self) -> dict[str, str]:
        """Titles of the measures by name, in the order of the protocol."""
        return self.values["measures"]

    def signatures(self, measure: str) -> list[str]:
        """Signatures with the name of the metric: `BLEU|nrefs:1|…`; several with their targets."""
        metric, _, _ = self.measures[measure].partition(" (")
        targets_of_signatures = self.values["signatures"][measure]
        lines = []
        for signature, targets in targets_of_signatures.items():
            line = f"{metric}|{signature}"
            if len(targets_of_signatures) > 1:
                line += f" (into {', '.join(targets)})"
            lines.append(line)
        return lines

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """Texts that were read, by name: each belongs to many cells."""
        return {}

    def text(self, name: str) -> list[str]:
        """Lines of a source or reference text; empty if the file is missing or damaged."""
        if name not in self._texts:
            self._texts[name] = self._lines(f"text/{name}.txt")
        return self._texts[name]

    def hypotheses(self, cell: Mapping[str, Any]) -> list[str]:
        """Translations of a cell; empty if the file is missing or damaged."""
        return self._lines(f"hypotheses/{cell_name(cell)}.txt")

    def _lines(self, name: str) -> list[str]:
        """Lines of a file; none, with a warning, if it is not what the evaluation wrote."""
        path = self.folder / name
        if not path.is_file():
            return []
        content = path.read_bytes()
        digests = self.values.get("files") or {}  # older versions stored none
        digest = hashlib.sha256(content).hexdigest()
        if digests.get(name, digest) != digest:
            logger.warning(f"{path}: was changed or is damaged, so the report leaves it out")
            return []
        return content.decode(errors="replace").split("\n")[:-1]

    def scored_count(self) -> int:
        """Number of direct translations with scores."""
        return sum(bool(cell["scores"]) for cell in self.values["cells"])

    def mean(self, measure: str, kind: str) -> float | None:
        """Mean of all cells of a kind that have a score; None without scores."""
        scores = []
        for cell in self.cells:
            score = cell["scores"].get(measure)
            if cell["kind"] == kind and score is not None:
                scores.append(score["value"])
        if not scores:
            return None
        return sum(scores) / len(scores)


def default_first(name: str) -> tuple[bool, str]:
    """Sort key for names: `default` first, then in alphabetical order."""
    return name != "default", name


def cell_languages(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Source and target language of a cell of matrix.json."""
    source, _, target = cell["pair"].partition("-")
    return source, target


def cell_name(cell: Mapping[str, Any]) -> str:
    """Name of a cell of matrix.json: `de-fr`, or `de-en-fr` with English as pivot language."""
    source, target = cell_languages(cell)
    return direction_name(source, target, cell["via"])


def language_tags(languages: Iterable[str]) -> dict[str, str]:
    """Value of the attribute `lang` of each language, by the code of the run."""
    return {language: normal_form(language) for language in languages}


def describe_checkpoint(values: Mapping[str, Any]) -> str:
    """Checkpoint of an evaluation: `best checkpoint, step 4,000`, or `checkpoint of step 300`."""
    checkpoint = values["checkpoint"]
    name = checkpoint.get("checkpoint", "")
    if is_step(name):
        return f"checkpoint of step {int(name):,}"
    description = f"{name} checkpoint"
    steps = [f"{step:,}" for step in checkpoint.get("steps", ())]
    if not steps:
        return description
    noun = "step" if len(steps) == 1 else "steps"
    listed = ", ".join(steps)
    return f"{description}, {noun} {listed}"


@dataclass(frozen=True)
class RunFiles:
    """Files of a run directory."""

    run: Run
    sentences: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """language and text of sentences whose attention is shown"""

    @property
    def title(self) -> str:
        """Name of the run as the title of the page."""
        if self.run.hub is not None:
            return str(self.run.hub.address)
        return self.run.path.resolve().name

    @cached_property
    def log(self) -> list[dict[str, Any]]:
        """Complete lines of the training log."""
        if not self.run.log.is_file():
            return []
        text = self.run.log.read_text(encoding="utf-8", errors="replace")
        records = []
        for line in text.splitlines():
            # The last line of a run that was interrupted by a power cut may be incomplete.
            record = read_log_line(line)
            if record is not None:
                records.append(record)
        return records

    @cached_property
    def evaluations(self) -> list[StoredEvaluation]:
        """Every valid evaluation: the protocol `default` first, then by name."""
        evaluations = []
        for folder, values in self.contents("matrix.json"):
            name = self._relative(folder).relative_to("evaluation").as_posix()
            evaluations.append(StoredEvaluation(name, folder, values))
        return sorted(evaluations, key=lambda evaluation: default_first(evaluation.name))

    @cached_property
    def main_evaluation(self) -> StoredEvaluation | None:
        """Evaluation with the most scored cells, the first of them; None without evaluations."""
        return max(self.evaluations, key=StoredEvaluation.scored_count, default=None)

    @cached_property
    def unreadable(self) -> list[str]:
        """Folders of evaluations and analyses that are damaged or of another version."""
        folders = []
        for path, values in self._results.items():
            if values is None:
                folder = self._relative(path.parent)
                folders.append(folder.as_posix())
        return folders

    def contents(self, name: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield folder and content of every valid file with this name, one of FORMATS."""
        for path, values in self._results.items():
            if path.name == name and values is not None:
                yield path.parent, values

    @cached_property
    def _results(self) -> dict[Path, dict[str, Any] | None]:
        """Content of every finished result file; None if it cannot be read."""
        paths: dict[Path, Path] = {}
        for root in self._roots:
            for path in _result_files(root):
                paths[path.relative_to(root)] = path
        results = {}
        for _, path in sorted(paths.items()):
            results[path] = _read_result(path)
        return results

    @cached_property
    def _roots(self) -> list[Path]:
        """Folders with results; those of later ones replace those of the same name."""
        return results_roots(self.run)

    def _relative(self, folder: Path) -> Path:
        """Path of a folder of results below the root that has it."""
        for root in self._roots:
            if folder.is_relative_to(root):
                return folder.relative_to(root)
        raise AssertionError(folder)


def _result_files(root: Path) -> Iterator[Path]:
    """Yield every finished result file below a root."""
    for folder in ("evaluation", "analysis"):
        for name in FORMATS:
            for path in (root / folder).rglob(name):
                if path.parent.name != ".unfinished":
                    yield path


def _read_result(path: Path) -> dict[str, Any] | None:
    """Content of a result file; None if it is damaged or has an unknown format."""
    try:
        values = read_json(path)
        if not isinstance(values, dict) or not has_present_format(path.name, values):
            return None
        return validate_result(path.name, values)
    except (OSError, ValueError):
        return None
