"""Identity of the running backward pass, which PyTorch offers only in a private function.

Tested with torch 2.13. If a version lacks the function, every call returns -1, and the passes
cannot be told apart. This matters only after a backward pass that was interrupted: a second one
over the same graph would then also count the steps of the first.
"""

from __future__ import annotations

import torch


def current_backward_pass() -> int:
    """Number of the backward pass that is running; -1 outside of one."""
    current = getattr(torch._C, "_current_graph_task_id", None)
    return -1 if current is None else current()
