"""Environment variables of launchers, accelerate and PyTorch.

The configuration alone decides the numbers of a run. Each variable of accelerate, SLURM or MPI is
followed and reported, or refused, or hidden from accelerate so that it has no effect.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from polyglot.core.errors import ConfigError
from polyglot.distributed.launch import whole_number

if TYPE_CHECKING:
    from accelerate import PartialState

PREFIX = "ACCELERATE_"
USE_CPU = "ACCELERATE_USE_CPU"
TORCH_DEVICE = "ACCELERATE_TORCH_DEVICE"
LOG_LEVEL = "ACCELERATE_LOG_LEVEL"
CPU_AFFINITY = "ACCELERATE_CPU_AFFINITY"

FOLLOWED = (USE_CPU, TORCH_DEVICE, LOG_LEVEL, CPU_AFFINITY)
"""Variables that accelerate may read. They choose the device, its threads and the messages."""

FLAGS = (USE_CPU, CPU_AFFINITY)
TRUE = ("1", "true", "t", "yes", "y", "on")
FALSE = ("0", "false", "f", "no", "n", "off")

OTHER_TRAINING = {
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "accelerate's parallelism",
    "ACCELERATE_USE_SAGEMAKER": "SageMaker",
}
"""Variables that ask for another way of training, which is refused."""

KEYS = {
    "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "schedule.tasks_per_update",
    "ACCELERATE_GRADIENT_CLIPPING": "training.clip_norm",
    "ACCELERATE_MIXED_PRECISION": "training.precision",
}
"""Keys of the configuration for variables without effect."""

NEUTRAL = {*FALSE, "", "none", "default"}
"""Values that ask for nothing, in lower case; `accelerate launch` sets them."""

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
"""Variables of launchers. They count if `WORLD_SIZE` is more than 1."""
MPI_PREFIXES = ("PMI_", "OMPI_COMM_WORLD_", "MV2_COMM_WORLD_", "MPI_LOCAL")
OTHER_HIDDEN = ("FORK_LAUNCHED",)

TASK_COUNTS = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
"""Number of processes that srun or mpirun has started."""

ROUNDING = (
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "DNNL_DEFAULT_FPMATH_MODE",
    "ONEDNN_DEFAULT_FPMATH_MODE",
)
"""Variables that change the precision of matrix products in PyTorch; followed and reported."""

logger = logging.getLogger("polyglot")


def check_variables() -> None:
    """Raise ConfigError for variables that ask for what training cannot do, all at once."""
    problems = []
    for name in FLAGS:
        value = os.environ.get(name, "false")
        if value.lower() not in (*TRUE, *FALSE):
            problems.append(f"{name} is {value!r} in the environment; it must be true or false")

    level = os.environ.get(LOG_LEVEL)
    if level is not None and level.upper() not in logging.getLevelNamesMapping():
        problems.append(
            f"{LOG_LEVEL} is {level!r} in the environment; it must be a level such as info"
        )
    for name, kind in OTHER_TRAINING.items():
        value = os.environ.get(name, "")
        if value.lower() not in NEUTRAL:
            problems.append(
                f"{name} is {value!r} in the environment; this program does not train with {kind}: "
                "unset the variable, or start without it"
            )
    device_problem = _device_problem()
    if device_problem:
        problems.append(device_problem)
    if problems:
        raise ConfigError(problems)


def _device_problem() -> str | None:
    name = os.environ.get(TORCH_DEVICE)
    if name is None:
        return None
    start = f"{TORCH_DEVICE} is {name!r} in the environment"
    if _launched_processes() > 1:
        return f"{start}, but each of several processes has its own device: unset the variable"

    import torch  # slow; not needed to start several processes

    usable = ["cpu"]
    if torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator().type
        usable.append(kind)
        usable += [f"{kind}:{number}" for number in range(torch.accelerator.device_count())]
    if name not in usable:
        return f"{start}; this machine has {', '.join(usable)}"
    if name != "cpu" and uses_cpu():
        return f"{start}, but {USE_CPU} is set too: unset one of them"
    return None


def variable_messages() -> list[str]:
    """Return one line for each group of variables that the user should know of."""
    messages = []
    followed = _assignments((TORCH_DEVICE, CPU_AFFINITY, USE_CPU))
    if followed:
        messages.append(f"the environment is followed: {followed}")

    rounding = _assignments(ROUNDING)
    if rounding:
        messages.append(
            f"the environment is followed: {rounding}; this can change the precision of the numbers"
        )

    ignored = [name for name in sorted(os.environ) if name.startswith(PREFIX)]
    ignored = [name for name in ignored if name not in FOLLOWED and _asks_for_something(name)]
    if ignored:
        keys = [KEYS[name] for name in ignored if name in KEYS]
        instead = "; the configuration decides"
        if keys:
            instead += f" with {' and '.join(keys)}"
        messages.append(f"without effect in the environment: {_assignments(ignored)}{instead}")

    if not os.environ.get("WORLD_SIZE"):
        messages += _lone_process_messages()
    return messages


def _lone_process_messages() -> list[str]:
    """Return lines about a process that may be meant as one of several, but trains alone."""
    messages = []
    ranks = _assignments(RANK_VARIABLES)
    if ranks:
        messages.append(
            f"without effect in the environment: {ranks}; WORLD_SIZE is not set, "
            "so this process trains alone"
        )
    for name in TASK_COUNTS:
        count = os.environ.get(name, "")
        if (whole_number(count) or 0) > 1:
            messages.append(
                f"{name} is {count} in the environment, and each of these processes trains alone; "
                "to train one run together, start them with torchrun"
            )
            break
    return messages


def _asks_for_something(name: str) -> bool:
    value = os.environ[name].lower()
    if name == "ACCELERATE_GRADIENT_ACCUMULATION_STEPS":
        return value not in ("", "1")
    return value not in NEUTRAL


def _assignments(names: tuple[str, ...] | list[str]) -> str:
    """Return `NAME=value` for each variable that is set and asks for something."""
    assignments = []
    for name in names:
        value = os.environ.get(name, "")
        if value.lower() not in NEUTRAL or (value and name in RANK_VARIABLES):
            assignments.append(f"{name}={value}")
    return ", ".join(assignments)


def hide_variables() -> None:
    """Remove every variable from the environment of this process that accelerate may not read.

    The variables of a launcher stay if it has started several processes. Logs what is followed
    and what has no effect. accelerate reads some variables only during the training.
    """
    is_reporter = _launched_processes() <= 1 or os.environ.get("RANK") == "0"
    if is_reporter:
        for message in variable_messages():
            _warn_once(message)
    for name in list(os.environ):
        if _is_hidden(name):
            del os.environ[name]


@cache
def _warn_once(message: str) -> None:
    logger.warning(message)


def _is_hidden(name: str) -> bool:
    if name in FOLLOWED:
        return False
    if name in RANK_VARIABLES:
        return _launched_processes() <= 1
    return name.startswith((PREFIX, *MPI_PREFIXES)) or name in OTHER_HIDDEN


def _launched_processes() -> int:
    """Return `WORLD_SIZE`, which `launcher_world_size` has checked."""
    value = os.environ.get("WORLD_SIZE", "")
    number = whole_number(value)
    return 1 if number is None else number


def uses_cpu() -> bool:
    """Return True if the user wants no GPU."""
    return os.environ.get(USE_CPU, "false").lower() in TRUE


def accelerate_state(*, cpu: bool = False, timeout: timedelta | None = None) -> PartialState:
    """Return the state of accelerate in this process: its device and, with several, its rank.

    cpu: use no GPU. timeout: of the process group. Raises ConfigError for variables that ask for
    what training cannot do.
    """
    check_variables()
    hide_variables()
    from accelerate import PartialState  # slow; not needed to read checkpoints

    settings = {}
    if timeout is not None:
        settings["timeout"] = timeout
    return PartialState(cpu=cpu or uses_cpu(), **settings)
