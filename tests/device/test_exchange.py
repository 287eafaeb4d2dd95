"""Gradient exchange of eight ranks under the rules of NCCL, over PyTorch's fake process group.

The fake group transfers nothing: every rank "receives" what it sent.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch.distributed

from polyglot.distributed.processes import Processes
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.training.placement import ScheduledBatch
from tests.device.builders import PRECISIONS, meta_model, meta_trainer
from tests.device.rules import GpuRules
from tests.device.torch_internals import FakeStore

RANKS = 8
TASK = Task(LanguagePair.parse("de-en"))


@pytest.fixture
def processes():
    """Rank 0 of eight, without a store and heartbeats."""
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
    processes = object.__new__(Processes)
    processes.rank = 0
    processes.world_size = RANKS
    processes.monitor = SimpleNamespace(awaited="")
    processes._groups = {tuple(range(RANKS)): None}
    processes._cpu_group = torch.distributed.new_group()
    yield processes
    torch.distributed.destroy_process_group()


@pytest.fixture
def operations(processes, monkeypatch):
    """Names of the transfers between GPUs; other transfers have tensors in main memory."""
    names = []

    def checked(name, original):
        def transfer(*arguments, group=None, **options):
            tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
            assert tensors
            expected = "cpu" if group is processes._cpu_group else "meta"
            for tensor in tensors:
                assert tensor.device.type == expected, name
                assert tensor.is_contiguous(), name
            if expected == "meta":
                assert name not in ("send", "recv"), "a communicator for each pair of ranks"
                names.append(name)
            return original(*arguments, group=group, **options)

        return transfer

    for name in ("all_reduce", "broadcast", "all_gather", "send", "recv"):
        original = getattr(torch.distributed, name)
        monkeypatch.setattr(torch.distributed, name, checked(name, original))
    return names


def placement(*, training_ranks, component_ranks):
    """Ranks that train one task, and ranks that have each component."""
    return SimpleNamespace(
        replicated=len(component_ranks) == RANKS,
        batches_at=lambda step: [ScheduledBatch(rank, TASK) for rank in training_ranks],
        ranks_of=lambda component: component_ranks,
        sharing_rank_groups=[component_ranks] if len(component_ranks) < RANKS else [],
    )


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("training_ranks", "component_ranks", "expected"),
    [
        (range(RANKS), tuple(range(RANKS)), {"all_reduce"}),
        ([0], tuple(range(RANKS)), {"broadcast"}),
        ([0, 1], (0, 1), {"all_reduce"}),
    ],
)
def test_gradients_travel_between_gpus(
    training_ranks,
    component_ranks,
    expected,
    precision,
    processes,
    operations,
    run,
    transfers,
    monkeypatch,
):
    trainer = meta_trainer(
        run,
        meta_model("transformer", "attention", "lstm"),
        monkeypatch,
        precision=precision,
        placement=placement(training_ranks=training_ranks, component_ranks=component_ranks),
        processes=processes,
    )
    trainer.exchange.create_process_groups()
    for _ in range(2):  # the first update records which parameters have a gradient
        with GpuRules():
            trainer.update()
    assert set(operations) == expected
    assert transfers.count == 0


def test_components_of_a_pair_are_sent_in_one_piece_through_main_memory(
    processes, operations, transfers, monkeypatch
):
    sizes = []
    send = torch.distributed.send

    def recorded(tensor, *arguments, **options):
        sizes.append(tensor.numel())

    monkeypatch.setattr(torch.distributed, "send", recorded)
    assert send is not recorded
    parameters = list(meta_model("lstm", "attention", "lstm").parameters())
    processes.copy(parameters, sender=0, receiver=1, awaited="encoder.de")
    assert sizes == [sum(parameter.numel() for parameter in parameters)]
    assert transfers.count == 1
    assert not operations
