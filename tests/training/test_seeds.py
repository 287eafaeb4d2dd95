"""Seeds: on a CPU, the numbers are those of `torch.manual_seed`."""

from __future__ import annotations

import pytest
import torch

from polyglot.training import seeds
from polyglot.training.seeds import seed_generators


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_numbers_on_a_cpu_are_those_of_manual_seed(seed):
    torch.manual_seed(seed)
    expected = torch.rand(5)
    seed_generators(seed, torch.device("cpu"))
    assert torch.equal(torch.rand(5), expected)


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps"])
def test_other_devices_are_seeded_too(name, monkeypatch):
    used = []
    monkeypatch.setattr(seeds.torch, "manual_seed", used.append)
    seed_generators(7, torch.device(name))
    assert used == [7]
