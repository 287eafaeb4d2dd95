"""Settings of CUDA that a machine without a GPU can also hold."""

from __future__ import annotations

import pytest
import torch

from polyglot.config.schema import TrainingConfig
from polyglot.inference.devices import select_device
from polyglot.training.build import set_cuda_arithmetic


@pytest.fixture
def restored():
    before = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
    cudnn_attention = torch.backends.cuda.cudnn_sdp_enabled()
    yield
    torch.backends.cuda.enable_cudnn_sdp(cudnn_attention)
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


@pytest.mark.parametrize(
    ("settings", "tf32"),
    [({}, False), ({"tf32": True}, True), ({"precision": "bf16"}, True)],
)
def test_rounding_to_tf32_is_a_setting(settings, tf32, restored):
    set_cuda_arithmetic(TrainingConfig(steps=1, **settings))
    assert torch.backends.cuda.matmul.allow_tf32 == tf32
    assert torch.backends.cudnn.allow_tf32 == tf32
    assert not torch.are_deterministic_algorithms_enabled()


def test_deterministic_operations_are_a_setting(restored):
    set_cuda_arithmetic(TrainingConfig(steps=1, deterministic=True))
    assert torch.are_deterministic_algorithms_enabled()


def test_training_avoids_the_attention_of_cudnn(restored):
    torch.backends.cuda.enable_cudnn_sdp(True)
    set_cuda_arithmetic(TrainingConfig(steps=1))
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_translation_on_cuda_avoids_the_attention_of_cudnn(restored, monkeypatch):
    torch.backends.cuda.enable_cudnn_sdp(True)
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *sizes, device: zeros(*sizes))
    assert select_device("cpu").type == "cpu"
    assert torch.backends.cuda.cudnn_sdp_enabled()
    assert select_device("cuda").type == "cuda"
    assert not torch.backends.cuda.cudnn_sdp_enabled()
