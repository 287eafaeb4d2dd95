"""Back-translation on the meta device: on one device, and one wait for it in a decoding step."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from polyglot.tasks.back_translation import BackTranslation, BackTranslationTask
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.training.back_translation import BackTranslator
from polyglot.training.placement import ScheduledBatch
from tests.device.builders import PRECISIONS, meta_model, meta_trainer
from tests.device.rules import GpuRules

TASK = BackTranslationTask(
    LanguagePair.parse("de-en"),
    text=Task(LanguagePair.parse("de-en")),
)


@pytest.mark.parametrize("search", ["greedy", "sample"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_generated_token_waits_for_the_device_once(
    kind, precision, search, run, transfers, monkeypatch
):
    model = meta_model(kind, "attention", kind)
    placement = SimpleNamespace(batches_at=lambda step: [ScheduledBatch(0, TASK)])
    trainer = meta_trainer(run, model, monkeypatch, precision=precision, placement=placement)
    settings = BackTranslation(search=search, max_length_ratio=0, max_length_extra=2)
    trainer.back_translator = BackTranslator(settings, model, languages=["de", "en"])
    with GpuRules():
        trainer.update()
    # The lengths of the sentences, and each step of the search: two tokens and the end.
    assert transfers.count == 1 + 3
