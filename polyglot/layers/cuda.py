"""Settings of PyTorch on CUDA that every program needs: training, translation and embeddings."""

from __future__ import annotations

import torch


def avoid_cudnn_attention() -> None:
    """Compute attention in PyTorch's own fused kernels, for the whole process.

    cuDNN builds a plan for each new shape, and no two batches have the same lengths. On an H200 the
    plans took 3.6 ms for each call, 70 % of an update of `multi30k/tiny` in bf16.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
