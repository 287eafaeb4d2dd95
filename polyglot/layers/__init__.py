"""Tensor operations that several components share: masks, attention, recurrence, the projected cross-entropy."""
