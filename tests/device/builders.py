"""Models, batches and trainers on the meta device."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch
from accelerate.optimizer import AcceleratedOptimizer
from torch import Tensor

from polyglot.distributed.processes import Processes
from polyglot.model.losses import Criterion, LossesConfig
from polyglot.model.translation_model import TranslationModel
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
from polyglot.tasks.batch import Batch
from polyglot.training.loss_scaler import LossScaler
from polyglot.training.placement import ScheduledBatch
from polyglot.training.trainer import Trainer
from tests.builders.models import random_batch, tiny_config, tiny_model
from tests.device.rules import META, cuda_autocast

PRECISIONS = {"no": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def meta_model(*components: object, **settings: object) -> TranslationModel:
    with META:
        return tiny_model(tiny_config(*components, **settings), seed=None)


def on_meta(batch: Batch) -> Batch:
    moved = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, Tensor):
            moved[field.name] = value.to(META)
    return replace(batch, **moved)


class MetaAccelerator:
    """The part of accelerate's Accelerator that a trainer uses, for the meta device."""

    device = META

    def __init__(self, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dtype = PRECISIONS[precision]
        self.monkeypatch = monkeypatch
        self.scaler = LossScaler("meta") if precision == "fp16" else None

    def prepare_optimizer(self, optimizer: torch.optim.Optimizer) -> AcceleratedOptimizer:
        return AcceleratedOptimizer(optimizer, device_placement=False, scaler=self.scaler)

    def autocast(self):
        if self.dtype is None:
            return nullcontext()
        return cuda_autocast(self.monkeypatch, self.dtype)

    def backward(self, loss: Tensor) -> None:
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        loss.backward()

    def unscale_gradients(self, optimizer: AcceleratedOptimizer) -> None:
        if self.scaler is not None:
            self.scaler.unscale_(optimizer.optimizer)


class OneBatch:
    """Stream that gives one batch again and again."""

    position = {}
    fingerprint = ""

    def __init__(self, batch: Batch) -> None:
        self.only = batch

    def take(self, *, is_local: bool = True) -> list[int]:
        return list(range(self.only.sentences))

    def batch(self, sentences: list[int]) -> Batch:
        return self.only


def meta_optimizer(name: str, model: TranslationModel) -> torch.optim.Optimizer:
    groups = parameter_groups(model.parameters(), hidden=model.hidden_weights())
    return OPTIMIZERS.build(OPTIMIZERS.configure(name), parameters=groups)


def meta_trainer(
    run,
    model: TranslationModel,
    monkeypatch: pytest.MonkeyPatch,
    *,
    optimizer: str = "adam",
    precision: str = "no",
    losses: dict = {},
    placement: object = None,
    processes: Processes = Processes(),
) -> Trainer:
    """A trainer of one task on the meta device. run: any run of these languages."""
    batch = random_batch("de-en", lengths=[(3, 2), (1, 1)])
    config = run.config
    if placement is None:
        placement = SimpleNamespace(batches_at=lambda step: [ScheduledBatch(0, batch.task)])
    return Trainer(
        run,
        model=model,
        optimizer=meta_optimizer(optimizer, model),
        learning_rate_schedule=LEARNING_RATES.build(config.learning_rate_schedule, steps=10),
        placement=placement,
        streams={batch.task.name: OneBatch(batch)},
        criterion=Criterion(LossesConfig.model_validate(losses)),
        accelerator=MetaAccelerator(precision, monkeypatch),
        validate=None,
        processes=processes,
    )
