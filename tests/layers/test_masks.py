"""The masked softmax and the masked mean, in every precision."""

from __future__ import annotations

import pytest
import torch

from polyglot.layers.masks import flip_sentences, fused_attention, masked_mean, masked_softmax

PRECISIONS = [torch.float32, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_padding_is_exactly_zero_and_rows_sum_to_one(precision, scale):
    torch.manual_seed(0)
    mask = torch.tensor([[True, True, False], [True, False, False], [True, True, True]])
    weights = masked_softmax((torch.randn(3, 3) * scale).to(precision), mask)
    assert weights.dtype == precision
    assert (weights[~mask] == 0).all()
    assert torch.allclose(weights.float().sum(-1), torch.ones(3), atol=0.01)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_with_nothing_to_choose_from_is_zero_and_its_gradient_is_finite(precision):
    scores = torch.randn(2, 4).to(precision).requires_grad_()
    weights = masked_softmax(scores, torch.tensor([[False] * 4, [True] * 4]))
    weights.square().sum().backward()
    assert (weights[0] == 0).all() and scores.grad.isfinite().all()


def test_without_a_mask_is_the_plain_softmax():
    scores = torch.randn(2, 4)
    assert torch.equal(masked_softmax(scores, None), torch.softmax(scores, -1))


def test_mean_ignores_padding():
    states = torch.tensor([[[1.0], [3.0], [99.0]], [[5.0], [99.0], [99.0]]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert masked_mean(states, mask).tolist() == [[2.0], [5.0]]
    assert masked_mean(states, torch.zeros(2, 3, dtype=torch.bool)).tolist() == [[0.0], [0.0]]


def test_flip_keeps_padding_at_the_end_and_undoes_itself():
    states = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [0.0]]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    flipped = flip_sentences(states, mask)
    assert flipped.squeeze(-1).tolist() == [[3, 2, 1], [5, 4, 0]]
    assert torch.equal(flip_sentences(flipped, mask), states)


def test_gradients_are_flipped_back():
    mask = torch.tensor([[True, True, True], [True, True, False], [False, False, False]])
    assert torch.autograd.gradcheck(
        lambda states: flip_sentences(states, mask),
        torch.randn(3, 3, 2, dtype=torch.double, requires_grad=True),
    )


@pytest.mark.parametrize("autocast", [True, False])
def test_attention_of_half_precision_is_the_precise_one_rounded_once(autocast):
    """On a CPU, whose kernels of half precision are slow on the way back."""
    torch.manual_seed(0)
    parts = [torch.randn(2, 3, 5, 4).bfloat16().requires_grad_() for _ in range(3)]
    precise = [part.detach().float().requires_grad_() for part in parts]
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        outputs = fused_attention(*parts, mask=mask)
    expected = fused_attention(*precise, mask=mask)
    assert outputs.dtype == torch.bfloat16 and torch.equal(outputs, expected.bfloat16())
    outputs.sum().backward(), expected.sum().backward()
    assert all(torch.equal(one.grad, other.grad.bfloat16()) for one, other in zip(parts, precise))
