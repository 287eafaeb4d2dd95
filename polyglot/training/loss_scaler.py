"""Loss scaling for float16, which reads from the device at most once in an update."""

from __future__ import annotations

from typing import Any

import torch

from polyglot.tasks.transfers import to_host


class LossScaler(torch.amp.GradScaler):
    """PyTorch's scaler, which reads from the device with `to_host`.

    A transfer waits for the device. All transfers of the program are calls of `to_host`, so that
    tests can count them.

    Fused optimizers decide on the device whether to skip an update, without a transfer. For the
    other optimizers (`muon`, `adadelta`, and `sgd` with momentum) each update asks the device
    whether a gradient is infinite.
    """

    @classmethod
    def with_settings_of(cls, scaler: torch.amp.GradScaler, device: torch.device) -> LossScaler:
        """Scaler for a device with the initial scale and the growth of another scaler."""
        result = cls(device.type)
        result.load_state_dict(scaler.state_dict())
        return result

    def _maybe_opt_step(
        self,
        optimizer: torch.optim.Optimizer,
        optimizer_state: dict[str, Any],
        *arguments: Any,
        **options: Any,
    ) -> Any:
        """Step unless a gradient is infinite or NaN; a method of PyTorch 2.13 that is not public.

        If a version has another name for it, PyTorch's own method is used.
        """
        for is_infinite in optimizer_state["found_inf_per_device"].values():
            if to_host(is_infinite).item():
                return None
        return optimizer.step(*arguments, **options)
