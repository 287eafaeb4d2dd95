"""Components that a rank receives for the validation of a pair."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig
from polyglot.training.partitioned_model import PartitionedModel
from tests.builders.models import VOCABULARY, tiny_config, tiny_model

ONEHOT_ROLES = {"type": "roles", "roles": 4, "assignment": "onehot"}
PAIR = LanguagePair.parse("de-en")


class OtherRank:
    """Processes of the receiving rank: the sender's tensors are copied at once."""

    rank = 1

    def __init__(self, sender) -> None:
        self.sender = sender.component_tensors()

    def gather(self, value, kind, awaited):
        return [list(self.sender), value]

    def copy(self, tensors, *, sender, receiver, awaited):
        component = awaited.split()[0]
        for tensor, sent in zip(tensors, self.sender[component].values(), strict=True):
            tensor.copy_(sent)


def test_a_collected_component_has_the_annealed_temperature_of_its_rank():
    config = tiny_config(options={"encoder": [ONEHOT_ROLES]})
    sender = tiny_model(config, ["de-en"])
    for annealed in sender.annealed().values():
        annealed.set_step(5000)
    run = SimpleNamespace(
        vocabularies=dict.fromkeys(("de", "en", "fr"), range(VOCABULARY)),
        config=SimpleNamespace(model=config, sharing=SharingConfig()),
    )
    receiver = tiny_model(config, ["fr-en"])
    partitioned = PartitionedModel(receiver, run, OtherRank(sender))
    collected = partitioned._collect(PAIR, receiver=1).component_tensors()["encoder.de"]
    expected = sender.component_tensors()["encoder.de"]
    assert any("annealed" in name for name in expected)
    for name, tensor in expected.items():
        assert torch.equal(collected[name], tensor), name
