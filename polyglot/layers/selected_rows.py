"""Linear layer with different rows of one matrix for each sentence (vocabulary selection)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from polyglot.layers.accumulated_linear import AccumulatedLinear

COPIED_ROW_COST = 32
"""Cost of a copied row: in one step it takes as long as this number of products of a row of a
packed matrix with one input, because a copied row is read from memory in every step. Measured on
two CPU cores with `evaluation/benchmarks/selection.py`; on one core it is about half."""

NEARLY_ALL = 0.9
"""Largest share of common rows for which they are copied. With more, a copy takes longer than it
saves, so all rows are computed."""


def copying_is_cheaper(selected_rows: int, all_rows: int, *, hypotheses: int) -> bool:
    """True if copies of the selected rows are cheaper than a product with all rows.

    hypotheses: number of hypotheses of each sentence.
    """
    return selected_rows * COPIED_ROW_COST <= all_rows * hypotheses


class SelectedRowsLinear:
    """Linear layer with U rows of one matrix for each of B sentences.

    There are two ways to compute it, and each product takes the cheaper one:

    - Copy the rows of each sentence once. A product then reads U copied rows for each sentence.
    - Compute all rows that any of the sentences has, in one product as without selection, and keep
      those of each sentence.
    """

    def __init__(self, weight: Tensor, bias: Tensor, rows: Tensor) -> None:
        """weight (O, I), bias (O), rows (B, U)"""
        self.weight = weight
        self.bias = bias
        self.rows = rows
        self.copied_rows: _CopiedRows | None = None
        self.common_rows: _CommonRows | None = None

    def __call__(self, inputs: Tensor) -> Tensor:
        """inputs (B·M, I), hypotheses of a sentence side by side -> (B·M, U)"""
        inputs = inputs.unflatten(0, (len(self.rows), -1))
        if self.copies_rows(inputs.shape[1]):
            if self.copied_rows is None:
                self.copied_rows = _CopiedRows.create(self.weight, self.bias, self.rows)
            return self.copied_rows.product(inputs).flatten(0, 1)

        if self.common_rows is None:
            self.common_rows = _CommonRows.create(self.weight, self.bias, self.rows)
        return self.common_rows.product(inputs).flatten(0, 1)

    def copies_rows(self, hypotheses: int) -> bool:
        """True if copied rows are cheaper for this number of hypotheses of each sentence."""
        return copying_is_cheaper(self.rows.shape[1], len(self.weight), hypotheses=hypotheses)

    def select(self, sentences: Tensor) -> SelectedRowsLinear:
        """Keep these sentences (B',)."""
        result = SelectedRowsLinear(self.weight, self.bias, self.rows.index_select(0, sentences))
        if self.copied_rows is not None:
            result.copied_rows = self.copied_rows.select(sentences)
        if self.common_rows is not None:
            result.common_rows = self.common_rows.select(sentences)
        return result


class _CopiedRows(NamedTuple):
    """Copies of the rows of each sentence.

    They may include the rows of sentences that have left, so B₀ ≥ B.
    """

    weight: Tensor
    """(B₀, U, I)"""
    bias: Tensor
    """(B₀, 1, U)"""
    sentences: Tensor
    """(B,) indices of the sentences in `weight`."""

    @classmethod
    def create(cls, weight: Tensor, bias: Tensor, rows: Tensor) -> _CopiedRows:
        """weight (O, I), bias (O), rows (B, U)"""
        sentences = torch.arange(len(rows), device=rows.device)
        return cls(weight[rows], bias[rows].unsqueeze(1), sentences)

    def product(self, inputs: Tensor) -> Tensor:
        """inputs (B, M, I) -> (B, M, U)"""
        columns = self.weight.transpose(1, 2)
        if len(self.sentences) == len(self.weight):
            return torch.baddbmm(self.bias, inputs, columns)
        # Sentences that have left are multiplied with zeros.
        all_inputs = inputs.new_zeros(len(self.weight), *inputs.shape[1:])
        all_inputs.index_copy_(0, self.sentences, inputs)
        outputs = torch.baddbmm(self.bias, all_inputs, columns)
        return outputs.index_select(0, self.sentences)

    def select(self, sentences: Tensor) -> _CopiedRows:
        """Keep these sentences.

        The rows are copied again only when half of their sentences have left. Until then, products
        that nobody reads are cheaper than a copy.
        """
        kept = self.sentences.index_select(0, sentences)
        if 2 * len(kept) > len(self.weight):
            return self._replace(sentences=kept)
        return _CopiedRows(
            self.weight.index_select(0, kept),
            self.bias.index_select(0, kept),
            torch.arange(len(kept), device=kept.device),
        )


class _CommonRows(NamedTuple):
    """Product with all rows that any sentence selects; each sentence then picks its columns.

    If nearly all rows are common, the product has all rows. On other devices than the CPU it always
    has all rows, because looking for common rows waits for the device.
    """

    layer: AccumulatedLinear
    """Product with the common rows."""
    columns: Tensor
    """(B, U): columns of that product that belong to the rows of each sentence."""

    @classmethod
    def create(cls, weight: Tensor, bias: Tensor, rows: Tensor) -> _CommonRows:
        """weight (O, I), bias (O), rows (B, U)"""
        if rows.device.type != "cpu":
            return cls(AccumulatedLinear(weight, bias=bias), rows)
        is_common = torch.zeros(len(weight), dtype=torch.bool, device=rows.device)
        is_common[rows.flatten()] = True
        common = is_common.nonzero().squeeze(1)
        if len(common) > NEARLY_ALL * len(weight):
            return cls(AccumulatedLinear(weight, bias=bias), rows)
        columns = (is_common.cumsum(0) - 1)[rows]
        layer = AccumulatedLinear(weight.index_select(0, common), bias=bias.index_select(0, common))
        return cls(layer, columns)

    def product(self, inputs: Tensor) -> Tensor:
        """inputs (B, M, I) -> (B, M, U)"""
        outputs = self.layer(inputs.flatten(0, 1)).unflatten(0, inputs.shape[:2])
        return outputs.gather(2, self.columns.unsqueeze(1).expand(-1, inputs.shape[1], -1))

    def select(self, sentences: Tensor) -> _CommonRows:
        """Keep these sentences."""
        return self._replace(columns=self.columns.index_select(0, sentences))
