"""The sliced output layer against PyTorch's own cross-entropy."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from polyglot.layers import cross_entropy
from polyglot.layers.cross_entropy import projected_bag_cross_entropy, projected_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("slice_bytes", [1, 4 * 50 * 3, 2**23])
@pytest.mark.parametrize("cached_bytes", [1, 4 * 50 * 2, 2**20])
def test_loss_and_gradients_equal_the_plain_ones(monkeypatch, smoothing, slice_bytes, cached_bytes):
    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", slice_bytes)
    monkeypatch.setitem(cross_entropy.CACHED_BYTES, "cpu", cached_bytes)
    torch.manual_seed(0)
    parts = [torch.randn(11, 8), torch.randn(50, 8), torch.randn(50)]
    targets = torch.randint(0, 50, (11,))
    ours, theirs = ([part.clone().requires_grad_() for part in parts] for _ in range(2))
    loss = projected_cross_entropy(*ours, targets, smoothing=smoothing)
    states, weight, bias = theirs
    expected = functional.cross_entropy(
        states @ weight.T + bias, targets, reduction="sum", label_smoothing=smoothing
    )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    (loss * 0.3).backward()
    (expected * 0.3).backward()
    for one, other in zip(ours, theirs):
        assert torch.allclose(one.grad, other.grad, atol=1e-5)


def test_scores_of_any_size_are_safe():
    states, weight = (
        torch.tensor([[1000.0, 0.0], [-1000.0, 0.0]]),
        torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]),
    )
    loss = projected_cross_entropy(states, weight, torch.zeros(3), torch.tensor([1, 1]))
    assert loss.item() == pytest.approx(2000.0)


def tokens(count: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(count, 8), torch.randn(50, 8), torch.randn(50)], torch.randint(
        0, 50, (count,)
    )


@pytest.mark.parametrize("slice_bytes", [4 * 50 * 3, 4 * 50 * 700, 2**23])
@pytest.mark.parametrize("bag", [False, True])
def test_autocast_makes_the_products_in_its_type_and_sums_slices_in_the_weights(
    monkeypatch, slice_bytes, bag
):
    """A thousand slices: summed in bf16, most of them would change nothing."""
    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", slice_bytes)
    parts, targets = tokens(3000)
    given = (targets.unsqueeze(1), torch.ones(3000, 1)) if bag else (targets,)
    function = projected_bag_cross_entropy if bag else projected_cross_entropy
    ours, half, precise = ([part.clone().requires_grad_() for part in parts] for _ in range(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = function(*ours, *given)
    states, weight, bias = half
    rounded, expected = (
        function(states.bfloat16(), weight, bias, *given),
        function(*precise, *given),
    )
    assert loss.dtype == torch.float32 and loss.item() == rounded.item() != expected.item()
    loss.backward(), expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=2e-3)
    for one, other in zip(ours, precise):
        assert (
            one.grad.dtype == torch.float32
            and (one.grad - other.grad).norm() < 0.01 * other.grad.norm()
        )


def test_gradients_of_unlikely_words_do_not_vanish_in_float16():
    """They come before the loss is scaled."""
    parts, targets = tokens(5)
    parts[2][7] = -20.0
    ours, precise = ([part.clone().requires_grad_() for part in parts] for _ in range(2))
    with torch.autocast("cpu", dtype=torch.float16):
        projected_cross_entropy(*ours, targets).backward()
    projected_cross_entropy(*precise, targets).backward()
    assert (
        all(torch.equal(one.grad, other.grad) for one, other in zip(ours, precise))
        and ours[1].grad[7].abs().max() > 0
    )


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_only_the_loss_is_computed(mode, monkeypatch):
    weight, bias = torch.nn.Parameter(torch.randn(9, 4)), torch.nn.Parameter(torch.zeros(9))
    monkeypatch.setattr(torch, "mm", None)  # the products of the gradients
    with mode():
        loss = projected_cross_entropy(torch.randn(3, 4), weight, bias, torch.tensor([1, 2, 3]))
    assert not loss.requires_grad and loss.isfinite()


@pytest.mark.parametrize("slice_bytes", [1, 4 * 50 * 3, 2**23])
def test_a_bag_of_targets_is_the_sum_over_them(monkeypatch, slice_bytes):
    """With a row that has none, words that come twice, and shares of any size."""
    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", slice_bytes)
    torch.manual_seed(0)
    parts = [torch.randn(11, 8), torch.randn(50, 8), torch.randn(50)]
    targets, shares = (
        torch.randint(0, 50, (11, 4)),
        torch.rand(11, 4) * torch.randint(0, 2, (11, 4)),
    )
    targets[3], shares[5] = 7, 0
    ours, theirs = ([part.clone().requires_grad_() for part in parts] for _ in range(2))
    loss = projected_bag_cross_entropy(*ours, targets, shares)
    states, weight, bias = theirs
    expected = -(shares * (states @ weight.T + bias).log_softmax(-1).gather(1, targets)).sum()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    (loss * 0.3).backward()
    (expected * 0.3).backward()
    for one, other in zip(ours, theirs):
        assert torch.allclose(one.grad, other.grad, atol=1e-5)


def test_no_more_than_a_slice_of_the_scores_is_ever_held(monkeypatch):
    monkeypatch.setitem(cross_entropy.SLICE_BYTES, "cpu", 4 * 500 * 10)
    largest = [0]

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            largest[0] = max(
                largest[0],
                *(one.numel() for one in tree_leaves(made) if isinstance(one, torch.Tensor)),
                0,
            )
            return made

    states, weight = torch.randn(50, 4, requires_grad=True), torch.randn(500, 4, requires_grad=True)
    with Sizes():
        projected_bag_cross_entropy(
            states, weight, torch.zeros(500), torch.randint(0, 500, (50, 6)), torch.ones(50, 6)
        ).backward()
    assert largest[0] == 500 * 10


def test_a_word_that_is_ruled_out_spoils_no_gradient_of_rows_that_are_filled_up():
    parts, targets = tokens(300)
    parts[2][3] = -torch.inf
    parts = [part.requires_grad_() for part in parts]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        projected_cross_entropy(*parts, torch.where(targets == 3, 4, targets)).backward()
    assert all(part.grad.isfinite().all() for part in parts)
