"""Environment variables never change the numbers of a run silently."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import accelerate
import pytest
import torch
from accelerate.state import AcceleratorState, GradientState, PartialState

from polyglot.core.errors import ConfigError
from polyglot.distributed.variables import (
    CPU_AFFINITY,
    FLAGS,
    FOLLOWED,
    LOG_LEVEL,
    OTHER_TRAINING,
    TORCH_DEVICE,
    USE_CPU,
    accelerate_state,
    check_variables,
    hide_variables,
    variable_messages,
)
from tests.builders.runs import tiny_run, train

LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
MPI = (
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_SIZE",
)
SLURM = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_NPROCS")

LONE_VARIABLES = [
    (name, value)
    for name in (*LAUNCHER, *MPI, *SLURM)
    for value in ("0", "1", "4")
    if name != "WORLD_SIZE"  # a launcher with several processes: see test_launch.py
]


def variables_of_accelerate():
    """Names of all variables that the installed version of accelerate reads or sets."""
    names = set()
    for file in Path(accelerate.__file__).parent.rglob("*.py"):
        if "test_utils" not in file.parts:
            names |= set(re.findall(r"\bACCELERATE_[A-Z0-9_]*[A-Z0-9]", file.read_text()))
    return sorted(names)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Remove the variables of this machine, and the state of accelerate."""
    for name in list(os.environ):
        if name.startswith(("ACCELERATE_", "SLURM_")) or name in (*LAUNCHER, *MPI):
            monkeypatch.delenv(name)
    for state in (AcceleratorState, PartialState, GradientState):
        state._reset_state()
    yield monkeypatch
    for state in (AcceleratorState, PartialState, GradientState):
        state._reset_state()


def test_the_variables_of_accelerate_are_found():
    names = variables_of_accelerate()
    assert len(names) > 30
    assert {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", *OTHER_TRAINING, *FOLLOWED} <= set(names)


@pytest.mark.parametrize("value", ["4", "true", "nonsense"])
@pytest.mark.parametrize("name", variables_of_accelerate())
def test_a_variable_is_refused_or_hidden_or_followed_and_reported(name, value, environment):
    environment.setenv(name, value)
    try:
        check_variables()
    except ConfigError as error:
        assert f"{name} is '{value}' in the environment" in str(error)
        return
    if name == LOG_LEVEL:  # changes messages, not numbers
        return
    assert f"{name}={value}" in "\n".join(variable_messages())
    hide_variables()
    assert (name in os.environ) == (name in FOLLOWED)


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(name, environment):
    for value in ("1", "TRUE", "yes", "0", "False", "no"):
        environment.setenv(name, value)
        check_variables()
    environment.setenv(name, "maybe")
    with pytest.raises(ConfigError, match=f"{name} is 'maybe' .*; it must be true or false"):
        check_variables()


def test_all_refused_variables_are_named_at_once(environment):
    for name in OTHER_TRAINING:
        environment.setenv(name, "true")
    with pytest.raises(ConfigError) as error:
        check_variables()
    assert len(error.value.problems) == len(OTHER_TRAINING)


def test_what_accelerate_launch_sets_by_itself_is_not_reported(environment):
    defaults = {
        "ACCELERATE_MIXED_PRECISION": "no",
        "ACCELERATE_DYNAMO_BACKEND": "NO",
        "ACCELERATE_DYNAMO_MODE": "default",
        "ACCELERATE_DYNAMO_USE_FULLGRAPH": "False",
        "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "1",
        "ACCELERATE_USE_CPU": "False",
        "ACCELERATE_USE_FSDP": "false",
    }
    for name, value in defaults.items():
        environment.setenv(name, value)
    check_variables()
    assert variable_messages() == []


def test_the_message_names_the_keys_of_the_configuration(environment):
    environment.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4")
    environment.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    assert variable_messages() == [
        "without effect in the environment: ACCELERATE_GRADIENT_ACCUMULATION_STEPS=4, "
        "ACCELERATE_MIXED_PRECISION=bf16; the configuration decides with "
        "schedule.tasks_per_update and training.precision"
    ]


# Ranks and devices -------------------------------------------------------------------------------


@pytest.mark.parametrize("use_cpu", [False, True])
@pytest.mark.parametrize(("name", "value"), [("WORLD_SIZE", "1"), *LONE_VARIABLES])
def test_a_single_variable_of_a_launcher_does_not_make_several_processes(
    name, value, use_cpu, environment
):
    environment.setenv(name, value)
    if use_cpu:
        environment.setenv(USE_CPU, "true")
    state = accelerate_state()
    assert (state.num_processes, state.process_index) == (1, 0)


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"])
def test_a_rank_without_a_world_size_is_reported(name, environment):
    environment.setenv(name, "0")
    assert variable_messages() == [
        f"without effect in the environment: {name}=0; WORLD_SIZE is not set, "
        "so this process trains alone"
    ]
    environment.setenv("WORLD_SIZE", "1")
    assert variable_messages() == []


@pytest.mark.parametrize("name", ["SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
def test_tasks_of_srun_and_mpirun_train_alone_and_are_reported(name, environment):
    environment.setenv(name, "1")
    assert variable_messages() == []
    environment.setenv(name, "4")
    [message] = variable_messages()
    assert message.startswith(f"{name} is 4 in the environment, and each of these processes trains")
    environment.setenv("WORLD_SIZE", "4")  # torchrun below srun
    assert variable_messages() == []


def test_the_device_is_followed_and_reported(environment):
    environment.setenv(TORCH_DEVICE, "cpu")
    environment.setenv(CPU_AFFINITY, "false")
    check_variables()
    assert variable_messages() == ["the environment is followed: ACCELERATE_TORCH_DEVICE=cpu"]
    assert accelerate_state().device == torch.device("cpu")


@pytest.mark.parametrize("device", ["meta", "nonsense", "cpu:7", ""])
def test_a_device_that_the_machine_lacks_is_refused(device, environment):
    environment.setenv(TORCH_DEVICE, device)
    with pytest.raises(ConfigError, match=f"{TORCH_DEVICE} is '{device}' .*; this machine has cpu"):
        check_variables()


def test_one_device_for_several_processes_is_refused(environment):
    environment.setenv(TORCH_DEVICE, "cpu")
    environment.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="each of several processes has its own device"):
        check_variables()


@pytest.mark.parametrize("name", ["ONEDNN_DEFAULT_FPMATH_MODE", "NVIDIA_TF32_OVERRIDE"])
def test_a_variable_of_pytorch_that_changes_precision_is_reported(name, environment):
    environment.setenv(name, "BF16")
    [message] = variable_messages()
    assert message == (
        f"the environment is followed: {name}=BF16; this can change the precision of the numbers"
    )


# Training ----------------------------------------------------------------------------------------


def parameters(trainer):
    tensors = {}
    for component, by_name in trainer.model.component_parameters().items():
        for name, parameter in by_name.items():
            tensors[f"{component}/{name}"] = parameter.detach().clone()
    return tensors


def test_the_numbers_are_the_same_with_every_variable_set(tmp_path, environment):
    settings = {"optimizer": {"type": "sgd", "learning_rate": 1.0}}
    expected = parameters(train(tiny_run(tmp_path, "without", **settings)))

    for name in variables_of_accelerate():
        if name not in (*FOLLOWED, *OTHER_TRAINING):
            environment.setenv(name, "4")
    for name in (*MPI, *SLURM, "RANK", "LOCAL_RANK", "FORK_LAUNCHED"):
        environment.setenv(name, "3")
    found = parameters(train(tiny_run(tmp_path, "with", **settings)))
    for name, parameter in expected.items():
        assert torch.equal(found[name], parameter), name


@pytest.mark.parametrize(
    "variables",
    [
        {"ACCELERATE_USE_DEEPSPEED": "true"},
        {"ACCELERATE_USE_FSDP": "yes"},
        {"ACCELERATE_LOG_LEVEL": "loud"},
        {"ACCELERATE_USE_CPU": "maybe"},
        {"WORLD_SIZE": "4"},
    ],
)
def test_the_program_refuses_with_exit_status_2(variables):
    command = [sys.executable, "-m", "polyglot", "train", "phrasebook", "--dry-run"]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert next(iter(variables)) in done.stderr
