"""Tensor operations that several components share: masks, attention, recurrence, cross-entropy."""
