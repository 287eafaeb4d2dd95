"""Looking at held-out text while a model is trained: the loss of every task, and greedy BLEU of chosen pairs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
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
from polyglot.training.partitioned_model import PartitionedModel

logger = logging.getLogger("polyglot")


@dataclass(frozen=True)
class ValidationResult:
    """Losses and scores on held-out text."""

    losses: Mapping[str, float]
    """per token, by task"""
    bleu: Mapping[str, float] = field(default_factory=dict)
    """by pair"""

    def value(self, by: str) -> float:
        """The number that makes a checkpoint the best: mean BLEU, or the mean loss of the tasks that are no copies (if any)."""
        if by == "bleu":
            return mean(self.bleu.values())
        translations = [
            loss for task, loss in self.losses.items() if not LanguagePair.parse(task).is_copy
        ]
        return mean(translations or self.losses.values())


class Validator:
    """Makes of a model the function that the trainer is given."""

    def __init__(self, run: Run, processes: Processes = Processes()) -> None:
        """processes: share the work, and all learn of the whole."""
        self.run, self.processes = run, processes

    def __call__(self, model: TranslationModel) -> Callable[[], ValidationResult] | None:
        """What looks at the validation text of the run, or None where the run has none.

        Tasks and pairs without validation text are left out. Raises DataError when that leaves no task, or a text is unusable.
        """
        run, config = self.run, self.run.config
        if not config.data.valid:
            return None
        text = HeldOut(run, config.data.valid, sentences=config.validation.sentences)
        text.check(config.pairs)
        given = {"filters": None, "seed": config.seed}
        named = {task.name: task for task in self._drawn() if self._has_text(text, task.pair)}
        datasets = {
            name: TaskDataset(task, text, run.vocabularies, run.normalisers, **given)
            for name, task in named.items()
            if task.source in model.encoders and task.target in model.decoders
        }
        wanted = match_pairs(config.validation.bleu_pairs, config.languages)
        if config.validation.best_by == "bleu":
            text.check(wanted)
        scored = [pair for pair in wanted if self._has_text(text, pair)]
        lines = {pair: text.lines(pair) for pair in scored}
        shared = PartitionedModel(model, run, self.processes)

        def validate() -> ValidationResult:
            losses = shared.each(
                [task.pair for task in named.values()],
                lambda whole, pair: self._loss(whole, datasets[str(pair)]),
            )
            bleu = shared.each(scored, lambda whole, pair: self._bleu(whole, pair, *lines[pair]))
            return ValidationResult(
                {str(pair): loss for pair, loss in losses.items()},
                {str(pair): score for pair, score in bleu.items()},
            )

        return validate

    def _drawn(self) -> list[Task]:
        """The tasks whose losses are looked at, the same every time."""
        tasks, most = self.run.config.tasks, self.run.config.validation.tasks
        if most is None or most >= len(tasks):
            return tasks
        chosen = numpy.random.default_rng(self.run.config.seed).choice(
            len(tasks), most, replace=False
        )
        return [tasks[number] for number in sorted(chosen)]

    def _has_text(self, text: HeldOut, pair: LanguagePair) -> bool:
        reason = text.missing(pair)
        if reason:
            logger.warning(f"validation of {pair} is left out: {reason}")
        return reason is None

    @torch.inference_mode()
    def _loss(self, model: TranslationModel, dataset: TaskDataset) -> float:
        """−log p(y given x) per target token of the whole text, without label smoothing."""
        loss, device = TranslationLoss(TranslationLoss.Config()), next(model.parameters()).device
        total, tokens = torch.zeros((), dtype=torch.float64, device=device), 0
        for batch in ordered_batches(dataset, self.run.config.batching):
            batch = batch.to(device)
            total += loss(model(batch), batch).double() * batch.target_tokens
            tokens += batch.target_tokens
        return total.item() / tokens

    def _bleu(
        self, model: TranslationModel, pair: LanguagePair, sources: list[str], references: list[str]
    ) -> float:
        """Of greedy translations; small letters only where the run writes nothing else."""
        run = self.run
        translator = Translator(
            model,
            vocabularies=run.vocabularies,
            normalisers=run.normalisers,
            search_config=run.config.search,
        )
        # among all words: a shortlist is counted for a run that is trained
        hypotheses = translator.translate(
            sources, source=pair.source, target=pair.target, beam=1, n_best=1, select=None
        )
        lowercase = any(step.type == "lowercase" for step in run.config.text.for_language(pair.target))
        measure = Measure("bleu", "lowercased" if lowercase else "cased")
        return Scorer(measure, target=pair.target).score(hypotheses, references).value
