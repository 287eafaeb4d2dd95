"""Validation during training: the loss of every task, and greedy BLEU of chosen pairs."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean

import numpy
import torch

from polyglot.data.batching import ordered_batches
from polyglot.data.dataset import TaskDataset
from polyglot.distributed.processes import Processes
from polyglot.evaluation.held_out import HeldOut
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.inference.translator import Translator
from polyglot.model.losses import TranslationLoss
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, Task, match_pairs
from polyglot.tasks.transfers import to_host
from polyglot.training.partitioned_model import PartitionedModel

logger = logging.getLogger("polyglot")


@dataclass(frozen=True)
class ValidationResult:
    """Result of one validation pass."""

    losses: Mapping[str, float]
    """per token, by task"""
    bleu: Mapping[str, float] = field(default_factory=dict)
    """by pair"""

    def value(self, by: str) -> float:
        """Value that decides which checkpoint is the best.

        bleu: mean BLEU. loss: mean loss of the translation tasks, or of the copy tasks (a language
        to itself) if there are no others.
        """
        if by == "bleu":
            return mean(self.bleu.values())

        translation_losses = []
        for task, loss in self.losses.items():
            if not LanguagePair.parse(task).is_copy:
                translation_losses.append(loss)
        return mean(translation_losses or self.losses.values())


@dataclass(frozen=True)
class ValidationPass:
    """Validation of one model: call it for one pass over the validation text."""

    validate: Callable[[], ValidationResult]
    """computes the losses and the BLEU of one pass"""
    texts: Mapping[str, str]
    """fingerprint of the text of each pair whose result decides"""

    def __call__(self) -> ValidationResult:
        return self.validate()


class Validator:
    """Reads the validation text of a run: call it with a model for a `ValidationPass`."""

    def __init__(self, run: Run, processes: Processes = Processes()) -> None:
        """processes: divide the work; every rank gets the whole result."""
        self.run = run
        self.processes = processes

    def __call__(self, model: TranslationModel) -> ValidationPass | None:
        """Read the validation text; None if the run has none.

        Tasks and pairs without validation text are left out. Raises DataError if that leaves no
        task, or if a text cannot be used.
        """
        config = self.run.config
        if not config.data.valid:
            return None

        text = HeldOut(self.run, config.data.valid, sentences=config.validation.sentences)
        text.check(config.pairs)
        tasks = []
        for task in self._sampled_tasks():
            if self._has_text(text, task.pair):
                tasks.append(task)
        datasets = self._datasets(text, tasks, model)
        task_pairs = [task.pair for task in tasks]

        bleu_pairs = match_pairs(config.validation.bleu_pairs, config.languages)
        if config.validation.best_by == "bleu":
            text.check(bleu_pairs)
        bleu_pairs = [pair for pair in bleu_pairs if self._has_text(text, pair)]
        lines = {pair: text.lines(pair) for pair in bleu_pairs}

        deciding_pairs = bleu_pairs if config.validation.best_by == "bleu" else task_pairs
        fingerprints = {str(pair): _fingerprint(text.lines(pair)) for pair in deciding_pairs}
        validate = self._pass_function(model, task_pairs, datasets, lines)
        return ValidationPass(validate, fingerprints)

    def _pass_function(
        self,
        model: TranslationModel,
        task_pairs: Sequence[LanguagePair],
        datasets: Mapping[str, TaskDataset],
        lines: Mapping[LanguagePair, tuple[list[str], list[str]]],
    ) -> Callable[[], ValidationResult]:
        """Function that computes one pass.

        datasets: of the tasks of this rank, by task name. lines: sources and references of the
        pairs whose BLEU is measured.
        """
        partitioned = PartitionedModel(model, self.run, self.processes)

        def loss(pair_model: TranslationModel, pair: LanguagePair) -> float:
            return self._loss(pair_model, datasets[str(pair)])

        def bleu(pair_model: TranslationModel, pair: LanguagePair) -> float:
            sources, references = lines[pair]
            return self._bleu(pair_model, pair, sources, references)

        def validate() -> ValidationResult:
            losses = partitioned.map_pairs(task_pairs, loss)
            scores = partitioned.map_pairs(list(lines), bleu)
            return ValidationResult(
                losses={str(pair): value for pair, value in losses.items()},
                bleu={str(pair): value for pair, value in scores.items()},
            )

        return validate

    def _sampled_tasks(self) -> list[Task]:
        """At most `validation.tasks` tasks, drawn from the seed; the same in every pass."""
        tasks = self.run.config.tasks
        max_tasks = self.run.config.validation.tasks
        if max_tasks is None or max_tasks >= len(tasks):
            return tasks
        random = numpy.random.default_rng(self.run.config.seed)
        chosen = random.choice(len(tasks), max_tasks, replace=False)
        return [tasks[index] for index in sorted(chosen)]

    def _has_text(self, text: HeldOut, pair: LanguagePair) -> bool:
        reason = text.missing(pair)
        if reason:
            logger.warning(f"validation of {pair} is left out: {reason}")
        return reason is None

    def _datasets(
        self,
        text: HeldOut,
        tasks: list[Task],
        model: TranslationModel,
    ) -> dict[str, TaskDataset]:
        """Datasets of the tasks whose encoder and decoder are on this rank, by task name."""
        datasets = {}
        for task in tasks:
            if task.source in model.encoders and task.target in model.decoders:
                datasets[task.name] = TaskDataset(
                    task,
                    text,
                    self.run.vocabularies,
                    self.run.normalisers,
                    filters=None,
                    seed=self.run.config.seed,
                )
        return datasets

    @torch.inference_mode()
    def _loss(self, model: TranslationModel, dataset: TaskDataset) -> float:
        """−log p(y given x) per target token of the whole text, without label smoothing."""
        loss = TranslationLoss(TranslationLoss.Config())
        device = next(model.parameters()).device
        total = torch.zeros((), dtype=torch.float64, device=device)
        tokens = 0
        for batch in ordered_batches(dataset, self.run.config.batching):
            batch = batch.to(device)
            total += loss(model(batch), batch).double() * batch.target_tokens
            tokens += batch.target_tokens
        return to_host(total).item() / tokens

    def _bleu(
        self,
        model: TranslationModel,
        pair: LanguagePair,
        sources: list[str],
        references: list[str],
    ) -> float:
        """BLEU of greedy translations, lowercased if the run writes lowercase only."""
        translator = Translator(
            model,
            vocabularies=self.run.vocabularies,
            normalisers=self.run.normalisers,
            search_config=self.run.config.search,
        )
        # Vocabulary selection is switched off: a shortlist is only learnt for a trained run.
        hypotheses = translator.translate(
            sources,
            source=pair.source,
            target=pair.target,
            beam=1,
            n_best=1,
            select=None,
        )
        text_steps = self.run.config.text.for_language(pair.target)
        is_lowercase = any(step.type == "lowercase" for step in text_steps)
        measure = Measure("bleu", "lowercased" if is_lowercase else "cased")
        return Scorer(measure, target=pair.target).score(hypotheses, references).value


def _fingerprint(text: tuple[list[str], list[str]]) -> str:
    """SHA-256 of the sentences of a pair, independent of the files that hold them."""
    digest = hashlib.sha256()
    for lines in text:
        digest.update(json.dumps(lines).encode())
    return digest.hexdigest()
